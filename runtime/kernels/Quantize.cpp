//===- Quantize.cpp - Kernels of quantized numbers ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Along the axis of the scales, the result falls into segments of one scale
// each; without blocks, it is one segment along which scales may vary. Over a
// segment both operators are nests over the result, x, scales and zero points.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>

namespace divisi::rt {
namespace {

/// Result, x, scale, and zero point if there is one.
using ScaledNest = Nest<4>;

/// Where scales lie.
struct ScaleBlocks {
  int64_t axis = 0, block = 1;
};

} // namespace

/// How a scale or zero point is read by the iterations [from, from + extent) of
/// the axis and all of the other dimensions.
static bool walkScale(const CallSite &site, const Checks &checks,
                      size_t operand, ScaleBlocks blocks, int64_t from,
                      int64_t extent, Walk &walk) {
  const TensorInfo &info = site.operands[operand], &y = site.results[0];
  for (size_t d = 0; d < y.rank(); ++d) {
    bool isBlocked = int64_t(d) == blocks.axis && blocks.block > 1;
    bool isAxis = int64_t(d) == blocks.axis;
    int64_t count = isAxis ? extent : y.extents[d];
    int64_t first = isAxis ? from : y.offset[d];
    int64_t whole =
        isBlocked ? ceilDiv(y.global[d], blocks.block) : y.global[d];
    if (info.global[d] != 1 && info.global[d] != whole) {
      return checks.fail("operand " + std::to_string(operand) + " has shape " +
                         stringify(info.global) + ", which does not fit " +
                         stringify(y.global));
    }
    bool added = info.global[d] == 1
                     ? addAffine(site, checks, operand, d, 0, 0, count, walk)
                 : isBlocked ? addAffine(site, checks, operand, d,
                                         first / blocks.block, 0, count, walk)
                             : addAffine(site, checks, operand, d, first, 1,
                                         count, walk);
    if (!added) {
      return false;
    }
  }
  return true;
}

/// The iterations [from, from + extent) of the axis (global indices).
static bool makeSegment(const CallSite &site, const Checks &checks,
                        ScaleBlocks blocks, int64_t from, int64_t extent,
                        std::vector<ScaledNest> &segments) {
  const TensorInfo &y = site.results[0];
  std::array<Walk, 4> walks;
  Dims extents = y.extents;
  walks[0] = denseWalk(y);
  if (y.rank() > 0) {
    size_t axis = size_t(blocks.axis);
    extents[axis] = extent;
    walks[0].base = (from - y.offset[axis]) * walks[0].strides[axis];
  }
  for (size_t d = 0; d < y.rank(); ++d) {
    bool isAxis = int64_t(d) == blocks.axis;
    if (!addAffine(site, checks, 0, d, isAxis ? from : y.offset[d], 1,
                   extents[d], walks[1])) {
      return false;
    }
  }
  walks[3].strides.assign(y.rank(), 0);
  for (size_t i = 1; i < site.operands.size(); ++i) {
    walks[i + 1].strides.clear();
    if (!walkScale(site, checks, i, blocks, from, extent, walks[i + 1])) {
      return false;
    }
  }
  segments.emplace_back(extents, walks);
  return true;
}

static bool makeSegments(const CallSite &site, const Checks &checks,
                         std::vector<ScaledNest> &segments) {
  const TensorInfo &x = site.operands[0], &y = site.results[0];
  int64_t rank = int64_t(x.rank());
  ScaleBlocks blocks;
  if (!checks.resultRank(0, x.rank()) ||
      !checks.getInt("axis", 0, std::max<int64_t>(rank, 1) - 1, blocks.axis) ||
      !checks.getInt("block", 1, maxExtent, blocks.block)) {
    return false;
  }
  for (size_t d = 0; d < x.rank(); ++d) {
    if (!checks.resultExtent(d, x.global[d])) {
      return false;
    }
  }
  for (size_t i = 1; i < site.operands.size(); ++i) {
    if (!checks.operandRank(i, x.rank())) {
      return false;
    }
  }
  int64_t from = rank > 0 ? y.offset[size_t(blocks.axis)] : 0;
  int64_t end = rank > 0 ? from + y.extents[size_t(blocks.axis)] : 1;
  while (from < end) {
    int64_t next =
        blocks.block == 1
            ? end
            : std::min(end, (from / blocks.block + 1) * blocks.block);
    if (!makeSegment(site, checks, blocks, from, next - from, segments)) {
      return false;
    }
    from = next;
  }
  return true;
}

/// Calls body(result, x, scale, zero) for every element; zero is null if there
/// is none.
template <typename Y, typename X, typename S, typename Z, typename Body>
static void forEachElement(const std::vector<ScaledNest> &segments, Y *y,
                           const X *x, const S *scale, const Z *zero,
                           Body &&body) {
  for (const ScaledNest &nest : segments) {
    nest.forEachRow([&](const auto &at) {
      for (int64_t i = 0, n = nest.rowExtent(); i < n; ++i) {
        body(y[at[0] + i * nest.rowStride(0)], x[at[1] + i * nest.rowStride(1)],
             scale[at[2] + i * nest.rowStride(2)],
             zero ? zero + (at[3] + i * nest.rowStride(3)) : nullptr);
      }
    });
  }
}

/// 2 or 3 operands.
static bool countOperands(const CallSite &site, const Checks &checks) {
  return checks.counts(site.operands.size() > 2 ? 3 : 2, 1);
}

/// round(value) + zero, saturating; floats have a rounding of their own.
template <typename Y, typename A> static Y quantized(A value, const Y *zero) {
  A shift = zero ? A(load(*zero)) : A(0);
  if constexpr (isMinifloat<Y>) {
    return convertElement<Y>(value + shift);
  } else if constexpr (isSmallInteger<Y>) {
    A number = std::nearbyint(value) + shift;
    return convertElement<Y>(std::clamp(number, A(Y::least), A(Y::most)));
  } else {
    return saturateTo<Y>(std::nearbyint(value) + shift);
  }
}

/// (code - zero) * scale; the difference is exact.
template <typename X, typename A>
static A dequantized(X code, const X *zero, A scale) {
  if constexpr (isMinifloat<X>) {
    return A(load(code) - (zero ? load(*zero) : 0)) * scale;
  } else {
    return A(wrapSub<int64_t>(int64_t(load(code)),
                              zero ? int64_t(load(*zero)) : 0)) *
           scale;
  }
}

static std::unique_ptr<PreparedKernel> prepareQuantize(const CallSite &site,
                                                       std::string &error) {
  Checks checks(site, error);
  std::vector<ScaledNest> segments;
  bool hasZero = site.operands.size() > 2;
  if (!countOperands(site, checks) ||
      !checks.operandType(1, site.operands[0].type) ||
      (hasZero && !checks.operandType(2, site.results[0].type)) ||
      !makeSegments(site, checks, segments)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  dispatch<Floats>(site.operands[0].type, [&](auto number) {
    dispatch<Ints | Stored>(site.results[0].type, [&](auto code) {
      using X = decltype(number);
      using Y = decltype(code);
      kernel =
          makeKernel([segments, hasZero](auto operands, auto results, void *) {
            auto *zero =
                hasZero ? static_cast<const Y *>(operands[2]) : nullptr;
            forEachElement(segments, static_cast<Y *>(results[0]),
                           static_cast<const X *>(operands[0]),
                           static_cast<const X *>(operands[1]), zero,
                           [](Y &y, X x, X scale, const Y *zero) {
                             y = quantized(load(x) / load(scale), zero);
                           });
          });
    });
  });
  return kernel ? std::move(kernel)
                : noKernelFor(checks, site.operands[0].type);
}

static std::unique_ptr<PreparedKernel> prepareDequantize(const CallSite &site,
                                                         std::string &error) {
  Checks checks(site, error);
  std::vector<ScaledNest> segments;
  bool hasZero = site.operands.size() > 2;
  if (!countOperands(site, checks) ||
      !checks.resultType(0, site.operands[1].type) ||
      (hasZero && !checks.operandType(2, site.operands[0].type)) ||
      !makeSegments(site, checks, segments)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  dispatch<Reals>(site.results[0].type, [&](auto number) {
    dispatch<Ints | Stored>(site.operands[0].type, [&](auto code) {
      using Y = decltype(number);
      using X = decltype(code);
      kernel =
          makeKernel([segments, hasZero](auto operands, auto results, void *) {
            auto *zero =
                hasZero ? static_cast<const X *>(operands[2]) : nullptr;
            forEachElement(segments, static_cast<Y *>(results[0]),
                           static_cast<const X *>(operands[0]),
                           static_cast<const Y *>(operands[1]), zero,
                           [](Y &y, X x, Y scale, const X *zero) {
                             y = Y(dequantized(x, zero, load(scale)));
                           });
          });
    });
  });
  return kernel ? std::move(kernel)
                : noKernelFor(checks, site.operands[0].type);
}

/// a + (x - zero) * scale: bits of the two operators that it stands for.
static std::unique_ptr<PreparedKernel> prepareAdd(const CallSite &site,
                                                  std::string &error) {
  Checks checks(site, error);
  bool hasZero = site.operands.size() > 3;
  if (!checks.counts(hasZero ? 4 : 3, 1) ||
      !checks.resultType(0, site.operands[0].type) ||
      !checks.operandType(2, site.operands[0].type) ||
      (hasZero && !checks.operandType(3, site.operands[1].type))) {
    return nullptr;
  }
  const TensorInfo &y = site.results[0];
  std::array<Walk, 5> walks;
  walks[0] = denseWalk(y);
  walks[4].strides.assign(y.rank(), 0);
  for (size_t i = 0; i < site.operands.size(); ++i) {
    if (!checks.operandRank(i, y.rank()) ||
        !broadcastWalk(site, checks, i, walks[i + 1])) {
      return nullptr;
    }
  }
  Nest<5> nest(y.extents, walks);
  std::unique_ptr<PreparedKernel> kernel;
  dispatch<Floats>(y.type, [&](auto number) {
    dispatch<Ints>(site.operands[1].type, [&](auto code) {
      using Y = decltype(number);
      using X = decltype(code);
      kernel = makeKernel([nest, hasZero](auto operands, auto results, void *) {
        auto *y = static_cast<Y *>(results[0]);
        auto *a = static_cast<const Y *>(operands[0]);
        auto *x = static_cast<const X *>(operands[1]);
        auto *scale = static_cast<const Y *>(operands[2]);
        auto *zero = hasZero ? static_cast<const X *>(operands[3]) : nullptr;
        nest.forEachRow([&](const auto &at) {
          for (int64_t i = 0, n = nest.rowExtent(); i < n; ++i) {
            auto of = [&](size_t t) { return at[t] + i * nest.rowStride(t); };
            Y b = Y(dequantized(x[of(2)], zero ? zero + of(4) : nullptr,
                                load(scale[of(3)])));
            y[of(0)] = Y(load(a[of(1)]) + load(b));
          }
        });
      });
    });
  });
  return kernel ? std::move(kernel) : noKernelFor(checks, y.type);
}

static KernelQuery queryAdd(const CallSite &site) {
  KernelQuery query;
  if (!site.operands.empty() && !site.results.empty() &&
      isSameBox(site.operands[0], site.results[0])) {
    query.inPlace.emplace_back(0, 0);
  }
  return query;
}

std::span<const Kernel> quantizeKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.add_dequantized", 1, Parts, queryAdd, prepareAdd},
      {"nn.dequantize", 1, Parts, queryNothing, prepareDequantize},
      {"nn.quantize", 1, Parts, queryNothing, prepareQuantize},
  };
  return kernels;
}

} // namespace divisi::rt
