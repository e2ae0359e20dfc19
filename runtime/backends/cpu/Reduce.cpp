//===- Reduce.cpp - Sums and extrema by vectors ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums and extrema of f32 in the order of the reference kernel, whose bits they
// have: of a run of reduced elements in eight chains, and of results that lie
// side by side for a piece of them at a time. Sums are in f64.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Reduce.h"
#include "divisi/runtime/kernels/Arithmetic.h"
#include "runtime/backends/cpu/Families.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

namespace divisi::rt::cpu {
namespace {

using Floats [[gnu::vector_size(32)]] = float;
using Ints [[gnu::vector_size(32)]] = int32_t;
using Doubles [[gnu::vector_size(64)]] = double;
constexpr int64_t lanes = 8;
static_assert(lanes == reduceChains);
/// Results whose sums stay in the first cache.
constexpr int64_t mostAtOnce = 1024;

/// Rows of elements that lie side by side, `step` elements apart.
struct Rows {
  const float *from;
  int64_t count, step;
};

/// What Arithmetic.h has of two: of equal ones the second.
template <bool IsMax, typename V>
[[gnu::always_inline]] inline void joinExact(V &to, const V &from) {
  if constexpr (std::is_same_v<V, float>) {
    to = IsMax ? maxOf(to, from) : minOf(to, from);
  } else {
    to = (IsMax ? to > from : to < from) | (to != to) ? to : from;
  }
}

template <bool IsMax>
constexpr float neutralOf = IsMax ? lowestOf<float>() : highestOf<float>();

/// Adds the rows to sums that lie side by side, `Vectors` vectors of them.
template <int Vectors>
[[gnu::always_inline]] inline void addVectors(double *sums, const Rows &rows) {
  Doubles all[Vectors];
  std::memcpy(all, sums, sizeof(all));
  for (int64_t row = 0; row < rows.count; ++row) {
    for (int v = 0; v < Vectors; ++v) {
      Floats x;
      std::memcpy(&x, rows.from + row * rows.step + v * lanes, sizeof(x));
      all[v] += __builtin_convertvector(x, Doubles);
    }
  }
  std::memcpy(sums, all, sizeof(all));
}

/// Maxima, or minima, of the rows and of what is there.
template <bool IsMax, int Vectors>
[[gnu::always_inline]] inline void joinVectors(float *found, const Rows &rows) {
  Floats all[Vectors];
  std::memcpy(all, found, sizeof(all));
  for (int64_t row = 0; row < rows.count; ++row) {
    for (int v = 0; v < Vectors; ++v) {
      Floats x;
      std::memcpy(&x, rows.from + row * rows.step + v * lanes, sizeof(x));
      joinExact<IsMax>(all[v], x);
    }
  }
  std::memcpy(found, all, sizeof(all));
}

/// Calls body(at, rows, vectors) for blocks of `size` elements, and the rows of
/// each: as many vectors, 4 or 1, or else one element. Few rows at a time, all
/// of which are read on side by side.
template <typename Body>
[[gnu::always_inline]] inline void forEachBlock(const Rows &rows, int64_t size,
                                                Body &&body) {
  constexpr int64_t most = 4, rowsAtOnce = 8;
  for (int64_t row = 0; row < rows.count; row += rowsAtOnce) {
    Rows some{rows.from + row * rows.step,
              std::min(rowsAtOnce, rows.count - row), rows.step};
    int64_t i = 0;
    auto go = [&](auto vectors, int64_t elements) {
      for (; i + elements <= size; i += elements) {
        body(i, Rows{some.from + i, some.count, some.step}, vectors);
      }
    };
    go(std::integral_constant<int, most>(), most * lanes);
    go(std::integral_constant<int, 1>(), lanes);
    go(std::integral_constant<int, 0>(), 1);
  }
}

/// Adds the rows to `size` sums that lie side by side.
__attribute__((target_clones("avx512f", "avx2", "default"))) void
addRows(double *sums, Rows rows, int64_t size) {
  forEachBlock(rows, size, [&](int64_t at, Rows block, auto vectors) {
    if constexpr (vectors != 0) {
      addVectors<vectors>(sums + at, block);
    } else {
      for (int64_t row = 0; row < block.count; ++row) {
        sums[at] += double(block.from[row * block.step]);
      }
    }
  });
}

template <bool IsMax>
[[gnu::always_inline]] inline void joinAll(float *found, Rows rows,
                                           int64_t size) {
  forEachBlock(rows, size, [&](int64_t at, Rows block, auto vectors) {
    if constexpr (vectors != 0) {
      joinVectors<IsMax, vectors>(found + at, block);
    } else {
      for (int64_t row = 0; row < block.count; ++row) {
        joinExact<IsMax>(found[at], block.from[row * block.step]);
      }
    }
  });
}

__attribute__((target_clones("avx512f", "avx2", "default"))) void
maxRows(float *found, Rows rows, int64_t size) {
  joinAll<true>(found, rows, size);
}

__attribute__((target_clones("avx512f", "avx2", "default"))) void
minRows(float *found, Rows rows, int64_t size) {
  joinAll<false>(found, rows, size);
}

/// Of what lies side by side.
__attribute__((target_clones("avx512f", "avx2", "default"))) double
sumRun(const float *from, int64_t count) {
  Doubles chains = {};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Floats x;
    std::memcpy(&x, from + i, sizeof(x));
    chains += __builtin_convertvector(x, Doubles);
  }
  for (int64_t l = 0; i < count; ++i, ++l) {
    chains[l] += double(from[i]);
  }
  double sum = chains[0];
  for (int64_t l = 1; l < lanes; ++l) {
    sum += chains[l];
  }
  return sum;
}

/// Of what lies side by side, in the reference's order.
template <bool IsMax>
[[gnu::always_inline]] inline float joinRunExactly(const float *from,
                                                   int64_t count) {
  float chains[lanes];
  std::fill_n(chains, lanes, neutralOf<IsMax>);
  for (int64_t i = 0; i < count; ++i) {
    joinExact<IsMax>(chains[i % lanes], from[i]);
  }
  for (int64_t l = 1; l < lanes; ++l) {
    joinExact<IsMax>(chains[0], chains[l]);
  }
  return chains[0];
}

template <bool IsMax>
[[gnu::always_inline]] inline float joinRun(const float *from, int64_t count) {
  constexpr int most = 4;
  Floats none = Floats{} + neutralOf<IsMax>;
  Floats all[most] = {none, none, none, none};
  Ints isNaN = {};
  int64_t i = 0;
  for (; i + most * lanes <= count; i += most * lanes) {
    for (int v = 0; v < most; ++v) {
      Floats x;
      std::memcpy(&x, from + i + v * lanes, sizeof(x));
      isNaN |= x != x;
      all[v] = (IsMax ? x > all[v] : x < all[v]) ? x : all[v];
    }
  }
  float found = neutralOf<IsMax>;
  bool isExact = true;
  for (int64_t l = 0; l < lanes; ++l) {
    isExact &= isNaN[l] == 0;
    for (int v = 0; v < most; ++v) {
      joinExact<IsMax>(found, all[v][l]);
    }
  }
  for (; i < count; ++i) {
    joinExact<IsMax>(found, from[i]);
  }
  return isExact && found == found && found != 0
             ? found
             : joinRunExactly<IsMax>(from, count);
}

__attribute__((target_clones("avx512f", "avx2", "default"))) float
maxRun(const float *from, int64_t count) {
  return joinRun<true>(from, count);
}

__attribute__((target_clones("avx512f", "avx2", "default"))) float
minRun(const float *from, int64_t count) {
  return joinRun<false>(from, count);
}

/// How results are made of runs of what lies side by side.
struct SumOfRuns {
  using Value = double;
  static constexpr Value none = 0;
  static void add(Value &sum, const float *run, int64_t count) {
    sum += sumRun(run, count);
  }
};
template <bool IsMax> struct ExtremumOfRuns {
  using Value = float;
  static constexpr Value none = neutralOf<IsMax>;
  static void add(Value &found, const float *run, int64_t count) {
    joinExact<IsMax>(found, (IsMax ? maxRun : minRun)(run, count));
  }
};

/// Reduced elements lie side by side: one result after the other.
template <typename How> class ReduceRuns final : public PreparedKernel {
public:
  explicit ReduceRuns(ReducePlan plan) : plan_(std::move(plan)) {}
  Status launch(LaunchContext &context) override {
    auto *from = static_cast<const float *>(context.operands[0]);
    auto *to = static_cast<float *>(context.results[0]);
    int64_t run = plan_.reduced.rowExtent();
    plan_.kept.forEach(0, [&](const auto &at) {
      typename How::Value value = How::none;
      plan_.reduced.forEachRow(
          [&](const auto &in) { How::add(value, from + at[1] + in[0], run); });
      to[at[0]] = float(value);
    });
    return {};
  }

private:
  ReducePlan plan_;
};

/// Maxima or minima, where results lie side by side.
template <bool IsMax> class JoinRows final : public PreparedKernel {
public:
  explicit JoinRows(ReducePlan plan) : plan_(std::move(plan)) {}
  Status launch(LaunchContext &context) override {
    auto *from = static_cast<const float *>(context.operands[0]);
    auto *to = static_cast<float *>(context.results[0]);
    int64_t count = plan_.kept.rowExtent();
    plan_.kept.forEachRow([&](const auto &at) {
      float *found = to + at[0];
      std::fill_n(found, count, neutralOf<IsMax>);
      plan_.reduced.forEachRow([&](const auto &in) {
        (IsMax ? maxRows
               : minRows)(found,
                          {from + at[1] + in[0], plan_.reduced.rowExtent(),
                           plan_.reduced.rowStride(0)},
                          count);
      });
    });
    return {};
  }

private:
  ReducePlan plan_;
};

/// Results lie side by side, as what is reduced to them does.
class SumRows final : public PreparedKernel {
public:
  explicit SumRows(ReducePlan plan) : plan_(std::move(plan)) {}
  Status launch(LaunchContext &context) override {
    auto *from = static_cast<const float *>(context.operands[0]);
    auto *to = static_cast<float *>(context.results[0]);
    int64_t count = plan_.kept.rowExtent();
    plan_.kept.forEachRow([&](const auto &at) {
      for (int64_t begin = 0; begin < count; begin += mostAtOnce) {
        int64_t size = std::min(mostAtOnce, count - begin);
        double sums[mostAtOnce];
        std::fill_n(sums, size, 0);
        plan_.reduced.forEachRow([&](const auto &in) {
          addRows(sums,
                  {from + at[1] + in[0] + begin, plan_.reduced.rowExtent(),
                   plan_.reduced.rowStride(0)},
                  size);
        });
        std::transform(sums, sums + size, to + at[0] + begin,
                       [](double sum) { return float(sum); });
      }
    });
    return {};
  }

private:
  ReducePlan plan_;
};

} // namespace

