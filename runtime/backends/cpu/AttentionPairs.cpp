//===- AttentionPairs.cpp - Sums over pairs of a query and a key ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/AttentionPairs.h"
#include "runtime/backends/cpu/OneDnn.h"

namespace divisi::rt::cpu {

bool isFinite(const float *numbers, int64_t count) {
  constexpr int64_t lanes = 16;
  float zeros[lanes] = {}; // NaN from the first one on that is not
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (int64_t l = 0; l < lanes; ++l) {
      zeros[l] += numbers[i + l] * 0;
    }
  }
  for (; i < count; ++i) {
    zeros[0] += numbers[i] * 0;
  }
  bool isFinite = true;
  for (float zero : zeros) {
    isFinite &= zero == 0;
  }
  return isFinite;
}

/// Calls body(s, t, pair) for every pair that is not 0.
template <typename F>
static void forEachPair(const Pairs &of, const float *pairs, F body) {
  for (int64_t i = 0; i < of.queries * of.keys; ++i) {
    if (pairs[i] != 0) {
      body(i / of.keys, i % of.keys, pairs[i]);
    }
  }
}

static void addRow(int64_t count, float factor, const float *x, float *to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] += factor * x[i];
  }
}

/// to += scale * pairs . x, or of pairs^T.
static bool addPairs(const Pairs &of, const float *pairs, bool isTransposed,
                     int64_t columns, float scale, const float *x,
                     int64_t xStride, float *to, int64_t toStride) {
  if (!of.isOdd) {
    int64_t rows = isTransposed ? of.keys : of.queries;
    int64_t sums = isTransposed ? of.queries : of.keys;
    return isDone(dnnl_sgemm(isTransposed ? 'T' : 'N', 'N', rows, columns, sums,
                             scale, pairs, of.keys, x, xStride, 1.0f, to,
                             toStride));
  }
  forEachPair(of, pairs, [&](int64_t s, int64_t t, float pair) {
    int64_t from = isTransposed ? s : t, at = isTransposed ? t : s;
    addRow(columns, scale * pair, x + from * xStride, to + at * toStride);
  });
  return true;
}

bool Pairs::addToKeys(const float *pairs, int64_t columns, float scale,
                      const float *x, int64_t xStride, float *to,
                      int64_t toStride) const {
  return addPairs(*this, pairs, true, columns, scale, x, xStride, to, toStride);
}

bool Pairs::addToQueries(const float *pairs, int64_t columns, float scale,
                         const float *x, int64_t xStride, float *to,
                         int64_t toStride) const {
  return addPairs(*this, pairs, false, columns, scale, x, xStride, to,
                  toStride);
}

} // namespace divisi::rt::cpu
