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
// It is asked of loops alone. Who asks knows what loops don't say: that nobody
// else uses the result, and that each device makes of it what it uses (equal
// layouts, not partial). A kernel goes on from one operator: an operator with
// several operands that could be fused takes one of them from a register, and
// reads the others.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_FUSION_H
#define DIVISI_COST_FUSION_H

#include "divisi/Layout/Loops.h"

namespace divisi {

/// Whether a kernel of `producer` can go on with an element of its result
/// number `result` as `consumer` does with its operand number `operand`. The
/// consumer is elementwise there: its loops are parallel, and each dimension of
/// that operand and of all its results is the same loop of it, or of extent 1.
bool fuses(const LoopNest &producer, unsigned result, const LoopNest &consumer,
           unsigned operand);

} // namespace divisi

#endif // DIVISI_COST_FUSION_H
