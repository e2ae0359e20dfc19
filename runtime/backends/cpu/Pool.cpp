//===- Pool.cpp - Pooling by vectors --------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the window does not reach along the last dimension, as that of channels
// that come last: a line of the result is joined from lines of the operand, a
// block of it at a time, which stays in registers. It is in the reference's
// order, so that sums have its bits.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Window.h"
#include "runtime/backends/cpu/Families.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace divisi::rt::cpu {

/// Shorter lines are not worth a loop of their own.
static constexpr int64_t leastExtent = 4;
/// Lines of the result whose taps are looked up at once.
static constexpr int64_t mostLines = 64;
/// Taps of these lines, but for those of one.
static constexpr int64_t mostOffsets = 1 << 14;
/// Taps of a line.
static constexpr int64_t mostTaps = 1 << 16;

namespace {

/// Comparisons of wider vectors are made one by one by GCC 12.
constexpr int64_t vectorBytes = 32;
template <typename T> struct Vectors {
  using Type [[gnu::vector_size(vectorBytes)]] = T;
};
template <typename T> using Vector = typename Vectors<T>::Type;

/// A vector anywhere in memory.
template <typename T> struct LooseVectors {
  using Type [[gnu::vector_size(vectorBytes), gnu::aligned(sizeof(T)),
               gnu::may_alias]] = T;
};
template <typename T>
[[gnu::always_inline]] inline const auto &vectorAt(const T *from) {
  return *reinterpret_cast<const typename LooseVectors<T>::Type *>(from);
}
template <typename T> [[gnu::always_inline]] inline auto &vectorAt(T *to) {
  return *reinterpret_cast<typename LooseVectors<T>::Type *>(to);
}
template <typename T> constexpr int64_t lanes = vectorBytes / sizeof(T);

/// A line of the result, and what it is joined from: the lines at `from` and
/// the `count` offsets.
template <typename T> struct Line {
  const T *from;
  const int64_t *offsets;
  int64_t count;
  T *to;
  int64_t extent;
  T neutral;
};

/// NaN on either side stays, as everywhere (Arithmetic.h).
struct MaxOf {
  template <typename V> [[gnu::always_inline]] static void join(V &to, V from) {
    to = (to >= from) | (to != to) ? to : from;
  }
};
struct SumOf {
  template <typename V> [[gnu::always_inline]] static void join(V &to, V from) {
    to += from;
  }
};

/// Elements from `at` on; I counts their vectors.
template <typename Join, typename T, size_t... I>
[[gnu::always_inline]] inline void joinBlock(const Line<T> &line, int64_t at,
                                             std::index_sequence<I...>) {
  Vector<T> all[] = {((void)I, Vector<T>{} + line.neutral)...};
  for (int64_t tap = 0; tap < line.count; ++tap) {
    const T *from = line.from + line.offsets[tap] + at;
    (Join::join(all[I], vectorAt(from + I * lanes<T>)), ...);
  }
  ((vectorAt(line.to + at + I * lanes<T>) = all[I]), ...);
}

/// As many elements from `at` on as `Count` vectors have.
template <typename Join, int Count, typename T>
[[gnu::always_inline]] inline void joinBlock(const Line<T> &line, int64_t at) {
  joinBlock<Join>(line, at, std::make_index_sequence<Count>());
}

/// Lines that are shorter than a vector.
template <typename Join, typename T>
[[gnu::always_inline]] inline void joinShort(const Line<T> &line) {
  Vector<T> all = Vector<T>{} + line.neutral;
  for (int64_t tap = 0; tap < line.count; ++tap) {
    Vector<T> x = {};
    for (int64_t i = 0; i < line.extent; ++i) {
      x[i] = line.from[line.offsets[tap] + i];
    }
    Join::join(all, x);
  }
  std::memcpy(line.to, &all, line.extent * sizeof(T));
}

template <typename Join, typename T>
[[gnu::always_inline]] inline void joinLine(const Line<T> &line) {
  constexpr int most = 8; // which stay in registers
  if (line.extent < lanes<T>) {
    joinShort<Join>(line);
    return;
  }
  int64_t at = 0;
  for (; at + most * lanes<T> <= line.extent; at += most * lanes<T>) {
    joinBlock<Join, most>(line, at);
  }
  for (; at + lanes<T> <= line.extent; at += lanes<T>) {
    joinBlock<Join, 1>(line, at);
  }
  if (at < line.extent) { // some of them once more
    joinBlock<Join, 1>(line, line.extent - lanes<T>);
  }
}

__attribute__((target_clones("arch=x86-64-v4", "avx2", "default"))) void
joinMax(const Line<float> &line) {
  joinLine<MaxOf>(line);
}

__attribute__((target_clones("arch=x86-64-v4", "avx2", "default"))) void
joinMaxSigned(const Line<int8_t> &line) {
  joinLine<MaxOf>(line);
}

__attribute__((target_clones("arch=x86-64-v4", "avx2", "default"))) void
joinMaxUnsigned(const Line<uint8_t> &line) {
  joinLine<MaxOf>(line);
}

__attribute__((target_clones("arch=x86-64-v4", "avx2", "default"))) void
joinSum(const Line<float> &line) {
  joinLine<SumOf>(line);
}

/// Walks over all dimensions but the last.
struct PoolPlan {
  WindowWalk<WindowDim> walk;
  int64_t base;   ///< The first element in the operand's lines.
  int64_t extent; ///< Of the result's lines.
};

/// `join` makes a line from those of its taps, and `neutral` without any.
template <typename T> class PoolKernel final : public PreparedKernel {
public:
  PoolKernel(PoolPlan plan, void (*join)(const Line<T> &), T neutral)
      : plan_(std::move(plan)), join_(join), neutral_(neutral),
        lines_(std::clamp<int64_t>(
            mostOffsets / std::max<int64_t>(plan_.walk.taps(), 1), 1,
            mostLines)),
        offsets_(lines_ * plan_.walk.taps()) {}

  Status launch(LaunchContext &context) override {
    auto *x = static_cast<const T *>(context.operands[0]) + plan_.base;
    auto *y = static_cast<T *>(context.results[0]);
    int64_t extent = plan_.extent, taps = plan_.walk.taps();
    plan_.walk.forEachPiece(
        [&](const int64_t *row, int64_t begin, int64_t end, int64_t where) {
          for (int64_t from = begin; from < end; from += lines_) {
            int64_t to = std::min(end, from + lines_);
            findTaps(row, from, to);
            for (int64_t i = from; i < to; ++i) {
              join_({x, offsets_.data() + (i - from) * taps, counts_[i - from],
                     y + (where + i - begin) * extent, extent, neutral_});
            }
          }
        });
    return {};
  }

private:
  /// Those of the lines [from, to) of a row, in order.
  void findTaps(const int64_t *row, int64_t from, int64_t to) {
    int64_t taps = plan_.walk.taps();
    counts_.fill(0);
    plan_.walk.forEachTap(
        row, from, to,
        [&](int64_t, const TapRun &run, int64_t at, int64_t step) {
          int64_t first = run.first - from;
          for (int64_t i = 0; i < run.count; ++i) {
            int64_t line = first + i;
            offsets_[line * taps + counts_[line]++] = at + i * step;
          }
        });
  }

  PoolPlan plan_;
  void (*join_)(const Line<T> &);
  T neutral_;
  int64_t lines_; ///< At once.
  /// Of the present lines: for each of them, where its taps are, and how many.
  std::vector<int64_t> offsets_;
  std::array<int64_t, mostLines> counts_ = {};
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
  PoolPlan plan{{window, strides}, base, last.extent};
  return plan.walk.taps() <= mostTaps ? std::optional(std::move(plan))
                                      : std::nullopt;
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
    return std::make_unique<PoolKernel<float>>(*plan, isMax ? joinMax : joinSum,
                                               isMax ? lowest : 0);
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
