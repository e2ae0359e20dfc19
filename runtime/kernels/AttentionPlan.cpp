//===- AttentionPlan.cpp - What a call of attention reads -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Attention.h"

#include <algorithm>

namespace divisi::rt {

/// The bounds are attributes, of any size.
void AttentionPlan::boundKeys(int64_t s, int64_t &first, int64_t &last) const {
  __int128 position = __int128(offsets[2]) + s + positions.offset;
  auto clamp = [&](__int128 key) {
    return int64_t(std::clamp<__int128>(key, 0, keys));
  };
  first = positions.left < 0 ? 0 : clamp(position - positions.left);
  last = positions.right < 0 ? keys : clamp(position + positions.right + 1);
}

int64_t AttentionPlan::locate(size_t operand, int64_t b, int64_t h) const {
  bool isShared = operand == Key || operand == Value;
  int64_t head = isShared ? (offsets[1] + h) / group - offsets[1] / group : h;
  return bases[operand] + b * strides[operand][0] + head * strides[operand][1];
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

static bool getPositions(const Checks &checks, Positions &positions) {
  return checks.getInt("left", -1, INT64_MAX, positions.left) &&
         checks.getInt("right", -1, INT64_MAX, positions.right) &&
         checks.getInt("offset", INT64_MIN, INT64_MAX, positions.offset);
}

bool makeAttentionPlan(const CallSite &site, const Checks &checks,
                       AttentionPlan &plan) {
  plan.hasMask = site.operands.size() > 3;
  if (!checks.counts(plan.hasMask ? 4 : 3, 1) ||
      !checkAttention(site, checks) || !getPositions(checks, plan.positions) ||
      !checks.getFloat("scale", plan.scale) ||
      !checks.getFloat("softcap", plan.softcap)) {
    return false;
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
    return false;
  }
  return addOperands(site, checks, plan);
}

} // namespace divisi::rt
