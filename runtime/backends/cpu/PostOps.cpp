//===- PostOps.cpp - What oneDNN does to a result on its way --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/PostOps.h"

#include "runtime/backends/cpu/PackedWeights.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace divisi::rt::cpu {

namespace {

/// A function, and the algorithm of oneDNN that computes it.
struct Algorithm {
  ScalarFunction function;
  dnnl_alg_kind_t kind;
};

} // namespace

static constexpr Algorithm algorithms[] = {
    {ScalarFunction::Add, dnnl_binary_add},
    {ScalarFunction::Sub, dnnl_binary_sub},
    {ScalarFunction::Mul, dnnl_binary_mul},
    {ScalarFunction::Div, dnnl_binary_div},
    {ScalarFunction::Tanh, dnnl_eltwise_tanh},
    {ScalarFunction::Sigmoid, dnnl_eltwise_logistic},
    {ScalarFunction::Silu, dnnl_eltwise_swish},
    {ScalarFunction::HardSwish, dnnl_eltwise_hardswish},
    {ScalarFunction::GeluErf, dnnl_eltwise_gelu_erf},
    {ScalarFunction::GeluTanh, dnnl_eltwise_gelu_tanh},
};

/// Its algorithm; that of no function if there is none.
static constexpr dnnl_alg_kind_t algorithmOf(ScalarFunction function) {
  for (Algorithm each : algorithms) {
    if (each.function == function) {
      return each.kind;
    }
  }
  return dnnl_alg_kind_undef;
}

// Those have an algorithm of which the table of functions says so.
static_assert(std::ranges::all_of(scalarFacts, [](const ScalarFacts &facts) {
  bool isOne =
      facts.postOp == PostOpKind::Eltwise || facts.postOp == PostOpKind::Binary;
  return isOne == (algorithmOf(facts.function) != dnnl_alg_kind_undef);
}));

std::optional<dnnl_alg_kind_t> eltwiseOf(std::string_view op,
                                         const Attributes &attributes) {
  const ScalarFacts *facts = findFunction(op, attributes);
  return facts && facts->postOp == PostOpKind::Eltwise
             ? std::optional(algorithmOf(facts->function))
             : std::nullopt;
}

/// A clip's values; no bound on a side is the largest number there is.
static constexpr float mostFinite = std::numeric_limits<float>::max();

/// Relu, or a bound that is one number.
bool PostOps::readClip(const RegionPart &part, int value, const CallSite &site,
                       Clips clips, ScalarFunction function, PostOp &op) {
  if (clips == Clips::None) {
    return false;
  }
  bool isRelu = function == ScalarFunction::Relu;
  bool isUpper = function == ScalarFunction::Min;
  float bound = 0;
  if (!isRelu) {
    auto other = size_t(part.operands[part.operands[0] == value ? 1 : 0]);
    if (part.operands.size() != 2 || other >= site.operands.size() ||
        other >= site.constants.size() || !site.constants[other] ||
        site.operands[other].type != DType::F32 ||
        numElements(site.operands[other].global) != 1) {
      return false;
    }
    bound = clips == Clips::Known ? site.constants[other].element<float>(0) : 0;
  }
  op.algorithm = dnnl_eltwise_clip_v2;
  op.alpha = isUpper ? -mostFinite : bound;
  op.beta = isUpper ? bound : mostFinite;
  return std::isfinite(bound);
}

/// Two clips, one after the other, are one.
bool PostOps::joinClip(const PostOp &op) {
  if (ops_.empty() || op.algorithm != dnnl_eltwise_clip_v2 ||
      ops_.back().algorithm != dnnl_eltwise_clip_v2) {
    return false;
  }
  PostOp &last = ops_.back();
  last.alpha = std::clamp(last.alpha, op.alpha, op.beta);
  last.beta = std::clamp(last.beta, op.alpha, op.beta);
  return true;
}

