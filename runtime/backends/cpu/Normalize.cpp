//===- Normalize.cpp - Normalization over all but some middle dims --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a batch norm does in training: a tensor is [outer, kept, inner], and
// each kept element has the mean and variance of all others. One pass sums,
// relative to the first element of each, so that nothing large cancels, and in
// f64; a second one writes. Where nothing is inner, as of channels that come
// last, kept elements lie side by side and are summed together.
//
// Each thread has kept elements of its own, whose sums do not depend on how
// many threads there are.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/Team.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace divisi::rt::cpu {
namespace {

using Floats [[gnu::vector_size(32)]] = float;
using Doubles [[gnu::vector_size(64)]] = double;
constexpr int64_t lanes = 8;
/// Kept elements that are summed together; whole lines of the cache.
constexpr int64_t blockWidth = 32;

/// The tensor as three dimensions.
struct NormPlan {
  int64_t outer = 1, kept = 1, inner = 1;
  bool center = true;
  double epsilon = 0;

  int64_t reduced() const { return outer * inner; }
};

/// Of elements less a shift, and of their squares.
struct Sums {
  double first = 0, second = 0;
};

/// What is subtracted, and by what the rest is multiplied.
struct Affine {
  float shift, scale;
};

Affine affineOf(const NormPlan &plan, double shift, const Sums &sums) {
  auto count = double(plan.reduced());
  double offset = sums.first / count; // of the mean from the shift
  double second = sums.second / count;
  double variance = plan.center ? second - offset * offset : second;
  variance = variance < 0 ? 0 : variance; // NaN stays
  return {plan.center ? float(shift + offset) : 0,
          float(1 / std::sqrt(variance + plan.epsilon))};
}

/// Of elements that lie side by side.
__attribute__((target_clones("avx512f", "avx2", "default"))) void
addRun(const float *from, int64_t count, double shift, Sums &to) {
  Doubles first = {}, second = {};
  Doubles shifts = Doubles{} + shift;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Floats x;
    std::memcpy(&x, from + i, sizeof(x));
    Doubles d = __builtin_convertvector(x, Doubles) - shifts;
    first += d;
    second += d * d;
  }
  for (int64_t l = 0; i < count; ++i, ++l) {
    double d = double(from[i]) - shift;
    first[l] += d;
    second[l] += d * d;
  }
  for (int64_t l = 0; l < lanes; ++l) {
    to.first += first[l];
    to.second += second[l];
  }
}

__attribute__((target_clones("avx512f", "avx2", "default"))) void
writeRun(const float *from, float *to, int64_t count, Affine affine) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = (from[i] - affine.shift) * affine.scale;
  }
}

/// Of `width` columns, at most blockWidth, of rows that are `step` elements
/// apart.
__attribute__((target_clones("avx512f", "avx2", "default"))) void
addColumns(const float *from, int64_t rows, int64_t step, int64_t width,
           const double *shift, double *first, double *second) {
  if (width == blockWidth) {
    constexpr int vectors = blockWidth / lanes;
    Doubles shifts[vectors], sums[vectors] = {}, squares[vectors] = {};
    std::memcpy(shifts, shift, sizeof(shifts));
    for (int64_t row = 0; row < rows; ++row, from += step) {
      for (int v = 0; v < vectors; ++v) {
        Floats x;
        std::memcpy(&x, from + v * lanes, sizeof(x));
        Doubles d = __builtin_convertvector(x, Doubles) - shifts[v];
        sums[v] += d;
        squares[v] += d * d;
      }
    }
    std::memcpy(first, sums, sizeof(sums));
    std::memcpy(second, squares, sizeof(squares));
    return;
  }
  for (int64_t row = 0; row < rows; ++row, from += step) {
    for (int64_t i = 0; i < width; ++i) {
      double d = double(from[i]) - shift[i];
      first[i] += d;
      second[i] += d * d;
    }
  }
}

__attribute__((target_clones("avx512f", "avx2", "default"))) void
writeColumns(const float *from, float *to, int64_t rows, int64_t step,
             int64_t width, const float *shift, const float *scale) {
  for (int64_t row = 0; row < rows; ++row, from += step, to += step) {
    for (int64_t i = 0; i < width; ++i) {
      to[i] = (from[i] - shift[i]) * scale[i];
    }
  }
}

class NormalizeKernel final : public PreparedKernel {
public:
  explicit NormalizeKernel(const NormPlan &plan) : plan_(plan) {}

