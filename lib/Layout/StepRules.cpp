//===- StepRules.cpp - Which steps lead from one layout to another --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Layout/StepRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace divisi {

/// The elements of `a` that are not in `b`; both ascending.
static SmallVector<AxisId, 2> difference(ArrayRef<AxisId> a,
                                         ArrayRef<AxisId> b) {
  SmallVector<AxisId, 2> result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(),
                      std::back_inserter(result));
  return result;
}

static SmallVector<AxisId, 4> dimAxes(const Layout &layout) {
  SmallVector<AxisId, 4> axes;
  for (const DimLayout &dim : layout.dims) {
    append_range(axes, dim.axes);
  }
  llvm::sort(axes);
  return axes;
}

/// Moves that leave the partial axes as they are.
static void boxMoves(const Transition &transition,
                     SmallVectorImpl<Move> &moves) {
  const auto &changes = transition.changes;
  if (changes.empty()) {
    return;
  }
  if (all_of(changes, [](auto change) { return change.second->contained; })) {
    moves.push_back({StepKind::Slice, difference(dimAxes(*transition.to),
                                                 dimAxes(*transition.from))});
  }
  const DimChange &first = *changes.front().second;
  if (changes.size() == 1 && first.gathers) {
    moves.push_back({StepKind::AllGather, first.minor});
  }
  if (changes.size() == 2) {
    const DimChange &second = *changes.back().second;
    if (first.minor == second.minor && ((first.gathers && second.splits) ||
                                        (first.splits && second.gathers))) {
      moves.push_back({StepKind::AllToAll, first.minor});
    }
  }
  if (all_of(changes, [](auto change) { return change.second->covered; })) {
    Move exchange{StepKind::Exchange, {}};
    for (auto [dim, change] : changes) {
      append_range(exchange.axes, change->talking);
    }
    llvm::sort(exchange.axes);
    moves.push_back(exchange);
  }
}

/// Moves that finish the partial axes `removed`.
static void reduceMoves(const Transition &transition,
                        const SmallVector<AxisId, 2> &removed,
                        SmallVectorImpl<Move> &moves) {
  const auto &changes = transition.changes;
  if (changes.empty()) {
    moves.push_back({StepKind::AllReduce, removed});
  }
  if (changes.size() == 1 && changes[0].second->splits) {
    SmallVector<AxisId, 2> sorted = changes[0].second->minor;
    llvm::sort(sorted);
    if (sorted == removed) {
      moves.push_back({StepKind::ReduceScatter, changes[0].second->minor});
    }
  }
}

/// Boxes move only while the partial axes stay; partial axes change only while
/// the boxes stay, or in a reduce-scatter.
SmallVector<Move, 2> legalMoves(const Transition &transition) {
  const Layout &from = *transition.from, &to = *transition.to;
  SmallVector<Move, 2> moves;
  if (from.isPartial() && to.isPartial() &&
      from.partialKind != to.partialKind) {
    return moves;
  }
  if (from.partialAxes == to.partialAxes) {
    boxMoves(transition, moves);
    return moves;
  }
  SmallVector<AxisId, 2> removed = difference(from.partialAxes, to.partialAxes);
  SmallVector<AxisId, 2> added = difference(to.partialAxes, from.partialAxes);
  if (added.empty()) {
    reduceMoves(transition, removed, moves);
  } else if (removed.empty() && transition.changes.empty() &&
             to.partialKind == ReduceKind::Sum) {
    moves.push_back({StepKind::Mask, added});
  }
  return moves;
}

const DimChange &TransitionCache::change(const Grid &grid, int64_t extent,
                                         const DimLayout &from,
                                         const DimLayout &to) {
  std::unique_ptr<DimChange> &change = changes_[{extent, from, to}];
  if (!change) {
    change = std::make_unique<DimChange>(analyzeDim(grid, extent, from, to));
  }
  return *change;
}

Transition TransitionCache::between(const Grid &grid, ArrayRef<int64_t> shape,
                                    const Layout &from, const Layout &to) {
  Transition transition;
  transition.from = &from;
  transition.to = &to;
  for (auto [dim, extent] : enumerate(shape)) {
    const DimLayout &before = from.dims[dim], &after = to.dims[dim];
    if (before == after) {
      transition.unchangedElements *= double(before.largest(grid, extent));
    } else {
      transition.changes.push_back({dim, &change(grid, extent, before, after)});
    }
  }
  return transition;
}

} // namespace divisi
