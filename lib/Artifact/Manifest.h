//===- Manifest.h - Programs as messages ------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One message per op; nothing is decided here.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_ARTIFACT_MANIFEST_H
#define DIVISI_LIB_ARTIFACT_MANIFEST_H

#include "dialects/Exec/Exec.h"
#include "divisi/Support/Status.h"
#include "runtime/schema/artifact.pb.h"

#include "mlir/IR/BuiltinOps.h"

#include <span>
#include <vector>

namespace divisi {

/// A manifest whose globals do not yet say where their bytes lie.
struct ManifestDraft {
  artifact::Manifest manifest; ///< Else complete, its report aside.
  /// Manifest globals beyond those of the module: the values of
  /// exec.constant, in order.
  std::vector<mlir::ElementsAttr> constants;
  /// The bytes of the manifest's codes, which the module has.
  std::vector<std::span<const std::byte>> codes;
  /// How many of the manifest's globals are the module's, in its order.
  size_t numGlobals = 0;
};

/// Writes grids, globals, entries and programs of `module`. ExitCode::Invalid
/// if something does not resolve, which `verify-lower` excludes.
Expected<ManifestDraft> draftManifest(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_LIB_ARTIFACT_MANIFEST_H