/// A sum, maximum or minimum of f32, plain, of which one of the two ways is;
/// nothing for others.
static std::optional<ReducePlan> planReduce(const CallSite &site,
                                            std::string &error) {
  Checks checks(site, error);
  ReducePlan plan;
  std::string kind = site.attributes.getString("kind");
  if (!checks.counts(1, 1) || site.operands[0].type != DType::F32 ||
      site.results[0].type != DType::F32 ||
      (kind != "sum" && kind != "max" && kind != "min") ||
      !makeReducePlan(site, checks, plan)) {
    return std::nullopt;
  }
  bool isRun = plan.reduced.rowStride(0) == 1;
  bool isRow = plan.kept.rowStride(1) == 1;
  return isRun || isRow ? std::optional(plan) : std::nullopt;
}

static bool acceptsReduce(const CallSite &site) {
  std::string ignored;
  return planReduce(site, ignored).has_value();
}

static KernelQuery queryReduce(const CallSite &) { return {}; }

template <typename HowOfRuns, typename Rows>
static std::unique_ptr<PreparedKernel> makeReduce(const ReducePlan &plan) {
  if (plan.reduced.rowStride(0) == 1) {
    return std::make_unique<ReduceRuns<HowOfRuns>>(plan);
  }
  return std::make_unique<Rows>(plan);
}

static std::unique_ptr<PreparedKernel> prepareReduce(const CallSite &site,
                                                     std::string &error) {
  std::optional<ReducePlan> plan = planReduce(site, error);
  if (!plan) {
    return nullptr;
  }
  std::string kind = site.attributes.getString("kind");
  return kind == "sum" ? makeReduce<SumOfRuns, SumRows>(*plan)
         : kind == "max"
             ? makeReduce<ExtremumOfRuns<true>, JoinRows<true>>(*plan)
             : makeReduce<ExtremumOfRuns<false>, JoinRows<false>>(*plan);
}

std::span<const Kernel> reduceKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.reduce", 1, KernelUse::Parts, queryReduce, prepareReduce,
       acceptsReduce},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
