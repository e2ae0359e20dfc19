//===- Pool.cpp - Pooling by vectors --------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the window does not reach along the last dimension, as that of channels
// that come last: lines along it are joined with lines. It is in the
// reference's order, so that sums have its bits.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Families.h"
#include "runtime/kernels/Window.h"

#include <limits>

namespace divisi::rt::cpu {

/// Shorter lines are not worth a loop of their own.
static constexpr int64_t leastExtent = 4;
/// Elements of the result that stay in the first cache while taps are joined.
static constexpr int64_t mostAtOnce = 2048;

namespace {

/// Lines that one tap joins with the result's: those of the operand are `step`
/// elements apart.
template <typename T> struct Lines {
  const T *from;
  T *to;
  int64_t step, count, extent;
};

} // namespace

/// NaN on either side stays, as everywhere (Arithmetic.h).
__attribute__((target_clones("avx512f", "avx2", "default"))) static void
joinMax(const Lines<float> &lines) {
  for (int64_t i = 0; i < lines.count; ++i) {
    const float *from = lines.from + i * lines.step;
    float *to = lines.to + i * lines.extent;
#pragma GCC ivdep
    for (int64_t c = 0; c < lines.extent; ++c) {
      to[c] = to[c] >= from[c] || to[c] != to[c] ? to[c] : from[c];
    }
  }
}

/// By vectors of bytes.
template <typename T>
__attribute__((always_inline)) static inline void
joinBytes(Lines<T> lines) {
  // Bytes that are written could be those of the lines.
  int64_t extent = lines.extent;
  for (int64_t i = 0; i < lines.count; ++i) {
    const T *from = lines.from + i * lines.step;
    T *to = lines.to + i * extent;
#pragma GCC ivdep
    for (int64_t c = 0; c < extent; ++c) {
      to[c] = to[c] > from[c] ? to[c] : from[c];
    }
  }
}

__attribute__((target_clones("arch=x86-64-v4", "avx2", "default"))) static void
joinMaxSigned(const Lines<int8_t> &lines) {
  joinBytes(lines);
}

__attribute__((target_clones("arch=x86-64-v4", "avx2", "default"))) static void
joinMaxUnsigned(const Lines<uint8_t> &lines) {
  joinBytes(lines);
}

__attribute__((target_clones("avx512f", "avx2", "default"))) static void
joinSum(const Lines<float> &lines) {
  for (int64_t i = 0; i < lines.count; ++i) {
    const float *from = lines.from + i * lines.step;
    float *to = lines.to + i * lines.extent;
#pragma GCC ivdep
    for (int64_t c = 0; c < lines.extent; ++c) {
      to[c] += from[c];
    }
  }
}

namespace {

/// Walks over all dimensions but the last.
struct PoolPlan {
  WindowWalk<WindowDim> walk;
  int64_t base;   ///< The first element in the operand's lines.
  int64_t extent; ///< Of the result's lines.
};

/// `join` makes of what is there and what is read what shall be there.
template <typename T> class PoolKernel final : public PreparedKernel {
public:
  PoolKernel(PoolPlan plan, void (*join)(const Lines<T> &), T neutral)
      : plan_(std::move(plan)), join_(join), neutral_(neutral) {}

  Status launch(LaunchContext &context) override {
    auto *x = static_cast<const T *>(context.operands[0]) + plan_.base;
    auto *y = static_cast<T *>(context.results[0]);
    int64_t extent = plan_.extent;
    int64_t most = std::max<int64_t>(1, mostAtOnce / extent);
    plan_.walk.forEachPiece([&](const int64_t *row, int64_t begin, int64_t end,
                                int64_t where) {
      for (int64_t from = begin; from < end; from += most) {
        int64_t to = std::min(end, from + most);
        T *result = y + (where + from - begin) * extent;
        std::fill_n(result, (to - from) * extent, neutral_);
        plan_.walk.forEachTap(
            row, from, to,
            [&](int64_t, const TapRun &run, int64_t at, int64_t step) {
              join_({x + at, result + (run.first - from) * extent, step,
                    run.count, extent});
            });
      }
    });
    return {};
  }

private:
  PoolPlan plan_;
  void (*join_)(const Lines<T> &);
  T neutral_;
};

} // namespace

static std::optional<PoolPlan> planPool(const CallSite &site,
                                        std::string &error) {
  std::vector<WindowDim> window;
  if (!makePoolWindow(site, error, window) || window.size() < 2) {
    return std::nullopt;
  }
  DType type = site.operands[0].type;
  bool isByte = type == DType::I8 || type == DType::U8;
  if (site.results[0].type != type ||
      (type != DType::F32 && !(isByte && site.op == "nn.pool_max"))) {
    return std::nullopt;
  }
  WindowDim last = window.back();
  window.pop_back();
  Dims strides = rowMajorStrides(site.operands[0].extents);
  strides.pop_back();
  int64_t base = last.index(0, 0) - last.operandOffset;
  if (last.taps != 1 || last.stride != 1 || last.low != 0 ||
      last.extent < leastExtent) {
    return std::nullopt;
  }
  return PoolPlan{{window, strides}, base, last.extent};
}

static bool acceptsPool(const CallSite &site) {
  std::string ignored;
  return planPool(site, ignored).has_value();
}

static KernelQuery queryPool(const CallSite &) { return {}; }

static std::unique_ptr<PreparedKernel> preparePool(const CallSite &site,
                                                   std::string &error) {
  std::optional<PoolPlan> plan = planPool(site, error);
  if (!plan) {
    return nullptr;
  }
  switch (site.operands[0].type) {
  case DType::I8:
    return std::make_unique<PoolKernel<int8_t>>(*plan, joinMaxSigned, -128);
  case DType::U8:
    return std::make_unique<PoolKernel<uint8_t>>(*plan, joinMaxUnsigned, 0);
  default:
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    bool isMax = site.op == "nn.pool_max";
    return std::make_unique<PoolKernel<float>>(
        *plan, isMax ? joinMax : joinSum, isMax ? lowest : 0);
  }
}

std::span<const Kernel> poolKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.pool_max", 1, Parts, queryPool, preparePool, acceptsPool},
      {"nn.pool_sum", 1, Parts, queryPool, preparePool, acceptsPool},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