/// Whether oneDNN's function on the way is left to others: behind products of
/// bf16 it makes NaN of infinities, and of a sigmoid a pass of its own over the
/// result (Sigmoid.cpp) takes less time.
static bool isLeft(dnnl_alg_kind_t eltwise, const TensorInfo &result) {
  constexpr int64_t leastElements = 16384;
  bool isSigmoid =
      eltwise == dnnl_eltwise_logistic || eltwise == dnnl_eltwise_swish;
  return result.type != DType::F32 ||
         (isSigmoid && result.count() >= leastElements);
}

/// Floats that f32 holds.
static bool isNarrowFloat(DType type) {
  return type == DType::F32 || type == DType::BF16 || type == DType::F16;
}

/// `part` takes `value`, once, and else an operand of the call.
bool PostOps::readPart(const RegionPart &part, int value, const CallSite &site,
                       Clips clips, PostOp &op) {
  if (part.results.size() != 1 || !isNarrowFloat(part.results[0].type) ||
      std::count(part.operands.begin(), part.operands.end(), value) != 1) {
    return false;
  }
  const ScalarFacts *facts = findFunction(part.op, part.attributes);
  if (!facts) {
    return false;
  }
  if (facts->function == ScalarFunction::Cast) {
    op.isCast = true;
    return true;
  }
  switch (facts->postOp) {
  case PostOpKind::NoPostOp:
    return false;
  case PostOpKind::Eltwise:
    return readEltwise(algorithmOf(facts->function), site, op);
  case PostOpKind::Clip:
    return readClip(part, value, site, clips, facts->function, op);
  case PostOpKind::Binary:
    return readBinary(part, value, site, *facts, op);
  }
  return false;
}

bool PostOps::readEltwise(dnnl_alg_kind_t algorithm, const CallSite &site,
                          PostOp &op) {
  auto [alpha, beta] = eltwiseArguments(algorithm);
  op.algorithm = algorithm;
  op.alpha = alpha;
  op.beta = beta;
  return !isLeft(algorithm, site.results[0]);
}

/// Of `value` and an operand of the call.
bool PostOps::readBinary(const RegionPart &part, int value,
                         const CallSite &site, const ScalarFacts &facts,
                         PostOp &op) {
  if (part.operands.size() != 2 ||
      (part.operands[0] != value && !facts.has(Commutes))) {
    return false;
  }
  int other = part.operands[part.operands[0] == value ? 1 : 0];
  if (other < 0 || other >= int(site.operands.size())) {
    return false;
  }
  op.algorithm = algorithmOf(facts.function);
  op.isBinary = true;
  op.operand = size_t(other);
  op.info = preferChannelsLast(site.operands[other]);
  return isNarrowFloat(op.info.type);
}

size_t PostOps::read(const CallSite &site, size_t most, Clips clips) {
  ops_.clear();
  bias_.reset();
  if (!site.region) {
    return 1;
  }
  const std::vector<RegionPart> &parts = site.region->parts;
  auto value = int(site.operands.size());
  auto isRead = [&](const RegionPart &part) {
    return std::count(part.operands.begin(), part.operands.end(), value) != 0;
  };
  size_t count = 1;
  for (; count < std::min(most, parts.size()); ++count, ++value) {
    // What is f16 or bf16 is rounded there, not at the end alone.
    if (parts[count - 1].results[0].type != DType::F32) {
      break;
    }
    // The value lives on if somebody else reads it.
    bool isUsed = std::count(site.region->results.begin(),
                             site.region->results.end(), value) != 0 ||
                  std::any_of(parts.begin() + count + 1, parts.end(), isRead);
    PostOp op;
    if (isUsed || !isSameBox(parts[count].results[0], site.results[0]) ||
        !readPart(parts[count], value, site, clips, op)) {
      break;
    }
    if (!op.isCast && !joinClip(op)) {
      ops_.push_back(std::move(op));
    }
  }
  return count;
}

namespace {

/// Dimensions that a primitive sees.
struct View {
  Dims dims, strides;
};

} // namespace

