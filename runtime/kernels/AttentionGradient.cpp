//===- AttentionGradient.cpp - The kernel of attention's gradients --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each row of a gradient by queries is a sum over the keys that its query
// attends, each row of one by keys or values a sum over the queries that attend
// its key, of all heads that share it. What a pair has is computed for each of
// the two again.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/AttentionScores.h"
#include "runtime/kernels/Families.h"

#include <algorithm>

namespace divisi::rt {
namespace {

/// One call, T being the operands' elements and R the result's.
template <typename T, typename R> class GradientCall {
public:
  using A = Computed<T>;
  using S = Accumulator<A>;
  using Rows = SumTypeOf<T>;

  GradientCall(const AttentionPlan &plan, std::span<const void *const> operands,
               R *to, S *sums)
      : plan_(plan), operands_(operands), to_(to), sums_(sums),
        columns_(plan.of == Value ? plan.features : plan.depth) {}

  void run() {
    for (int64_t b = 0; b < plan_.extents[0]; ++b) {
      if (plan_.of == Query) {
        addQueries(b);
      } else {
        addKeys(b);
      }
    }
  }

private:
  /// A query of a head, and a key, all local.
  struct Pair {
    int64_t b, h, s, t;
  };

  template <typename E> const E *row(size_t kind, const Pair &pair) const {
    bool isOfKeys = kind == Key || kind == Value;
    return static_cast<const E *>(operands_[plan_.places[kind]]) +
           plan_.locate(kind, pair.b, pair.h) +
           (isOfKeys ? pair.t : pair.s) * plan_.strides[kind][2];
  }

  /// What the pair adds to the row of sums.
  void add(const Pair &pair) {
    using std::exp;
    const void *mask = plan_.hasMask ? operands_[plan_.places[Mask]] : nullptr;
    int64_t maskAt = plan_.locate(Mask, pair.b, pair.h) +
                     pair.s * plan_.strides[Mask][2] +
                     pair.t * plan_.strides[Mask][3];
    auto made =
        scoreOf(plan_, row<T>(Query, pair), row<T>(Key, pair), mask, maskAt);
    if (!made) {
      return;
    }
    A weight = exp(made->score - A(load(*row<Rows>(Lse, pair))));
    if (plan_.of == Value) {
      addScaled(weight, row<T>(Gradient, pair));
      return;
    }
    A slope = dot(row<T>(Gradient, pair), row<T>(Value, pair), plan_.features);
    slope = weight * (slope - A(load(*row<Rows>(Delta, pair))));
    if (plan_.softcap > 0) {
      A tanh = made->capped / A(plan_.softcap);
      slope = slope * (A(1) - tanh * tanh);
    }
    addScaled(A(plan_.scale) * slope,
              row<T>(plan_.of == Query ? Key : Query, pair));
  }

  void addScaled(A factor, const T *__restrict x) {
    S *__restrict sums = sums_;
    for (int64_t i = 0; i < columns_; ++i) {
      sums[i] += S(factor) * S(load(x[i]));
    }
  }

  void begin() { std::fill_n(sums_, columns_, S(0)); }
  void end(int64_t at) {
    std::transform(sums_, sums_ + columns_, to_ + at,
                   [](S sum) { return R(A(sum)); });
  }

  void addQueries(int64_t b) {
    for (int64_t h = 0; h < plan_.extents[1]; ++h) {
      for (int64_t s = 0; s < plan_.extents[2]; ++s) {
        int64_t first = 0, last = 0;
        plan_.boundKeys(s, first, last);
        begin();
        for (int64_t t = first; t < last; ++t) {
          add({b, h, s, t});
        }
        end(plan_.locateResult(b, h) + s * plan_.resultStrides[2]);
      }
    }
  }

  void addKeys(int64_t b) {
    for (int64_t h = 0; h < plan_.extents[1];) {
      int64_t group = (plan_.offsets[1] + h) / plan_.group;
      int64_t next = h;
      while (next < plan_.extents[1] &&
             (plan_.offsets[1] + next) / plan_.group == group) {
        ++next;
      }
      for (int64_t t = 0; t < plan_.keys; ++t) {
        begin();
        for (int64_t own = h; own < next; ++own) {
          addQueriesOf(b, own, t);
        }
        end(plan_.locateResult(b, h) + t * plan_.resultStrides[2]);
      }
      h = next;
    }
  }

  void addQueriesOf(int64_t b, int64_t h, int64_t t) {
    for (int64_t s = 0; s < plan_.extents[2]; ++s) {
      int64_t first = 0, last = 0;
      plan_.boundKeys(s, first, last);
      if (t >= first && t < last) {
        add({b, h, s, t});
      }
    }
  }

  const AttentionPlan &plan_;
  std::span<const void *const> operands_;
  R *to_;
  S *sums_; ///< Of one row.
  int64_t columns_;
};

} // namespace

static KernelQuery queryGradient(const CallSite &site) {
  KernelQuery query;
  AttentionPlan plan;
  std::string ignored;
  if (makeAttentionPlan(site, Checks(site, ignored), plan)) {
    query.workspaceBytes =
        std::max(plan.depth, plan.features) * int64_t(sizeof(double));
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareGradient(const CallSite &site,
                                                       std::string &error) {
  Checks checks(site, error);
  AttentionPlan plan;
  if (!makeAttentionPlan(site, checks, plan)) {
    return nullptr;
  }
  int64_t count = site.results[0].count();
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatchSums<Reals>(site, [&](auto zero, auto sum) {
    using T = decltype(zero);
    using R = decltype(sum);
    kernel = makeKernel([=](auto operands, auto results, void *workspace) {
      using Call = GradientCall<T, R>;
      // Heads of keys that no query of this rank has get nothing.
      auto *to = static_cast<R *>(results[0]);
      std::fill_n(to, count, R(Computed<R>(0)));
      Call(plan, operands, to, static_cast<typename Call::S *>(workspace))
          .run();
    });
  });
  return known ? std::move(kernel)
               : noKernelFor(checks, site.operands[Query].type);
}

std::span<const Kernel> attentionGradientKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.attention_gradient", 1, Parts, queryGradient, prepareGradient},
  };
  return kernels;
}

} // namespace divisi::rt
