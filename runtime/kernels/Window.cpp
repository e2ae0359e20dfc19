//===- Window.cpp - Convolution and pooling -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both go tap by tap over pieces of rows of the result: the innermost loop runs
// over the last dimension and has no padding to think of. Sums of f32, f16 and
// bf16 are accumulated in f32, in the order channel, tap.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Window.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>

namespace divisi::rt {

void WindowDim::clip(int64_t k, int64_t &first, int64_t &last) const {
  // index(i, k) >= 0 and index(i, k) <= global - 1.
  int64_t zero = index(0, k);
  first = std::clamp<int64_t>(ceilDiv(-zero, stride), 0, extent);
  last = std::clamp<int64_t>(ceilDiv(global - zero, stride), first, extent);
}

TapRun WindowDim::run(int64_t k, int64_t from, int64_t to) const {
  int64_t first = 0, last = 0;
  clip(k, first, last);
  first = std::max(first, from);
  last = std::min(last, to);
  return {first, last - first, /*every=*/1, index(first, k), stride};
}

std::optional<int64_t> WindowDim::locate(int64_t i, int64_t k) const {
  int64_t at = index(i, k);
  return at >= 0 && at < global ? std::optional(at) : std::nullopt;
}

bool checkConvolution(const CallSite &site, const Checks &checks) {
  if (!checks.counts(2, 1)) {
    return false;
  }
  size_t rank = site.operands[0].rank();
  if (rank < 3) {
    return checks.fail("got an operand of rank " + std::to_string(rank) +
                       ", expected at least 3");
  }
  return checks.operandType(1, site.operands[0].type) && checks.sumType(0) &&
         checks.operandRank(1, rank) && checks.resultRank(0, rank);
}

static bool checkWindowDim(const Checks &checks, const WindowDim &dim,
                           size_t index, int64_t high) {
  int64_t span = dim.low + dim.global + high - (dim.taps - 1) * dim.dilation;
  int64_t extent = span <= 0 ? 0 : (span - 1) / dim.stride + 1;
  if (!checks.resultExtent(index, extent)) {
    return false;
  }
  for (int64_t k = 0; k < dim.taps; ++k) {
    int64_t first = 0, last = 0;
    dim.clip(k, first, last);
    if (first < last && !checks.covers(0, index, dim.index(first, k),
                                       dim.index(last - 1, k) + 1)) {
      return false;
    }
  }
  return true;
}

bool makeWindow(const CallSite &site, const Checks &checks, size_t firstDim,
                const Dims &taps, std::vector<WindowDim> &window) {
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  size_t count = taps.size();
  Dims strides, dilations, low, high;
  if (!checks.getInts("strides", count, 1, maxStep, strides) ||
      !checks.getInts("dilations", count, 1, maxStep, dilations) ||
      !checks.getInts("pads_lo", count, -maxExtent, maxExtent, low) ||
      !checks.getInts("pads_hi", count, -maxExtent, maxExtent, high)) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    size_t d = firstDim + i;
    WindowDim dim{taps[i],           strides[i],
                  dilations[i],      low[i],
                  operand.global[d], result.offset[d],
                  result.extents[d], operand.offset[d]};
    if (!checkWindowDim(checks, dim, d, high[i])) {
      return false;
    }
    window.push_back(dim);
  }
  return true;
}

namespace {

using Walked = WindowWalk<WindowDim>;

/// What a convolution needs beside its window.
struct ConvPlan {
  int64_t images = 0, imageStride = 0; ///< Of x; the box that y needs.
  int64_t features = 0, channels = 0;  ///< m and c of the boxes.
  int64_t channelStride = 0;           ///< Of x.
  int64_t featureStride = 0;           ///< Of w; the box that y needs.
  int64_t imageBase = 0, weightBase = 0;
  std::vector<int64_t> groupBase; ///< Per feature: channel 0 in x.
  int64_t plane = 0;              ///< Elements of y per feature.
};

} // namespace

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

