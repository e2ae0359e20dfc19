//===- StepRules.h - Steps between two layouts ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one statement of what the seven kinds of steps can do: the router
// searches with it and verifyStep checks with it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_STEPRULES_H
#define DIVISI_LAYOUT_STEPRULES_H

#include "divisi/Layout/DimChange.h"
#include "divisi/Layout/Steps.h"

namespace divisi {

/// A kind of step and the axes it is over.
struct Move {
  StepKind kind;                     ///< What is done.
  llvm::SmallVector<AxisId, 2> axes; ///< In the order of Step::axes.
};

/// Two layouts of one tensor, and what lies between them.
struct Transition {
  const Layout *from = nullptr, *to = nullptr; ///< Not owned.
  /// The dimensions that differ, ascending, and how.
  llvm::SmallVector<std::pair<size_t, const DimChange *>, 4> changes;
  /// The elements of the largest local tensor without the changed dimensions.
  double unchangedElements = 1;
};

/// All moves that lead from `from` to `to` in one step; an Exchange is last.
llvm::SmallVector<Move, 2> legalMoves(const Transition &transition);

/// A transition made from nothing but the layouts; owns its analysis.
class OwnedTransition {
public:
  /// Between two legal layouts of a tensor of `shape`, which outlive it.
  OwnedTransition(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                  const Layout &from, const Layout &to);
  OwnedTransition(const OwnedTransition &) = delete;
  OwnedTransition &operator=(const OwnedTransition &) = delete;
  const Transition &operator*() const { return transition_; }

private:
  std::vector<DimChange> storage_;
  Transition transition_;
};

} // namespace divisi

#endif // DIVISI_LAYOUT_STEPRULES_H
