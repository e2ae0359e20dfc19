//===- Fusion.h - Operators in one kernel -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operators can be fused into one kernel: one that computes each element
// of its result once, and an elementwise operator that uses this element once,
// at that point. The same predicate decides prices and lowering.
//
//   %h = matmul %x, %w     m n k     one kernel: the matmul adds the bias to an
//   %y = add %h, %bias     m n       element while it still has it
//
// `fuses` considers loops alone. `fusionsOf` checks the rest in a program: that
// the result has no other user, and, once it is partitioned, that each device
// computes the part that it uses: layouts are equal, and not partial. An
// operator is fused into one producer: if several operands could be fused, it
// takes the first of them from a register, and reads the others. Operators of
// different steps of a pipeline are never fused: a sum over micro-batches would
// keep the gradients of all.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_FUSION_H
#define DIVISI_COST_FUSION_H

#include "divisi/Cost/OpCost.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

namespace divisi {

/// Whether a kernel of `producer` can go on with an element of its result
/// number `result` as `consumer` does with its operand number `operand`. The
/// consumer is elementwise there: its loops are parallel, and each dimension of
/// that operand and of all its results is the same loop of it, or of extent 1.
bool fuses(const LoopNest &producer, unsigned result, const LoopNest &consumer,
           unsigned operand);

/// The ends of one operator that it may share with others in a kernel.
struct OpFusion {
  FusedEnds fusible; ///< If layouts are equal: the same before Partition.
  FusedEnds fused;   ///< As they are; nothing before Partition.
};

/// Of the operators of one function that may be fused with others there. An end
/// is none of an operator that is a view, or makes several results; and nothing
/// is fused that is a view of the shards that a device has. No chain of them
/// has more operators, or operands, than a fused call may have in an artifact
/// (mostFusedParts): a longer one becomes several.
llvm::DenseMap<mlir::Operation *, OpFusion> fusionsOf(mlir::Block &body);

} // namespace divisi

#endif // DIVISI_COST_FUSION_H
