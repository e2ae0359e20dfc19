//===- Attention.cpp - Attention by products of blocks --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of a head's queries meets one block of keys after the other: their
// products become weights relative to the largest so far, and are multiplied
// with the values; where a larger one comes, what has been summed is scaled.
// So the weights stay in the second cache, however many keys there are.
//
// Products are oneDNN's, one thread a block: what a block's result is does not
// depend on how many threads there are. Rows may lie at any distance, so that
// nobody has to transpose heads.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Attention.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/OneDnn.h"
#include "runtime/backends/cpu/WeighRow.h"

#include "divisi/runtime/kernels/Storage.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace divisi::rt::cpu {
namespace {

/// Products of so many queries and keys stay in the processor's second cache,
/// and are enough for those of oneDNN.
constexpr int64_t blockQueries = 64, blockKeys = 512;
/// Queries are cut finer down to this where there are few blocks for a team.
constexpr int64_t leastQueries = 16, leastBlocks = 16;

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

/// Local queries [from, to) of one head, and the keys [first, last) that one of
/// them may attend.
struct QueryBlock {
  int64_t batch = 0, head = 0, from = 0, to = 0;
  int64_t first = 0, last = 0;

  int64_t queries() const { return to - from; }
};

/// Keys [from, to).
struct KeyBlock {
  int64_t from = 0, to = 0;

  int64_t keys() const { return to - from; }
};

/// Of one query: the largest product so far, and the sum of weights to it.
struct Running {
  float top = minusInfinity, total = 0;
};

class AttentionKernel final : public PreparedKernel {
public:
  explicit AttentionKernel(const AttentionPlan &plan)
      : plan_(plan), step_(queriesOf(plan)) {}

  /// Of one thread.
  static int64_t scratchBytes(const AttentionPlan &plan) {
    WorkspaceParts parts;
    parts.add(queriesOf(plan) * std::min(plan.keys, blockKeys) *
              int64_t(sizeof(float)));
    return parts.bytes();
  }

  Status launch(LaunchContext &context) override {
    const auto &[batches, heads, queries] = plan_.extents;
    int64_t perHead = ceilDiv(queries, step_);
    int64_t count = batches * heads * perHead;
    auto *workspace = static_cast<std::byte *>(context.workspace);
    int64_t bytes = scratchBytes(plan_);
    // oneDNN's products are made by one thread inside of a team; a team of one
    // is none.
    int threads = context.threads;
    TeamSize team(threads);
    bool failed = false;
#pragma omp parallel for schedule(static, 1) reduction(|| : failed)
    for (int thread = 0; thread < threads; ++thread) {
      auto *scores = reinterpret_cast<float *>(workspace + thread * bytes);
      for (int64_t i = thread; i < count; i += threads) {
        QueryBlock block;
        block.batch = i / perHead / heads;
        block.head = i / perHead % heads;
        block.from = i % perHead * step_;
        block.to = std::min(queries, block.from + step_);
        failed = !runBlock(context, block, scores) || failed;
      }
    }
    return failed ? kernelFailure() : Status();
  }

private:
  /// How many queries a block has: by the shape alone, so that no number of
  /// threads changes a bit.
  static int64_t queriesOf(const AttentionPlan &plan) {
    const auto &[batches, heads, queries] = plan.extents;
    int64_t step = blockQueries;
    while (step > leastQueries &&
           batches * heads * ceilDiv(queries, step) < leastBlocks) {
      step /= 2;
    }
    return std::min(step, queries);
  }

  const float *rows(const LaunchContext &context, size_t operand,
                    const QueryBlock &block, int64_t row) const {
    return static_cast<const float *>(context.operands[operand]) +
           plan_.locate(operand, block.batch, block.head) +
           row * plan_.strides[operand][2];
  }

  bool runBlock(const LaunchContext &context, QueryBlock block,
                float *scores) const {
    int64_t unused = 0;
    plan_.boundKeys(block.from, block.first, unused);
    plan_.boundKeys(block.to - 1, unused, block.last);
    float *y = static_cast<float *>(context.results[0]) +
               plan_.locateResult(block.batch, block.head) +
               block.from * plan_.resultStrides[2];
    std::array<Running, blockQueries> running;
    if (!forEachKeyBlock(block, [&](const KeyBlock &keys) {
          return addKeys(context, block, keys, running, scores, y);
        })) {
      return false;
    }
    bool works = true;
    for (int64_t s = block.from; s < block.to;
         ++s, y += plan_.resultStrides[2]) {
      Running &of = running[s - block.from];
      finish(of, y);
      if (of.top != minusInfinity && !isFinite(y)) {
        works &= skipUnattended(context, block, s, scores, y);
      }
    }
    return works;
  }

  /// Calls body(keys) until that fails; blocks are about equally long.
  template <typename F>
  static bool forEachKeyBlock(const QueryBlock &block, F body) {
    int64_t all = block.last - block.first;
    if (all <= 0) {
      return true;
    }
    // Whole vectors, but for the last one.
    int64_t step = ceilDiv(ceilDiv(all, ceilDiv(all, blockKeys)), 16) * 16;
    for (int64_t from = block.first; from < block.last; from += step) {
      if (!body(KeyBlock{from, std::min(from + step, block.last)})) {
        return false;
      }
    }
    return true;
  }