/// Feature m of group m / (M/g) reads channels c + group·C/g.
static bool planGroups(const CallSite &site, const Checks &checks,
                       int64_t groups, ConvPlan &plan) {
  const TensorInfo &x = site.operands[0], &w = site.operands[1];
  const TensorInfo &y = site.results[0];
  int64_t perGroup = w.global[1];
  if (x.global[1] != perGroup * groups || w.global[0] % groups != 0) {
    return checks.fail("weights of shape " + stringify(w.global) + " in " +
                       std::to_string(groups) +
                       " groups do not fit an operand of shape " +
                       stringify(x.global));
  }
  int64_t featuresPerGroup = w.global[0] / groups;
  for (int64_t i = 0; i < y.extents[1]; ++i) {
    int64_t group = (y.offset[1] + i) / featuresPerGroup;
    int64_t first = group * perGroup + w.offset[1];
    if (!checks.covers(0, 1, first, first + w.extents[1])) {
      return false;
    }
    plan.groupBase.push_back(first - x.offset[1]);
  }
  return true;
}

static bool makeConvPlan(const CallSite &site, const Checks &checks,
                         ConvPlan &plan, std::vector<WindowDim> &window) {
  const TensorInfo &x = site.operands[0], &w = site.operands[1];
  const TensorInfo &y = site.results[0];
  int64_t groups = 0;
  if (!checks.getInt("groups", 1, std::max<int64_t>(1, w.global[0]), groups) ||
      !checks.resultExtent(0, x.global[0]) ||
      !checks.resultExtent(1, w.global[0]) ||
      !planGroups(site, checks, groups, plan)) {
    return false;
  }
  Walk images, features;
  for (size_t d = 2; d < w.rank(); ++d) {
    if (!checks.whole(1, d)) {
      return false;
    }
  }
  Dims taps(w.global.begin() + 2, w.global.end());
  if (!addAffine(site, checks, 0, 0, y.offset[0], 1, y.extents[0], images) ||
      !addAffine(site, checks, 1, 0, y.offset[1], 1, y.extents[1], features) ||
      !makeWindow(site, checks, 2, taps, window)) {
    return false;
  }
  plan.images = y.extents[0];
  plan.imageStride = images.strides[0];
  plan.imageBase = images.base;
  plan.features = y.extents[1];
  plan.featureStride = features.strides[0];
  plan.weightBase = features.base;
  plan.channels = w.extents[1];
  plan.channelStride = rowMajorStrides(x.extents)[1];
  plan.plane = rowMajorStrides(y.extents)[1];
  return true;
}

/// One feature of one image.
template <typename T, typename R>
static void convolve(const Walked &walk, const ConvPlan &plan, const T *x,
                     const T *w, R *y) {
  using A = Computed<R>;
  walk.forEachPiece([&](const int64_t *row, int64_t from, int64_t to,
                        int64_t where) {
    A sums[Walked::pieceExtent] = {};
    for (int64_t c = 0; c < plan.channels; ++c) {
      const T *in = x + c * plan.channelStride;
      const T *weights = w + c * walk.taps();
      walk.forEachTap(
          row, from, to,
          [&](int64_t tap, const TapRun &run, int64_t at, int64_t step) {
            A weight = A(load(weights[tap]));
            const T *__restrict source = in + at;
            A *__restrict sum = sums + (run.first - from);
            if (step == 1) {
              for (int64_t i = 0; i < run.count; ++i) {
                sum[i] = wrapAdd(sum[i], wrapMul(weight, A(load(source[i]))));
              }
            } else {
              for (int64_t i = 0; i < run.count; ++i) {
                sum[i] =
                    wrapAdd(sum[i], wrapMul(weight, A(load(source[i * step]))));
              }
            }
          });
    }
    std::transform(sums, sums + (to - from), y + where,
                   [](A sum) { return R(sum); });
  });
}

