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
// elements are computed as. Only q and y are rounded to the tensors' type. The
// logarithm of the sums of its exponentials is made alike.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/AttentionScores.h"
#include "runtime/kernels/Families.h"

#include <algorithm>

namespace divisi::rt {

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
  for (int64_t t = first; t < last; ++t) {
    auto made = scoreOf(plan, q, k + t * plan.strides[Key][2], mask,
                        maskAt + t * plan.strides[Mask][3]);
    if (made) {
      attended.keys[attended.count] = t;
      attended.scores[attended.count++] = made->score;
    }
  }
}

/// What all are exponentiated relative to.
template <typename T>
static Computed<T> largest(const AttendedKeys<T> &attended) {
  using A = Computed<T>;
  // As in softmax, where the field subtracts nothing.
  A top = isField<A> ? A(0) : lowestOf<A>();
  for (int64_t n = 0; n < attended.count; ++n) {
    top = isField<A> ? top : maxOf(attended.scores[n], top);
  }
  return top;
}

/// One row of y from what its query attends.
template <typename T>
static void weighValues(const AttentionPlan &plan,
                        const AttendedKeys<T> &attended, const T *v,
                        Computed<T> *sums, T *y) {
  using A = Computed<T>;
  using std::exp;
  A top = largest(attended);
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

/// The logarithm of what weights are divided by.
template <typename T>
static Computed<T> logSumExp(const AttentionPlan &plan,
                             const AttendedKeys<T> &attended) {
  using A = Computed<T>;
  using std::exp;
  using std::log;
  if (attended.count == 0) {
    return plan.makesNan ? A(NAN) : A(INFINITY);
  }
  A top = largest(attended);
  Accumulator<T> total = 0;
  for (int64_t n = 0; n < attended.count; ++n) {
    total += exp(attended.scores[n] - top);
  }
  return A(top + log(total));
}

/// All queries of one head, one after the other: a row of y each, or without
/// values a number.
template <typename T>
static void attendHead(const AttentionPlan &plan, const T *q, const T *k,
                       const T *v, const void *mask, int64_t maskAt, void *to,
                       int64_t at, void *workspace) {
  auto *keys = static_cast<int64_t *>(workspace);
  auto *scores = reinterpret_cast<Computed<T> *>(keys + plan.keys);
  auto *sums = reinterpret_cast<Computed<T> *>(keys + 2 * plan.keys);
  for (int64_t s = 0; s < plan.extents[2]; ++s) {
    AttendedKeys<T> attended{keys, scores};
    int64_t first = 0, last = 0;
    plan.boundKeys(s, first, last);
    scoreKeys(plan, q + s * plan.strides[Query][2], k, mask,
              maskAt + s * plan.strides[Mask][2], first, last, attended);
    int64_t row = at + s * plan.resultStrides[2];
    if (v) {
      weighValues(plan, attended, v, sums, static_cast<T *>(to) + row);
    } else {
      using R = SumTypeOf<T>;
      static_cast<R *>(to)[row] = R(logSumExp(plan, attended));
    }
  }
}

template <typename T>
static void attend(const AttentionPlan &plan,
                   std::span<const void *const> operands, void *to,
                   void *workspace) {
  auto *q = static_cast<const T *>(operands[Query]);
  auto *k = static_cast<const T *>(operands[Key]);
  bool hasValues = plan.features > 0;
  auto *v = hasValues ? static_cast<const T *>(operands[Value]) : nullptr;
  const void *mask = plan.hasMask ? operands[plan.places[Mask]] : nullptr;
  for (int64_t b = 0; b < plan.extents[0]; ++b) {
    for (int64_t h = 0; h < plan.extents[1]; ++h) {
      attendHead(plan, q + plan.locate(Query, b, h), k + plan.locate(Key, b, h),
                 v ? v + plan.locate(Value, b, h) : nullptr, mask,
                 plan.locate(Mask, b, h), to, plan.locateResult(b, h),
                 workspace);
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
      attend<T>(plan, operands, results[0], workspace);
    });
  });
  return known ? std::move(kernel)
               : noKernelFor(checks, site.operands[Query].type);
}

std::span<const Kernel> attentionKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.attention", 1, Parts, queryAttention, prepareAttention},
      {"nn.attention_lse", 1, Parts, queryAttention, prepareAttention},
  };
  return kernels;
}

} // namespace divisi::rt
