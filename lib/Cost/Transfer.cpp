//===- Transfer.cpp - Costs of moves between grids ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/Transfer.h"

#include "Collectives.h"
#include "divisi/runtime/device/Senders.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

using namespace llvm;

namespace divisi {

/// A time as int64_t, rounded up; what is beyond any use becomes 10^18.
static int64_t roundUp(double value) {
  return value < 1e18 ? int64_t(std::ceil(value)) : int64_t(1e18);
}

/// What each position holds.
static std::vector<rt::Box> boxesOf(ArrayRef<int64_t> shape,
                                    const TransferEnd &end) {
  SmallVector<SmallVector<Interval, 4>, 4> shards;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    shards.push_back(end.layout.shards(end.grid, dim, extent));
  }
  std::vector<rt::Box> boxes(size_t(end.grid.numPositions()));
  for (auto [position, box] : llvm::enumerate(boxes)) {
    for (auto [dim, own] : llvm::enumerate(shards)) {
      Interval interval = own[size_t(
          end.grid.shardIndex(int64_t(position), end.layout.dims[dim].axes))];
      box.begin.push_back(interval.begin);
      box.end.push_back(interval.end);
    }
  }
  return boxes;
}

namespace {

/// The devices of both grids, ascending, and what they have and want.
struct Parties {
  Parties(ArrayRef<int64_t> shape, const TransferEnd &from,
          const TransferEnd &to)
      : held(boxesOf(shape, from)), wanted(boxesOf(shape, to)) {
    std::map<int64_t, rt::MoveParty> byDevice;
    for (auto [device, box] : llvm::zip_equal(from.devices, held)) {
      byDevice[device].source = &box;
    }
    for (auto [device, box] : llvm::zip_equal(to.devices, wanted)) {
      byDevice[device].result = &box;
    }
    for (const auto &[device, party] : byDevice) {
      devices.push_back(device);
      moves.push_back(party);
    }
  }

  std::vector<rt::Box> held, wanted; ///< By position.
  SmallVector<int64_t, 16> devices;
  std::vector<rt::MoveParty> moves;
};

/// What one device sends, and gets from others.
struct Traffic {
  SmallVector<size_t, 4> senders;
  int64_t received = 0, kept = 0, sent = 0, receivers = 0; ///< In elements.
};

} // namespace

static std::vector<Traffic> trafficOf(const Parties &parties) {
  std::vector<Traffic> traffic(parties.moves.size());
  rt::Senders senders(parties.moves);
  for (size_t self = 0; self < traffic.size(); ++self) {
    for (const rt::SentPiece &piece : senders.received(self).pieces) {
      int64_t count = piece.box.count();
      if (piece.sender == self) {
        traffic[self].kept += count;
        continue;
      }
      if (!llvm::is_contained(traffic[self].senders, piece.sender)) {
        traffic[self].senders.push_back(piece.sender);
        ++traffic[piece.sender].receivers;
      }
      traffic[self].received += count;
      traffic[piece.sender].sent += count;
    }
  }
  return traffic;
}

static GridLinks linksOfDevices(ArrayRef<int64_t> devices,
                                const Cluster &cluster) {
  return GridLinks(cluster, Grid({{"all", int64_t(devices.size())}}), devices);
}

GridLinks linksBetween(const TransferEnd &from, const TransferEnd &to,
                       const Cluster &cluster) {
  SmallVector<int64_t, 16> devices(from.devices.begin(), from.devices.end());
  llvm::append_range(devices, to.devices);
  llvm::sort(devices);
  devices.erase(llvm::unique(devices), devices.end());
  return linksOfDevices(devices, cluster);
}

TransferPrice priceTransfer(ArrayRef<int64_t> shape, int64_t elementBits,
                            const TransferEnd &from, const TransferEnd &to,
                            const Cluster &cluster) {
  Parties parties(shape, from, to);
  GridLinks links = linksOfDevices(parties.devices, cluster);
  MessageCost cost = messageCost(links.reach({AxisId{0}}), links.levels());
  double width = double(elementBits) / 8;
  double time = 1, most = 0;
  for (const Traffic &own : trafficOf(parties)) {
    double kept = 2e9 * double(own.kept) * width / links.memoryBytesPerSecond();
    double received = double(own.received) * width;
    time = std::max(
        time, kept + (own.senders.empty()
                          ? 0
                          : cost.of(double(own.senders.size()), received)));
    if (own.receivers > 0) {
      // What it sends is on its way at once, so it has one latency.
      double perByte =
          std::max(cost.perByte, cost.perPeerByte / double(own.receivers));
      time = std::max(time, cost.first + cost.perMessage +
                                double(own.sent) * width * perByte);
    }
    most = std::max(most, received);
  }
  return {roundUp(time), roundUp(most)};
}

