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
#include <cassert>
#include <tuple>

namespace divisi::rt {

bool AttentionPlan::isSameAttention(const AttentionPlan &other) const {
  auto facts = [](const AttentionPlan &plan) {
    return std::tie(plan.extents, plan.offsets, plan.firstKey, plan.keys,
                    plan.depth, plan.group, plan.positions, plan.scale,
                    plan.softcap, plan.hasMask, plan.masksByBool,
                    plan.makesNan);
  };
  return facts(*this) == facts(other) &&
         std::ranges::all_of(std::array{Query, Key, Mask}, [&](size_t kind) {
           return bases[kind] == other.bases[kind] &&
                  strides[kind] == other.strides[kind];
         });
}

/// The bounds are attributes, of any size.
void AttentionPlan::boundKeys(int64_t s, int64_t &first, int64_t &last) const {
  __int128 position = __int128(offsets[2]) + s + positions.offset - firstKey;
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

int64_t AttentionPlan::locateResult(int64_t b, int64_t h) const {
  bool isShared = isGradient && of != Query;
  int64_t head = isShared ? (offsets[1] + h) / group - resultHead : h;
  return b * resultStrides[0] + head * resultStrides[1];
}

/// By kind of operand, and the attention's result: where each dimension of
/// "bhsd" stands.
using Orders = std::array<std::array<size_t, 4>, AttentionPlan::operandKinds>;

/// Reads "bshd,bthd,bthe->bshe"; false if that is not what `text` has.
static bool readLabels(std::string_view text, Orders &orders) {
  static constexpr std::string_view sorted[] = {"bhsd", "bhtd", "bhte", "bhse"};
  static constexpr size_t kinds[] = {Query, Key, Value, Gradient};
  for (size_t kind : {Mask, Lse, Delta}) {
    orders[kind] = {0, 1, 2, 3};
  }
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
      orders[kinds[i]][dim] = at;
    }
  }
  return true;
}

/// `dims` of "bhsd", or of "bhs".
static Dims sorted(const Dims &dims, const std::array<size_t, 4> &order) {
  Dims result;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    result.push_back(dims[order[dim]]);
  }
  return result;
}

namespace {
/// What an operator has: its operands in order, but for the mask, which is the
/// last one, and which of them its result is like.
struct OperatorParts {
  std::string_view op;
  std::array<size_t, 6> operands;
  size_t count;
  size_t result;
};

/// Some indices of one dimension.
struct Range {
  int64_t first = 0, extent = 0;
};

/// Fills a plan.
class PlanMaker {
public:
  PlanMaker(const CallSite &site, const Checks &checks, AttentionPlan &plan)
      : site_(site), checks_(checks), plan_(plan) {}
  bool make();

private:
  const TensorInfo &info(size_t kind) const {
    return site_.operands[plan_.places[kind]];
  }
  bool has(size_t kind) const { return has_[kind]; }
  Range rangeOf(const TensorInfo &info, size_t kind, size_t dim) const {
    size_t at = orders_[kind][dim];
    return {info.offset[at], info.extents[at]};
  }
  bool findParts();
  bool checkTypes() const;
  bool checkExtents();
  bool checkResult() const;
  bool findRanges();
  bool holds(size_t kind, size_t dim, Range range) const;
  bool addDim(size_t kind, size_t dim, Range range);
  bool addTensors();
  bool addMask();
  bool getAttributes();

  const CallSite &site_;
  const Checks &checks_;
  AttentionPlan &plan_;
  size_t result_ = Gradient; ///< What it is like.
  std::array<bool, AttentionPlan::operandKinds> has_ = {};
  Orders orders_ = {};
  Dims q_, k_;           ///< Global.
  int64_t features_ = 0; ///< The same.
  Range batch_, heads_, queries_, keys_;
};
} // namespace

