//===- Attention.h - Operands of a call of attention ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention is done head by head: a matrix of queries, one of keys and one of
// values, rows of which lie in the operands at the strides that stand here.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_ATTENTION_H
#define DIVISI_RUNTIME_KERNELS_ATTENTION_H

#include "divisi/runtime/kernels/Nest.h"

namespace divisi::rt {

/// Which keys a query attends by its position; a bound of -1 is none.
struct Positions {
  int64_t left = -1, right = -1; ///< How many keys before it, behind it.
  int64_t offset = 0;            ///< The position of query 0 among keys.
};

/// The boxes and attributes of a call.
struct AttentionPlan {
  std::array<int64_t, 3> extents = {}; ///< b, (h g), s of the result's box.
  std::array<int64_t, 3> offsets = {}; ///< Of that box.
  /// How far the next element of the result lies along b, (h g) and s.
  std::array<int64_t, 3> resultStrides = {};
  int64_t keys = 0, depth = 0, features = 0;
  int64_t wholeQueries = 0; ///< s of the whole result.
  int64_t group = 1; ///< Heads of queries for each head of keys.
  /// By q, k, v and mask: the element that the result's first needs, and how
  /// far the next lies along each dimension, in the order "bhsd"; 0 where the
  /// mask broadcasts.
  std::array<int64_t, 4> bases = {};
  std::array<std::array<int64_t, 4>, 4> strides = {};
  Positions positions;
  double scale = 1, softcap = 0;
  bool hasMask = false, masksByBool = false;
  bool makesNan = false; ///< Of a query that attends nothing.

  /// The keys [first, last) that local query `s` may attend.
  void boundKeys(int64_t s, int64_t &first, int64_t &last) const;
  /// The element of an operand's box from which on the head `h` of batch `b`,
  /// both local, reads it.
  int64_t locate(size_t operand, int64_t b, int64_t h) const;
  /// The element of the result's box from which on it has that head.
  int64_t locateResult(int64_t b, int64_t h) const {
    return b * resultStrides[0] + h * resultStrides[1];
  }
};

/// The operands, by their place.
enum : size_t { Query = 0, Key = 1, Value = 2, Mask = 3 };

/// Reads the attributes and boxes of nn.attention.
bool makeAttentionPlan(const CallSite &site, const Checks &checks,
                       AttentionPlan &plan);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_ATTENTION_H
