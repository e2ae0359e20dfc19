//===- Attention.cpp - The kernel of attention ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention goes query by query: the products with all keys that are attended,
// their maximum, and the sum of exponentials times values, all in the type that
// elements are computed as. Only q and y are rounded to the tensors' type.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Attention.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/FieldFunctions.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>

namespace divisi::rt {
/// The sum of a[i] * b[i], in lanes that the processor adds at once.
template <typename T>
static Computed<T> dot(const T *a, const T *b, int64_t n) {
  using A = Computed<T>;
  constexpr int64_t lanes = 16;
  A sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int64_t l = 0; l < lanes; ++l) {
      sums[l] += load(a[i + l]) * load(b[i + l]);
    }
  }
  for (; i < n; ++i) {
    sums[0] += load(a[i]) * load(b[i]);
  }
  for (int64_t width = lanes / 2; width > 0; width /= 2) {
    for (int64_t l = 0; l < width; ++l) {
      sums[l] += sums[l + width];
    }
  }
  return sums[0];
}

template <typename A> static bool isMinusInfinity(A value) {
  return value == A(-INFINITY);
}

namespace {
/// The keys that one query attends, and what they get.
template <typename T> struct AttendedKeys {
  using A = Computed<T>;
  int64_t *keys;
  A *scores;
  int64_t count = 0;
};
} // namespace

/// Fills `attended` with the products of query `q` and keys [first, last).
template <typename T>
static void scoreKeys(const AttentionPlan &plan, const T *q, const T *k,
                      const void *mask, int64_t maskAt, int64_t first,
                      int64_t last, AttendedKeys<T> &attended) {
  using A = Computed<T>;
  A scale = A(plan.scale), softcap = A(plan.softcap);
  for (int64_t t = first; t < last; ++t) {
    int64_t at = maskAt + t * plan.strides[Mask][3];
    if (plan.masksByBool && !static_cast<const Flag *>(mask)[at]) {
      continue;
    }
    A score = scale * dot(q, k + t * plan.strides[Key][2], plan.depth);
    if (plan.softcap > 0) {
      using std::tanh;
      score = softcap * tanh(score / softcap);
    }
    if (plan.hasMask && !plan.masksByBool) {
      A bias = load(static_cast<const T *>(mask)[at]);
      score = isMinusInfinity(bias) ? bias : score + bias;
    }
    if (!isMinusInfinity(score)) {
      attended.keys[attended.count] = t;
      attended.scores[attended.count++] = score;
    }
  }
}

/// One row of y from what its query attends.
template <typename T>
static void weighValues(const AttentionPlan &plan,
                        const AttendedKeys<T> &attended, const T *v,
                        Computed<T> *sums, T *y) {
  using A = Computed<T>;
  using std::exp;
  // As in softmax, where the field subtracts nothing.
  A top = isField<A> ? A(0) : lowestOf<A>();
  for (int64_t n = 0; n < attended.count; ++n) {
    top = isField<A> ? top : maxOf(attended.scores[n], top);
  }
  std::fill_n(sums, plan.features, A(0));
  Accumulator<T> total = 0;
  for (int64_t n = 0; n < attended.count; ++n) {
    A weight = exp(attended.scores[n] - top);
    total += weight;
    const T *__restrict row = v + attended.keys[n] * plan.strides[Value][2];
    A *__restrict sum = sums;
    for (int64_t e = 0; e < plan.features; ++e) {
      sum[e] += weight * load(row[e]);
    }
  }
  A ofNothing = plan.makesNan ? A(NAN) : A(0);
  A scale = attended.count == 0 ? ofNothing : A(1 / total);
  for (int64_t e = 0; e < plan.features; ++e) {
    y[e] = T(sums[e] * scale);
  }
}

/// All queries of one head, one after the other.
template <typename T>
static void attendHead(const AttentionPlan &plan, const T *q, const T *k,
                       const T *v, const void *mask, int64_t maskAt, T *y,
                       void *workspace) {
  auto *keys = static_cast<int64_t *>(workspace);
  auto *scores = reinterpret_cast<Computed<T> *>(keys + plan.keys);
  auto *sums = reinterpret_cast<Computed<T> *>(keys + 2 * plan.keys);
  for (int64_t s = 0; s < plan.extents[2]; ++s) {
    AttendedKeys<T> attended{keys, scores};
    int64_t first = 0, last = 0;
    plan.boundKeys(s, first, last);
    scoreKeys(plan, q + s * plan.strides[Query][2], k, mask,
              maskAt + s * plan.strides[Mask][2], first, last, attended);
    weighValues(plan, attended, v, sums, y + s * plan.resultStrides[2]);
  }
}

template <typename T>
static void attend(const AttentionPlan &plan,
                   std::span<const void *const> operands, T *y,
                   void *workspace) {
  auto *q = static_cast<const T *>(operands[Query]);
  auto *k = static_cast<const T *>(operands[Key]);
  auto *v = static_cast<const T *>(operands[Value]);
  const void *mask = plan.hasMask ? operands[Mask] : nullptr;
  for (int64_t b = 0; b < plan.extents[0]; ++b) {
    for (int64_t h = 0; h < plan.extents[1]; ++h) {
      attendHead(plan, q + plan.locate(Query, b, h), k + plan.locate(Key, b, h),
                 v + plan.locate(Value, b, h), mask, plan.locate(Mask, b, h),
                 y + plan.locateResult(b, h), workspace);
    }
  }
}

/// Of one query: its keys, their weights, and sums of features.
static int64_t scratchBytes(int64_t keys, int64_t features) {
  return (keys * 2 + features) * int64_t(sizeof(double));
}

static KernelQuery queryAttention(const CallSite &site) {
  KernelQuery query;
  AttentionPlan plan;
  std::string ignored;
  if (makeAttentionPlan(site, Checks(site, ignored), plan)) {
    query.workspaceBytes = scratchBytes(plan.keys, plan.features);
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareAttention(const CallSite &site,
                                                        std::string &error) {
  Checks checks(site, error);
  AttentionPlan plan;
  if (!makeAttentionPlan(site, checks, plan)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Reals>(site.operands[Query].type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeKernel([plan](auto operands, auto results, void *workspace) {
      attend<T>(plan, operands, static_cast<T *>(results[0]), workspace);
    });
  });
  return known ? std::move(kernel)
               : noKernelFor(checks, site.operands[Query].type);
}

std::span<const Kernel> attentionKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.attention", 1, Parts, queryAttention, prepareAttention},
  };
  return kernels;
}

} // namespace divisi::rt
