//===- ModuleFile.h - Modules as text in files ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dump is a module that knows how far it has come: the attribute
// `divisi.stage` names the last stage that it has been through. The bytes that
// the compiler itself has made (folded constants) lie in a file beside it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_MODULEFILE_H
#define DIVISI_LIB_COMPILER_MODULEFILE_H

#include "divisi/Compiler/Stage.h"
#include "divisi/Support/GlobalStore.h"
#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace divisi {

/// A module that was read, and the stage that it goes on from.
struct ReadModule {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< Verified by its dialects.
  Stage stage = Stage::Import;              ///< The last one that is over.
};

/// Reads the text of `path`, "-" being stdin. ExitCode::File, or Invalid for
/// what does not parse, names an unknown stage or has no entry function.
Expected<ReadModule> readModule(const std::string &path,
                                mlir::MLIRContext &context);

/// Notes in `module` that it has been through `stage`.
void noteStage(mlir::ModuleOp module, Stage stage);

/// Writes `module` as text to `path`, "-" being stdout, and the blob of
/// `store`, if a global lies there, to `path` with the ending .bin.
/// ExitCode::File.
Status writeModuleFile(mlir::ModuleOp module, const GlobalStore &store,
                       const std::string &path);

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_MODULEFILE_H
