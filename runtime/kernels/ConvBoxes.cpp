//===- ConvBoxes.cpp - Convolutions for libraries -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ConvBoxes.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

bool divisi::rt::isConvolution(const CallSite &site) {
  if (site.operands.size() != 2 || site.results.size() != 1 ||
      !site.operands[1].format.empty() || !isPlainOrChannelsLast(site)) {
    return false;
  }
  std::vector<TensorInfo> plain = {asPlain(site.operands[0]), site.operands[1]};
  TensorInfo result = asPlain(site.results[0]);
  CallSite reference{site.op, site.attributes, plain, {&result, 1}};
  const Kernel *kernel = referenceBackend().find(reference);
  std::string ignored;
  return plain[0].count() != 0 && plain[1].count() != 0 &&
         result.count() != 0 && kernel && kernel->prepare(reference, ignored);
}

namespace {

/// One spatial dimension.
struct Reach {
  int64_t first = 0;             ///< Index in the operand's box.
  int64_t extent = 0;            ///< How many indices are read.
  int64_t before = 0, after = 0; ///< Padding.
};

/// The groups whose features, or channels, a box of the result has.
struct GroupRange {
  int64_t first = 0, count = 0;
  bool isWhole = false; ///< All of each.
};

} // namespace

/// Of groups of `size` along dimension 1 of `result`.
static GroupRange groupsOf(const TensorInfo &result, int64_t size) {
  int64_t begin = result.offset[1], end = begin + result.extents[1];
  GroupRange range;
  range.first = begin / size;
  range.count = (end - 1) / size + 1 - range.first;
  range.isWhole = begin % size == 0 && end % size == 0;
  return range;
}

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

static Reach findReach(const CallSite &site, size_t i) {
  const TensorInfo &x = site.operands[0], &y = site.results[0];
  int64_t stride = site.attributes.getInts("strides")[i];
  int64_t dilation = site.attributes.getInts("dilations")[i];
  int64_t low = site.attributes.getInts("pads_lo")[i];
  size_t d = i + 2;
  int64_t taps = site.operands[1].global[d];
  int64_t begin = y.offset[d] * stride - low - x.offset[d];
  int64_t end = begin + (y.extents[d] - 1) * stride + (taps - 1) * dilation + 1;
  Reach reach;
  reach.first = std::clamp<int64_t>(begin, 0, x.extents[d]);
  int64_t last = std::clamp<int64_t>(end, reach.first, x.extents[d]);
  reach.extent = last - reach.first;
  reach.before = reach.first - begin;
  reach.after = end - last;
  // What is left of the box stays with it if that makes no window more.
  if (int64_t rest = x.extents[d] - last; reach.after == 0 && rest < stride) {
    reach.extent += rest;
  }
  return reach;
}

/// Adds a spatial dimension of the operand; false if nothing of it is read.
static bool addReach(const Reach &reach, int64_t stride, ConvBoxes &boxes) {
  ConvBoxes::Side &operand = boxes.sides[0];
  operand.extents.push_back(reach.extent);
  operand.base += reach.first * stride;
  boxes.before.push_back(reach.before);
  boxes.after.push_back(reach.after);
  return reach.extent > 0 && reach.before >= 0 && reach.after >= 0;
}

static bool describeConv(const CallSite &site, int64_t groups,
                         ConvBoxes &boxes) {
  const TensorInfo &x = site.operands[0], &w = site.operands[1];
  const TensorInfo &y = site.results[0];
  GroupRange range = groupsOf(y, w.global[0] / groups);
  bool hasAllChannels = w.extents[1] == w.global[1];
  if (range.count > 1 && !(range.isWhole && hasAllChannels)) {
    return false;
  }
  auto &[from, weights, to] = boxes.sides;
  boxes.groups = range.count;
  from.strides = stridesOf(x);
  from.extents = {y.extents[0], w.extents[1] * range.count};
  int64_t firstChannel = range.first * w.global[1] + w.offset[1] - x.offset[1];
  from.base = (y.offset[0] - x.offset[0]) * from.strides[0] +
              firstChannel * from.strides[1];
  bool isRead = true;
  for (size_t i = 0; i + 2 < x.rank(); ++i) {
    isRead &= addReach(findReach(site, i), from.strides[i + 2], boxes);
  }
  weights.strides = rowMajorStrides(w.extents);
  weights.extents = w.extents;
  weights.extents[0] = y.extents[1];
  weights.base = (y.offset[1] - w.offset[0]) * weights.strides[0];
  to = {y.extents, stridesOf(y)};
  return isRead;
}

