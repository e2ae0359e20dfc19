//===- ModuleNotes.h - What passes note on a module -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module knows how far it has come, so that it goes on from there whoever has
// brought it: divisi, or divisi-opt pass by pass. The first pass of a stage
// that changes anything says that the module has reached it; the stage's
// verifier says whether it is through.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_MODULENOTES_H
#define DIVISI_PASSES_MODULENOTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// On the module: the last stage that it has been through, by its name.
inline constexpr llvm::StringLiteral kStageAttr = "divisi.stage";

/// Sets the attribute `name` of `module` to `text`.
inline void noteOnModule(mlir::ModuleOp module, llvm::StringRef name,
                         llvm::StringRef text) {
  module->setAttr(name, mlir::StringAttr::get(module.getContext(), text));
}

} // namespace divisi

#endif // DIVISI_PASSES_MODULENOTES_H
