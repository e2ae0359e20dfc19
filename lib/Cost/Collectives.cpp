//===- Collectives.cpp - What collectives take ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace divisi {

//===----------------------------------------------------------------------===//
// A group, as formulas see it
//===----------------------------------------------------------------------===//

namespace {
/// A group within units that are joined again: devices in nodes. Where three
/// levels are crossed, the upper ones count as one, at the pace of the slowest.
struct Shape {
  double members = 1;                                 ///< n
  double inside = 1;                                  ///< g: of one unit.
  double units = 1;                                   ///< k
  const LinkLevel *inner = nullptr, *outer = nullptr; ///< Both if k > 1.
  double innerRate = 0; ///< Bytes per second and member.
  double outerRate = 0; ///< The same; all members of a unit may send at once.
};
} // namespace

static Shape shapeOf(const Reach &reach, ArrayRef<LinkLevel> levels) {
  Shape shape;
  shape.members = double(reach.members);
  for (auto [index, level] : llvm::enumerate(levels)) {
    int64_t fanout = reach.fanouts[index];
    if (fanout == 1) {
      continue;
    }
    double rate = reach.bytesPerSecond[index];
    if (level.peerBytesPerSecond > 0) {
      rate = std::min(rate, double(fanout - 1) * level.peerBytesPerSecond);
    }
    if (!shape.inner) {
      shape.inner = &level;
      shape.innerRate = rate;
      shape.inside = double(fanout);
    } else {
      bool isSlower = !shape.outer || rate < shape.outerRate;
      shape.outer = isSlower ? &level : shape.outer;
      shape.outerRate = isSlower ? rate : shape.outerRate;
      shape.units *= double(fanout);
    }
  }
  return shape;
}

/// The pace of rings that use all links of a unit, in bytes per second.
static double ringRate(const Shape &shape) {
  return shape.outer ? std::min(shape.innerRate, shape.outerRate * shape.inside)
                     : shape.innerRate;
}

/// How many of its n parts each member sends one after the other.
static double ringSteps(Collective collective, double members) {
  return collective == Collective::AllReduce ? 2 * (members - 1) : members - 1;
}

//===----------------------------------------------------------------------===//
// NCCL (tuning.cc of version 2.30)
//===----------------------------------------------------------------------===//

namespace {
/// Microseconds, by protocol.
using PerProtocol = double[3];
} // namespace

static constexpr PerProtocol kRingBase = {6.6, 14.0, 8.4};
static constexpr PerProtocol kTreeBase = {6.8, 14.0, 8.4};
// NVLink, PCIe, network.
static constexpr PerProtocol kRingHop[] = {
    {0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}};
static constexpr PerProtocol kTreeHop[] = {
    {0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}};
static constexpr double kSwitchMicroseconds = 25;
/// What a hop within a node takes at least where there are several nodes.
static constexpr PerProtocol kLeastHop = {1.0, 1.0, 3.0};

/// One hop of `level`, in microseconds.
static double hop(const PerProtocol (&table)[3], const LinkLevel &level,
                  Protocol protocol) {
  unsigned row = unsigned(level.transport) - unsigned(Transport::NvLink);
  double own = double(level.latencyNanoseconds) / 1e3;
  return table[row][unsigned(protocol)] +
         (protocol == Protocol::Simple ? 2 : 1) * own;
}

static double ringLatency(Collective collective, Protocol protocol,
                          const Shape &shape) {
  double steps = ringSteps(collective, shape.members);
  double inner = hop(kRingHop, *shape.inner, protocol);
  double outer = 0, between = 0;
  if (shape.outer) {
    inner = std::max(inner, kLeastHop[unsigned(protocol)]);
    outer = hop(kRingHop, *shape.outer, protocol);
    between = collective == Collective::AllReduce ? 2 * (shape.units - 1)
                                                  : shape.units - 1;
  }
  return 1e3 * (kRingBase[unsigned(protocol)] + (steps - between) * inner +
                between * outer);
}

double ringLatency(Collective collective, Protocol protocol, const Reach &reach,
                   ArrayRef<LinkLevel> levels) {
  return ringLatency(collective, protocol, shapeOf(reach, levels));
}

static double treeLatency(Protocol protocol, const Shape &shape) {
  double through = (shape.inside - 1) * hop(kTreeHop, *shape.inner, protocol);
  if (shape.outer) {
    through += std::log2(shape.units) * hop(kTreeHop, *shape.outer, protocol);
  }
  return 1e3 * (kTreeBase[unsigned(protocol)] + 2 * through);
}

