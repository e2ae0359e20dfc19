//===- AttentionScores.h - What a query has with a key ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_ATTENTIONSCORES_H
#define DIVISI_RUNTIME_KERNELS_ATTENTIONSCORES_H

#include "divisi/runtime/kernels/Attention.h"
#include "runtime/kernels/FieldFunctions.h"
#include "runtime/kernels/Scalars.h"

#include <cmath>
#include <optional>

namespace divisi::rt {

/// The sum of a[i] * b[i], in lanes that the processor adds at once.
template <typename T> Computed<T> dot(const T *a, const T *b, int64_t n) {
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

/// What a query and a key have.
template <typename A> struct AttentionScore {
  A capped; ///< Before the mask.
  A score;  ///< What is exponentiated.
};

/// Of the rows `q` and `k`, of which the mask has element `maskAt`; nothing if
/// the mask lets the query not attend the key.
template <typename T>
std::optional<AttentionScore<Computed<T>>>
scoreOf(const AttentionPlan &plan, const T *q, const T *k, const void *mask,
        int64_t maskAt) {
  using A = Computed<T>;
  using std::tanh;
  if (plan.masksByBool && !static_cast<const Flag *>(mask)[maskAt]) {
    return std::nullopt;
  }
  A score = A(plan.scale) * dot(q, k, plan.depth);
  if (plan.softcap > 0) {
    score = A(plan.softcap) * tanh(score / A(plan.softcap));
  }
  AttentionScore<A> made{score, score};
  A none = A(-INFINITY);
  if (plan.hasMask && !plan.masksByBool) {
    A bias = load(static_cast<const T *>(mask)[maskAt]);
    made.score = bias == none ? bias : score + bias;
  }
  return made.score == none ? std::nullopt : std::optional(made);
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_ATTENTIONSCORES_H