  /// Adds to `y` what the block's queries get of `keys`.
  bool addKeys(const LaunchContext &context, const QueryBlock &block,
               const KeyBlock &keys, std::span<Running> running, float *scores,
               float *y) const {
    bool isFirst = keys.from == block.first;
    int64_t count = keys.keys(), stride = plan_.resultStrides[2];
    if (!multiply(context, block, keys, scores)) {
      return false;
    }
    for (int64_t s = block.from; s < block.to; ++s) {
      float *row = y + (s - block.from) * stride;
      Running &of = running[s - block.from];
      float factor =
          weigh(context, block, keys, s, scores + (s - block.from) * count, of);
      for (int64_t e = 0; !isFirst && factor != 1 && e < plan_.features; ++e) {
        row[e] *= factor;
      }
    }
    return isDone(
        dnnl_sgemm('N', 'N', block.queries(), plan_.features, count, 1.0f,
                   scores, count, rows(context, Value, block, keys.from),
                   plan_.strides[Value][2], isFirst ? 0.0f : 1.0f, y, stride));
  }

  /// The products of the block's queries with `keys`.
  bool multiply(const LaunchContext &context, const QueryBlock &block,
                const KeyBlock &keys, float *scores) const {
    return isDone(dnnl_sgemm(
        'N', 'T', block.queries(), keys.keys(), plan_.depth, float(plan_.scale),
        rows(context, Query, block, block.from), plan_.strides[Query][2],
        rows(context, Key, block, keys.from), plan_.strides[Key][2], 0.0f,
        scores, keys.keys()));
  }

  /// Divides sums by that of their weights.
  void finish(const Running &of, float *y) const {
    if (of.top == minusInfinity) {
      std::fill_n(y, plan_.features, plan_.makesNan ? NAN : 0.0f);
      return;
    }
    float scale = 1 / of.total;
    for (int64_t e = 0; e < plan_.features; ++e) {
      y[e] *= scale;
    }
  }

  bool isFinite(const float *y) const {
    bool isFinite = true;
    for (int64_t e = 0; e < plan_.features; ++e) {
      isFinite &= std::fabs(y[e]) <= std::numeric_limits<float>::max();
    }
    return isFinite;
  }

  /// A value that nobody attends may be infinite or NaN, and 0 times that is
  /// NaN: sums the row `y` of query `s` once more, without it.
  bool skipUnattended(const LaunchContext &context, QueryBlock block, int64_t s,
                      float *scores, float *y) const {
    block.from = s;
    block.to = s + 1;
    Running of;
    std::fill_n(y, plan_.features, 0.0f);
    bool works = forEachKeyBlock(block, [&](const KeyBlock &keys) {
      bool works = multiply(context, block, keys, scores);
      float factor = weigh(context, block, keys, s, scores, of);
      for (int64_t e = 0; e < plan_.features; ++e) {
        y[e] *= factor;
      }
      const float *value = rows(context, Value, block, keys.from);
      for (int64_t t = 0; t < keys.keys(); ++t) {
        for (int64_t e = 0; e < plan_.features && scores[t] != 0; ++e) {
          y[e] += scores[t] * value[e];
        }
        value += plan_.strides[Value][2];
      }
      return works;
    });
    finish(of, y);
    return works;
  }

  /// Makes weights of the products of query `s` with `keys`; returns by how
  /// much what has been summed before counts less.
  float weigh(const LaunchContext &context, const QueryBlock &block,
              const KeyBlock &keys, int64_t s, float *row, Running &of) const {
    int64_t first = 0, last = 0;
    plan_.boundKeys(s, first, last);
    first = std::clamp(first, keys.from, keys.to);
    last = std::clamp(last, first, keys.to);
    float *begin = row + (first - keys.from), *end = row + (last - keys.from);
    std::fill(row, begin, minusInfinity);
    std::fill(end, row + keys.keys(), minusInfinity);
    if (plan_.softcap > 0) {
      float cap = float(plan_.softcap);
      std::transform(begin, end, begin, [&](float product) {
        return cap * std::tanh(product / cap);
      });
    }
    if (plan_.hasMask) {
      int64_t at = plan_.locate(Mask, block.batch, block.head) +
                   s * plan_.strides[Mask][2] + first * plan_.strides[Mask][3];
      mask(context.operands[Mask], at, begin, end);
    }
    float before = of.top;
    float sum = weigh_(row, keys.keys(), of.top);
    // Equal ones, also infinite, leave what there is.
    float factor = before == of.top ? 1 : std::exp(before - of.top);
    of.total = of.total * factor + sum;
    return factor;
  }

  /// Applies the mask from its element `at` on to the products of one query.
  void mask(const void *mask, int64_t at, float *begin, float *end) const {
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

  AttentionPlan plan_;
  int64_t step_; ///< Queries of a block.
  WeighRow weigh_ = weighRow();
};

} // namespace

static bool makePlan(const CallSite &site, AttentionPlan &plan) {
  std::string ignored;
  return !site.operands.empty() && site.operands[0].type == DType::F32 &&
         makeAttentionPlan(site, Checks(site, ignored), plan) &&
         plan.keys > 0 && plan.depth > 0 && site.results[0].count() > 0;
}

static bool acceptsAttention(const CallSite &site) {
  AttentionPlan plan;
  return makePlan(site, plan);
}

static KernelQuery queryAttention(const CallSite &site) {
  AttentionPlan plan;
  KernelQuery query;
  if (makePlan(site, plan)) {
    query.workspaceBytes = AttentionKernel::scratchBytes(plan) * site.threads;
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareAttention(const CallSite &site,
                                                        std::string &error) {
  AttentionPlan plan;
  if (!makePlan(site, plan)) {
    error = std::string(site.op) + ": oneDNN cannot do this product";
    return nullptr;
  }
  return std::make_unique<AttentionKernel>(plan);
}

std::span<const Kernel> attentionKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.attention", 1, KernelUse::Whole, queryAttention, prepareAttention,
       acceptsAttention},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
