//===- AttentionGradient.cpp - Attention's gradients by blocks ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of keys meets one block of queries after the other: their weights p,
// and ds, the gradient by their products, are made once for all gradients that
// a call has, and stay in the second cache,
//
//   p = exp(c - lse)      dv += p.dy       ds = p * (dy.v - delta)
//   dq += scale * ds.k    dk += scale * ds.q
//
// One thread goes through all queries of a head of keys, and so adds to dk and
// dv alone. Where there are few heads, their keys are cut into chunks for
// several threads; dq of each chunk is summed by itself, and then added in
// their order. All of that is decided by the shape, so that no number of
// threads changes a bit.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/AttentionGradientPlan.h"
#include "runtime/backends/cpu/AttentionPairs.h"
#include "runtime/backends/cpu/AttentionRows.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/OneDnn.h"
#include "runtime/backends/cpu/WeighRow.h"

#include <algorithm>
#include <cmath>

namespace divisi::rt::cpu {
namespace {

constexpr int64_t blockQueries = GradientPlan::blockQueries,
                  blockKeys = GradientPlan::blockKeys;

/// The buffers of one thread, and where it adds what it finds.
struct Work {
  float *weights, *gradients, *slopes; ///< `slopes` may be null.
  int64_t chunk = 0;
};

class GradientKernel final : public PreparedKernel {
public:
  explicit GradientKernel(const GradientPlan &made)
      : made_(made), plan_(made.plan), rows_(made.plan) {}

  Status launch(LaunchContext &context) override {
    int threads = context.threads;
    GradientPlan::Workspace at = made_.workspace(threads);
    auto *workspace = static_cast<std::byte *>(context.workspace);
    auto *partial = reinterpret_cast<float *>(workspace);
    std::byte *own = workspace + (at.bytes - threads * at.perThread);
    TeamSize team(threads);
    clear(context, partial, threads);
    int64_t heads = made_.keyHeads();
    int64_t units = plan_.extents[0] * heads * made_.chunks;
    bool failed = false;
#pragma omp parallel for schedule(static, 1) reduction(|| : failed)
    for (int thread = 0; thread < threads; ++thread) {
      std::byte *mine = own + thread * at.perThread;
      auto floats = [&](int64_t offset) {
        return reinterpret_cast<float *>(mine + offset);
      };
      Work work{floats(at.weights), floats(at.gradients),
                plan_.softcap > 0 ? floats(at.slopes) : nullptr};
      for (int64_t i = thread; i < units; i += threads) {
        work.chunk = i % made_.chunks;
        int64_t batch = i / made_.chunks / heads;
        int64_t head = i / made_.chunks % heads;
        failed = !runUnit(context, batch, head, work, partial) || failed;
      }
    }
    addPartials(context, partial, threads);
    return failed ? kernelFailure() : Status();
  }

private:
  /// Of the elements [0, count) those of one thread, about equally many.
  template <typename F>
  static void forEachPart(int threads, int64_t count, F body) {
    int64_t piece = ceilDiv(count, threads);
#pragma omp parallel for schedule(static, 1)
    for (int thread = 0; thread < threads; ++thread) {
      int64_t from = std::min(count, thread * piece);
      body(from, std::min(count, from + piece));
    }
  }

  void clear(const LaunchContext &context, float *partial, int threads) const {
    auto zero = [&](float *to, int64_t count) {
      forEachPart(threads, count, [&](int64_t from, int64_t end) {
        std::fill(to + from, to + end, 0.0f);
      });
    };
    for (const std::optional<Target> &target : made_.targets) {
      if (target) {
        zero(static_cast<float *>(context.results[target->at]), target->count);
      }
    }
    zero(partial, made_.partials() * made_.queryCount());
  }

  /// Sums dq over the chunks.
  void addPartials(const LaunchContext &context, const float *partial,
                   int threads) const {
    if (made_.partials() == 0) {
      return;
    }
    const auto &[batches, heads, queries] = plan_.extents;
    const Target &target = *made_.targets[Query];
    auto *dq = static_cast<float *>(context.results[target.at]);
    int64_t rows = batches * heads * queries, columns = plan_.depth;
    forEachPart(threads, rows, [&](int64_t from, int64_t end) {
      for (int64_t row = from; row < end; ++row) {
        int64_t head = row / queries;
        float *to = dq + target.plan.locateResult(head / heads, head % heads) +
                    row % queries * target.plan.resultStrides[2];
        for (int64_t chunk = 0; chunk < made_.partials(); ++chunk) {
          const float *more =
              partial + chunk * made_.queryCount() + row * columns;
          for (int64_t d = 0; d < columns; ++d) {
            to[d] += more[d];
          }
        }
      }
    });
  }

