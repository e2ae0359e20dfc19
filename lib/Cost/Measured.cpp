//===- Measured.cpp - Prices stretched to what was measured ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "divisi/Cost/MeasuredPoints.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace llvm;

namespace divisi {

using Curve = SmallVector<const MeasuredRate *, 8>;

/// Whose points count for `collective`: its own, or else of the collective that
/// is most like it.
static ArrayRef<Collective> substitutes(Collective collective) {
  using enum Collective;
  static constexpr Collective kOrder[][4] = {
      {AllReduce, AllGather, ReduceScatter, AllToAll},
      {AllGather, ReduceScatter, AllReduce, AllToAll},
      {ReduceScatter, AllGather, AllReduce, AllToAll},
      {AllToAll, AllReduce, AllGather, ReduceScatter}};
  return kOrder[unsigned(collective)];
}

/// Of the numbers of members that were measured the most that `members` reach,
/// or the fewest.
static Curve curveOf(Collective collective, int64_t members,
                     ArrayRef<MeasuredRate> points) {
  for (Collective other : substitutes(collective)) {
    int64_t reached = 0, fewest = Cluster::maxDevices;
    for (const MeasuredRate &point : points) {
      if (point.collective == other) {
        fewest = std::min(fewest, point.members);
        reached =
            std::max(reached, point.members > members ? 0 : point.members);
      }
    }
    Curve curve;
    for (const MeasuredRate &point : points) {
      if (point.collective == other &&
          point.members == std::max(reached, fewest)) {
        curve.push_back(&point);
      }
    }
    if (!curve.empty()) {
      return curve;
    }
  }
  return {};
}

namespace {
/// The logarithms of the times of a point: the model's and what it took.
struct Knot {
  double model = 0, time = 0;
};
} // namespace

static double steepness(const Knot &from, const Knot &to) {
  return (to.time - from.time) / (to.model - from.model);
}

/// How steeply the curve passes knot `i`: not more than three times as steeply
/// as the straight lines to its neighbours, so that it rises between them. The
/// last one goes over into the model's own rise.
static double slopeAt(ArrayRef<Knot> knots, size_t i) {
  if (i == 0) {
    return steepness(knots[0], knots[1]);
  }
  double before = steepness(knots[i - 1], knots[i]);
  if (i + 1 == knots.size()) {
    return std::min(1.0, 3 * before);
  }
  double after = steepness(knots[i], knots[i + 1]);
  return before * after == 0 ? 0 : 2 * before * after / (before + after);
}

/// Hermite's cubic through knot `i` and the next, at `model`.
static double interpolate(ArrayRef<Knot> knots, size_t i, double model) {
  double width = knots[i + 1].model - knots[i].model;
  double t = (model - knots[i].model) / width, rest = 1 - t;
  return rest * rest *
             ((1 + 2 * t) * knots[i].time + t * width * slopeAt(knots, i)) +
         t * t *
             ((1 + 2 * rest) * knots[i + 1].time -
              rest * width * slopeAt(knots, i + 1));
}

/// The time that belongs to `model` on the curve through `knots`; beyond the
/// first and the last it runs parallel to the model.
static double stretch(double model, ArrayRef<Knot> knots) {
  double at = std::log(model);
  const auto *next =
      llvm::find_if(knots, [&](const Knot &knot) { return at <= knot.model; });
  if (next == knots.begin() || next == knots.end()) {
    const Knot &end = next == knots.begin() ? knots.front() : knots.back();
    return model * std::exp(end.time - end.model);
  }
  return std::exp(interpolate(knots, size_t(next - knots.begin()) - 1, at));
}

/// The knots of `curve`; none if not all of its points say what the model says
/// of them.
static SmallVector<Knot, 8> knotsOf(const Curve &curve) {
  SmallVector<Knot, 8> knots;
  for (const MeasuredRate *point : curve) {
    if (point->modelNanoseconds == 0) {
      return {};
    }
    Knot knot = {std::log(double(point->modelNanoseconds)),
                 std::log(point->nanoseconds())};
    // Sizes that the model cannot tell apart are one point.
    if (knots.empty() || knot.model > knots.back().model) {
      knots.push_back(knot);
    }
  }
  return knots;
}

namespace {
/// What measurements leave open.
struct Bounds {
  double least = 0, most = INFINITY;
};
} // namespace

/// What `curve` says of `bytes` to the members that it was measured with.
/// Between two points what is between their times. Fewer bytes than the first
/// has take no longer and go at no higher rate, more than the last has the
/// other way round.
static Bounds boundsOf(const Curve &curve, double bytes) {
  const MeasuredRate *before = nullptr, *after = nullptr;
  for (const MeasuredRate *point : curve) {
    before = double(point->bytes) <= bytes ? point : before;
    after = after || double(point->bytes) < bytes ? after : point;
  }
  double scale = bytes / double((before ? before : after)->bytes);
  if (!before) {
    return {after->nanoseconds() * scale, after->nanoseconds()};
  }
  if (!after) {
    return {before->nanoseconds(), before->nanoseconds() * scale};
  }
  double width = double(after->bytes - before->bytes);
  double part = width > 0 ? (bytes - double(before->bytes)) / width : 0;
  double time = before->nanoseconds() +
                part * (after->nanoseconds() - before->nanoseconds());
  return {time, time};
}

/// `model` within what `points` say of `collective`: groups that are no larger
/// take no longer.
static double clampToPoints(double model, Collective collective,
                            int64_t members, double bytes,
                            ArrayRef<MeasuredRate> points) {
  std::map<int64_t, Curve> curves;
  for (const MeasuredRate &point : points) {
    if (point.collective == collective) {
      curves[point.members].push_back(&point);
    }
  }
  Bounds bounds;
  for (const auto &[measured, curve] : curves) {
    Bounds own = boundsOf(curve, bytes);
    if (measured <= members) {
      bounds.least = std::max(bounds.least, own.least);
    }
    if (measured >= members) {
      bounds.most = std::min(bounds.most, own.most);
    }
  }
  return std::max(bounds.least, std::min(bounds.most, model));
}

/// The group of a point of level `index`.
static Reach measuredReach(int64_t members, size_t index,
                           ArrayRef<LinkLevel> levels) {
  Reach reach;
  reach.members = members;
  int64_t below = 1;
  for (auto [place, level] : enumerate(levels)) {
    double rate = level.bytesPerSecond;
    if (level.unitBytesPerSecond > 0) {
      rate = std::min(rate, level.unitBytesPerSecond / double(below));
    }
    reach.bytesPerSecond.push_back(rate);
    reach.fanouts.push_back(place < index    ? level.fanout
                            : place == index ? members / below
                                             : 1);
    below *= level.fanout;
  }
  return reach;
}

int64_t modelNanosecondsOf(const MeasuredRate &point, size_t index,
                           const Cluster &cluster) {
  double model = modelNanoseconds(
      point.collective, double(point.bytes),
      measuredReach(point.members, index, cluster.levels), cluster.levels);
  return std::max(int64_t(std::llround(model)), int64_t(1));
}

void noteModelTimes(Cluster &cluster) {
  for (auto [index, level] : enumerate(cluster.levels)) {
    for (MeasuredRate &point : level.measured) {
      point.modelNanoseconds = modelNanosecondsOf(point, index, cluster);
    }
  }
}

double collectiveNanoseconds(Collective collective, double bytes,
                             const Reach &reach, ArrayRef<LinkLevel> levels) {
  double model = modelNanoseconds(collective, bytes, reach, levels);
  for (size_t index = levels.size(); index-- > 0;) {
    ArrayRef<MeasuredRate> points = levels[index].measured;
    if (reach.fanouts[index] == 1 || points.empty()) {
      continue;
    }
    SmallVector<Knot, 8> knots =
        knotsOf(curveOf(collective, reach.members, points));
    double price = knots.empty() ? clampToPoints(model, collective,
                                                 reach.members, bytes, points)
                                 : stretch(model, knots);
    // Libraries differ in the last bits of logarithms, prices must not.
    return std::round(price * 1024) / 1024;
  }
  return model;
}

} // namespace divisi
