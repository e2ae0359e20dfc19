//===- Fusion.h - Operators in one kernel -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operators one kernel can do together: whatever makes each element of a
// result once, and an elementwise operator that uses this element once, where
// it is made. The same question decides what is priced and what is lowered.
//
//   %h = matmul %x, %w     m n k     one kernel: the matmul adds the bias to an
//   %y = add %h, %bias     m n       element while it still has it
//
// `fuses` asks loops alone. `fusionsOf` asks a program for the rest: that
// nobody else uses the result, and, once it is partitioned, that each device
// makes of it what it uses: layouts are equal, and not partial. A kernel goes
// on from one operator: one with several operands that could be fused takes the
// first of them from a register, and reads the others.
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
/// is fused that is a view of the shards that a device has.
llvm::DenseMap<mlir::Operation *, OpFusion> fusionsOf(mlir::Block &body);

} // namespace divisi

#endif // DIVISI_COST_FUSION_H
