//===- AttentionRows.cpp - Products of queries and keys, by blocks --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/AttentionRows.h"
#include "divisi/runtime/kernels/Storage.h"
#include "runtime/backends/cpu/OneDnn.h"

#include <algorithm>
#include <cmath>

namespace divisi::rt::cpu {

bool AttentionRows::multiply(const LaunchContext &context,
                             const QueryBlock &block, const KeyBlock &keys,
                             float *scores) const {
  return isDone(
      dnnl_sgemm('N', 'T', block.queries(), keys.keys(), plan_.depth,
                 float(plan_.scale), rows(context, Query, block, block.from),
                 plan_.strides[Query][2], rows(context, Key, block, keys.from),
                 plan_.strides[Key][2], 0.0f, scores, keys.keys()));
}

void AttentionRows::mask(const LaunchContext &context, const QueryBlock &block,
                         const KeyBlock &keys, int64_t s, float *row,
                         float *slopes) const {
  int64_t first = 0, last = 0;
  plan_.boundKeys(s, first, last);
  first = std::clamp(first, keys.from, keys.to);
  last = std::clamp(last, first, keys.to);
  float *begin = row + (first - keys.from), *end = row + (last - keys.from);
  std::fill(row, begin, minusInfinity);
  std::fill(end, row + keys.keys(), minusInfinity);
  if (plan_.softcap > 0) {
    float cap = float(plan_.softcap);
    for (float *product = begin; product != end; ++product) {
      float tanh = std::tanh(*product / cap);
      *product = cap * tanh;
      if (slopes) {
        slopes[product - row] = 1 - tanh * tanh;
      }
    }
  }
  if (plan_.hasMask) {
    int64_t at = plan_.locate(Mask, block.batch, block.head) +
                 s * plan_.strides[Mask][2] + first * plan_.strides[Mask][3];
    applyMask(context.operands[plan_.places[Mask]], at, begin, end);
  }
}

template <typename T, typename F>
static void apply(float *products, int64_t count, const T *mask, int64_t step,
                  F f) {
  if (step == 1) { // on vectors
    for (int64_t t = 0; t < count; ++t) {
      products[t] = f(products[t], mask[t]);
    }
    return;
  }
  for (int64_t t = 0; t < count; ++t) {
    products[t] = f(products[t], mask[t * step]);
  }
}

/// Applies the mask from its element `at` on to the products of one query.
void AttentionRows::applyMask(const void *mask, int64_t at, float *begin,
                              float *end) const {
  int64_t step = plan_.strides[Mask][3], count = end - begin;
  if (plan_.masksByBool) {
    const Flag *flags = static_cast<const Flag *>(mask) + at;
    apply(begin, count, flags, step, [](float product, Flag attends) {
      return attends ? product : minusInfinity;
    });
  } else {
    const float *biases = static_cast<const float *>(mask) + at;
    apply(begin, count, biases, step, [](float product, float bias) {
      return bias == minusInfinity ? bias : product + bias;
    });
  }
}

} // namespace divisi::rt::cpu
