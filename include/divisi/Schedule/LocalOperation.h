//===- LocalOperation.h - Lowering of a local operation ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation of a partitioned function is lowered to a call, a collective, or
// to no instruction at all.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SCHEDULE_LOCALOPERATION_H
#define DIVISI_SCHEDULE_LOCALOPERATION_H

#include "divisi/Cost/OperationCost.h"

#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace divisi {

/// The tag of what ranks do together.
std::optional<uint64_t> tagOf(mlir::Operation *op);

/// Gives it one.
void setTag(mlir::Operation *op, uint64_t tag);

/// The operand that the only result sees, of what is no call but a view.
std::optional<unsigned> viewedOperandOf(mlir::Operation *op);

/// The global whose old value `value` shows, itself or a view; empty if none.
llvm::StringRef oldGlobalOf(mlir::Value value);

/// Whether it takes time on one rank: a call, or a local move.
bool isOperator(mlir::Operation *op);

/// Whether nothing but its operands says when it may run.
bool canMove(mlir::Operation &op);

/// What it takes, an operator or what ranks do together; nothing if that is not
/// known. `cost` has entered its function.
std::optional<MoveCost> priceOf(mlir::Operation *op, OperationCost &cost);

/// Who meets in it, which has a tag: the name of the queue that it will be on.
std::string communicatorOf(mlir::Operation *op);

} // namespace divisi

#endif // DIVISI_SCHEDULE_LOCALOPERATION_H
