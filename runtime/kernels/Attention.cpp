//===- Attention.cpp - The kernel of attention ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention goes query by query: the products with all keys that are attended,
// their maximum, and the sum of exponentials times values, all in the type that
// elements are computed as. Only q and y are rounded to the tensors' type.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Families.h"
#include "runtime/kernels/Nest.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>

namespace divisi::rt {
namespace {

/// Which keys a query attends by its position; a bound of -1 is none.
struct Positions {
  int64_t left = -1, right = -1, offset = 0;
};

struct AttentionPlan {
  std::array<int64_t, 3> extents = {}; ///< b, (h g), s of the result's box.
  std::array<int64_t, 3> offsets = {}; ///< Of that box.
  int64_t keys = 0, depth = 0, features = 0;
  int64_t group = 1; ///< Heads of queries for each head of keys.
  /// By q, k, v and mask: of the element that the result's first needs, and of
  /// one further along b, head, s and t; those of the mask may be 0.
  std::array<int64_t, 4> bases = {};
  std::array<std::array<int64_t, 4>, 4> strides = {};
  Positions positions;
  double scale = 1, softcap = 0;
  bool hasMask = false, masksByBool = false;
};

/// The operands, by their place.
enum : size_t { Query = 0, Key = 1, Value = 2, Mask = 3 };

/// Scratch of one query: its keys, their weights, and sums of features.
struct AttentionScratch {
  static int64_t bytes(int64_t keys, int64_t features) {
    return (keys * 2 + features) * int64_t(sizeof(double));
  }
};

} // namespace

/// The keys [first, last) that query `i` (global) may attend. The bounds are
/// attributes, of any size.
static void boundKeys(const AttentionPlan &plan, int64_t i, int64_t &first,
                      int64_t &last) {
  const Positions &at = plan.positions;
  __int128 keys = plan.keys, position = __int128(i) + at.offset;
  auto clamp = [&](__int128 key) {
    return int64_t(std::clamp<__int128>(key, 0, keys));
  };
  first = at.left < 0 ? 0 : clamp(position - at.left);
  last = at.right < 0 ? plan.keys : clamp(position + at.right + 1);
}

/// Ranks, types and global extents.
static bool checkAttention(const CallSite &site, const Checks &checks) {
  const TensorInfo &q = site.operands[Query];
  for (size_t i = 0; i < site.operands.size(); ++i) {
    if (!checks.operandRank(i, 4) ||
        (i != Mask && !checks.operandType(i, q.type))) {
      return false;
    }
  }
  const TensorInfo &k = site.operands[Key], &v = site.operands[Value];
  bool fits =
      q.global[0] == k.global[0] && q.global[3] == k.global[3] &&
      std::equal(k.global.begin(), k.global.begin() + 3, v.global.begin()) &&
      k.global[1] > 0 && q.global[1] % k.global[1] == 0;
  if (!fits) {
    return checks.fail("queries " + stringify(q.global) + ", keys " +
                       stringify(k.global) + " and values " +
                       stringify(v.global) + " do not fit together");
  }
  return checks.resultType(0, q.type) && checks.resultRank(0, 4) &&
         checks.resultExtent(0, q.global[0]) &&
         checks.resultExtent(1, q.global[1]) &&
         checks.resultExtent(2, q.global[2]) &&
         checks.resultExtent(3, v.global[3]);
}

/// Adds dim `dim` of an operand, which is read from `first` on.
static bool addDim(const CallSite &site, const Checks &checks, size_t operand,
                   size_t dim, int64_t first, int64_t extent,
                   AttentionPlan &plan) {
  const TensorInfo &info = site.operands[operand];
  bool broadcasts = operand == Mask && info.global[dim] == 1;
  Walk walk;
  if (!addAffine(site, checks, operand, dim, broadcasts ? 0 : first,
                 broadcasts ? 0 : 1, extent, walk)) {
    return false;
  }
  plan.bases[operand] += walk.base;
  plan.strides[operand][dim] =
      broadcasts ? 0 : rowMajorStrides(info.extents)[dim];
  return true;
}

static bool addOperands(const CallSite &site, const Checks &checks,
                        AttentionPlan &plan) {
  const TensorInfo &y = site.results[0];
  int64_t firstHead = y.offset[1] / plan.group;
  int64_t endHead = (y.offset[1] + y.extents[1] + plan.group - 1) / plan.group;
  int64_t batch = y.extents[0];
  auto add = [&](size_t operand, size_t dim, int64_t first, int64_t extent) {
    return addDim(site, checks, operand, dim, first, extent, plan);
  };
  for (size_t i : {Key, Value}) {
    if (!add(i, 0, y.offset[0], batch) ||
        !add(i, 1, firstHead, y.extents[1] > 0 ? endHead - firstHead : 0) ||
        !add(i, 2, 0, plan.keys)) {
      return false;
    }
  }
  if (!add(Query, 0, y.offset[0], batch) ||
      !add(Query, 1, y.offset[1], y.extents[1]) ||
      !add(Query, 2, y.offset[2], y.extents[2]) ||
      !add(Query, 3, 0, plan.depth) || !add(Key, 3, 0, plan.depth) ||
      !add(Value, 3, y.offset[3], y.extents[3])) {
    return false;
  }
  if (!plan.hasMask) {
    return true;
  }
  const TensorInfo &mask = site.operands[Mask];
  std::array<int64_t, 4> whole = {y.global[0], y.global[1], y.global[2],
                                  plan.keys};
  std::array<int64_t, 4> first = {y.offset[0], y.offset[1], y.offset[2], 0};
  std::array<int64_t, 4> extents = {batch, y.extents[1], y.extents[2],
                                    plan.keys};
  for (size_t d = 0; d < 4; ++d) {
    if (mask.global[d] != 1 && mask.global[d] != whole[d]) {
      return checks.fail("a mask of shape " + stringify(mask.global) +
                         " does not broadcast to " +
                         stringify(Dims(whole.begin(), whole.end())));
    }
    if (!add(Mask, d, first[d], extents[d])) {
      return false;
    }
  }
  return true;
}

/// The sum of a[i] * b[i], in lanes that the processor adds at once.
template <typename T>
static Computed<T> dot(const T *a, const T *b, int64_t n) {
  using A = Computed<T>;
  constexpr int64_t lanes = 16;
  A sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int64_t l = 0; l < lanes; ++l) {
      sums[l] += load(a[i + l]) * load(b[i + l]);
    }
  }
  for (; i < n; ++i) {
    sums[0] += load(a[i]) * load(b[i]);
  }
  for (int64_t width = lanes / 2; width > 0; width /= 2) {
    for (int64_t l = 0; l < width; ++l) {
      sums[l] += sums[l + width];
    }
  }
  return sums[0];
}

