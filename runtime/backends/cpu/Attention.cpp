//===- Attention.cpp - Attention by products of blocks --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of a head's queries is multiplied with all keys that one of them may
// attend, each row of products becomes weights, and these are multiplied with
// the values. Products are oneDNN's, one thread a block: what a block's result
// is does not depend on how many threads there are.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Attention.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/OneDnn.h"
#include "runtime/backends/cpu/SoftmaxRow.h"

#include "divisi/runtime/Storage.h"

#include <algorithm>
#include <limits>

namespace divisi::rt::cpu {
namespace {

/// Products of so many queries stay in the processor's second cache.
constexpr int64_t blockQueries = 64;

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

/// Local queries [from, to) of one head, and the keys [first, last) that one of
/// them may attend.
struct QueryBlock {
  int64_t batch = 0, head = 0, from = 0, to = 0;
  int64_t first = 0, last = 0;
};

class AttentionKernel final : public PreparedKernel {
public:
  explicit AttentionKernel(const AttentionPlan &plan) : plan_(plan) {}

  /// Of one thread.
  static int64_t scratchBytes(const AttentionPlan &plan) {
    WorkspaceParts parts;
    parts.add(blockQueries * plan.keys * int64_t(sizeof(float)));
    return parts.bytes();
  }

  Status launch(LaunchContext &context) override {
    const auto &[batches, heads, queries] = plan_.extents;
    int64_t perHead = ceilDiv(queries, blockQueries);
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
        block.from = i % perHead * blockQueries;
        block.to = std::min(queries, block.from + blockQueries);
        failed = !runBlock(context, block, scores) || failed;
      }
    }
    return failed ? kernelFailure() : Status();
  }

private:
  bool runBlock(const LaunchContext &context, QueryBlock block,
                float *scores) const {
    int64_t unused = 0;
    plan_.boundKeys(block.from, block.first, unused);
    plan_.boundKeys(block.to - 1, unused, block.last);
    auto rows = [&](size_t operand, int64_t row) {
      return static_cast<const float *>(context.operands[operand]) +
             plan_.locate(operand, block.batch, block.head) +
             row * plan_.strides[operand][2];
    };
    int64_t head = block.batch * plan_.extents[1] + block.head;
    float *y = static_cast<float *>(context.results[0]) +
               (head * plan_.extents[2] + block.from) * plan_.features;
    int64_t queries = block.to - block.from, keys = block.last - block.first;
    if (keys <= 0) {
      std::fill_n(y, queries * plan_.features, 0.0f);
      return true;
    }
    if (dnnl_sgemm('N', 'T', queries, keys, plan_.depth, float(plan_.scale),
                   rows(Query, block.from), plan_.strides[Query][2],
                   rows(Key, block.first), plan_.strides[Key][2], 0.0f, scores,
                   keys) != dnnl_success) {
      return false;
    }
    for (int64_t s = block.from; s < block.to; ++s) {
      weigh(context, block, s, scores + (s - block.from) * keys);
    }
    const float *values = rows(Value, block.first);
    if (dnnl_sgemm('N', 'N', queries, plan_.features, keys, 1.0f, scores, keys,
                   values, plan_.strides[Value][2], 0.0f, y,
                   plan_.features) != dnnl_success) {
      return false;
    }
    for (int64_t s = 0; s < queries; ++s) {
      skipUnattended(scores + s * keys, keys, values, y + s * plan_.features);
    }
    return true;
  }

  /// A value that nobody attends may be infinite or NaN, and 0 times that is
  /// NaN: sums such a row of `y` once more, without it.
  void skipUnattended(const float *weights, int64_t keys, const float *values,
                      float *y) const {
    int64_t features = plan_.features;
    bool isFinite = true;
    for (int64_t e = 0; e < features; ++e) {
      isFinite &= std::fabs(y[e]) <= std::numeric_limits<float>::max();
    }
    if (isFinite) {
      return;
    }
    std::fill_n(y, features, 0.0f);
    for (int64_t t = 0; t < keys; ++t) {
      const float *value = values + t * plan_.strides[Value][2];
      for (int64_t e = 0; e < features && weights[t] != 0; ++e) {
        y[e] += weights[t] * value[e];
      }
    }
  }

  /// Makes weights of the products of query `s` with the block's keys.
  void weigh(const LaunchContext &context, const QueryBlock &block, int64_t s,
             float *row) const {
    int64_t first = 0, last = 0, keys = block.last - block.first;
    plan_.boundKeys(s, first, last);
    std::fill(row, row + (first - block.first), minusInfinity);
    std::fill(row + (last - block.first), row + keys, minusInfinity);
    float *begin = row + (first - block.first),
          *end = row + (last - block.first);
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
    softmax_(row, keys);
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
  SoftmaxRow softmax_ = softmaxRow();
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
