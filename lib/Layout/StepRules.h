//===- StepRules.h - Which steps lead from one layout to another *- C++ -*-===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one statement of what the seven kinds of steps can do, and what they
// cost; the router searches with it and verifyStep checks with it. It looks at
// the shards themselves, so uneven, overlapping and incomplete bounds need no
// rule of their own. All facts about one dimension are gathered once, in a
// DimChange, because a router compares the same two dimensions many times.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_STEPRULES_H
#define DIVISI_LAYOUT_STEPRULES_H

#include "divisi/Layout/Router.h"

#include <vector>

namespace divisi {

/// What happens to one dimension between two layouts.
struct DimChange {
  /// Every position holds all that it will hold.
  bool contained = true;
  /// All that any position will hold, some position holds along `talking`.
  bool covered = true;
  /// The source's axes are the target's and then `minor`, whose shards stand
  /// one after another in the target's shards.
  bool gathers = false;
  /// The mirror image: the target has the axes `minor` more.
  bool splits = false;
  llvm::SmallVector<AxisId, 2> minor;

  /// The axes that split the source.
  llvm::SmallVector<AxisId, 2> talking;
  /// The axes that split the source or the target, ascending.
  llvm::SmallVector<AxisId, 4> axes;
  /// What one position has to do with the dimension.
  struct Cell {
    int64_t size = 0;   ///< Indices that it will hold.
    int64_t kept = 0;   ///< Those of them that it holds.
    int64_t owners = 0; ///< From how many positions it takes them, at least.
  };
  /// By shardIndex over `axes`.
  std::vector<Cell> cells;

  int64_t largestFrom = 0, largestTo = 0; ///< The sizes of the largest shards.
};

/// Compares two layouts of one dimension of the given extent.
DimChange analyzeDim(const Grid &grid, int64_t extent, const DimLayout &from,
                     const DimLayout &to);

/// For each of the intervals `wanted`, the smallest number of `shards` that
/// together hold it; 0 for an empty one, and where no shards do.
std::vector<int64_t> countOwners(llvm::ArrayRef<Interval> shards,
                                 llvm::ArrayRef<Interval> wanted);

/// The time to send `messages` with together `bytes` over `link`, in
/// nanoseconds.
double linkTime(AxisCost link, double messages, double bytes);

/// A count as int64_t, rounded up; what is beyond any use becomes 10^18, of
/// which a few can still be added.
int64_t roundUp(double value);

/// A kind of step and the axes it is over.
struct Move {
  StepKind kind;
  llvm::SmallVector<AxisId, 2> axes;
};

/// Two layouts of one tensor, and what lies between them.
struct Transition {
  const Layout *from = nullptr, *to = nullptr;
  /// The dimensions that differ, ascending, and how.
  llvm::SmallVector<std::pair<size_t, const DimChange *>, 4> changes;
  /// The elements of the largest local tensor without the changed dimensions.
  double unchangedElements = 1;
};

/// All moves that lead from `from` to `to` in one step; an Exchange is last.
llvm::SmallVector<Move, 2> legalMoves(const Transition &transition);

/// What a move costs. See docs/rationale-layout.md for the formulas.
struct MovePrice {
  int64_t nanoseconds = 0;
  int64_t bytes = 0; ///< That the busiest position receives.
};
MovePrice priceMove(const Grid &grid, const LinkCosts &costs,
                    int64_t elementBytes, const Transition &transition,
                    const Move &move);

/// The cheapest move of a transition with its price, or nothing if none is
/// legal. An Exchange is considered only when nothing else does.
std::optional<std::pair<Move, MovePrice>>
cheapestMove(const Grid &grid, const LinkCosts &costs, int64_t elementBytes,
             const Transition &transition);

/// A transition made from nothing but the layouts; owns its analysis.
class OwnedTransition {
public:
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
