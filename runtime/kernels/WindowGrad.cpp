//===- WindowGrad.cpp - Gradients of convolution --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element i of the result is made from the elements o of the operand with
//
//   i = o·stride + k·dilation − low
//
// for some tap k. As a convolution does, it goes tap by tap over pieces of rows
// of the result; one tap meets every stride-th element of a row.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Window.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

namespace divisi::rt {
namespace {

/// One dimension, with the members of WindowDim.
struct GradientDim {
  int64_t taps = 1, stride = 1, dilation = 1, low = 0;
  int64_t global = 0;            ///< Extent of the operand.
  int64_t begin = 0, extent = 0; ///< The result's box.
  int64_t operandOffset = 0;     ///< Of the operand's box.

  /// stride times the operand's index of local iteration i and tap k.
  int64_t scaled(int64_t i, int64_t k) const {
    return begin + i + low - k * dilation;
  }

  TapRun run(int64_t k, int64_t from, int64_t to) const {
    // From where the operand begins on, the first that the stride meets.
    int64_t first = std::max(from, -scaled(0, k));
    first = first + (stride - scaled(first, k) % stride) % stride;
    int64_t index = scaled(first, k) / stride;
    int64_t count = std::min(ceilDiv(to - first, stride),
                             std::max<int64_t>(0, global - index));
    return {first, first < to ? count : 0, stride, index, 1};
  }

  std::optional<int64_t> locate(int64_t i, int64_t k) const {
    int64_t at = scaled(i, k);
    bool meets = at >= 0 && at % stride == 0 && at / stride < global;
    return meets ? std::optional(at / stride) : std::nullopt;
  }
};

using Walked = WindowWalk<GradientDim>;

/// Features of the operand that one feature of the result sums over.
struct FeatureRange {
  int64_t first = 0, count = 0; ///< In the operand's box.
  int64_t weight = 0;           ///< Row of the first in the weight's box.
  int64_t channel = 0;          ///< Column in the weight's box.
};

struct GradientPlan {
  int64_t images = 0, imageBase = 0, imageStride = 0;
  int64_t featureStride = 0; ///< Of the operand.
  int64_t rowStride = 0;     ///< Of the weight, from feature to feature.
  int64_t plane = 0;         ///< Elements of the result a feature.
  std::vector<FeatureRange> features;
};

} // namespace

/// Result feature f sums over the features of its group that the weight's box
/// holds.
static bool planFeatures(const CallSite &site, const Checks &checks,
                         int64_t groups, GradientPlan &plan) {
  const TensorInfo &dy = site.operands[0], &w = site.operands[1];
  const TensorInfo &dx = site.results[0];
  if (dy.global[1] != w.global[0] || w.global[0] % groups != 0 ||
      !checks.resultExtent(1, w.global[1] * groups)) {
    return checks.fail("weights of shape " + stringify(w.global) + " in " +
                       std::to_string(groups) +
                       " groups do not fit an operand of shape " +
                       stringify(dy.global));
  }
  int64_t perGroup = w.global[0] / groups, channels = w.global[1];
  for (int64_t i = 0; i < dx.extents[1]; ++i) {
    int64_t feature = dx.offset[1] + i, group = feature / channels;
    int64_t first = std::max(w.offset[0], group * perGroup);
    int64_t last = std::min(w.offset[0] + w.extents[0], (group + 1) * perGroup);
    int64_t channel = feature % channels;
    if (!checks.covers(0, 1, first, last) ||
        !checks.covers(1, 1, channel, channel + 1)) {
      return false;
    }
    plan.features.push_back({first - dy.offset[1],
                             std::max<int64_t>(0, last - first),
                             first - w.offset[0], channel - w.offset[1]});
  }
  return true;
}

static bool makeDims(const CallSite &site, const Checks &checks,
                     std::vector<GradientDim> &dims) {
  const TensorInfo &dy = site.operands[0], &w = site.operands[1];
  const TensorInfo &dx = site.results[0];
  size_t count = w.rank() - 2;
  Dims strides, dilations, low, extents;
  if (!checks.getInts("strides", count, 1, maxStep, strides) ||
      !checks.getInts("dilations", count, 1, maxStep, dilations) ||
      !checks.getInts("pads_lo", count, 0, maxExtent, low) ||
      !checks.getInts("extents", count, 0, maxExtent, extents)) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    size_t d = i + 2;
    GradientDim dim{w.global[d],  strides[i],   dilations[i],  low[i],
                    dy.global[d], dx.offset[d], dx.extents[d], dy.offset[d]};
    if (!checks.resultExtent(d, extents[i]) || !checks.whole(1, d)) {
      return false;
    }
    for (int64_t k = 0; k < dim.taps; ++k) {
      TapRun run = dim.run(k, 0, dim.extent);
      if (run.count > 0 &&
          !checks.covers(0, d, run.index, run.index + run.count)) {
        return false;
      }
    }
    dims.push_back(dim);
  }
  return true;
}

