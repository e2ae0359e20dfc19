//===- AttentionPlan.cpp - What a call of attention reads -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Attention.h"

#include "divisi/Support/Labels.h"

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

/// By q, k, v, mask and result: where each dimension of "bhsd" stands.
using Orders = std::array<std::array<size_t, 4>, 5>;
static constexpr size_t Result = 4;

/// Reads "bshd,bthd,bthe->bshe"; false if that is not what `text` has.
static bool readLabels(std::string_view text, Orders &orders) {
  static constexpr std::string_view sorted[] = {"bhsd", "bhtd", "bhte", "bhse"};
  static constexpr size_t tensors[] = {Query, Key, Value, Result};
  orders[Mask] = {0, 1, 2, 3};
  std::vector<std::string_view> parts = splitLabels(text);
  if (parts.size() != 4) {
    return false;
  }
  for (size_t i = 0; i < 4; ++i) {
    std::string_view letters = parts[i];
    if (letters.size() != 4 || letters[3] != sorted[i][3]) {
      return false;
    }
    for (size_t dim = 0; dim < 4; ++dim) {
      size_t at = letters.find(sorted[i][dim]);
      if (at == std::string_view::npos) {
        return false;
      }
      orders[tensors[i]][dim] = at;
    }
  }
  return true;
}

/// `dims` of "bhsd".
static Dims sorted(const Dims &dims, const std::array<size_t, 4> &order) {
  return {dims[order[0]], dims[order[1]], dims[order[2]], dims[order[3]]};
}

namespace {
/// Fills a plan.
class PlanMaker {
public:
  PlanMaker(const CallSite &site, const Checks &checks, AttentionPlan &plan)
      : site_(site), checks_(checks), plan_(plan) {}
  bool make();

private:
  bool checkTypes() const;
  bool checkExtents();
  bool addDim(size_t operand, size_t dim, int64_t first, int64_t extent);
  bool addTensors();
  bool addMask();
  bool getAttributes();

  const CallSite &site_;
  const Checks &checks_;
  AttentionPlan &plan_;
  Orders orders_ = {};
  Dims q_, k_, v_;             ///< Global.
  Dims y_, yExtents_, yFirst_; ///< The result: global, and its box.
};
} // namespace

/// Ranks and types.
bool PlanMaker::checkTypes() const {
  DType type = site_.operands[Query].type;
  for (size_t i = 0; i < site_.operands.size(); ++i) {
    bool isFlags = i == Mask && plan_.masksByBool;
    if (!checks_.operandRank(i, 4) ||
        (!isFlags && !checks_.operandType(i, type))) {
      return false;
    }
  }
  return checks_.resultType(0, type) && checks_.resultRank(0, 4);
}

bool PlanMaker::checkExtents() {
  q_ = sorted(site_.operands[Query].global, orders_[Query]);
  k_ = sorted(site_.operands[Key].global, orders_[Key]);
  v_ = sorted(site_.operands[Value].global, orders_[Value]);
  y_ = sorted(site_.results[0].global, orders_[Result]);
  yExtents_ = sorted(site_.results[0].extents, orders_[Result]);
  yFirst_ = sorted(site_.results[0].offset, orders_[Result]);
  bool fits = q_[0] == k_[0] && q_[3] == k_[3] &&
              std::equal(k_.begin(), k_.begin() + 3, v_.begin()) && k_[1] > 0 &&
              q_[1] % k_[1] == 0;
  if (!fits) {
    return checks_.fail("queries " + stringify(q_) + ", keys " + stringify(k_) +
                        " and values " + stringify(v_) +
                        " do not fit together");
  }
  const auto &order = orders_[Result];
  return checks_.resultExtent(order[0], q_[0]) &&
         checks_.resultExtent(order[1], q_[1]) &&
         checks_.resultExtent(order[2], q_[2]) &&
         checks_.resultExtent(order[3], v_[3]);
}

