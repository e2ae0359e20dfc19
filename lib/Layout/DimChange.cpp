//===- DimChange.cpp - One dimension between two layouts ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Layout/DimChange.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;

namespace divisi {

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

static int64_t indexOf(const Grid &grid, ArrayRef<int64_t> coordinate,
                       ArrayRef<AxisId> axes) {
  int64_t index = 0;
  for (AxisId axis : axes) {
    index = index * grid.size(axis) + coordinate[axis.index];
  }
  return index;
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

/// Keeps of `cells`, in `worst`, those that no other is worse than.
static void findWorst(DimChange &change) {
  auto isWorse = [](const DimChange::Cell &a, const DimChange::Cell &b) {
    return a.size >= b.size && a.kept <= b.kept && a.owners >= b.owners;
  };
  for (const DimChange::Cell &cell : change.cells) {
    if (any_of(change.worst,
               [&](const auto &known) { return isWorse(known, cell); })) {
      continue;
    }
    erase_if(change.worst,
             [&](const auto &known) { return isWorse(cell, known); });
    change.worst.push_back(cell);
  }
}

static SmallVector<AxisId, 4> unionOf(ArrayRef<AxisId> a, ArrayRef<AxisId> b) {
  SmallVector<AxisId, 4> axes(a);
  append_range(axes, b);
  llvm::sort(axes);
  axes.erase(llvm::unique(axes), axes.end());
  return axes;
}

/// Between shards of one size each. Within those of the axes that both begin
/// with, all is alike, so that only the others need be looked at; where these
/// are of one side alone, every position does the same.
static void analyzeEven(const Grid &grid, int64_t extent, ArrayRef<AxisId> from,
                        ArrayRef<AxisId> to, DimChange &change) {
  while (!from.empty() && !to.empty() && from.front() == to.front()) {
    extent /= grid.size(from.front());
    from = from.drop_front();
    to = to.drop_front();
  }
  int64_t held = extent / grid.product(from);
  int64_t wanted = extent / grid.product(to);
  change.largestFrom = held;
  change.largestTo = wanted;
  if (from.empty() || to.empty()) {
    change.contained = from.empty();
    change.gathers = to.empty();
    change.splits = from.empty();
    change.minor.append((from.empty() ? to : from).begin(),
                        (from.empty() ? to : from).end());
    change.cells = {{wanted, std::min(held, wanted), grid.product(from)}};
    return;
  }
  change.contained = false;
  change.axes = unionOf(from, to);
  grid.forCoordinates(change.axes, [&](ArrayRef<int64_t> coordinate) {
    int64_t begin = indexOf(grid, coordinate, from) * held;
    int64_t first = indexOf(grid, coordinate, to) * wanted;
    int64_t kept = std::max<int64_t>(0, std::min(begin + held, first + wanted) -
                                            std::max(begin, first));
    int64_t owners = llvm::divideCeil(first + wanted, held) - first / held;
    change.cells.push_back({wanted, kept, kept == wanted ? 1 : owners});
  });
}

/// Reads all off the shards, which may be uneven, overlap, or leave gaps.
static void analyzeShards(const Grid &grid, int64_t extent,
                          const DimLayout &from, const DimLayout &to,
                          DimChange &change) {
  SmallVector<Interval, 4> held = from.shards(grid, extent);
  SmallVector<Interval, 4> wanted = to.shards(grid, extent);
  change.largestFrom = largestShard(held);
  change.largestTo = largestShard(wanted);
  if (from.axes.size() > to.axes.size() && isPrefix(to.axes, from.axes)) {
    change.gathers = tile(held, wanted);
    change.minor.append(from.axes.begin() + to.axes.size(), from.axes.end());
  }
  if (to.axes.size() > from.axes.size() && isPrefix(from.axes, to.axes)) {
    change.splits = tile(wanted, held);
    change.minor.append(to.axes.begin() + from.axes.size(), to.axes.end());
  }
  // All positions along other axes hold the same.
  change.axes = unionOf(from.axes, to.axes);
  OwnerIndex owners(held);
  grid.forCoordinates(change.axes, [&](ArrayRef<int64_t> coordinate) {
    change.cells.push_back(
        analyzeCell(owners, held[indexOf(grid, coordinate, from.axes)],
                    wanted[indexOf(grid, coordinate, to.axes)], change));
  });
}

DimChange analyzeDim(const Grid &grid, int64_t extent, const DimLayout &from,
                     const DimLayout &to) {
  DimChange change;
  change.talking = from.axes;
  auto isEven = [&](const DimLayout &dim) {
    return dim.bounds.empty() && !grid.isWeighted(dim.axes) &&
           extent % grid.product(dim.axes) == 0;
  };
  if (extent > 0 && from != to && isEven(from) && isEven(to)) {
    analyzeEven(grid, extent, from.axes, to.axes, change);
  } else {
    analyzeShards(grid, extent, from, to, change);
  }
  findWorst(change);
  return change;
}

} // namespace divisi