//===----------------------------------------------------------------------===//
// conv_dgrad
//===----------------------------------------------------------------------===//

/// What one spatial dimension of a gradient reads, and how much of the operand
/// seen as a convolution's result lies before and behind the result's box.
static Reach findGradientReach(const CallSite &site, size_t i) {
  const TensorInfo &dy = site.operands[0], &dx = site.results[0];
  int64_t stride = site.attributes.getInts("strides")[i];
  int64_t dilation = site.attributes.getInts("dilations")[i];
  int64_t low = site.attributes.getInts("pads_lo")[i];
  size_t d = i + 2;
  int64_t span = (site.operands[1].global[d] - 1) * dilation;
  int64_t begin = dx.offset[d] + low, end = begin + dx.extents[d];
  int64_t first = std::max<int64_t>(0, ceilDiv(begin - span, stride));
  int64_t last = std::min(dy.global[d], (end - 1) / stride + 1);
  Reach reach;
  reach.first = first - dy.offset[d];
  reach.extent = std::max<int64_t>(0, last - first);
  reach.before = begin - first * stride;
  reach.after = (last - 1) * stride + span + 1 - end;
  // What no window of a convolution with these strides reaches is zero.
  if (-stride < reach.after && reach.after < 0) {
    reach.after = 0;
  }
  return reach;
}

static bool describeGradient(const CallSite &site, int64_t groups,
                             ConvBoxes &boxes) {
  const TensorInfo &dy = site.operands[0], &w = site.operands[1];
  const TensorInfo &dx = site.results[0];
  GroupRange range = groupsOf(dx, w.global[1]);
  int64_t perGroup = w.global[0] / groups;
  // Of one group there may be some features: the others are elsewhere.
  int64_t begin = std::max(w.offset[0], range.first * perGroup);
  int64_t end = std::min(w.offset[0] + w.extents[0],
                         (range.first + range.count) * perGroup);
  bool hasAll =
      end - begin == range.count * perGroup && w.extents[1] == w.global[1];
  if (end <= begin || (range.count > 1 && !(range.isWhole && hasAll))) {
    return false;
  }
  auto &[from, weights, to] = boxes.sides;
  boxes.groups = range.count;
  from.strides = stridesOf(dy);
  from.extents = {dx.extents[0], end - begin};
  from.base = (dx.offset[0] - dy.offset[0]) * from.strides[0] +
              (begin - dy.offset[1]) * from.strides[1];
  bool isRead = true;
  for (size_t i = 0; i + 2 < dy.rank(); ++i) {
    isRead &= addReach(findGradientReach(site, i), from.strides[i + 2], boxes);
  }
  weights.strides = rowMajorStrides(w.extents);
  weights.extents = w.extents;
  weights.extents[0] = end - begin;
  weights.extents[1] = dx.extents[1] / range.count;
  int64_t firstChannel = dx.offset[1] - range.first * w.global[1] - w.offset[1];
  weights.base = (begin - w.offset[0]) * weights.strides[0] +
                 firstChannel * weights.strides[1];
  to = {dx.extents, stridesOf(dx)};
  return isRead;
}

std::optional<ConvBoxes> ConvBoxes::of(const CallSite &site) {
  ConvBoxes boxes;
  int64_t groups = site.attributes.getInt("groups");
  bool isDone = site.op == "nn.conv" ? describeConv(site, groups, boxes)
                                     : describeGradient(site, groups, boxes);
  return isDone ? std::optional(std::move(boxes)) : std::nullopt;
}
