//===- AttentionPairs.h - Sums over pairs of a query and a key --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_ATTENTIONPAIRS_H
#define DIVISI_RUNTIME_BACKENDS_CPU_ATTENTIONPAIRS_H

#include <cstdint>

namespace divisi::rt::cpu {

/// Whether all numbers are finite.
bool isFinite(const float *numbers, int64_t count);

/// What a block of queries and one of keys have, a row for each query: products
/// with rows of the ones add to rows of the others.
struct Pairs {
  int64_t queries, keys; ///< How many there are.
  /// Whether some query or key is infinite or NaN: where one does not attend
  /// the other, 0 times it is left out.
  bool isOdd;

  /// to += scale * pairs^T . x; false if oneDNN fails.
  bool addToKeys(const float *pairs, int64_t columns, float scale,
                 const float *x, int64_t xStride, float *to,
                 int64_t toStride) const;
  /// to += scale * pairs . x, alike.
  bool addToQueries(const float *pairs, int64_t columns, float scale,
                    const float *x, int64_t xStride, float *to,
                    int64_t toStride) const;
};

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_ATTENTIONPAIRS_H