template <typename A> static bool isMinusInfinity(A value) {
  return value == -std::numeric_limits<A>::infinity();
}

namespace {
/// The keys that one query attends, and what they get.
template <typename T> struct AttendedKeys {
  using A = Computed<T>;
  int64_t *keys;
  A *scores;
  int64_t count = 0;
};
} // namespace

/// Fills `attended` with the products of query `q` and keys [first, last).
template <typename T>
static void scoreKeys(const AttentionPlan &plan, const T *q, const T *k,
                      const void *mask, int64_t maskAt, int64_t first,
                      int64_t last, AttendedKeys<T> &attended) {
  using A = Computed<T>;
  A scale = A(plan.scale), softcap = A(plan.softcap);
  for (int64_t t = first; t < last; ++t) {
    int64_t at = maskAt + t * plan.strides[Mask][3];
    if (plan.masksByBool && !static_cast<const Flag *>(mask)[at]) {
      continue;
    }
    A score = scale * dot(q, k + t * plan.strides[Key][2], plan.depth);
    if (plan.softcap > 0) {
      score = softcap * std::tanh(score / softcap);
    }
    if (plan.hasMask && !plan.masksByBool) {
      A bias = load(static_cast<const T *>(mask)[at]);
      score = isMinusInfinity(bias) ? bias : score + bias;
    }
    if (!isMinusInfinity(score)) {
      attended.keys[attended.count] = t;
      attended.scores[attended.count++] = score;
    }
  }
}

/// One row of y from what its query attends.
template <typename T>
static void weighValues(const AttentionPlan &plan,
                        const AttendedKeys<T> &attended, const T *v,
                        Computed<T> *sums, T *y) {
  using A = Computed<T>;
  A top = lowestOf<A>();
  for (int64_t n = 0; n < attended.count; ++n) {
    top = maxOf(attended.scores[n], top);
  }
  std::fill_n(sums, plan.features, A(0));
  Accumulator<T> total = 0;
  for (int64_t n = 0; n < attended.count; ++n) {
    A weight = std::exp(attended.scores[n] - top);
    total += weight;
    const T *__restrict row = v + attended.keys[n] * plan.strides[Value][2];
    A *__restrict sum = sums;
    for (int64_t e = 0; e < plan.features; ++e) {
      sum[e] += weight * load(row[e]);
    }
  }
  A scale = attended.count == 0 ? A(0) : A(1 / total);
  for (int64_t e = 0; e < plan.features; ++e) {
    y[e] = T(sums[e] * scale);
  }
}

