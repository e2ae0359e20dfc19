//===- StepRules.cpp - Which steps lead from one layout to another --------===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepRules.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace divisi {

//===----------------------------------------------------------------------===//
// One dimension
//===----------------------------------------------------------------------===//

namespace {
/// Answers how many owners it takes to collect an interval. Shards that do not
/// overlap, the usual case, are answered by binary search.
class OwnerIndex {
public:
  explicit OwnerIndex(ArrayRef<Interval> shards) {
    for (Interval shard : shards) {
      if (!shard.empty()) {
        sorted_.push_back(shard);
      }
    }
    llvm::sort(sorted_, [](Interval a, Interval b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    int64_t total = 0, furthest = 0;
    for (Interval shard : sorted_) {
      disjoint_ &= shard.begin >= furthest;
      furthest = std::max(furthest, shard.end);
      furthest_.push_back(furthest);
      total += disjoint_ ? shard.size() : 0;
      held_.push_back(total);
    }
  }

  /// The smallest number of shards that together hold `wanted`, or nothing if
  /// some index of it is in none.
  std::optional<int64_t> count(Interval wanted) const {
    if (wanted.empty()) {
      return 0;
    }
    return disjoint_ ? countDisjoint(wanted) : countOverlapping(wanted);
  }

private:
  /// The number of shards that begin at or before `index`.
  size_t beginsBy(int64_t index) const {
    return partition_point(
               sorted_, [&](Interval shard) { return shard.begin <= index; }) -
           sorted_.begin();
  }

  std::optional<int64_t> countDisjoint(Interval wanted) const {
    size_t first = beginsBy(wanted.begin), last = beginsBy(wanted.end - 1);
    if (first == 0 || sorted_[last - 1].end < wanted.end) {
      return std::nullopt;
    }
    int64_t held = held_[last - 1] - (first >= 2 ? held_[first - 2] : 0) -
                   (wanted.begin - sorted_[first - 1].begin) -
                   (sorted_[last - 1].end - wanted.end);
    if (held != wanted.size()) {
      return std::nullopt;
    }
    return int64_t(last - first) + 1;
  }

  /// Greedy from the left: always the shard that reaches furthest.
  std::optional<int64_t> countOverlapping(Interval wanted) const {
    int64_t count = 0;
    for (int64_t index = wanted.begin; index < wanted.end; ++count) {
      size_t before = beginsBy(index);
      if (before == 0 || furthest_[before - 1] <= index) {
        return std::nullopt;
      }
      index = furthest_[before - 1];
    }
    return count;
  }

  std::vector<Interval> sorted_;
  std::vector<int64_t> furthest_; ///< The furthest end up to each shard.
  std::vector<int64_t> held_;     ///< The indices held up to each shard.
  bool disjoint_ = true;
};
} // namespace

std::vector<int64_t> countOwners(ArrayRef<Interval> shards,
                                 ArrayRef<Interval> wanted) {
  OwnerIndex owners(shards);
  std::vector<int64_t> counts;
  for (Interval interval : wanted) {
    counts.push_back(owners.count(interval).value_or(0));
  }
  return counts;
}

/// Whether the shards `fine`, taken `fine.size() / coarse.size()` at a time,
/// stand one after another in the shards `coarse`.
static bool tile(ArrayRef<Interval> fine, ArrayRef<Interval> coarse) {
  size_t parts = fine.size() / coarse.size();
  for (auto [index, whole] : enumerate(coarse)) {
    int64_t reached = whole.begin;
    for (Interval part : fine.slice(index * parts, parts)) {
      if (part.empty()) {
        continue;
      }
      if (part.begin != reached) {
        return false;
      }
      reached = part.end;
    }
    if (!whole.empty() && reached != whole.end) {
      return false;
    }
    if (whole.empty() && reached != whole.begin) {
      return false;
    }
  }
  return true;
}

static bool isPrefix(ArrayRef<AxisId> prefix, ArrayRef<AxisId> axes) {
  return prefix.size() <= axes.size() &&
         axes.take_front(prefix.size()) == prefix;
}

/// Calls `visit(coordinates)` for all coordinates along `axes`, the last axis
/// fastest; the coordinates along all others are 0.
template <typename Visitor>
static void forCoordinates(const Grid &grid, ArrayRef<AxisId> axes,
                           Visitor &&visit) {
  SmallVector<int64_t, 8> coordinate(grid.numAxes(), 0);
  while (true) {
    visit(ArrayRef<int64_t>(coordinate));
    size_t place = axes.size();
    while (place > 0) {
      int64_t &digit = coordinate[axes[place - 1].index];
      if (++digit < grid.size(axes[place - 1])) {
        break;
      }
      digit = 0;
      --place;
    }
    if (place == 0) {
      return;
    }
  }
}

static int64_t indexOf(const Grid &grid, ArrayRef<int64_t> coordinate,
                       ArrayRef<AxisId> axes) {
  int64_t index = 0;
  for (AxisId axis : axes) {
    index = index * grid.size(axis) + coordinate[axis.index];
  }
  return index;
}

static int64_t largest(ArrayRef<Interval> shards) {
  int64_t size = 0;
  for (Interval shard : shards) {
    size = std::max(size, shard.size());
  }
  return size;
}

static SmallVector<Interval, 4> shardsOf(const Grid &grid, int64_t extent,
                                         const DimLayout &dim) {
  return dim.bounds.empty() ? nestedShards(grid, extent, dim.axes)
                            : to_vector<4>(dim.bounds);
}

/// What the position that holds `held` does to hold `wanted`; `change` learns
/// what is not contained and not covered.
static DimChange::Cell analyzeCell(const OwnerIndex &owners, Interval held,
                                   Interval wanted, DimChange &change) {
  Interval kept = intersect(held, wanted);
  DimChange::Cell cell = {wanted.size(), kept.size(), 0};
  if (kept == wanted || wanted.empty()) {
    cell.owners = wanted.empty() ? 0 : 1;
    return cell;
  }
  change.contained = false;
  std::optional<int64_t> left, right;
  if (kept.empty()) {
    left = owners.count(wanted);
    right = 0;
  } else {
    left = owners.count({wanted.begin, kept.begin});
    right = owners.count({kept.end, wanted.end});
    cell.owners = 1;
  }
  change.covered &= left && right;
  cell.owners += left.value_or(0) + right.value_or(0);
  return cell;
}

DimChange analyzeDim(const Grid &grid, int64_t extent, const DimLayout &from,
                     const DimLayout &to) {
  SmallVector<Interval, 4> held = shardsOf(grid, extent, from);
  SmallVector<Interval, 4> wanted = shardsOf(grid, extent, to);
  DimChange change;
  change.largestFrom = largest(held);
  change.largestTo = largest(wanted);
  change.talking = from.axes;
  if (from.axes.size() > to.axes.size() && isPrefix(to.axes, from.axes)) {
    change.gathers = tile(held, wanted);
    change.minor.append(from.axes.begin() + to.axes.size(), from.axes.end());
  }
  if (to.axes.size() > from.axes.size() && isPrefix(from.axes, to.axes)) {
    change.splits = tile(wanted, held);
    change.minor.append(to.axes.begin() + from.axes.size(), to.axes.end());
  }

  append_range(change.axes, from.axes);
  append_range(change.axes, to.axes);
  llvm::sort(change.axes);
  change.axes.erase(llvm::unique(change.axes), change.axes.end());
  OwnerIndex owners(held);
  forCoordinates(grid, change.axes, [&](ArrayRef<int64_t> coordinate) {
    change.cells.push_back(
        analyzeCell(owners, held[indexOf(grid, coordinate, from.axes)],
                    wanted[indexOf(grid, coordinate, to.axes)], change));
  });
  return change;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// What a local step costs beside the memory it touches: enough that a route
/// does not take two where one will do.
static constexpr double localStepNanoseconds = 100;

int64_t roundUp(double value) {
  return value < 1e18 ? int64_t(std::ceil(value)) : int64_t(1e18);
}

/// The slowest of the axes: it paces a step over all of them.
static AxisCost slowest(const LinkCosts &costs, ArrayRef<AxisId> axes) {
  AxisCost result{0, INFINITY};
  for (AxisId axis : axes) {
    const AxisCost &cost = costs.axes[axis.index];
    result.latencyNanoseconds =
        std::max(result.latencyNanoseconds, cost.latencyNanoseconds);
    result.bytesPerSecond =
        std::min(result.bytesPerSecond, cost.bytesPerSecond);
  }
  return result;
}

/// The latency of going around a ring along every axis in turn. One ring of
/// all positions would take more rounds, and then a route would do better to
/// take the axes one by one even where all are alike.
static double ringLatency(const Grid &grid, const LinkCosts &costs,
                          ArrayRef<AxisId> axes) {
  double total = 0;
  for (AxisId axis : axes) {
    total += double(grid.size(axis) - 1) *
             double(costs.axes[axis.index].latencyNanoseconds);
  }
  return total;
}

double linkTime(AxisCost link, double messages, double bytes) {
  return messages * double(link.latencyNanoseconds) +
         bytes / link.bytesPerSecond * 1e9;
}

/// The time to read `bytes` and write them elsewhere.
static double copyTime(const LinkCosts &costs, double bytes) {
  return localStepNanoseconds + 2 * bytes / costs.memoryBytesPerSecond * 1e9;
}

/// The largest local tensor before and after, and the largest block that one
/// position sends another in an AllToAll; in elements.
struct LocalSizes {
  double from = 1, to = 1, block = 1;
};
static LocalSizes localSizes(const Transition &transition) {
  double rest = transition.unchangedElements;
  LocalSizes sizes = {rest, rest, rest};
  for (auto [dim, change] : transition.changes) {
    sizes.from *= double(change->largestFrom);
    sizes.to *= double(change->largestTo);
    sizes.block *= double(std::min(change->largestFrom, change->largestTo));
  }
  return sizes;
}

/// The busiest position's messages and bytes are not maximised apart: the one
/// with most bytes may talk to few.
static MovePrice priceExchange(const Grid &grid, AxisCost link,
                               double elementBytes,
                               const Transition &transition) {
  struct Place {
    const DimChange *change;
    SmallVector<int64_t, 8> stride; ///< Per grid axis, in change->cells.
  };
  SmallVector<Place, 4> places;
  SmallVector<AxisId, 8> axes;
  for (auto [dim, change] : transition.changes) {
    Place place{change, SmallVector<int64_t, 8>(grid.numAxes(), 0)};
    int64_t stride = 1;
    for (AxisId axis : reverse(change->axes)) {
      place.stride[axis.index] = stride;
      stride *= grid.size(axis);
    }
    append_range(axes, change->axes);
    places.push_back(std::move(place));
  }
  llvm::sort(axes);
  axes.erase(llvm::unique(axes), axes.end());

  double worstTime = 0, worstBytes = 0;
  forCoordinates(grid, axes, [&](ArrayRef<int64_t> coordinate) {
    double wanted = transition.unchangedElements, kept = wanted, owners = 1;
    for (const Place &place : places) {
      int64_t index = 0;
      for (AxisId axis : place.change->axes) {
        index += coordinate[axis.index] * place.stride[axis.index];
      }
      const DimChange::Cell &cell = place.change->cells[index];
      wanted *= double(cell.size);
      kept *= double(cell.kept);
      owners *= double(cell.owners);
    }
    double bytes = (wanted - kept) * elementBytes;
    // Whoever keeps something is one of its own owners.
    double messages = owners - (kept > 0 ? 1 : 0);
    worstTime = std::max(worstTime, linkTime(link, messages, bytes));
    worstBytes = std::max(worstBytes, bytes);
  });
  return {roundUp(worstTime), roundUp(worstBytes)};
}

MovePrice priceMove(const Grid &grid, const LinkCosts &costs,
                    int64_t elementBytes, const Transition &transition,
                    const Move &move) {
  LocalSizes sizes = localSizes(transition);
  double fromBytes = sizes.from * double(elementBytes);
  double toBytes = sizes.to * double(elementBytes);
  double members = double(grid.product(move.axes));
  AxisCost link = slowest(costs, move.axes);
  double latency = ringLatency(grid, costs, move.axes);
  double others = members - 1, bytes = 0;
  switch (move.kind) {
  case StepKind::Slice:
  case StepKind::Mask:
    return {roundUp(copyTime(costs, toBytes)), 0};
  case StepKind::AllGather:
    bytes = others * fromBytes;
    break;
  case StepKind::ReduceScatter:
    bytes = others * toBytes;
    break;
  case StepKind::AllToAll:
    bytes = others * sizes.block * double(elementBytes);
    break;
  case StepKind::AllReduce:
    bytes = 2 * others / members * fromBytes;
    latency *= 2;
    break;
  case StepKind::Exchange: {
    MovePrice price =
        priceExchange(grid, link, double(elementBytes), transition);
    // Its pieces are packed by hand, where a collective's are as they lie.
    price.nanoseconds += roundUp(copyTime(costs, toBytes));
    return price;
  }
  }
  double time = latency + linkTime(link, 0, bytes);
  return {std::max<int64_t>(1, roundUp(time)), roundUp(bytes)};
}

std::optional<std::pair<Move, MovePrice>>
cheapestMove(const Grid &grid, const LinkCosts &costs, int64_t elementBytes,
             const Transition &transition) {
  std::optional<std::pair<Move, MovePrice>> best;
  for (Move &move : legalMoves(transition)) {
    if (best && move.kind == StepKind::Exchange) {
      break;
    }
    MovePrice price = priceMove(grid, costs, elementBytes, transition, move);
    if (!best || price.nanoseconds < best->second.nanoseconds) {
      best = {std::move(move), price};
    }
  }
  return best;
}

OwnedTransition::OwnedTransition(const Grid &grid, ArrayRef<int64_t> shape,
                                 const Layout &from, const Layout &to) {
  transition_.from = &from;
  transition_.to = &to;
  storage_.reserve(shape.size());
  for (auto [dim, extent] : enumerate(shape)) {
    if (from.dims[dim] == to.dims[dim]) {
      transition_.unchangedElements *=
          double(largest(shardsOf(grid, extent, from.dims[dim])));
      continue;
    }
    storage_.push_back(analyzeDim(grid, extent, from.dims[dim], to.dims[dim]));
    transition_.changes.push_back({dim, &storage_.back()});
  }
}

} // namespace divisi