/// Adds dim `dim` of an operand, which is read from `first` on.
bool PlanMaker::addDim(size_t operand, size_t dim, int64_t first,
                       int64_t extent) {
  const TensorInfo &info = site_.operands[operand];
  size_t at = orders_[operand][dim];
  bool broadcasts = operand == Mask && info.global[at] == 1;
  Walk walk;
  if (!addAffine(site_, checks_, operand, at, broadcasts ? 0 : first,
                 broadcasts ? 0 : 1, extent, walk)) {
    return false;
  }
  plan_.bases[operand] += walk.base;
  plan_.strides[operand][dim] =
      broadcasts ? 0 : rowMajorStrides(info.extents)[at];
  return true;
}

bool PlanMaker::addTensors() {
  int64_t firstHead = yFirst_[1] / plan_.group;
  int64_t endHead = (yFirst_[1] + yExtents_[1] + plan_.group - 1) / plan_.group;
  for (size_t i : {Key, Value}) {
    if (!addDim(i, 0, yFirst_[0], yExtents_[0]) ||
        !addDim(i, 1, firstHead, yExtents_[1] > 0 ? endHead - firstHead : 0) ||
        !addDim(i, 2, 0, plan_.keys)) {
      return false;
    }
  }
  for (size_t dim = 0; dim < 3; ++dim) {
    if (!addDim(Query, dim, yFirst_[dim], yExtents_[dim])) {
      return false;
    }
    plan_.resultStrides[dim] =
        rowMajorStrides(site_.results[0].extents)[orders_[Result][dim]];
  }
  return addDim(Query, 3, 0, plan_.depth) && addDim(Key, 3, 0, plan_.depth) &&
         addDim(Value, 3, yFirst_[3], yExtents_[3]) &&
         (!plan_.hasMask || addMask());
}

bool PlanMaker::addMask() {
  const Dims &given = site_.operands[Mask].global;
  Dims whole = {y_[0], y_[1], y_[2], plan_.keys};
  Dims first = {yFirst_[0], yFirst_[1], yFirst_[2], 0};
  Dims extents = {yExtents_[0], yExtents_[1], yExtents_[2], plan_.keys};
  for (size_t d = 0; d < 4; ++d) {
    if (given[d] != 1 && given[d] != whole[d]) {
      return checks_.fail("a mask of shape " + stringify(given) +
                          " does not broadcast to " + stringify(whole));
    }
    if (!addDim(Mask, d, first[d], extents[d])) {
      return false;
    }
  }
  return true;
}

bool PlanMaker::getAttributes() {
  Positions &positions = plan_.positions;
  std::string labels = site_.attributes.getString("labels");
  if (!labels.empty() && !readLabels(labels, orders_)) {
    return checks_.fail("attribute 'labels' is '" + labels +
                        "', expected bhsd,bhtd,bhte->bhse, or each group in "
                        "another order that leaves its last letter");
  }
  plan_.makesNan = site_.attributes.getInt("nan") != 0;
  return checks_.getInt("left", -1, INT64_MAX, positions.left) &&
         checks_.getInt("right", -1, INT64_MAX, positions.right) &&
         checks_.getInt("offset", INT64_MIN, INT64_MAX, positions.offset) &&
         checks_.getFloat("scale", plan_.scale) &&
         checks_.getFloat("softcap", plan_.softcap);
}

bool PlanMaker::make() {
  readLabels("bhsd,bhtd,bhte->bhse", orders_);
  plan_.hasMask = site_.operands.size() > 3;
  if (!checks_.counts(plan_.hasMask ? 4 : 3, 1)) {
    return false;
  }
  plan_.masksByBool = plan_.hasMask && site_.operands[Mask].type == DType::Bool;
  if (!getAttributes() || !checkTypes() || !checkExtents()) {
    return false;
  }
  std::copy_n(yExtents_.begin(), 3, plan_.extents.begin());
  std::copy_n(yFirst_.begin(), 3, plan_.offsets.begin());
  plan_.keys = k_[2];
  plan_.depth = q_[3];
  plan_.features = yExtents_[3];
  plan_.wholeQueries = y_[2];
  plan_.group = q_[1] / k_[1];
  return addTensors();
}

bool makeAttentionPlan(const CallSite &site, const Checks &checks,
                       AttentionPlan &plan) {
  return PlanMaker(site, checks, plan).make();
}

} // namespace divisi::rt
