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

#include "runtime/backends/cpu/AttentionRows.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/OneDnn.h"
#include "runtime/backends/cpu/WeighRow.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace divisi::rt::cpu {
namespace {

/// Products of so many queries and keys stay in the processor's second cache,
/// and are enough for those of oneDNN.
constexpr int64_t blockQueries = 64, blockKeys = 512;
/// Queries are cut finer down to this where there are few blocks for a team.
constexpr int64_t leastQueries = 16, leastBlocks = 16;

constexpr float minusInfinity = AttentionRows::minusInfinity;

/// Of one query: the largest product so far, and the sum of weights to it.
struct Running {
  float top = minusInfinity, total = 0;
};

/// What is made of one attention: its result, the logarithm of what it divides
/// by, or both.
struct AttentionResults {
  AttentionPlan plan;               ///< Of the first of them.
  std::optional<AttentionPlan> y;   ///< Where the result lies, and
  std::optional<AttentionPlan> lse; ///< the logarithm.
  size_t yAt = 0, lseAt = 0;        ///< Which result of the call it is.
};

class AttentionKernel final : public PreparedKernel {
public:
  explicit AttentionKernel(const AttentionResults &made)
      : made_(made), plan_(made.plan), rows_(made.plan),
        step_(queriesOf(made.plan)) {}

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

  bool runBlock(const LaunchContext &context, QueryBlock block,
                float *scores) const {
    rows_.bound(block);
    float *y = rowOf(context, made_.y, made_.yAt, block);
    std::array<Running, blockQueries> running;
    if (!forEachKeyBlock(block, [&](const KeyBlock &keys) {
          return addKeys(context, block, keys, running, scores, y);
        })) {
      return false;
    }
    if (float *lse = rowOf(context, made_.lse, made_.lseAt, block)) {
      for (int64_t s = block.from; s < block.to; ++s) {
        lse[(s - block.from) * made_.lse->resultStrides[2]] =
            logarithm(running[s - block.from]);
      }
    }
    bool works = true;
    for (int64_t s = block.from; y && s < block.to; ++s) {
      Running &of = running[s - block.from];
      finish(of, y);
      if (of.top != minusInfinity && !isFinite(y)) {
        works &= skipUnattended(context, block, s, scores, y);
      }
      y += made_.y->resultStrides[2];
    }
    return works;
  }