/// What the operands are.
bool PlanMaker::findParts() {
  static constexpr OperatorParts operators[] = {
      {"nn.attention", {Query, Key, Value}, 3, Gradient},
      {"nn.attention_lse", {Query, Key}, 2, Lse},
      {"nn.attention_gradient",
       {Query, Key, Value, Gradient, Lse, Delta},
       6,
       Query}};
  const auto *parts =
      std::ranges::find(operators, site_.op, &OperatorParts::op);
  assert(parts != std::end(operators) && "kernels are called by their names");
  plan_.hasMask = site_.operands.size() > parts->count;
  if (!checks_.counts(parts->count + plan_.hasMask, 1)) {
    return false;
  }
  for (size_t i = 0; i < parts->count; ++i) {
    has_[parts->operands[i]] = true;
    plan_.places[parts->operands[i]] = i;
  }
  has_[Mask] = plan_.hasMask;
  plan_.places[Mask] = parts->count;
  plan_.masksByBool = plan_.hasMask && info(Mask).type == DType::Bool;
  plan_.isGradient = has(Gradient);
  result_ = parts->result;
  if (plan_.isGradient) {
    static constexpr std::string_view choices[] = {"q", "k", "v"};
    if (!checks_.getChoice("of", choices, plan_.of)) {
      return false;
    }
    result_ = plan_.of;
  }
  return true;
}

/// Ranks and types.
bool PlanMaker::checkTypes() const {
  DType type = info(Query).type;
  for (size_t kind = 0; kind < has_.size(); ++kind) {
    if (!has(kind)) {
      continue;
    }
    bool isFlags = kind == Mask && plan_.masksByBool;
    bool isRows = kind == Lse || kind == Delta;
    size_t at = plan_.places[kind];
    if (!checks_.operandRank(at, isRows ? 3 : 4) ||
        (!isFlags && !checks_.operandType(at, isRows ? sumType(type) : type))) {
      return false;
    }
  }
  bool isRows = result_ == Lse;
  bool isRight = plan_.isGradient
                     ? checks_.sumType(0)
                     : checks_.resultType(0, isRows ? sumType(type) : type);
  return isRight && checks_.resultRank(0, isRows ? 3 : 4);
}

bool PlanMaker::checkExtents() {
  q_ = sorted(info(Query).global, orders_[Query]);
  k_ = sorted(info(Key).global, orders_[Key]);
  Dims v = has(Value) ? sorted(info(Value).global, orders_[Value]) : k_;
  features_ = has(Value) ? v[3] : 0;
  bool fits = q_[0] == k_[0] && q_[3] == k_[3] &&
              std::equal(k_.begin(), k_.begin() + 3, v.begin()) && k_[1] > 0 &&
              q_[1] % k_[1] == 0;
  if (!fits) {
    return checks_.fail("queries " + stringify(q_) + ", keys " + stringify(k_) +
                        " and values " + stringify(v) + " do not fit together");
  }
  plan_.group = q_[1] / k_[1];
  for (size_t kind : {Gradient, Lse, Delta}) {
    Dims given = has(kind) ? sorted(info(kind).global, orders_[kind]) : Dims();
    Dims wanted = {q_[0], q_[1], q_[2], features_};
    wanted.resize(given.size());
    if (given != wanted) {
      return checks_.fail("operand " + std::to_string(plan_.places[kind]) +
                          " has " + stringify(given) + ", expected " +
                          stringify(wanted) + " of the queries");
    }
  }
  return checkResult();
}

bool PlanMaker::checkResult() const {
  bool isOfKeys = result_ == Key || result_ == Value;
  const Dims &like = isOfKeys ? k_ : q_;
  Dims wanted = {like[0], like[1], like[2],
                 result_ == Query || result_ == Key ? q_[3] : features_};
  for (size_t dim = 0; dim < site_.results[0].rank(); ++dim) {
    if (!checks_.resultExtent(orders_[result_][dim], wanted[dim])) {
      return false;
    }
  }
  const TensorInfo &result = site_.results[0];
  if (plan_.isGradient && result.extents[3] != result.global[3]) {
    return checks_.fail("makes no parts of rows");
  }
  return true;
}

/// What takes part: what the result's box needs, and of what is summed over
/// what the operands hold.
bool PlanMaker::findRanges() {
  const TensorInfo &result = site_.results[0];
  batch_ = rangeOf(result, result_, 0);
  Range heads = rangeOf(result, result_, 1), rows = rangeOf(result, result_, 2);
  plan_.resultHead = heads.first;
  plan_.resultHeads = heads.extent;
  if (!plan_.isGradient || plan_.of == Query) {
    heads_ = heads;
    queries_ = rows;
    keys_ = plan_.isGradient ? rangeOf(info(Key), Key, 2) : Range{0, k_[2]};
  } else {
    keys_ = rows;
    queries_ = rangeOf(info(Query), Query, 2);
    Range held = rangeOf(info(Query), Query, 1);
    int64_t first = std::max(held.first, heads.first * plan_.group);
    int64_t last = std::min(held.first + held.extent,
                            (heads.first + heads.extent) * plan_.group);
    heads_ = {first, std::max<int64_t>(0, last - first)};
  }
  // Nobody adds what others do not have.
  return !plan_.isGradient ||
         (plan_.of == Query
              ? holds(Value, 2, keys_)
              : holds(Gradient, 2, queries_) && holds(Lse, 2, queries_) &&
                    holds(Delta, 2, queries_));
}