  /// All queries of a head of keys, with one chunk of its keys.
  bool runUnit(const LaunchContext &context, int64_t batch, int64_t keyHead,
               const Work &work, float *partial) const {
    int64_t group = plan_.group;
    int64_t before = (plan_.offsets[1] / group + keyHead) * group;
    int64_t begin = std::max<int64_t>(0, before - plan_.offsets[1]);
    int64_t end = std::min(plan_.extents[1], before + group - plan_.offsets[1]);
    int64_t first = work.chunk * made_.chunkKeys;
    int64_t last = std::min(plan_.keys, first + made_.chunkKeys);
    for (int64_t from = first; from < last; from += blockKeys) {
      KeyBlock keys{from, std::min(from + blockKeys, last)};
      for (int64_t head = begin; head < end; ++head) {
        for (int64_t s = 0; s < plan_.extents[2]; s += blockQueries) {
          QueryBlock block{batch, head, s,
                           std::min(s + blockQueries, plan_.extents[2])};
          rows_.bound(block);
          KeyBlock attended{std::max(keys.from, block.first),
                            std::min(keys.to, block.last)};
          if (attended.keys() > 0 &&
              !addBlock(context, block, attended, work, partial)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  /// Row `row` of a gradient by keys or values.
  float *rowOf(const LaunchContext &context, const Target &target,
               const QueryBlock &block, int64_t row) const {
    return static_cast<float *>(context.results[target.at]) +
           target.plan.locateResult(block.batch, block.head) +
           row * target.plan.resultStrides[2];
  }

  /// Adds what the block's queries and `keys` have.
  bool addBlock(const LaunchContext &context, const QueryBlock &block,
                const KeyBlock &keys, const Work &work, float *partial) const {
    if (!rows_.multiply(context, block, keys, work.weights)) {
      return false;
    }
    bool isOdd = !isFinite(work.weights, block.queries() * keys.keys());
    for (int64_t s = block.from; s < block.to; ++s) {
      int64_t at = (s - block.from) * keys.keys();
      if (!weigh(context, block, keys, s, isOdd, work.weights + at,
                 work.slopes ? work.slopes + at : nullptr)) {
        return false;
      }
    }
    Pairs pairs{block.queries(), keys.keys(), isOdd};
    if (const auto &target = made_.targets[Value]) {
      if (!pairs.addToKeys(work.weights, plan_.features, 1.0f,
                           rows_.rows(context, Gradient, block, block.from),
                           plan_.strides[Gradient][2],
                           rowOf(context, *target, block, keys.from),
                           target->plan.resultStrides[2])) {
        return false;
      }
    }
    if (!made_.targets[Query] && !made_.targets[Key]) {
      return true;
    }
    return makeGradients(context, block, keys, work) &&
           addToKeys(context, block, keys, pairs, work) &&
           addToQueries(context, block, keys, pairs, work, partial);
  }

  /// Makes weights exp(c - lse) of the products of query `s`. What is weighed
  /// is at most 1, so that it is relative to the largest where that is above
  /// `lse`, by a rounding or since it is of another row.
  bool weigh(const LaunchContext &context, const QueryBlock &block,
             const KeyBlock &keys, int64_t s, bool isOdd, float *row,
             float *slopes) const {
    rows_.mask(context, block, keys, s, row, slopes);
    float lse = *rows_.rows(context, Lse, block, s), top = lse;
    weigh_(row, keys.keys(), top);
    if (isOdd || std::isnan(top)) {
      return weighOneByOne(context, block, keys, s, lse, row, slopes);
    }
    float factor = top == lse ? 1 : std::exp(top - lse);
    for (int64_t t = 0; factor != 1 && t < keys.keys(); ++t) {
      row[t] *= factor;
    }
    return true;
  }

  /// The same where something is NaN, which is for the keys that it meets.
  bool weighOneByOne(const LaunchContext &context, QueryBlock block,
                     const KeyBlock &keys, int64_t s, float lse, float *row,
                     float *slopes) const {
    block.from = s;
    block.to = s + 1;
    if (!rows_.multiply(context, block, keys, row)) {
      return false;
    }
    rows_.mask(context, block, keys, s, row, slopes);
    for (int64_t t = 0; t < keys.keys(); ++t) {
      bool attends = row[t] != AttentionRows::minusInfinity;
      row[t] = attends ? std::exp(row[t] - lse) : 0;
    }
    return true;
  }

  /// Those by the products of the block's queries with `keys`.
  bool makeGradients(const LaunchContext &context, const QueryBlock &block,
                     const KeyBlock &keys, const Work &work) const {
    int64_t count = keys.keys();
    if (!isDone(
            dnnl_sgemm('N', 'T', block.queries(), count, plan_.features, 1.0f,
                       rows_.rows(context, Gradient, block, block.from),
                       plan_.strides[Gradient][2],
                       rows_.rows(context, Value, block, keys.from),
                       plan_.strides[Value][2], 0.0f, work.gradients, count))) {
      return false;
    }
    for (int64_t s = block.from; s < block.to; ++s) {
      float delta = *rows_.rows(context, Delta, block, s);
      int64_t at = (s - block.from) * count;
      const float *weights = work.weights + at;
      float *row = work.gradients + at;
      // A value that nobody attends may be infinite or NaN.
      for (int64_t t = 0; t < count; ++t) {
        row[t] = weights[t] == 0 ? 0 : weights[t] * (row[t] - delta);
      }
      for (int64_t t = 0; work.slopes && t < count; ++t) {
        row[t] = weights[t] == 0 ? 0 : row[t] * work.slopes[at + t];
      }
    }
    return true;
  }

  bool addToKeys(const LaunchContext &context, const QueryBlock &block,
                 const KeyBlock &keys, const Pairs &pairs,
                 const Work &work) const {
    const auto &target = made_.targets[Key];
    return !target ||
           pairs.addToKeys(work.gradients, plan_.depth, float(plan_.scale),
                           rows_.rows(context, Query, block, block.from),
                           plan_.strides[Query][2],
                           rowOf(context, *target, block, keys.from),
                           target->plan.resultStrides[2]);
  }

  bool addToQueries(const LaunchContext &context, const QueryBlock &block,
                    const KeyBlock &keys, const Pairs &pairs, const Work &work,
                    float *partial) const {
    const auto &target = made_.targets[Query];
    if (!target) {
      return true;
    }
    float *to = rowOf(context, *target, block, block.from);
    int64_t stride = target->plan.resultStrides[2];
    if (work.chunk > 0) {
      int64_t row =
          (block.batch * plan_.extents[1] + block.head) * plan_.extents[2] +
          block.from;
      stride = plan_.depth;
      to = partial + (work.chunk - 1) * made_.queryCount() + row * stride;
    }
    return pairs.addToQueries(work.gradients, plan_.depth, float(plan_.scale),
                              rows_.rows(context, Key, block, keys.from),
                              plan_.strides[Key][2], to, stride);
  }

  GradientPlan made_;
  AttentionPlan plan_;
  AttentionRows rows_;
  WeighRow weigh_ = weighRow();
};

} // namespace

static bool acceptsGradient(const CallSite &site) {
  GradientPlan made;
  return makeGradientPlan(site, made);
}

static KernelQuery queryGradient(const CallSite &site) {
  GradientPlan made;
  KernelQuery query;
  if (makeGradientPlan(site, made)) {
    query.workspaceBytes = made.workspace(site.threads).bytes;
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareGradient(const CallSite &site,
                                                       std::string &error) {
  GradientPlan made;
  if (!makeGradientPlan(site, made)) {
    error = std::string(site.op) + ": oneDNN cannot do this product";
    return nullptr;
  }
  return std::make_unique<GradientKernel>(made);
}

std::span<const Kernel> attentionGradientKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {fusedOp, 1, Whole, queryGradient, prepareGradient, acceptsGradient},
      {"nn.attention_gradient", 1, Whole, queryGradient, prepareGradient,
       acceptsGradient},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