  Status launch(LaunchContext &context) override {
    auto *from = static_cast<const float *>(context.operands[0]);
    auto *to = static_cast<float *>(context.results[0]);
    int64_t width = plan_.inner == 1 ? blockWidth : 1;
    int64_t blocks = ceilDiv(plan_.kept, width);
    constexpr double operations = 8;
    TeamSize team(
        teamFor(context.threads,
                operations * double(plan_.reduced()) * double(plan_.kept)));
#pragma omp parallel for schedule(static)
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t begin = block * width;
      if (plan_.inner == 1) {
        doColumns(from + begin, to + begin,
                  std::min(width, plan_.kept - begin));
      } else {
        doRuns(from + begin * plan_.inner, to + begin * plan_.inner);
      }
    }
    return {};
  }

private:
  /// One kept element: a run for each outer one.
  void doRuns(const float *from, float *to) const {
    int64_t step = plan_.kept * plan_.inner;
    double shift = plan_.center ? double(*from) : 0;
    Sums sums;
    for (int64_t o = 0; o < plan_.outer; ++o) {
      addRun(from + o * step, plan_.inner, shift, sums);
    }
    Affine affine = affineOf(plan_, shift, sums);
    for (int64_t o = 0; o < plan_.outer; ++o) {
      writeRun(from + o * step, to + o * step, plan_.inner, affine);
    }
  }

  /// `width` kept elements, in each row of which there is one of each.
  void doColumns(const float *from, float *to, int64_t width) const {
    alignas(64) double shift[blockWidth] = {}, first[blockWidth] = {},
                       second[blockWidth] = {};
    for (int64_t i = 0; i < width && plan_.center; ++i) {
      shift[i] = double(from[i]);
    }
    addColumns(from, plan_.outer, plan_.kept, width, shift, first, second);
    float shifts[blockWidth], scales[blockWidth];
    for (int64_t i = 0; i < width; ++i) {
      Affine affine = affineOf(plan_, shift[i], {first[i], second[i]});
      shifts[i] = affine.shift;
      scales[i] = affine.scale;
    }
    writeColumns(from, to, plan_.outer, plan_.kept, width, shifts, scales);
  }

  NormPlan plan_;
};

} // namespace

/// f32, plain and whole, with kept dimensions that are neighbours and either
/// the last ones or before long runs; nothing for others, and for lines that
/// lie side by side, which are others' (Points.cpp).
static std::optional<NormPlan> planNormalize(const CallSite &site) {
  std::string ignored;
  if (!Checks(site, ignored).counts(1, 1) ||
      site.operands[0].type != DType::F32 || site.results[0].count() == 0 ||
      hasFormats(site) || !isSameBox(site.operands[0], site.results[0]) ||
      !referenceBackend().find(site)->prepare(site, ignored)) {
    return std::nullopt;
  }
  const Dims &extents = site.results[0].extents;
  Dims axes = site.attributes.getInts("axes");
  NormPlan plan;
  bool isBehind = false, hasKept = false;
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    bool isKept =
        std::find(axes.begin(), axes.end(), int64_t(dim)) == axes.end();
    if (extents[dim] == 1) {
      continue;
    }
    if (isKept && isBehind) {
      return std::nullopt;
    }
    isBehind = isBehind || (hasKept && !isKept);
    hasKept = hasKept || isKept;
    (isKept ? plan.kept : isBehind ? plan.inner : plan.outer) *= extents[dim];
  }
  plan.center = site.attributes.getInt("center") != 0;
  plan.epsilon = site.attributes.getFloat("epsilon");
  bool isLong = plan.inner >= 2 * lanes || plan.inner == 1;
  return hasKept && plan.outer > 1 && isLong ? std::optional(plan)
                                             : std::nullopt;
}

static bool acceptsNormalize(const CallSite &site) {
  return planNormalize(site).has_value();
}

static std::unique_ptr<PreparedKernel> prepareNormalize(const CallSite &site,
                                                        std::string &error) {
  std::optional<NormPlan> plan = planNormalize(site);
  if (!plan) {
    error = std::string(site.op) + ": no vectors for these dimensions";
    return nullptr;
  }
  return std::make_unique<NormalizeKernel>(*plan);
}

std::span<const Kernel> normalizeKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.normalize", 1, KernelUse::Whole, queryInPlace, prepareNormalize,
       acceptsNormalize},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