  /// The first row of the block in a result; null if there is none.
  static float *rowOf(const LaunchContext &context,
                      const std::optional<AttentionPlan> &plan, size_t at,
                      const QueryBlock &block) {
    return plan ? static_cast<float *>(context.results[at]) +
                      plan->locateResult(block.batch, block.head) +
                      block.from * plan->resultStrides[2]
                : nullptr;
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

  /// Adds to `y`, if there is one, what the block's queries get of `keys`.
  bool addKeys(const LaunchContext &context, const QueryBlock &block,
               const KeyBlock &keys, std::span<Running> running, float *scores,
               float *y) const {
    bool isFirst = keys.from == block.first;
    int64_t count = keys.keys();
    if (!rows_.multiply(context, block, keys, scores)) {
      return false;
    }
    int64_t stride = y ? made_.y->resultStrides[2] : 0;
    for (int64_t s = block.from; s < block.to; ++s) {
      float *row = y + (s - block.from) * stride;
      Running &of = running[s - block.from];
      float factor =
          weigh(context, block, keys, s, scores + (s - block.from) * count, of);
      for (int64_t e = 0; y && !isFirst && factor != 1 && e < plan_.features;
           ++e) {
        row[e] *= factor;
      }
    }
    return !y || isDone(dnnl_sgemm('N', 'N', block.queries(), plan_.features,
                                   count, 1.0f, scores, count,
                                   rows_.rows(context, Value, block, keys.from),
                                   plan_.strides[Value][2],
                                   isFirst ? 0.0f : 1.0f, y, stride));
  }

  /// Of what a query's weights are divided by.
  float logarithm(const Running &of) const {
    if (of.top == minusInfinity) {
      return plan_.makesNan ? NAN : std::numeric_limits<float>::infinity();
    }
    return of.top + std::log(of.total);
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
      bool works = rows_.multiply(context, block, keys, scores);
      float factor = weigh(context, block, keys, s, scores, of);
      for (int64_t e = 0; e < plan_.features; ++e) {
        y[e] *= factor;
      }
      const float *value = rows_.rows(context, Value, block, keys.from);
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
    rows_.mask(context, block, keys, s, row, nullptr);
    float before = of.top;
    float sum = weigh_(row, keys.keys(), of.top);
    // Equal ones, also infinite, leave what there is.
    float factor = before == of.top ? 1 : std::exp(before - of.top);
    of.total = of.total * factor + sum;
    return factor;
  }

  AttentionResults made_;
  AttentionPlan plan_;
  AttentionRows rows_;
  int64_t step_; ///< Queries of a block.
  WeighRow weigh_ = weighRow();
};

} // namespace

static bool planOf(const CallSite &site, std::optional<AttentionPlan> &plan) {
  std::string ignored;
  plan.emplace();
  return !site.operands.empty() && site.operands[0].type == DType::F32 &&
         makeAttentionPlan(site, Checks(site, ignored), *plan) &&
         plan->keys > 0 && plan->depth > 0 && site.results[0].count() > 0;
}

/// Of a region of an attention and the logarithm of its sums, which is of the
/// same operands.
static bool planBoth(const CallSite &site, AttentionResults &made) {
  const std::vector<RegionPart> &parts = site.region->parts;
  if (parts.size() != 2 || parts[0].op != "nn.attention" ||
      parts[1].op != "nn.attention_lse") {
    return false;
  }
  std::vector<int> all(site.operands.size()), some;
  std::iota(all.begin(), all.end(), 0);
  std::ranges::copy_if(all, std::back_inserter(some),
                       [](int operand) { return operand != int(Value); });
  int first = int(all.size());
  if (parts[0].operands != all || parts[1].operands != some ||
      site.region->results != std::vector{first, first + 1}) {
    return false;
  }
  std::vector<TensorInfo> operands;
  for (int operand : some) {
    operands.push_back(site.operands[size_t(operand)]);
  }
  CallSite y{parts[0].op, parts[0].attributes, site.operands, parts[0].results};
  CallSite lse{parts[1].op, parts[1].attributes, operands, parts[1].results};
  if (!planOf(y, made.y) || !planOf(lse, made.lse)) {
    return false;
  }
  made.plan = *made.y;
  made.lseAt = 1;
  return made.y->isSameAttention(*made.lse);
}

static bool makePlan(const CallSite &site, AttentionResults &made) {
  if (site.op == fusedOp) {
    return site.region && planBoth(site, made);
  }
  auto &plan = site.op == "nn.attention" ? made.y : made.lse;
  bool isMade = planOf(site, plan);
  made.plan = *plan;
  return isMade;
}

static bool acceptsAttention(const CallSite &site) {
  AttentionResults made;
  return makePlan(site, made);
}

static KernelQuery queryAttention(const CallSite &site) {
  AttentionResults made;
  KernelQuery query;
  if (makePlan(site, made)) {
    query.workspaceBytes =
        AttentionKernel::scratchBytes(made.plan) * site.threads;
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareAttention(const CallSite &site,
                                                        std::string &error) {
  AttentionResults made;
  if (!makePlan(site, made)) {
    error = std::string(site.op) + ": oneDNN cannot do this product";
    return nullptr;
  }
  return std::make_unique<AttentionKernel>(made);
}

std::span<const Kernel> attentionKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {fusedOp, 1, Whole, queryAttention, prepareAttention, acceptsAttention},
      {"nn.attention", 1, Whole, queryAttention, prepareAttention,
       acceptsAttention},
      {"nn.attention_lse", 1, Whole, queryAttention, prepareAttention,
       acceptsAttention},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
