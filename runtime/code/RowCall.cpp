//===- RowCall.cpp - A call by rows ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/RowCall.h"
#include "divisi/runtime/kernels/OperatorKinds.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using namespace divisi::rt;

/// Whether `operand` is joined with others along `axis` in all of its extent,
/// and is the same part of `whole` along others.
static bool isJoined(const TensorInfo &operand, const TensorInfo &whole,
                     size_t axis) {
  if (operand.rank() != whole.rank() || operand.format != whole.format ||
      operand.type != whole.type) {
    return false;
  }
  for (size_t d = 0; d < whole.rank(); ++d) {
    if (d == axis ? operand.extents[d] != operand.global[d]
                  : operand.extents[d] != whole.extents[d] ||
                        operand.offset[d] != whole.offset[d]) {
      return false;
    }
  }
  return true;
}

/// Takes the first part, which joins operands, off the region; false if it does
/// what pieces cannot.
bool RowCall::join(const CallSite &site) {
  const RegionPart &first = site.region->parts[0];
  auto numOperands = static_cast<int>(site.operands.size());
  TensorInfo whole = first.results[0];
  whole.format = site.results[0].format;
  axis_ = first.attributes.getInt("axis", -1);
  if (axis_ < 0 || axis_ >= static_cast<int64_t>(whole.rank()) ||
      whole.global != site.results[0].global || whole.global[axis_] == 1 ||
      whole.extents[axis_] != whole.global[axis_]) {
    return false;
  }
  std::vector<int> values(numOperands, -1); // the new numbers
  for (int operand : first.operands) {
    if (operand >= numOperands ||
        !isJoined(site.operands[operand], whole, axis_)) {
      return false;
    }
    joined_.push_back(operand);
    extents_.push_back(site.operands[operand].extents[axis_]);
  }
  operands_ = {whole};
  numbers_ = {-1};
  for (int o = 0; o < numOperands; ++o) {
    if (std::find(joined_.begin(), joined_.end(), o) == joined_.end()) {
      values[o] = static_cast<int>(operands_.size());
      operands_.push_back(site.operands[o]);
      numbers_.push_back(o);
    }
  }
  values.push_back(0);
  for (size_t p = 1; p < site.region->parts.size(); ++p) {
    values.push_back(static_cast<int>(operands_.size() + p) - 1);
  }
  auto renumber = [&](std::vector<int> &of) {
    for (int &value : of) {
      value = values[value];
    }
    return std::find(of.begin(), of.end(), -1) == of.end();
  };
  region_.parts.assign(site.region->parts.begin() + 1,
                       site.region->parts.end());
  region_.results = site.region->results;
  bool isDone = !region_.parts.empty() && renumber(region_.results);
  for (RegionPart &part : region_.parts) {
    isDone = renumber(part.operands) && isDone;
  }
  // What is joined is no result.
  return isDone &&
         std::all_of(region_.results.begin(), region_.results.end(),
                     [&](int value) {
                       return value >= static_cast<int>(operands_.size());
                     });
}

/// The region of one operator.
static Region regionOf(const CallSite &site) {
  RegionPart part{std::string(site.op), 1, site.attributes, {}, {}};
  part.operands.resize(site.operands.size());
  std::iota(part.operands.begin(), part.operands.end(), 0);
  part.results.assign(site.results.begin(), site.results.end());
  Region region{{std::move(part)}, {}};
  region.results.push_back(static_cast<int>(site.operands.size()));
  return region;
}

std::optional<RowCall> RowCall::of(const CallSite &site) {
  bool isAlone =
      !site.region && (isElementwise(site.op) || findRowOperator(site.op));
  if (site.results.empty() ||
      !(isAlone || (site.region && !site.region->parts.empty()))) {
    return std::nullopt;
  }
  RowCall call;
  call.numOperands_ = static_cast<int>(site.operands.size());
  call.results_.assign(site.results.begin(), site.results.end());
  if (!isAlone && site.region->parts[0].op == "nn.concat") {
    if (!call.join(site)) {
      return std::nullopt;
    }
  } else {
    call.region_ = isAlone ? regionOf(site) : *site.region;
    call.operands_.assign(site.operands.begin(), site.operands.end());
    call.numbers_.resize(site.operands.size());
    std::iota(call.numbers_.begin(), call.numbers_.end(), 0);
  }
  std::optional<RowNest> nest = RowNest::of(call.site(), call.axis_);
  if (!nest || (call.axis_ >= 0 && nest->hasRowOperators)) {
    return std::nullopt;
  }
  call.nest_ = std::move(*nest);
  return call;
}

CallSite RowCall::site() const {
  CallSite site{fusedOp, attributes_, operands_, results_};
  site.region = &region_;
  return site;
}

int RowCall::tensorOf(int number) const {
  auto found = std::find(numbers_.begin(), numbers_.end(), number);
  return found == numbers_.end() ? -1
                                 : static_cast<int>(found - numbers_.begin());
}

std::vector<RowCall::Piece> RowCall::pieces() const {
  Piece all{{}, std::vector<int64_t>(nest_.tensors.size()), nest_};
  all.tensors = numbers_;
  for (size_t r = 0; r < results_.size(); ++r) {
    all.tensors.push_back(numOperands_ + static_cast<int>(r));
  }
  if (axis_ < 0) {
    return {std::move(all)};
  }
  // The axis is the outermost dimension of its group.
  size_t group = nest_.barrierGroup;
  int64_t total = results_[0].extents[axis_];
  int64_t inner = nest_.extents[group] / total; // elements of an index of it
  std::vector<Piece> pieces;
  int64_t begin = 0;
  for (size_t i = 0; i < joined_.size(); begin += extents_[i++]) {
    if (extents_[i] == 0) {
      continue;
    }
    Piece &piece = pieces.emplace_back(all);
    piece.tensors[0] = joined_[i];
    piece.nest.extents[group] = inner * extents_[i];
    for (size_t g = 0; g < group; ++g) {
      int64_t &stride = piece.nest.tensors[0].strides[g];
      stride = stride / total * extents_[i];
    }
    for (size_t t = 1; t < piece.tensors.size(); ++t) {
      const RowNest::Tensor &tensor = nest_.tensors[t];
      piece.begins[t] =
          begin * inner * tensor.strides[group] * byteWidth(tensor.type);
    }
  }
  return pieces;
}
