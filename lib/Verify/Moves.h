//===- Moves.h - Whether a move keeps a tensor's value ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective, a local step or a transfer must leave each position with what
// its new layout claims, made of what the old layouts claim for the positions
// that it talks to:
//
//   slice           each position keeps a part of its own
//   mask            the first position along the axes keeps its own, the others
//                   have zeros: summands of what all of them held
//   all_gather, all_to_all, exchange
//                   each position finds its new box among the positions that
//                   differ from it along the axes
//   all_reduce, reduce_scatter
//                   positions along the axes hold summands of one box, of whose
//                   value each position keeps all, or a part
//   transfer        each position of the target finds its box in the source
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_VERIFY_MOVES_H
#define DIVISI_LIB_VERIFY_MOVES_H

#include "Boxes.h"
#include "divisi/Layout/Steps.h"

namespace divisi::verify {

/// What is wrong with a step of `kind` over `axes` from one layout of a tensor
/// of `shape` to another, or nothing. The layouts have passed verifyForm.
Complaint verifyMove(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                     StepKind kind, llvm::ArrayRef<AxisId> axes,
                     const Layout &from, const Layout &to);

/// The same of a transfer between grids.
Complaint verifyMoveBetween(llvm::ArrayRef<int64_t> shape, const Grid &fromGrid,
                            const Layout &from, const Grid &toGrid,
                            const Layout &to);

} // namespace divisi::verify

#endif // DIVISI_LIB_VERIFY_MOVES_H