double treeLatency(Protocol protocol, const Reach &reach,
                   ArrayRef<LinkLevel> levels) {
  return treeLatency(protocol, shapeOf(reach, levels));
}

/// The pace that is left for data, in bytes per second.
static double ringRate(Protocol protocol, const Shape &shape) {
  constexpr double kShares[] = {0.5, 0.92, 1.0};
  double rate = ringRate(shape) * kShares[unsigned(protocol)];
  for (const LinkLevel *level : {shape.inner, shape.outer}) {
    if (protocol == Protocol::LL && level && level->flaggedBytesPerSecond > 0) {
      rate = std::min(rate, level->flaggedBytesPerSecond);
    }
  }
  return rate;
}
/// The part of the rate that is left for data.
static double treeShare(Protocol protocol) {
  constexpr double kShares[] = {0.92 / 3.8, 0.92 * 120 / 128, 0.92};
  return kShares[unsigned(protocol)];
}

static double ncclRing(Collective collective, Protocol protocol, double bytes,
                       const Shape &shape) {
  double latency = ringLatency(collective, protocol, shape);
  // Long messages between nodes wait for each other.
  constexpr double kChannels = 16, kShort = 64;
  if (collective == Collective::AllReduce && protocol == Protocol::Simple &&
      shape.outer && bytes / (kChannels * shape.members) > kShort) {
    latency *= 1.4;
  }
  double sent = ringSteps(collective, shape.members) / shape.members * bytes;
  return latency + 1e9 * sent / ringRate(protocol, shape);
}

/// The bytes go up and down: half of the rate is left.
static double ncclTree(Protocol protocol, double bytes, const Shape &shape) {
  return treeLatency(protocol, shape) +
         1e9 * bytes / (ringRate(shape) * treeShare(protocol) / 2);
}

static double ncclAllToAll(double bytes, const Shape &shape) {
  double others = shape.members - 1;
  double within = (shape.inside - 1) / shape.members * bytes / shape.innerRate;
  double between = 0, hops = others * hop(kRingHop, *shape.inner, Protocol::LL);
  if (shape.outer) {
    double outside = shape.members - shape.inside;
    between = outside / shape.members * bytes / shape.outerRate;
    hops = (shape.inside - 1) * hop(kRingHop, *shape.inner, Protocol::LL) +
           outside * hop(kRingHop, *shape.outer, Protocol::LL);
  }
  return 1e3 * (kRingBase[unsigned(Protocol::LL)] + hops) +
         1e9 * std::max(within, between);
}