/// One feature of one image.
template <typename T, typename R>
static void spread(const Walked &walk, const GradientPlan &plan,
                   const FeatureRange &range, const T *dy, const T *w, R *dx) {
  using A = Computed<R>;
  walk.forEachPiece([&](const int64_t *row, int64_t from, int64_t to,
                        int64_t where) {
    A sums[Walked::pieceExtent] = {};
    for (int64_t m = 0; m < range.count; ++m) {
      const T *in = dy + m * plan.featureStride;
      const T *weights = w + m * plan.rowStride;
      walk.forEachTap(row, from, to,
                      [&](int64_t tap, const TapRun &run, int64_t at, int64_t) {
                        A weight = A(load(weights[tap]));
                        const T *__restrict source = in + at;
                        A *__restrict sum = sums + (run.first - from);
                        for (int64_t i = 0; i < run.count; ++i) {
                          A &into = sum[i * run.every];
                          into = wrapAdd(into,
                                         wrapMul(weight, A(load(source[i]))));
                        }
                      });
    }
    std::transform(sums, sums + (to - from), dx + where,
                   [](A sum) { return R(sum); });
  });
}

static bool makePlan(const CallSite &site, const Checks &checks,
                     GradientPlan &plan, std::vector<GradientDim> &dims) {
  const TensorInfo &dy = site.operands[0], &w = site.operands[1];
  const TensorInfo &dx = site.results[0];
  int64_t groups = 0;
  Walk images;
  if (!checks.getInt("groups", 1, std::max<int64_t>(1, w.global[0]), groups) ||
      !checks.resultExtent(0, dy.global[0]) ||
      !planFeatures(site, checks, groups, plan) ||
      !addAffine(site, checks, 0, 0, dx.offset[0], 1, dx.extents[0], images) ||
      !makeDims(site, checks, dims)) {
    return false;
  }
  plan.images = dx.extents[0];
  plan.imageBase = images.base;
  plan.imageStride = images.strides[0];
  plan.featureStride = rowMajorStrides(dy.extents)[1];
  plan.rowStride = rowMajorStrides(w.extents)[0];
  plan.plane = rowMajorStrides(dx.extents)[1];
  return true;
}

static std::unique_ptr<PreparedKernel> prepareConvDgrad(const CallSite &site,
                                                        std::string &error) {
  Checks checks(site, error);
  GradientPlan plan;
  std::vector<GradientDim> dims;
  if (!checkConvolution(site, checks) || !makePlan(site, checks, plan, dims)) {
    return nullptr;
  }
  Walked walk(dims, stridesFrom(site.operands[0], 2));
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatchSums<Numbers>(site, [&](auto zero, auto sum) {
    using T = decltype(zero);
    using R = decltype(sum);
    kernel = makeKernel([walk, plan](auto operands, auto results, void *) {
      auto *dy = static_cast<const T *>(operands[0]) + plan.imageBase;
      auto *w = static_cast<const T *>(operands[1]);
      auto *dx = static_cast<R *>(results[0]);
      for (int64_t n = 0; n < plan.images; ++n, dy += plan.imageStride) {
        for (const FeatureRange &range : plan.features) {
          spread(walk, plan, range, dy + range.first * plan.featureStride,
                 w + range.weight * plan.rowStride +
                     range.channel * walk.taps(),
                 dx);
          dx += plan.plane;
        }
      }
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.operands[0].type);
}

std::span<const Kernel> windowGradKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.conv_dgrad", 1, KernelUse::Parts, queryNothing, prepareConvDgrad},
  };
  return kernels;
}

} // namespace divisi::rt