//===----------------------------------------------------------------------===//
// The bound
//===----------------------------------------------------------------------===//

/// How many elements are in `wanted` and not in `held`.
static int64_t countMissing(ArrayRef<const rt::Box *> wanted,
                            ArrayRef<const rt::Box *> held) {
  std::vector<const rt::Box *> seen(held.begin(), held.end());
  int64_t count = 0;
  for (const rt::Box *box : wanted) {
    if (llvm::any_of(seen,
                     [&](const rt::Box *other) { return *other == *box; })) {
      continue;
    }
    std::vector<rt::Box> missing = {*box}, rest;
    for (const rt::Box *other : seen) {
      rest.clear();
      for (const rt::Box &piece : missing) {
        rt::subtract(piece, *other, rest);
      }
      std::swap(missing, rest);
    }
    for (const rt::Box &piece : missing) {
      count += piece.count();
    }
    seen.push_back(box);
  }
  return count;
}

namespace {

/// The links that both grids reach over, and how fast they can be at most.
class Cuts {
public:
  Cuts(const Parties &parties, const Cluster &cluster)
      : parties_(parties), cluster_(cluster),
        links_(linksOfDevices(parties.devices, cluster)),
        reach_(links_.reach({AxisId{0}})) {}

  /// Bytes per second into, or out of, so many devices of one unit of the level
  /// below `level`.
  double capacity(size_t level, int64_t devices) const {
    double sum = 0;
    for (size_t i = level; i < cluster_.levels.size(); ++i) {
      const LinkLevel &links = cluster_.levels[i];
      double rate = std::max(links.bytesPerSecond, links.peerBytesPerSecond);
      double all = double(devices) * rate;
      if (i == level && links.unitBytesPerSecond > 0) {
        // Of the innermost level each device is a unit.
        double units = level == 0 ? double(devices) : 1;
        all = std::min(all, units * links.unitBytesPerSecond);
      }
      sum += reach_.fanouts[i] > 1 ? all : 0;
    }
    return sum;
  }

  /// Nanoseconds of one message on the fastest of the links.
  double latency() const {
    double least = INFINITY;
    for (size_t i = 0; i < cluster_.levels.size(); ++i) {
      if (reach_.fanouts[i] > 1) {
        Reach one = reach_;
        one.fanouts.assign(cluster_.levels.size(), 1);
        one.members = one.fanouts[i] = reach_.fanouts[i];
        MessageCost cost = messageCost(one, cluster_.levels);
        least = std::min(least, cost.first + cost.perMessage);
      }
    }
    return std::isfinite(least) ? least : 0;
  }

  /// Of what must come into each unit of the level below `level`, per element.
  double into(size_t level) const {
    int64_t size = level == 0 ? 1 : cluster_.unitSize(level - 1);
    struct Unit {
      SmallVector<const rt::Box *, 8> wanted, held;
      int64_t devices = 0;
    };
    std::map<int64_t, Unit> units;
    for (auto [device, move] :
         llvm::zip_equal(parties_.devices, parties_.moves)) {
      Unit &unit = units[device / size];
      ++unit.devices;
      if (move.result) {
        unit.wanted.push_back(move.result);
      }
      if (move.source) {
        unit.held.push_back(move.source);
      }
    }
    double worst = 0;
    for (const auto &[number, unit] : units) {
      int64_t missing = countMissing(unit.wanted, unit.held);
      double rate = capacity(level, unit.devices);
      worst =
          std::max(worst, missing > 0 && rate > 0 ? double(missing) / rate : 0);
    }
    return worst;
  }

