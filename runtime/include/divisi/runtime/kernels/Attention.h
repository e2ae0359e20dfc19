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
  friend bool operator==(const Positions &, const Positions &) = default;
};

/// The operands of attention and of the operators of its way back, by what they
/// are to it. Those of nn.attention stand in this order.
enum : size_t {
  Query = 0,
  Key = 1,
  Value = 2,
  Mask = 3,
  Gradient = 4, ///< By the attention's result.
  Lse = 5,      ///< Of nn.attention_lse.
  Delta = 6,    ///< The sum of the result times its gradient.
};

/// The boxes and attributes of a call: of nn.attention, nn.attention_lse or
/// nn.attention_gradient.
struct AttentionPlan {
  static constexpr size_t operandKinds = 7; ///< Query to Delta.

  std::array<int64_t, 3> extents = {}; ///< b, (h g), s that take part.
  std::array<int64_t, 3> offsets = {}; ///< Where these begin.
  /// How far the next element of the result lies along b, heads and rows: the
  /// heads of keys and keys in a gradient by these, else those of queries.
  std::array<int64_t, 3> resultStrides = {};
  int64_t firstKey = 0, keys = 0; ///< Those that take part.
  int64_t depth = 0, features = 0;
  int64_t wholeQueries = 0, wholeKeys = 0; ///< s and t of the whole tensors.
  int64_t group = 1; ///< Heads of queries for each head of keys.
  /// By kind of operand: the element that the first query, and its first key,
  /// need, and how far the next lies along each dimension, in the order "bhsd";
  /// 0 where the mask broadcasts.
  std::array<int64_t, operandKinds> bases = {};
  std::array<std::array<int64_t, 4>, operandKinds> strides = {};
  /// Which operand of the call is of that kind.
  std::array<size_t, operandKinds> places = {};
  Positions positions;
  double scale = 1, softcap = 0;
  bool hasMask = false, masksByBool = false;
  bool makesNan = false; ///< Of a query that attends nothing.
  size_t of = Query;     ///< By which operand there is a gradient.
  bool isGradient = false;
  int64_t resultHead = 0, resultHeads = 0; ///< Those of the result's box.

  /// Whether both are of the same queries, keys and weights; results, and what
  /// stands beside these, may differ.
  bool isSameAttention(const AttentionPlan &other) const;
  /// The keys [first, last) that local query `s` may attend, counted from the
  /// first one that takes part.
  void boundKeys(int64_t s, int64_t &first, int64_t &last) const;
  /// The element of an operand's box from which on the head `h` of batch `b`,
  /// both local, reads it.
  int64_t locate(size_t operand, int64_t b, int64_t h) const;
  /// The element of the result's box from which on it has that head.
  int64_t locateResult(int64_t b, int64_t h) const;
};

/// Reads the attributes and boxes of such a call.
bool makeAttentionPlan(const CallSite &site, const Checks &checks,
                       AttentionPlan &plan);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_ATTENTION_H
