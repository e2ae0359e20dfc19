//===- Partition.h - Proof that a partition keeps a program -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translation validation of the Partition stage. It shares no code with what
// makes layouts, routes and rank programs: of Layout it uses the data alone.
//
// Two questions, asked apart:
//
//   *What* is computed? noteDataflow hashes, before the stage, the expression
//   of every result and update of an entry with all types in it, what callers
//   see of it, and @init; verifyPartition hashes the rank programs again, moves
//   being the identity, and compares.
//
//   *Where*? From every operator's loop nest and the boxes that its operands'
//   and results' types give to each position follows that positions hold what
//   their iterations touch, that each element is made once, or is partial over
//   the stated axes, and that moves find what they bring. All ranks that a
//   collective joins run the same one, in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_VERIFY_PARTITION_H
#define DIVISI_VERIFY_PARTITION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// Notes on `entry`, a program of global tensors, what it computes, as
/// `spmd.computes`: one hash a result, then one an update, ordered by global,
/// then one of its signature and one of what all entries share.
/// Reports a transfer in it that arrives from nowhere.
mlir::LogicalResult noteDataflow(mlir::func::FuncOp entry);

/// Proves the entry functions of `module`, partitioned and routed, and reports
/// at the first operation that is wrong. Entries without `spmd.computes`
/// (written by hand) are compared with no earlier program.
mlir::LogicalResult verifyPartition(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_VERIFY_PARTITION_H
