//===- AttentionGradientPlan.h - What a call of gradients does --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_ATTENTIONGRADIENTPLAN_H
#define DIVISI_RUNTIME_BACKENDS_CPU_ATTENTIONGRADIENTPLAN_H

#include "divisi/runtime/kernels/Attention.h"

#include <array>
#include <optional>

namespace divisi::rt::cpu {

/// One of the gradients of a call.
struct Target {
  AttentionPlan plan; ///< Where it lies.
  size_t at = 0;      ///< Which result of the call it is.
  int64_t count = 0;  ///< Elements of its box.
};

/// What a call computes.
struct GradientPlan {
  /// Weights and gradients of so many queries and keys stay in the second
  /// cache.
  static constexpr int64_t blockQueries = 64, blockKeys = 256;

  std::array<std::optional<Target>, 3> targets; ///< By queries, keys, values.
  AttentionPlan plan;                           ///< Of one of them.
  int64_t chunkKeys = 0, chunks = 0; ///< Keys of a chunk, and how many.

  /// Cuts keys into chunks.
  void cutKeys();
  /// Heads of keys that have queries here.
  int64_t keyHeads() const {
    const auto &[batches, heads, queries] = plan.extents;
    int64_t first = plan.offsets[1] / plan.group;
    return heads == 0 ? 0
                      : ceilDiv(plan.offsets[1] + heads, plan.group) - first;
  }
  /// Elements of one chunk's dq.
  int64_t queryCount() const {
    return plan.extents[0] * plan.extents[1] * plan.extents[2] * plan.depth;
  }
  /// How many chunks have a dq of their own.
  int64_t partials() const { return targets[Query] ? chunks - 1 : 0; }

  /// A launch's scratch memory: dq of chunks; then of each thread weights,
  /// gradients, and slopes of capped products.
  struct Workspace {
    int64_t perThread = 0, bytes = 0; ///< Of one thread, and of all.
    /// Offsets in a thread's part.
    int64_t weights = 0, gradients = 0, slopes = 0;
  };
  /// Of a team.
  Workspace workspace(int threads) const;
};

/// Reads a call of nn.attention_gradient, or of a region of several, each of
/// all operands of the call; false if it is none, or of none in f32.
bool makeGradientPlan(const CallSite &site, GradientPlan &made);

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_ATTENTIONGRADIENTPLAN_H
