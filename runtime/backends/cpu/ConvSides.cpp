//===- ConvSides.cpp - The tensors of a convolution -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/ConvSides.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>

namespace divisi::rt::cpu {
namespace {

/// One spatial dimension.
struct Reach {
  int64_t first = 0;             ///< Index in the operand's box.
  int64_t extent = 0;            ///< How many indices are read.
  int64_t before = 0, after = 0; ///< Padding.
};

} // namespace

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

/// Whole groups, or one group with any of its channels and features.
static bool describeConv(const CallSite &site, int64_t groups,
                         ConvSides &sides) {
  const TensorInfo &x = site.operands[0], &w = site.operands[1];
  const TensorInfo &y = site.results[0];
  int64_t perGroup = w.global[0] / groups;
  int64_t local = 1;
  if (groups > 1) {
    local = y.extents[1] / perGroup;
    if (y.offset[1] % perGroup != 0 || y.extents[1] % perGroup != 0 ||
        w.extents[1] != w.global[1]) {
      return false;
    }
  }
  int64_t channels = w.extents[1] * local;
  Dims strides = stridesOf(x), dims{y.extents[0], channels};
  int64_t firstChannel =
      y.offset[1] / perGroup * w.global[1] + w.offset[1] - x.offset[1];
  int64_t base =
      (y.offset[0] - x.offset[0]) * strides[0] + firstChannel * strides[1];
  for (size_t i = 0; i + 2 < x.rank(); ++i) {
    Reach reach = findReach(site, i);
    // Windows wholly in the padding are for the reference kernel.
    if (reach.extent == 0) {
      return false;
    }
    base += reach.first * strides[i + 2];
    dims.push_back(reach.extent);
    sides.before.push_back(reach.before);
    sides.after.push_back(reach.after);
  }
  sides.given[0] = describe(dims, strides);
  sides.bases[0] = base;
  Dims weights{y.extents[1], w.extents[1]};
  weights.insert(weights.end(), w.global.begin() + 2, w.global.end());
  int64_t feature = rowMajorStrides(w.extents)[0];
  if (groups > 1) {
    weights[0] = perGroup;
    weights.insert(weights.begin(), local);
  }
  sides.given[1] = describe(weights, rowMajorStrides(weights));
  sides.bases[1] = (y.offset[1] - w.offset[0]) * feature;
  sides.given[2] = describe(y.extents, stridesOf(y));
  return true;
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
  return reach;
}

/// Whole groups, or one group with any of its channels and features.
static bool describeGradient(const CallSite &site, int64_t groups,
                             ConvSides &sides) {
  const TensorInfo &dy = site.operands[0], &w = site.operands[1];
  const TensorInfo &dx = site.results[0];
  int64_t channels = w.global[1], features = w.global[0] / groups;
  int64_t local = 1, firstFeature = w.offset[0];
  int64_t perGroup = w.extents[0], results = dx.extents[1];
  if (groups > 1) {
    local = dx.extents[1] / channels;
    firstFeature = dx.offset[1] / channels * features;
    perGroup = features;
    results = channels;
    if (dx.offset[1] % channels != 0 || dx.extents[1] % channels != 0 ||
        w.offset[0] > firstFeature || w.extents[1] != channels ||
        w.offset[0] + w.extents[0] < firstFeature + local * features) {
      return false;
    }
  }
  Dims strides = stridesOf(dy);
  Dims dims{dx.extents[0], perGroup * local};
  int64_t base = (dx.offset[0] - dy.offset[0]) * strides[0] +
                 (firstFeature - dy.offset[1]) * strides[1];
  for (size_t i = 0; i + 2 < dy.rank(); ++i) {
    Reach reach = findGradientReach(site, i);
    if (reach.extent == 0 || reach.before < 0 || reach.after < 0) {
      return false;
    }
    base += reach.first * strides[i + 2];
    dims.push_back(reach.extent);
    sides.before.push_back(reach.before);
    sides.after.push_back(reach.after);
  }
  sides.given[0] = describe(dims, strides);
  sides.bases[0] = base;
  // oneDNN's weights begin with the result's channels.
  Dims rows = rowMajorStrides(w.extents);
  Dims weights{results, perGroup}, weightStrides{rows[1], rows[0]};
  weights.insert(weights.end(), w.global.begin() + 2, w.global.end());
  weightStrides.insert(weightStrides.end(), rows.begin() + 2, rows.end());
  if (groups > 1) {
    weights.insert(weights.begin(), local);
    weightStrides.insert(weightStrides.begin(), perGroup * rows[0]);
  }
  int64_t firstChannel = groups > 1 ? 0 : dx.offset[1] - w.offset[1];
  sides.given[1] = describe(weights, weightStrides);
  sides.bases[1] =
      (firstFeature - w.offset[0]) * rows[0] + firstChannel * rows[1];
  sides.given[2] = describe(dx.extents, stridesOf(dx));
  return true;
}

bool describeSides(const CallSite &site, ConvSides &sides) {
  int64_t groups = site.attributes.getInt("groups");
  bool isDone = site.op == "nn.conv" ? describeConv(site, groups, sides)
                                     : describeGradient(site, groups, sides);
  return isDone && sides.given[0] && sides.given[1] && sides.given[2];
}

} // namespace divisi::rt::cpu
