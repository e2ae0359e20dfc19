//===- Reduce.cpp - Reductions --------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result's box says which kept indices are wanted, the operand's box which
// indices are reduced: on a shard that is a part, and the results are partial.
// Nothing to reduce gives the neutral value. Sums and products of f32 are
// accumulated in f64, in an order that depends on the operand's box alone.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Reduce.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>

namespace divisi::rt {
namespace {

struct SumOf {
  template <typename A> static constexpr A neutral() { return A(0); }
  template <typename A> static A combine(A a, A b) { return wrapAdd(a, b); }
};
struct ProdOf {
  template <typename A> static constexpr A neutral() { return A(1); }
  template <typename A> static A combine(A a, A b) { return wrapMul(a, b); }
};
struct MaxOf {
  template <typename A> static constexpr A neutral() { return lowestOf<A>(); }
  template <typename A> static A combine(A a, A b) { return maxOf(a, b); }
};
struct MinOf {
  template <typename A> static constexpr A neutral() { return highestOf<A>(); }
  template <typename A> static A combine(A a, A b) { return minOf(a, b); }
};
struct AndOf {
  template <typename A> static constexpr A neutral() { return A(1); }
  template <typename A> static A combine(A a, A b) { return a && b; }
};
struct OrOf {
  template <typename A> static constexpr A neutral() { return A(0); }
  template <typename A> static A combine(A a, A b) { return a || b; }
};

} // namespace

bool makeReducePlan(const CallSite &site, const Checks &checks,
                    ReducePlan &plan) {
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  Dims axes;
  if (!checks.getDims("axes", operand.rank(), axes) ||
      !checks.resultRank(0, operand.rank() - axes.size())) {
    return false;
  }
  Dims strides = rowMajorStrides(operand.extents), reducedExtents;
  Walk from, reduced;
  size_t to = 0;
  for (size_t d = 0; d < operand.rank(); ++d) {
    if (std::binary_search(axes.begin(), axes.end(), int64_t(d))) {
      reducedExtents.push_back(operand.extents[d]);
      reduced.strides.push_back(strides[d]);
      continue;
    }
    if (!checks.resultExtent(to, operand.global[d]) ||
        !addAffine(site, checks, 0, d, result.offset[to], 1, result.extents[to],
                   from)) {
      return false;
    }
    ++to;
  }
  plan.kept = Nest<2>(result.extents, {denseWalk(result), from});
  plan.reduced = Nest<1>(reducedExtents, {reduced});
  return true;
}

/// A contiguous run, in interleaved chains so that it vectorizes.
template <typename F, typename A, typename T>
static A reduceRun(const T *from, int64_t count) {
  constexpr int64_t lanes = reduceChains;
  A chain[lanes];
  std::fill_n(chain, lanes, F::template neutral<A>());
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (int64_t l = 0; l < lanes; ++l) {
      chain[l] = F::combine(chain[l], A(load(from[i + l])));
    }
  }
  for (int64_t l = 0; i < count; ++i, ++l) {
    chain[l] = F::combine(chain[l], A(load(from[i])));
  }
  for (int64_t l = 1; l < lanes; ++l) {
    chain[0] = F::combine(chain[0], chain[l]);
  }
  return chain[0];
}

/// The reduced dimensions end in a contiguous run: one result at a time.
template <typename F, typename R, typename T>
static void reduceInner(const ReducePlan &plan, R *to, const T *from) {
  using A = Accumulator<R>;
  int64_t run = plan.reduced.rowExtent();
  plan.kept.forEach(0, [&](const auto &at) {
    A sum = F::template neutral<A>();
    plan.reduced.forEachRow([&](const auto &in) {
      sum = F::combine(sum, reduceRun<F, A>(from + at[1] + in[0], run));
    });
    to[at[0]] = R(sum);
  });
}

/// A kept dimension is the innermost: up to 256 results at a time.
template <typename F, typename R, typename T>
static void reduceOuter(const ReducePlan &plan, R *to, const T *from) {
  using A = Accumulator<R>;
  constexpr int64_t chunk = 256;
  int64_t count = plan.kept.rowExtent(), step = plan.kept.rowStride(1);
  plan.kept.forEachRow([&](const auto &at) {
    for (int64_t begin = 0; begin < count; begin += chunk) {
      int64_t size = std::min(chunk, count - begin);
      A sums[chunk];
      std::fill_n(sums, size, F::template neutral<A>());
      plan.reduced.forEach(0, [&](const auto &in) {
        const T *row = from + at[1] + in[0] + begin * step;
        if (step == 1) {
          for (int64_t i = 0; i < size; ++i) {
            sums[i] = F::combine(sums[i], A(load(row[i])));
          }
        } else {
          for (int64_t i = 0; i < size; ++i) {
            sums[i] = F::combine(sums[i], A(load(row[i * step])));
          }
        }
      });
      std::transform(sums, sums + size, to + at[0] + begin,
                     [](A sum) { return R(sum); });
    }
  });
}

template <typename F, unsigned Types>
static std::unique_ptr<PreparedKernel>
makeReduce(const Checks &checks, const CallSite &site, const ReducePlan &plan) {
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatchSums<Types>(site, [&](auto zero, auto sum) {
    using T = decltype(zero);
    using R = decltype(sum);
    kernel = makeKernel([plan](auto operands, auto results, void *) {
      R *to = static_cast<R *>(results[0]);
      const T *from = static_cast<const T *>(operands[0]);
      if (plan.reduced.rowStride(0) == 1) {
        reduceInner<F>(plan, to, from);
      } else {
        reduceOuter<F>(plan, to, from);
      }
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.operands[0].type);
}

static std::unique_ptr<PreparedKernel> prepareReduce(const CallSite &site,
                                                     std::string &error) {
  static constexpr std::string_view kinds[] = {"sum", "prod", "max",
                                               "min", "and",  "or"};
  static constexpr std::unique_ptr<PreparedKernel> (*makers[])(
      const Checks &, const CallSite &, const ReducePlan &) = {
      makeReduce<SumOf, Numbers>,    makeReduce<ProdOf, Numbers>,
      makeReduce<MaxOf, Comparable>, makeReduce<MinOf, Comparable>,
      makeReduce<AndOf, Bools>,      makeReduce<OrOf, Bools>};
  Checks checks(site, error);
  size_t kind = 0;
  ReducePlan plan;
  if (!checks.counts(1, 1) || !checks.sumType(0) ||
      !checks.getChoice("kind", kinds, kind) ||
      !makeReducePlan(site, checks, plan)) {
    return nullptr;
  }
  return makers[kind](checks, site, plan);
}

std::span<const Kernel> reduceKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.reduce", 1, Parts, queryNothing, prepareReduce},
  };
  return kernels;
}

} // namespace divisi::rt