/// All queries of one head, one after the other.
template <typename T>
static void attendHead(const AttentionPlan &plan, const T *q, const T *k,
                       const T *v, const void *mask, int64_t maskAt, T *y,
                       void *workspace) {
  auto *keys = static_cast<int64_t *>(workspace);
  auto *scores = reinterpret_cast<Computed<T> *>(keys + plan.keys);
  auto *sums = reinterpret_cast<Computed<T> *>(keys + 2 * plan.keys);
  for (int64_t s = 0; s < plan.extents[2]; ++s) {
    AttendedKeys<T> attended{keys, scores};
    int64_t first = 0, last = 0;
    boundKeys(plan, plan.offsets[2] + s, first, last);
    scoreKeys(plan, q + s * plan.strides[Query][2], k, mask,
              maskAt + s * plan.strides[Mask][2], first, last, attended);
    weighValues(plan, attended, v, sums, y + s * plan.features);
  }
}

template <typename T>
static void attend(const AttentionPlan &plan,
                   std::span<const void *const> operands, T *y,
                   void *workspace) {
  auto *q = static_cast<const T *>(operands[Query]) + plan.bases[Query];
  auto *k = static_cast<const T *>(operands[Key]) + plan.bases[Key];
  auto *v = static_cast<const T *>(operands[Value]) + plan.bases[Value];
  const void *mask = plan.hasMask ? operands[Mask] : nullptr;
  int64_t firstHead = plan.offsets[1] / plan.group;
  for (int64_t b = 0; b < plan.extents[0]; ++b) {
    for (int64_t h = 0; h < plan.extents[1]; ++h) {
      int64_t shared = (plan.offsets[1] + h) / plan.group - firstHead;
      auto at = [&](size_t operand, int64_t head) {
        const auto &strides = plan.strides[operand];
        return b * strides[0] + head * strides[1];
      };
      attendHead(plan, q + at(Query, h), k + at(Key, shared),
                 v + at(Value, shared), mask, plan.bases[Mask] + at(Mask, h), y,
                 workspace);
      y += plan.extents[2] * plan.features;
    }
  }
}

static KernelQuery queryAttention(const CallSite &site) {
  bool isKnown = site.operands.size() >= 3 && site.results.size() == 1 &&
                 site.operands[Value].rank() == 4 &&
                 site.results[0].rank() == 4;
  if (!isKnown) {
    return {};
  }
  KernelQuery query;
  query.workspaceBytes = AttentionScratch::bytes(site.operands[Value].global[2],
                                                 site.results[0].extents[3]);
  return query;
}

static bool getPositions(const Checks &checks, Positions &positions) {
  return checks.getInt("left", -1, INT64_MAX, positions.left) &&
         checks.getInt("right", -1, INT64_MAX, positions.right) &&
         checks.getInt("offset", INT64_MIN, INT64_MAX, positions.offset);
}

static std::unique_ptr<PreparedKernel> prepareAttention(const CallSite &site,
                                                        std::string &error) {
  Checks checks(site, error);
  AttentionPlan plan;
  plan.hasMask = site.operands.size() > 3;
  if (!checks.counts(plan.hasMask ? 4 : 3, 1) ||
      !checkAttention(site, checks) || !getPositions(checks, plan.positions) ||
      !checks.getFloat("scale", plan.scale) ||
      !checks.getFloat("softcap", plan.softcap)) {
    return nullptr;
  }
  const TensorInfo &q = site.operands[Query], &k = site.operands[Key];
  const TensorInfo &y = site.results[0];
  std::copy_n(y.extents.begin(), 3, plan.extents.begin());
  std::copy_n(y.offset.begin(), 3, plan.offsets.begin());
  plan.keys = k.global[2];
  plan.depth = q.global[3];
  plan.features = y.extents[3];
  plan.group = q.global[1] / k.global[1];
  plan.masksByBool = plan.hasMask && site.operands[Mask].type == DType::Bool;
  if (plan.hasMask && !plan.masksByBool && !checks.operandType(Mask, q.type)) {
    return nullptr;
  }
  if (!addOperands(site, checks, plan)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Floats>(q.type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeKernel([plan](auto operands, auto results, void *workspace) {
      attend<T>(plan, operands, static_cast<T *>(results[0]), workspace);
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, q.type);
}

std::span<const Kernel> attentionKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.attention", 1, Parts, queryAttention, prepareAttention},
  };
  return kernels;
}

} // namespace divisi::rt