/// Joins the dimensions of each group to one: all of them are walked, with one
/// stride, or the extent is 1 in all; nothing if they are not.
static std::optional<View> joined(const View &view, const Dims &extents,
                                  const DimGroups &groups) {
  View joined;
  for (const std::vector<size_t> &group : groups) {
    int64_t count = 1, stride = 1, next = 0;
    bool isFirst = true;
    for (size_t i = group.size(); i-- > 0;) {
      size_t d = group[i];
      if (extents[d] == 1) {
        continue;
      }
      if (!isFirst &&
          (view.dims[d] == 1 ? count != 1
                             : count == 1 || view.strides[d] != next)) {
        return std::nullopt;
      }
      stride = isFirst ? view.strides[d] : stride;
      next = view.strides[d] * view.dims[d];
      count *= view.dims[d];
      isFirst = false;
    }
    joined.dims.push_back(count);
    joined.strides.push_back(stride);
  }
  return joined;
}

/// Where there is no extent it may lie as densely as oneDNN wants.
static void makeDense(View &view, const Dims &order) {
  int64_t dense = 1;
  for (size_t i = view.dims.size(); i-- > 0;) {
    size_t d = order.empty() ? i : size_t(order[i]);
    view.strides[d] = view.dims[d] == 1 ? dense : view.strides[d];
    dense = std::max(dense, view.strides[d] * view.dims[d]);
  }
}

/// The part of the operand that broadcasts to the result's box.
bool PostOps::describeOperand(PostOp &op, const TensorInfo &result,
                              const DimGroups &groups) {
  const TensorInfo &info = op.info;
  size_t rank = result.rank();
  if (info.rank() > rank) {
    return false;
  }
  Dims own = stridesOf(info);
  View view{Dims(rank, 1), Dims(rank, 1)};
  op.base = 0;
  for (size_t i = 0; i < info.rank(); ++i) {
    size_t d = rank - info.rank() + i;
    if (info.global[i] == 1 && result.global[d] != 1) {
      continue;
    }
    int64_t first = result.offset[d] - info.offset[i];
    if (info.global[i] != result.global[d] || first < 0 ||
        first + result.extents[d] > info.extents[i]) {
      return false;
    }
    op.base += first * own[i];
    view.dims[d] = result.extents[d];
    view.strides[d] = own[i];
  }
  Dims order = isChannelsLast(result) ? channelsLastOrder(rank) : Dims();
  View whole{result.extents, stridesOf(result)};
  if (!groups.empty()) {
    auto seen = joined(view, result.extents, groups);
    auto all = joined(whole, result.extents, groups);
    if (!seen || !all) {
      return false;
    }
    view = std::move(*seen);
    whole = std::move(*all);
    order.clear();
  }
  makeDense(view, order);
  makeDense(whole, order);
  op.desc = describe(view.dims, view.strides, typeOf(info.type));
  // oneDNN reads what has no broadcast dimension in the result's own order.
  return op.desc && (view.dims != whole.dims || view.strides == whole.strides);
}

MemoryDesc PostOps::takeBias(const TensorInfo &result, size_t dim) {
  if (ops_.empty() || ops_[0].algorithm != dnnl_binary_add) {
    return nullptr;
  }
  const TensorInfo &info = ops_[0].info;
  size_t rank = result.rank();
  if (info.rank() > rank || info.rank() + dim < rank) {
    return nullptr;
  }
  size_t own = dim + info.rank() - rank;
  for (size_t d = 0; d < info.rank(); ++d) {
    if (d != own && info.global[d] != 1) {
      return nullptr;
    }
  }
  int64_t first = result.offset[dim] - info.offset[own];
  if (info.global[own] != result.global[dim] || first < 0 ||
      first + result.extents[dim] > info.extents[own]) {
    return nullptr;
  }
  bias_ = std::move(ops_[0]);
  ops_.erase(ops_.begin());
  bias_->base = first;
  dnnl_data_type_t type = typeOf(bias_->info.type);
  bias_->desc = describe({result.extents[dim]}, {1}, type);
  return describe({result.extents[dim]}, {1}, type);
}

