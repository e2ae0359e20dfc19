//===- StepRules.h - Steps between two layouts ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only definition of the seven kinds of steps: the router searches with it
// and verifyStep checks with it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_STEPRULES_H
#define DIVISI_LAYOUT_STEPRULES_H

#include "divisi/Layout/DimChange.h"
#include "divisi/Layout/Steps.h"

#include <memory>
#include <unordered_map>

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

/// Makes transitions, and analyses each change of a dimension once: on a large
/// grid that looks at thousands of positions, and many routes change one
/// dimension alike.
class TransitionCache {
public:
  /// From one legal layout of a tensor of `shape` to another; both, and this,
  /// have to outlive the transition. Always of the same grid.
  Transition between(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                     const Layout &from, const Layout &to);
  /// One dimension of `extent`, which changes; lives as long as this.
  const DimChange &change(const Grid &grid, int64_t extent,
                          const DimLayout &from, const DimLayout &to);

private:
  /// A dimension, before and after.
  struct Key {
    int64_t extent = 0;
    DimLayout from, to;
    friend bool operator==(const Key &, const Key &) = default;
  };
  struct KeyHash {
    size_t operator()(const Key &key) const {
      return llvm::hash_combine(key.extent, key.from, key.to);
    }
  };
  std::unordered_map<Key, std::unique_ptr<DimChange>, KeyHash> changes_;
};

} // namespace divisi

#endif // DIVISI_LAYOUT_STEPRULES_H