bool PlanMaker::holds(size_t kind, size_t dim, Range range) const {
  Range held = rangeOf(info(kind), kind, dim);
  return (held.first == range.first && held.extent == range.extent) ||
         checks_.fail("the operands hold different ranges of what is summed");
}

/// Adds dim `dim` of an operand.
bool PlanMaker::addDim(size_t kind, size_t dim, Range range) {
  const TensorInfo &tensor = info(kind);
  size_t at = orders_[kind][dim];
  bool broadcasts = kind == Mask && tensor.global[at] == 1;
  Walk walk;
  if (!addAffine(site_, checks_, plan_.places[kind], at,
                 broadcasts ? 0 : range.first, broadcasts ? 0 : 1, range.extent,
                 walk)) {
    return false;
  }
  plan_.bases[kind] += walk.base;
  plan_.strides[kind][dim] =
      broadcasts ? 0 : rowMajorStrides(tensor.extents)[at];
  return true;
}

bool PlanMaker::addTensors() {
  int64_t firstHead = heads_.first / plan_.group;
  int64_t endHead =
      (heads_.first + heads_.extent + plan_.group - 1) / plan_.group;
  Range shared = {firstHead, heads_.extent > 0 ? endHead - firstHead : 0};
  // Rows of values are cut as those of the result are.
  Range features = result_ == Gradient ? rangeOf(site_.results[0], Gradient, 3)
                                       : Range{0, features_};
  plan_.features = features.extent;
  for (size_t kind : {Key, Value}) {
    if (has(kind) &&
        (!addDim(kind, 0, batch_) || !addDim(kind, 1, shared) ||
         !addDim(kind, 2, keys_) ||
         !addDim(kind, 3, kind == Key ? Range{0, q_[3]} : features))) {
      return false;
    }
  }
  for (size_t kind : {Query, Gradient, Lse, Delta}) {
    bool isRows = kind == Lse || kind == Delta;
    if (has(kind) &&
        (!addDim(kind, 0, batch_) || !addDim(kind, 1, heads_) ||
         !addDim(kind, 2, queries_) ||
         (!isRows &&
          !addDim(kind, 3, {0, kind == Query ? q_[3] : features_})))) {
      return false;
    }
  }
  Dims strides = rowMajorStrides(site_.results[0].extents);
  for (size_t dim = 0; dim < 3; ++dim) {
    plan_.resultStrides[dim] = strides[orders_[result_][dim]];
  }
  return !plan_.hasMask || addMask();
}

bool PlanMaker::addMask() {
  const Dims &given = info(Mask).global;
  Dims whole = {q_[0], q_[1], q_[2], k_[2]};
  const Range ranges[] = {batch_, heads_, queries_, keys_};
  for (size_t d = 0; d < 4; ++d) {
    if (given[d] != 1 && given[d] != whole[d]) {
      return checks_.fail("a mask of shape " + stringify(given) +
                          " does not broadcast to " + stringify(whole));
    }
    if (!addDim(Mask, d, ranges[d])) {
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
  if (!findParts() || !getAttributes() || !checkTypes() || !checkExtents() ||
      !findRanges()) {
    return false;
  }
  plan_.extents = {batch_.extent, heads_.extent, queries_.extent};
  plan_.offsets = {batch_.first, heads_.first, queries_.first};
  plan_.firstKey = keys_.first;
  plan_.keys = keys_.extent;
  plan_.depth = q_[3];
  plan_.wholeQueries = q_[2];
  plan_.wholeKeys = k_[2];
  return addTensors();
}

bool makeAttentionPlan(const CallSite &site, const Checks &checks,
                       AttentionPlan &plan) {
  return PlanMaker(site, checks, plan).make();
}

} // namespace divisi::rt
