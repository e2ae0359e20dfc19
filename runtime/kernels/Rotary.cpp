//===- Rotary.cpp - The kernel of rotary embeddings -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A box of the result may begin and end anywhere; the boxes of the operands
// hold the partners of its elements, and their angles.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>

namespace divisi::rt {
namespace {
/// The rows of x and y, and where their angles are.
struct RotaryPlan {
  Nest<4> rows;                     ///< y, x, cos, sin.
  int64_t angles = 0;               ///< In the whole tensor.
  int64_t first = 0, extent = 0;    ///< Of y's box, along the last dimension.
  int64_t from = 0;                 ///< Of x's box.
  int64_t fromCos = 0, fromSin = 0; ///< Of their boxes.
  bool interleaved = false;

  /// The element with which j makes a pair.
  int64_t partner(int64_t j) const {
    return interleaved ? j ^ 1 : j < angles ? j + angles : j - angles;
  }
  int64_t angle(int64_t j) const { return interleaved ? j / 2 : j % angles; }
  bool isSecond(int64_t j) const {
    return interleaved ? (j & 1) != 0 : j >= angles;
  }
};
} // namespace

static bool checkPairs(const Checks &checks, const RotaryPlan &plan,
                       size_t dim) {
  for (int64_t j = plan.first; j < plan.first + plan.extent; ++j) {
    bool isCovered = checks.covers(0, dim, j, j + 1);
    if (isCovered && j < 2 * plan.angles) {
      int64_t partner = plan.partner(j), angle = plan.angle(j);
      isCovered = checks.covers(0, dim, partner, partner + 1) &&
                  checks.covers(1, dim, angle, angle + 1) &&
                  checks.covers(2, dim, angle, angle + 1);
    }
    if (!isCovered) {
      return false;
    }
  }
  return true;
}

static bool makeRotaryPlan(const CallSite &site, const Checks &checks,
                           RotaryPlan &plan) {
  const TensorInfo &x = site.operands[0], &y = site.results[0];
  size_t rank = x.rank();
  if (rank == 0) {
    return checks.fail("got a scalar, expected at least one dimension");
  }
  std::array<Walk, 4> walks;
  walks[0] = denseWalk(y);
  walks[0].strides.pop_back();
  for (size_t i = 0; i < 3; ++i) {
    const TensorInfo &info = site.operands[i];
    if (!checks.operandType(i, x.type) || !checks.operandRank(i, rank)) {
      return false;
    }
    for (size_t d = 0; d + 1 < rank; ++d) {
      bool broadcasts = i > 0 && info.global[d] == 1;
      if (!broadcasts && info.global[d] != y.global[d]) {
        return checks.fail("operand " + std::to_string(i) + " has shape " +
                           stringify(info.global) +
                           ", which does not broadcast to " +
                           stringify(y.global));
      }
      if (!addAffine(site, checks, i, d, broadcasts ? 0 : y.offset[d],
                     broadcasts ? 0 : 1, y.extents[d], walks[i + 1])) {
        return false;
      }
    }
  }
  plan.rows = Nest<4>(Dims(y.extents.begin(), y.extents.end() - 1), walks);
  plan.angles = site.operands[1].global.back();
  plan.first = y.offset.back();
  plan.extent = y.extents.back();
  plan.from = x.offset.back();
  plan.fromCos = site.operands[1].offset.back();
  plan.fromSin = site.operands[2].offset.back();
  bool fits = site.operands[2].global.back() == plan.angles &&
              plan.angles <= x.global.back() / 2;
  return fits ? checkPairs(checks, plan, rank - 1)
              : checks.fail("cosines " + stringify(site.operands[1].global) +
                            " and sines " + stringify(site.operands[2].global) +
                            " do not fit " + stringify(x.global));
}

template <typename T>
static void rotateRow(const RotaryPlan &plan, T *y, const T *x, const T *cos,
                      const T *sin) {
  int64_t last = plan.first + plan.extent;
  int64_t rotated = std::min(last, 2 * plan.angles);
  int64_t j = plan.first;
  for (; j < rotated; ++j) {
    auto mine = load(x[j - plan.from]);
    auto other = load(x[plan.partner(j) - plan.from]);
    auto c = load(cos[plan.angle(j) - plan.fromCos]);
    auto s = load(sin[plan.angle(j) - plan.fromSin]);
    *y++ = T(plan.isSecond(j) ? mine * c + other * s : mine * c - other * s);
  }
  std::copy(x + (j - plan.from), x + (last - plan.from), y);
}

static std::unique_ptr<PreparedKernel> prepareRotary(const CallSite &site,
                                                     std::string &error) {
  Checks checks(site, error);
  int64_t interleaved = 0;
  RotaryPlan plan;
  if (!checks.counts(3, 1) ||
      !checks.getInt("interleaved", 0, 1, interleaved)) {
    return nullptr;
  }
  const TensorInfo &x = site.operands[0];
  plan.interleaved = interleaved != 0;
  if (!checks.resultType(0, x.type) || !checks.resultRank(0, x.rank()) ||
      !makeRotaryPlan(site, checks, plan)) {
    return nullptr;
  }
  for (size_t d = 0; d < x.rank(); ++d) {
    if (!checks.resultExtent(d, x.global[d])) {
      return nullptr;
    }
  }
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Reals>(x.type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeKernel([plan](auto operands, auto results, void *) {
      plan.rows.forEach(0, [&](const auto &at) {
        rotateRow(plan, static_cast<T *>(results[0]) + at[0],
                  static_cast<const T *>(operands[0]) + at[1],
                  static_cast<const T *>(operands[1]) + at[2],
                  static_cast<const T *>(operands[2]) + at[3]);
      });
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, x.type);
}

std::span<const Kernel> rotaryKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.rotary", 1, KernelUse::Parts, queryNothing, prepareRotary},
  };
  return kernels;
}

} // namespace divisi::rt
