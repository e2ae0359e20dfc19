//===- StepCost.cpp - What steps and transfers take -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/StepCost.h"

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

/// The time to send `messages` with together `bytes` over `link`, in
/// nanoseconds.
static double linkTime(AxisCost link, double messages, double bytes) {
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
static StepPrice priceExchange(const Grid &grid, AxisCost link,
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
  grid.forCoordinates(axes, [&](ArrayRef<int64_t> coordinate) {
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

StepPrice priceStep(const Grid &grid, const LinkCosts &costs,
                    const Transition &transition, const Move &move,
                    int64_t elementBits) {
  LocalSizes sizes = localSizes(transition);
  double elementBytes = double(elementBits) / 8;
  double fromBytes = sizes.from * elementBytes;
  double toBytes = sizes.to * elementBytes;
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
    bytes = others * sizes.block * elementBytes;
    break;
  case StepKind::AllReduce:
    bytes = 2 * others / members * fromBytes;
    latency *= 2;
    break;
  case StepKind::Exchange: {
    StepPrice price = priceExchange(grid, link, elementBytes, transition);
    // Its pieces are packed by hand, where a collective's are as they lie.
    price.nanoseconds += roundUp(copyTime(costs, toBytes));
    return price;
  }
  }
  double time = latency + linkTime(link, 0, bytes);
  return {std::max<int64_t>(1, roundUp(time)), roundUp(bytes)};
}

StepPrices stepPrices(Grid grid, LinkCosts costs) {
  return [grid = std::move(grid),
          costs = std::move(costs)](const Transition &transition,
                                    const Move &move, int64_t elementBits) {
    return priceStep(grid, costs, transition, move, elementBits);
  };
}

int64_t transferNanoseconds(ArrayRef<int64_t> shape, int64_t elementBits,
                            const Grid &fromGrid, const Layout &from,
                            const Grid &toGrid, const Layout &to,
                            AxisCost link) {
  // Per dimension and shard of the target: from how many owners it comes.
  SmallVector<SmallVector<Interval, 4>, 4> wanted;
  SmallVector<std::vector<int64_t>, 4> owners;
  for (auto [dim, extent] : enumerate(shape)) {
    wanted.push_back(to.shards(toGrid, dim, extent));
    owners.push_back(
        countOwners(from.shards(fromGrid, dim, extent), wanted.back()));
  }
  double worst = 0, total = 0;
  for (int64_t position = 0, end = toGrid.numPositions(); position < end;
       ++position) {
    double messages = 1, bytes = double(elementBits) / 8;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t shard = toGrid.shardIndex(position, to.dims[dim].axes);
      messages *= double(owners[dim][shard]);
      bytes *= double(wanted[dim][shard].size());
    }
    worst = std::max(worst, linkTime(link, messages, bytes));
    total += bytes;
  }
  // The sources share the work of sending at best evenly.
  double sent = total / double(fromGrid.numPositions());
  return roundUp(std::max(worst, linkTime(link, 1, sent)));
}

} // namespace divisi
