//===- StepCost.cpp - What steps take -------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/StepCost.h"

#include "Collectives.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace divisi {

/// What a local step costs beside the memory it touches: enough that a route
/// does not take two where one will do.
static constexpr double localStepNanoseconds = 100;

/// A count as int64_t, rounded up; what is beyond any use becomes 10^18, of
/// which a few can still be added.
static int64_t roundUp(double value) {
  return value < 1e18 ? int64_t(std::ceil(value)) : int64_t(1e18);
}

/// The time to read `bytes` and write them elsewhere.
static double copyTime(const GridLinks &links, double bytes) {
  return localStepNanoseconds + 2 * bytes / links.memoryBytesPerSecond() * 1e9;
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

namespace {
/// The busiest position of an exchange: messages and bytes are not maximised
/// apart, since the one with most bytes may talk to few.
struct Busiest {
  const Transition &transition;
  MessageCost cost;
  double elementBytes = 1;
  double time = 0, bytes = 0;

  /// A position with one cell of each dimension that changes.
  void see(ArrayRef<const DimChange::Cell *> cells) {
    double wanted = transition.unchangedElements, kept = wanted, owners = 1;
    for (const DimChange::Cell *cell : cells) {
      wanted *= double(cell->size);
      kept *= double(cell->kept);
      owners *= double(cell->owners);
    }
    double received = (wanted - kept) * elementBytes;
    // Whoever keeps something is one of its own owners.
    double messages = owners - (kept > 0 ? 1 : 0);
    time = std::max(time, cost.of(messages, received));
    bytes = std::max(bytes, received);
  }
};
} // namespace

/// All positions along `axes`, which are those of all changes.
static void seePositions(const Grid &grid, ArrayRef<AxisId> axes,
                         Busiest &busiest) {
  struct Place {
    const DimChange *change;
    SmallVector<int64_t, 8> stride; ///< Per grid axis, in change->cells.
  };
  SmallVector<Place, 4> places;
  for (auto [dim, change] : busiest.transition.changes) {
    Place place{change, SmallVector<int64_t, 8>(grid.numAxes(), 0)};
    int64_t stride = 1;
    for (AxisId axis : reverse(change->axes)) {
      place.stride[axis.index] = stride;
      stride *= grid.size(axis);
    }
    places.push_back(std::move(place));
  }
  SmallVector<const DimChange::Cell *, 4> cells(places.size());
  grid.forCoordinates(axes, [&](ArrayRef<int64_t> coordinate) {
    for (auto [place, cell] : llvm::zip_equal(places, cells)) {
      int64_t index = 0;
      for (AxisId axis : place.change->axes) {
        index += coordinate[axis.index] * place.stride[axis.index];
      }
      cell = &place.change->cells[index];
    }
    busiest.see(cells);
  });
}

/// All combinations of the worst cells, whether some position has them or not.
static void seeCombinations(SmallVector<const DimChange::Cell *, 4> &cells,
                            Busiest &busiest) {
  auto changes = ArrayRef(busiest.transition.changes);
  if (cells.size() == changes.size()) {
    busiest.see(cells);
    return;
  }
  for (const DimChange::Cell &cell : changes[cells.size()].second->worst) {
    cells.push_back(&cell);
    seeCombinations(cells, busiest);
    cells.pop_back();
  }
}

/// Where no axis moves between dimensions, every combination of their cells is
/// some position's; elsewhere that is at most too dear, and taken so beyond a
/// number of positions.
static StepPrice priceExchange(const Grid &grid, const MessageCost &cost,
                               double elementBytes,
                               const Transition &transition) {
  constexpr int64_t kFewPositions = 256;
  SmallVector<AxisId, 8> axes;
  for (auto [dim, change] : transition.changes) {
    append_range(axes, change->axes);
  }
  size_t count = axes.size();
  llvm::sort(axes);
  axes.erase(llvm::unique(axes), axes.end());
  Busiest busiest{transition, cost, elementBytes};
  if (axes.size() < count && grid.product(axes) <= kFewPositions) {
    seePositions(grid, axes, busiest);
  } else {
    SmallVector<const DimChange::Cell *, 4> cells;
    seeCombinations(cells, busiest);
  }
  return {roundUp(busiest.time), roundUp(busiest.bytes)};
}

StepPrice priceStep(const Grid &grid, const GridLinks &links,
                    const Transition &transition, const Move &move,
                    int64_t elementBits) {
  LocalSizes sizes = localSizes(transition);
  double elementBytes = double(elementBits) / 8;
  double fromBytes = sizes.from * elementBytes;
  double toBytes = sizes.to * elementBytes;
  double members = double(grid.product(move.axes));
  // Of the whole tensor, and what the busiest member receives of it.
  double whole = 0, received = 0;
  Collective collective = Collective::AllReduce;
  switch (move.kind) {
  case StepKind::Slice:
  case StepKind::Mask:
    return {roundUp(copyTime(links, toBytes)), 0};
  case StepKind::AllGather:
    collective = Collective::AllGather;
    whole = members * fromBytes;
    received = (members - 1) * fromBytes;
    break;
  case StepKind::ReduceScatter:
    collective = Collective::ReduceScatter;
    whole = members * toBytes;
    received = (members - 1) * toBytes;
    break;
  case StepKind::AllToAll:
    collective = Collective::AllToAll;
    whole = members * sizes.block * elementBytes;
    received = (members - 1) * sizes.block * elementBytes;
    break;
  case StepKind::AllReduce:
    whole = fromBytes;
    received = 2 * (members - 1) / members * fromBytes;
    break;
  case StepKind::Exchange: {
    StepPrice price =
        priceExchange(grid, messageCost(links.reach(move.axes), links.levels()),
                      elementBytes, transition);
    // Its pieces are packed by hand, where a collective's are as they lie.
    price.nanoseconds += roundUp(copyTime(links, toBytes));
    return price;
  }
  }
  double time = collectiveNanoseconds(collective, whole, links.reach(move.axes),
                                      links.levels());
  return {std::max<int64_t>(1, roundUp(time)), roundUp(received)};
}

StepPrices stepPrices(Grid grid, GridLinks links) {
  StepPrices prices;
  prices.alike = links.alikeAxes();
  prices.of = [grid = std::move(grid), links = std::move(links)](
                  const Transition &transition, const Move &move,
                  int64_t elementBits) {
    return priceStep(grid, links, transition, move, elementBits);
  };
  return prices;
}

} // namespace divisi