static std::unique_ptr<PreparedKernel> prepareConv(const CallSite &site,
                                                   std::string &error) {
  Checks checks(site, error);
  ConvPlan plan;
  std::vector<WindowDim> window;
  if (!checkConvolution(site, checks) ||
      !makeConvPlan(site, checks, plan, window)) {
    return nullptr;
  }
  Walked walk(window, stridesFrom(site.operands[0], 2));
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatchSums<Numbers>(site, [&](auto zero, auto sum) {
    using T = decltype(zero);
    using R = decltype(sum);
    kernel = makeKernel([walk, plan](auto operands, auto results, void *) {
      auto *x = static_cast<const T *>(operands[0]) + plan.imageBase;
      auto *w = static_cast<const T *>(operands[1]) + plan.weightBase;
      auto *y = static_cast<R *>(results[0]);
      for (int64_t n = 0; n < plan.images; ++n) {
        for (int64_t m = 0; m < plan.features; ++m, y += plan.plane) {
          convolve(walk, plan,
                   x + n * plan.imageStride +
                       plan.groupBase[m] * plan.channelStride,
                   w + m * plan.featureStride, y);
        }
      }
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.operands[0].type);
}

//===----------------------------------------------------------------------===//
// pool_max, pool_sum
//===----------------------------------------------------------------------===//

namespace {
struct PoolMax {
  template <typename T> static T neutral() { return lowestOf<T>(); }
  template <typename T> static T combine(T a, T b) { return maxOf(a, b); }
};
struct PoolSum {
  template <typename T> static T neutral() { return T(0); }
  template <typename T> static T combine(T a, T b) { return wrapAdd(a, b); }
};
} // namespace

template <typename F, typename T, typename R>
static void pool(const Walked &walk, const T *x, R *y) {
  using A = Computed<R>;
  walk.forEachPiece([&](const int64_t *row, int64_t from, int64_t to,
                        int64_t where) {
    A values[Walked::pieceExtent];
    std::fill_n(values, to - from, F::template neutral<A>());
    walk.forEachTap(row, from, to,
                    [&](int64_t, const TapRun &run, int64_t at, int64_t step) {
                      const T *__restrict source = x + at;
                      A *__restrict value = values + (run.first - from);
                      for (int64_t i = 0; i < run.count; ++i) {
                        value[i] =
                            F::combine(value[i], A(load(source[i * step])));
                      }
                    });
    std::transform(values, values + (to - from), y + where,
                   [](A value) { return R(value); });
  });
}

bool makePoolWindow(const CallSite &site, std::string &error,
                    std::vector<WindowDim> &window) {
  Checks checks(site, error);
  if (!checks.counts(1, 1)) {
    return false;
  }
  size_t rank = site.operands[0].rank();
  if (rank == 0) {
    checks.fail("got a scalar, expected at least one dimension");
    return false;
  }
  Dims taps;
  return checks.sumType(0) && checks.resultRank(0, rank) &&
         checks.getInts("kernel", rank, 1, maxStep, taps) &&
         makeWindow(site, checks, 0, taps, window);
}

template <typename F>
static std::unique_ptr<PreparedKernel> preparePool(const CallSite &site,
                                                   std::string &error) {
  std::vector<WindowDim> window;
  if (!makePoolWindow(site, error, window)) {
    return nullptr;
  }
  Walked walk(window, rowMajorStrides(site.operands[0].extents));
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatchSums<Numbers>(site, [&](auto zero, auto sum) {
    using T = decltype(zero);
    using R = decltype(sum);
    kernel = makeKernel([walk](auto operands, auto results, void *) {
      pool<F>(walk, static_cast<const T *>(operands[0]),
              static_cast<R *>(results[0]));
    });
  });
  return known ? std::move(kernel)
               : noKernelFor(Checks(site, error), site.operands[0].type);
}

std::span<const Kernel> windowKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.conv", 1, Parts, queryNothing, prepareConv},
      {"nn.pool_max", 1, Parts, queryNothing, preparePool<PoolMax>},
      {"nn.pool_sum", 1, Parts, queryNothing, preparePool<PoolSum>},
  };
  return kernels;
}

} // namespace divisi::rt
