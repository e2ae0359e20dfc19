//===- MoveNames.h - Relative file names in moved texts ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_MOVENAMES_H
#define DIVISI_COMPILER_MOVENAMES_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace divisi {

/// Renames the model's files in a dump that was read from the text `from` as it
/// stands, and will be written to `to` ("-": stdin and stdout), so that its
/// names still lead there. Only those of `divisi.files`: what someone wrote by
/// hand is left alone.
void moveNames(mlir::ModuleOp module, const std::string &from,
               const std::string &to);

} // namespace divisi

#endif // DIVISI_COMPILER_MOVENAMES_H