/// What NCCL would choose.
static double nccl(Collective collective, double bytes, const Shape &shape) {
  if (collective == Collective::AllToAll) {
    return ncclAllToAll(bytes, shape);
  }
  double best = INFINITY;
  bool hasLL128 = shape.inner->transport == Transport::NvLink;
  for (Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
    if (protocol == Protocol::LL128 && !hasLL128) {
      continue;
    }
    best = std::min(best, ncclRing(collective, protocol, bytes, shape));
    if (collective == Collective::AllReduce) {
      best = std::min(best, ncclTree(protocol, bytes, shape));
    }
  }
  double sums = shape.inner->switchBytesPerSecond;
  constexpr double kFewMembers = 4;
  if (collective == Collective::AllReduce && sums > 0 && !shape.outer &&
      shape.members > kFewMembers) {
    best = std::min(best, 1e3 * kSwitchMicroseconds + 1e9 * bytes / sums);
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Through memory
//===----------------------------------------------------------------------===//

/// Recursive doubling and halving; everyone to everyone in turn.
static double alphaBeta(Collective collective, double bytes,
                        const Shape &shape) {
  double n = shape.members;
  double alpha = double(shape.inner->latencyNanoseconds);
  if (shape.outer) {
    alpha = std::max(alpha, double(shape.outer->latencyNanoseconds));
  }
  double rate = shape.outer ? std::min(shape.innerRate, shape.outerRate)
                            : shape.innerRate;
  double once = 1e9 * (n - 1) / n * bytes / rate;
  double rounds = std::ceil(std::log2(n)) * alpha;
  switch (collective) {
  case Collective::AllReduce:
    return 2 * (rounds + once);
  case Collective::AllGather:
  case Collective::ReduceScatter:
    return rounds + once;
  case Collective::AllToAll:
    return (n - 1) * alpha + once;
  }
  return 0;
}

static bool isMemory(const Shape &shape) {
  return shape.inner->transport == Transport::Memory;
}

/// All members as one group, however far apart.
static double flat(Collective collective, double bytes, const Shape &shape) {
  bool mixed = shape.outer &&
               isMemory(shape) != (shape.outer->transport == Transport::Memory);
  // Sockets joined by a network: nobody has both in one ring.
  if (mixed) {
    return INFINITY;
  }
  return isMemory(shape) ? alphaBeta(collective, bytes, shape)
                         : nccl(collective, bytes, shape);
}

//===----------------------------------------------------------------------===//
// Level by level
//===----------------------------------------------------------------------===//

/// The same group on its innermost level alone, and on all others.
static std::pair<Reach, Reach> splitReach(const Reach &reach) {
  Reach inner = reach, outer = reach;
  bool isFound = false;
  for (size_t level = 0; level != reach.fanouts.size(); ++level) {
    if (!isFound && reach.fanouts[level] > 1) {
      isFound = true;
      inner.members = reach.fanouts[level];
      outer.fanouts[level] = 1;
    } else {
      inner.fanouts[level] = 1;
    }
  }
  outer.members = reach.members / inner.members;
  return {inner, outer};
}

/// What NCCL's phases take one after the other: long tensors go through in
/// chunks, so that the shorter phase is partly hidden behind the longer one.
/// The latencies, `firstStart` and `secondStart`, are not.
static double pipelined(double first, double firstStart, double second,
                        double secondStart) {
  constexpr double kHidden = 1 - 0.57;
  return first + second -
         kHidden * std::min(first - firstStart, second - secondStart);
}

double nestedNanoseconds(Collective collective, double bytes,
                         const Reach &reach, ArrayRef<LinkLevel> levels) {
  Shape shape = shapeOf(reach, levels);
  auto [inner, outer] = splitReach(reach);
  if (!reach.isEven()) {
    outer.members = int64_t(shape.units);
  }
  auto within = [&](Collective step, double moved) {
    return modelNanoseconds(step, moved, inner, levels);
  };
  auto across = [&](double moved) {
    return modelNanoseconds(collective, moved, outer, levels);
  };
  // The units' members share what crosses.
  double part = bytes / shape.inside;
  switch (collective) {
  case Collective::AllReduce: {
    auto twice = [&](double moved) {
      return within(Collective::ReduceScatter, moved) +
             within(Collective::AllGather, moved);
    };
    return isMemory(shape)
               ? twice(bytes) + across(part)
               : pipelined(twice(bytes), twice(0), across(part), across(0));
  }
  case Collective::AllGather:
  case Collective::ReduceScatter:
    return within(collective, bytes) + across(part);
  case Collective::AllToAll:
    return within(collective, bytes) + across(bytes);
  }
  return 0;
}

double modelNanoseconds(Collective collective, double bytes, const Reach &reach,
                        ArrayRef<LinkLevel> levels) {
  Shape shape = shapeOf(reach, levels);
  if (!shape.inner) {
    return 0;
  }
  double best = flat(collective, bytes, shape);
  if (!shape.outer || (!reach.isEven() && std::isfinite(best))) {
    return best;
  }
  return std::min(best, nestedNanoseconds(collective, bytes, reach, levels));
}

MessageCost messageCost(const Reach &reach, ArrayRef<LinkLevel> levels) {
  Shape shape = shapeOf(reach, levels);
  if (!shape.inner) {
    return {};
  }
  const LinkLevel &link = shape.outer ? *shape.outer : *shape.inner;
  double rate = shape.outer ? std::min(shape.innerRate, shape.outerRate)
                            : shape.innerRate;
  MessageCost cost = {0, double(link.latencyNanoseconds), 1e9 / rate};
  if (!shape.outer && link.peerBytesPerSecond > 0) {
    cost.perByte = 1e9 / std::max(rate, link.peerBytesPerSecond);
    cost.perPeerByte = 1e9 / link.peerBytesPerSecond;
  }
  if (link.transport != Transport::Memory) {
    cost.first = 1e3 * kRingBase[unsigned(Protocol::LL)];
    cost.perMessage = 1e3 * hop(kRingHop, link, Protocol::LL);
  }
  return cost;
}

} // namespace divisi