bool PostOps::addTo(dnnl_primitive_attr_t attr, const TensorInfo &result,
                    const DimGroups &groups) {
  if (ops_.empty()) {
    return true;
  }
  dnnl_post_ops_t made = nullptr;
  if (!isDone(dnnl_post_ops_create(&made))) {
    return false;
  }
  Owner<dnnl_post_ops, dnnl_post_ops_destroy> ops(made);
  for (PostOp &op : ops_) {
    dnnl_status_t status =
        !op.isBinary ? dnnl_post_ops_append_eltwise(made, op.algorithm,
                                                    op.alpha, op.beta)
        : describeOperand(op, result, groups)
            ? dnnl_post_ops_append_binary(made, op.algorithm, op.desc.get())
            : dnnl_unimplemented;
    if (!isDone(status)) {
      return false;
    }
  }
  return isDone(dnnl_primitive_attr_set_post_ops(attr, made));
}

std::string PostOps::name() const {
  std::ostringstream os;
  if (bias_) {
    os << nameOfLayout(bias_->desc.get()) << stringify(bias_->info.type);
  }
  for (const PostOp &op : ops_) {
    os << '|' << op.algorithm << ' ' << std::hexfloat << op.alpha << ' '
       << op.beta;
    if (op.isBinary) {
      os << ' ' << nameOfLayout(op.desc.get()) << stringify(op.info.type);
    }
  }
  return os.str();
}

void PostOps::bind(Primitive &primitive) const {
  if (bias_) {
    primitive.bind(DNNL_ARG_BIAS, bias_->desc.get());
  }
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i].isBinary) {
      primitive.bind(DNNL_ARG_ATTR_MULTIPLE_POST_OP(int(i)) | DNNL_ARG_SRC_1,
                     ops_[i].desc.get());
    }
  }
}

void PostOps::pointers(std::span<const void *const> operands,
                       std::vector<const void *> &to) const {
  auto add = [&](const PostOp &op) {
    to.push_back(static_cast<const std::byte *>(operands[op.operand]) +
                 op.base * byteWidth(op.info.type));
  };
  if (bias_) {
    add(*bias_);
  }
  for (const PostOp &op : ops_) {
    if (op.isBinary) {
      add(op);
    }
  }
}

int64_t PostOps::costOfBounds(const CallSite &site) const {
  int64_t cost = bias_ ? Magnitude::cost(site, bias_->operand) : 0;
  for (const PostOp &op : ops_) {
    cost += op.isBinary ? Magnitude::cost(site, op.operand) : 0;
  }
  return cost;
}

void PostOps::measure(const CallSite &site) {
  if (bias_) {
    bias_->magnitude = Magnitude(site, bias_->operand);
  }
  for (PostOp &op : ops_) {
    if (op.isBinary) {
      op.magnitude = Magnitude(site, op.operand);
    }
  }
}

bool PostOps::staysFinite(double bound, const LaunchContext &context) const {
  // What rounding adds, and the terms of a GELU, is less than a factor of 2.
  constexpr double most = mostFinite / 2;
  bound += bias_ ? bias_->magnitude.of(context) : 0;
  for (const PostOp &op : ops_) {
    if (!(bound <= most)) {
      return false;
    }
    if (!op.isBinary) {
      bool isClip = op.algorithm == dnnl_eltwise_clip_v2;
      double least = isClip && op.alpha > -mostFinite ? std::abs(op.alpha) : 1;
      double last = isClip && op.beta < mostFinite ? std::abs(op.beta) : 1;
      bound = std::max({bound, least, last});
      continue;
    }
    double operand = op.magnitude.of(context);
    bound = op.algorithm == dnnl_binary_mul ? bound * operand
            : op.algorithm == dnnl_binary_div
                ? std::numeric_limits<double>::infinity()
                : bound + operand;
  }
  return bound <= most;
}

} // namespace divisi::rt::cpu
