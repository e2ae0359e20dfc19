//===- Operators.h - Whether positions do an operator's work ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator's loops span a box of iterations. A split gives each position a
// part of it. The work is done right if
//
//   1. every position holds of each operand what its iterations touch, and of
//      each result what they make. Just that, not more, where a kernel learns
//      from the box over which indices it iterates; into a window it looks;
//   2. positions that differ along the axes over which a result is partial,
//      and these only, do each iteration of the reduction loops once between
//      them. So the axes that split reduction loops are those axes, besides
//      those over which the operands come as summands already;
//   3. all of every result is made.
//
//   nn.matmul "mk,kn->mn" with k@x:  operands [*, x] and [x, *]
//                                    result   [*, *] partial sum {x}
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_VERIFY_OPERATORS_H
#define DIVISI_LIB_VERIFY_OPERATORS_H

#include "Boxes.h"
#include "divisi/Layout/Loops.h"

namespace divisi::verify {

/// Which part of an operator's iterations each position does.
struct Work {
  /// Per loop the axes that cut it, outermost first.
  llvm::SmallVector<Axes, 6> loopAxes;
  /// Axes along which operands of the linear set `carrySet` are summands.
  Axes carryAxes;
  unsigned carrySet = 0;
};

/// What is wrong with an operator that does `work` on `grid` with operands and
/// results that lie so, or nothing. The layouts have passed verifyForm.
Complaint verifyOperator(const LoopNest &nest, const Grid &grid,
                         const Work &work,
                         llvm::ArrayRef<const Layout *> operands,
                         llvm::ArrayRef<const Layout *> results);

} // namespace divisi::verify

#endif // DIVISI_LIB_VERIFY_OPERATORS_H
