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
struct Lines {
  const float *from;
  float *to;
  int64_t step, count, extent;
};

} // namespace

/// NaN on either side stays, as everywhere (Arithmetic.h).
__attribute__((target_clones("avx512f", "avx2", "default"))) static void
joinMax(const Lines &lines) {
  for (int64_t i = 0; i < lines.count; ++i) {
    const float *from = lines.from + i * lines.step;
    float *to = lines.to + i * lines.extent;
#pragma GCC ivdep
    for (int64_t c = 0; c < lines.extent; ++c) {
      to[c] = to[c] >= from[c] || to[c] != to[c] ? to[c] : from[c];
    }
  }
}

__attribute__((target_clones("avx512f", "avx2", "default"))) static void
joinSum(const Lines &lines) {
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

class PoolKernel final : public PreparedKernel {
public:
  PoolKernel(PoolPlan plan, bool isMax)
      : plan_(std::move(plan)), isMax_(isMax) {}

  Status launch(LaunchContext &context) override {
    auto *x = static_cast<const float *>(context.operands[0]) + plan_.base;
    auto *y = static_cast<float *>(context.results[0]);
    auto *join = isMax_ ? joinMax : joinSum;
    float neutral = isMax_ ? -std::numeric_limits<float>::infinity() : 0;
    int64_t extent = plan_.extent;
    int64_t most = std::max<int64_t>(1, mostAtOnce / extent);
    plan_.walk.forEachPiece([&](const int64_t *row, int64_t begin, int64_t end,
                                int64_t where) {
      for (int64_t from = begin; from < end; from += most) {
        int64_t to = std::min(end, from + most);
        float *result = y + (where + from - begin) * extent;
        std::fill_n(result, (to - from) * extent, neutral);
        plan_.walk.forEachTap(
            row, from, to,
            [&](int64_t, const TapRun &run, int64_t at, int64_t step) {
              join({x + at, result + (run.first - from) * extent, step,
                    run.count, extent});
            });
      }
    });
    return {};
  }

private:
  PoolPlan plan_;
  bool isMax_;
};

} // namespace

static std::optional<PoolPlan> planPool(const CallSite &site,
                                        std::string &error) {
  std::vector<WindowDim> window;
  if (!makePoolWindow(site, error, window) || window.size() < 2 ||
      site.operands[0].type != DType::F32 ||
      site.results[0].type != DType::F32) {
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
  return plan ? std::make_unique<PoolKernel>(*plan, site.op == "nn.pool_max")
              : nullptr;
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
