//===- EntryFunctions.h - The functions of each entry -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SCHEDULE_ENTRYFUNCTIONS_H
#define DIVISI_SCHEDULE_ENTRYFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace divisi {

/// What `split-ranks` has made of each entry of `module`, by the entry's name.
llvm::MapVector<llvm::StringRef, llvm::SmallVector<mlir::func::FuncOp>>
functionsOfEntries(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_SCHEDULE_ENTRYFUNCTIONS_H
