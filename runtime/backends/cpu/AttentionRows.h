//===- AttentionRows.h - Products of queries and keys -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attention and its gradients do alike: a block of a head's queries meets
// a block of keys, and its products are capped and masked.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_ATTENTIONROWS_H
#define DIVISI_RUNTIME_BACKENDS_CPU_ATTENTIONROWS_H

#include "divisi/runtime/kernels/Attention.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <limits>

namespace divisi::rt::cpu {

/// Local queries [from, to) of one head, and the keys [first, last) that one of
/// them may attend.
struct QueryBlock {
  int64_t batch = 0, head = 0, from = 0, to = 0; ///< Queries.
  int64_t first = 0, last = 0;                   ///< Keys.

  /// How many there are.
  int64_t queries() const { return to - from; }
};

/// Keys [from, to).
struct KeyBlock {
  int64_t from = 0, to = 0; ///< Local.

  /// How many there are.
  int64_t keys() const { return to - from; }
};

/// The products of f32 of one call, whose operands stand as in the plan.
class AttentionRows {
public:
  /// What a query has with a key that it does not attend.
  static constexpr float minusInfinity =
      -std::numeric_limits<float>::infinity();

  /// Of a call of that plan.
  explicit AttentionRows(const AttentionPlan &plan) : plan_(plan) {}
  /// That of the call.
  const AttentionPlan &plan() const { return plan_; }

  /// Row `row` of an operand, by what it is to the attention.
  const float *rows(const LaunchContext &context, size_t operand,
                    const QueryBlock &block, int64_t row) const {
    return static_cast<const float *>(context.operands[plan_.places[operand]]) +
           plan_.locate(operand, block.batch, block.head) +
           row * plan_.strides[operand][2];
  }

  /// Sets the keys that queries of the block may attend.
  void bound(QueryBlock &block) const {
    int64_t unused = 0;
    plan_.boundKeys(block.from, block.first, unused);
    plan_.boundKeys(block.to - 1, unused, block.last);
  }

  /// The scaled products of the block's queries with `keys`, row by row; false
  /// if oneDNN fails.
  bool multiply(const LaunchContext &context, const QueryBlock &block,
                const KeyBlock &keys, float *scores) const;

  /// Makes of the products of query `s` with `keys` what is exponentiated:
  /// capped, masked, and minus infinity where it does not attend. Where
  /// products are capped, `slopes`, if it is not null, becomes how they change
  /// with those before.
  void mask(const LaunchContext &context, const QueryBlock &block,
            const KeyBlock &keys, int64_t s, float *row, float *slopes) const;

private:
  void applyMask(const void *mask, int64_t at, float *begin, float *end) const;

  AttentionPlan plan_;
};

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_ATTENTIONROWS_H