  /// Of what must leave the source, per element.
  double outOfSource() const {
    SmallVector<const rt::Box *, 8> wanted, held;
    int64_t senders = 0;
    for (const rt::MoveParty &move : parties_.moves) {
      senders += move.source != nullptr;
      (move.source ? held : wanted)
          .push_back(move.source ? move.source : move.result);
    }
    double rate = capacity(0, senders);
    // Those who hold something want nothing that is counted.
    return rate > 0 ? double(countMissing(wanted, {})) / rate : 0;
  }

private:
  const Parties &parties_;
  const Cluster &cluster_;
  GridLinks links_;
  Reach reach_;
};

} // namespace

int64_t leastTransferNanoseconds(ArrayRef<int64_t> shape, int64_t elementBits,
                                 const TransferEnd &from, const TransferEnd &to,
                                 const Cluster &cluster) {
  Parties parties(shape, from, to);
  Cuts cuts(parties, cluster);
  double worst = cuts.outOfSource();
  for (size_t level = 0; level < cluster.levels.size(); ++level) {
    worst = std::max(worst, cuts.into(level));
  }
  double bytes = double(elementBits) / 8 * worst;
  return worst > 0 ? int64_t(cuts.latency() + 1e9 * bytes) : 0;
}

//===----------------------------------------------------------------------===//
// The way
//===----------------------------------------------------------------------===//

/// The dimension of `layout` that is best split over `parts` more: the first
/// of which all shards can be split evenly, or else the first of which all can
/// be. Nothing if there is none.
static std::optional<size_t> dimToSplit(ArrayRef<int64_t> shape,
                                        const Grid &grid, const Layout &layout,
                                        int64_t parts) {
  std::optional<size_t> possible;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (!layout.dims[dim].bounds.empty()) {
      continue; // halos, and bounds that somebody gave
    }
    SmallVector<Interval, 4> shards = layout.shards(grid, dim, extent);
    auto isEven = [&](Interval shard) { return shard.size() % parts == 0; };
    auto isLarge = [&](Interval shard) { return shard.size() >= parts; };
    if (llvm::all_of(shards, isLarge)) {
      if (llvm::all_of(shards, isEven)) {
        return dim;
      }
      possible = possible.value_or(dim);
    }
  }
  return possible;
}

/// `layout`, whose every part is split over some of the axes along which all
/// positions have the same: one for each set of these, if that can be.
static std::vector<Layout>
splitFurther(ArrayRef<int64_t> shape, const Grid &grid, const Layout &layout) {
  constexpr size_t kFewAxes = 4;
  SmallVector<AxisId, 4> free;
  SmallVector<AxisId, 4> used = layout.usedAxes();
  for (uint32_t axis = 0; axis != grid.numAxes(); ++axis) {
    if (!llvm::is_contained(used, AxisId{axis}) &&
        grid.size(AxisId{axis}) > 1 && free.size() < kFewAxes) {
      free.push_back(AxisId{axis});
    }
  }
  std::vector<Layout> layouts;
  for (uint64_t set = 1; set >> free.size() == 0; ++set) {
    SmallVector<AxisId, 4> axes;
    for (auto [index, axis] : llvm::enumerate(free)) {
      if (set >> index & 1) {
        axes.push_back(axis);
      }
    }
    if (auto dim = dimToSplit(shape, grid, layout, grid.product(axes))) {
      Layout split = layout;
      llvm::append_range(split.dims[*dim].axes, axes);
      split.canonicalize(grid, shape);
      layouts.push_back(std::move(split));
    }
  }
  return layouts;
}

TransferWay chooseTransfer(ArrayRef<int64_t> shape, int64_t elementBits,
                           const TransferEnd &from, const TransferEnd &to,
                           const Cluster &cluster, Router &router) {
  TransferWay best = {to.layout,
                      priceTransfer(shape, elementBits, from, to, cluster), 0};
  TransferEnd arrived = to;
  for (Layout &layout : splitFurther(shape, to.grid, to.layout)) {
    std::optional<int64_t> gathering =
        router.price(shape, elementBits, layout, to.layout);
    if (!gathering || *gathering >= best.nanoseconds()) {
      continue;
    }
    arrived.layout = std::move(layout);
    TransferPrice price =
        priceTransfer(shape, elementBits, from, arrived, cluster);
    if (price.nanoseconds + *gathering < best.nanoseconds()) {
      best = {arrived.layout, price, *gathering};
    }
  }
  return best;
}

} // namespace divisi
