//===- Reduce.cpp - Sums by vectors ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of f32 in the order of the reference kernel, whose bits they have: in f64,
// of a run of reduced elements in eight chains, and of results that lie side by
// side for a piece of them at a time.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Families.h"
#include "runtime/kernels/Reduce.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace divisi::rt::cpu {
namespace {

using Floats [[gnu::vector_size(32)]] = float;
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

/// The same, `size` of them.
__attribute__((target_clones("avx512f", "avx2", "default"))) void
addRows(double *sums, Rows rows, int64_t size) {
  constexpr int most = 4; // which stay in registers
  int64_t i = 0;
  for (; i + most * lanes <= size; i += most * lanes) {
    addVectors<most>(sums + i, {rows.from + i, rows.count, rows.step});
  }
  for (; i + lanes <= size; i += lanes) {
    addVectors<1>(sums + i, {rows.from + i, rows.count, rows.step});
  }
  for (; i < size; ++i) {
    for (int64_t row = 0; row < rows.count; ++row) {
      sums[i] += double(rows.from[i + row * rows.step]);
    }
  }
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

/// Reduced elements lie side by side: one result after the other.
class SumRuns final : public PreparedKernel {
public:
  explicit SumRuns(ReducePlan plan) : plan_(std::move(plan)) {}
  Status launch(LaunchContext &context) override {
    auto *from = static_cast<const float *>(context.operands[0]);
    auto *to = static_cast<float *>(context.results[0]);
    int64_t run = plan_.reduced.rowExtent();
    plan_.kept.forEach(0, [&](const auto &at) {
      double sum = 0;
      plan_.reduced.forEachRow(
          [&](const auto &in) { sum += sumRun(from + at[1] + in[0], run); });
      to[at[0]] = float(sum);
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

/// A sum of f32, plain, of which one of the two ways is; nothing for others.
static std::optional<ReducePlan> planSum(const CallSite &site,
                                         std::string &error) {
  Checks checks(site, error);
  ReducePlan plan;
  if (!checks.counts(1, 1) || site.operands[0].type != DType::F32 ||
      site.results[0].type != DType::F32 ||
      site.attributes.getString("kind") != "sum" ||
      !makeReducePlan(site, checks, plan)) {
    return std::nullopt;
  }
  bool isRun = plan.reduced.rowStride(0) == 1;
  bool isRow = plan.kept.rowStride(1) == 1;
  return isRun || isRow ? std::optional(plan) : std::nullopt;
}

static bool acceptsSum(const CallSite &site) {
  std::string ignored;
  return planSum(site, ignored).has_value();
}

static KernelQuery querySum(const CallSite &) { return {}; }

static std::unique_ptr<PreparedKernel> prepareSum(const CallSite &site,
                                                  std::string &error) {
  std::optional<ReducePlan> plan = planSum(site, error);
  if (!plan) {
    return nullptr;
  }
  if (plan->reduced.rowStride(0) == 1) {
    return std::make_unique<SumRuns>(*plan);
  }
  return std::make_unique<SumRows>(*plan);
}

std::span<const Kernel> reduceKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.reduce", 1, KernelUse::Parts, querySum, prepareSum, acceptsSum},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
