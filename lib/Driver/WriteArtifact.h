//===- WriteArtifact.h - A compilation's last steps -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_WRITEARTIFACT_H
#define DIVISI_LIB_DRIVER_WRITEARTIFACT_H

#include "ActsOn.h"
#include "divisi/Compiler/Compilation.h"

#include "llvm/Support/CommandLine.h"

#include <string>
#include <vector>

namespace divisi {

/// --weights of those that write artifacts.
struct WeightsFlag : llvm::cl::opt<std::string> {
  /// Adds it to `verb`.
  explicit WeightsFlag(llvm::cl::SubCommand &verb);
};

/// What has come of an artifact.
struct WrittenArtifact {
  EmitSummary summary;              ///< Of the file.
  std::vector<DeviceMemory> memory; ///< Compilation::memory()
};

/// What messages call a device of `kind`, of all of `kinds`.
std::string nameOf(const DeviceMemory &kind,
                   const std::vector<DeviceMemory> &kinds);

/// Brings `compilation` to its last stage, writes the artifact to `path`, and
/// tells the user what it may not want.
Expected<WrittenArtifact> writeArtifact(Compilation &compilation,
                                        const std::string &path);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_WRITEARTIFACT_H
