//===- DrawnRegion.cpp - Regions that are drawn at random -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/DrawnRegion.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::test;
using rt::DType;

/// Where the numbers of parts begin while the operands are not counted yet.
static constexpr int firstPart = 1000;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

int64_t DrawnRegion::below(int64_t end) {
  return std::uniform_int_distribution<int64_t>(0, end - 1)(random_);
}

int DrawnRegion::operand(bool isWhole, DType type) {
  Value value{moves_, type};
  if (!isWhole) {
    size_t missing = below(int64_t(rank_) + 1);
    for (size_t d = missing; d < rank_; ++d) {
      value.moves[d] = value.moves[d] && below(2) != 0;
    }
    value.moves.erase(value.moves.begin(), value.moves.begin() + missing);
  }
  operands_.push_back(std::move(value));
  return static_cast<int>(operands_.size()) - 1;
}

int DrawnRegion::part(std::string op, std::vector<int> operands,
                      rt::Attributes with) {
  DType type = op == "nn.is_nan" || op == "nn.compare" ? DType::Bool : type_;
  parts_.push_back({std::move(op), std::move(with), std::move(operands), type});
  return firstPart + static_cast<int>(parts_.size()) - 1;
}

rt::Attributes DrawnRegion::rowAttributes(bool isSoftmax) const {
  std::vector<int64_t> axes;
  for (size_t d = rank_ - rowDims_; d < rank_; ++d) {
    axes.push_back(static_cast<int64_t>(d));
  }
  return isSoftmax ? rt::Attributes{{"axis", axes[0]}, {"log", int64_t(0)}}
                   : rt::Attributes{{"axes", axes},
                                    {"center", int64_t(1)},
                                    {"epsilon", 1e-3}};
}

/// What jumps is of operands alone: a last bit that differs changes nothing.
void DrawnRegion::drawPart() {
  static const char *const binary[] = {"nn.add", "nn.sub", "nn.mul", "nn.max",
                                       "nn.min"};
  static const char *const unary[] = {"nn.neg",  "nn.abs",     "nn.relu",
                                      "nn.tanh", "nn.sigmoid", "nn.silu",
                                      "nn.erf",  "nn.gelu",    "nn.hard_swish"};
  switch (below(8)) {
  case 0:
  case 1:
  case 2:
    last_ = part(binary[below(5)], {last_, operand(below(3) == 0, type_)});
    break;
  case 3:
    last_ = part(binary[below(5)], {operand(false, type_), last_});
    break;
  case 4: {
    std::string op = unary[below(9)];
    rt::Attributes with;
    if (op == "nn.gelu") {
      with = {{"approximate", std::string(below(2) ? "tanh" : "none")}};
    }
    last_ = part(std::move(op), {last_}, std::move(with));
    break;
  }
  case 5: {
    int isNan = part("nn.is_nan", {last_});
    last_ = part("nn.select", {isNan, operand(false, type_), last_});
    break;
  }
  case 6: {
    static const char *const predicates[] = {"lt", "ge", "eq"};
    int x = operand(below(2) != 0, type_);
    int flags = part("nn.compare", {x, operand(false, type_)},
                     {{"predicate", std::string(predicates[below(3)])}});
    // A comparison has the shape of what it compares.
    last_ = part("nn.select", {flags, last_, x});
    break;
  }
  default:
    bool isSoftmax = rowDims_ == 1 && below(2) != 0;
    hasRows_ = true;
    last_ = part(isSoftmax ? "nn.softmax" : "nn.normalize", {last_},
                 rowAttributes(isSoftmax));
  }
}

DrawnRegion::DrawnRegion(unsigned seed) : random_(seed) {
  static constexpr DType types[] = {DType::F32, DType::F32, DType::F16,
                                    DType::BF16};
  type_ = types[below(4)];
  rank_ = 1 + below(4);
  for (size_t d = 0; d < rank_; ++d) {
    moves_.push_back(d + 1 == rank_ || d == 1 || below(4) != 0);
  }
  rowDims_ = 1 + (rank_ > 1 ? below(2) : 0);
  isChannelsLast_ = rank_ >= 3 && below(4) == 0;
  last_ = operand(true, type_);
  for (int64_t count = 1 + below(5); count > 0 || parts_.empty(); --count) {
    drawPart();
  }
  auto axis = below(static_cast<int64_t>(rank_));
  if (!hasRows_ && moves_[axis] && below(3) == 0) {
    joinedAxis_ = static_cast<int>(axis);
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

rt::TensorInfo DrawnRegion::infoOf(const Value &value,
                                   const rt::TensorInfo &whole) const {
  rt::TensorInfo info;
  info.type = value.type;
  size_t missing = whole.rank() - value.moves.size();
  for (size_t d = 0; d < value.moves.size(); ++d) {
    bool moves = value.moves[d];
    info.extents.push_back(moves ? whole.extents[missing + d] : 1);
    info.offset.push_back(moves ? whole.offset[missing + d] : 0);
    info.global.push_back(moves ? whole.global[missing + d] : 1);
  }
  if (value.moves == moves_ && isChannelsLast_) {
    info.format = rt::channelsLast;
  }
  return info;
}

/// The first operand becomes several, which the region joins.
void DrawnRegion::joinFirst(RegionCall &call) {
  rt::TensorInfo whole = call.operands[0];
  auto count = static_cast<int>(
      std::min<int64_t>(1 + below(4), whole.extents[joinedAxis_]));
  std::vector<rt::TensorInfo> operands;
  int64_t left = whole.extents[joinedAxis_];
  rt::RegionPart join;
  join.op = "nn.concat";
  join.attributes = {{"axis", static_cast<int64_t>(joinedAxis_)}};
  for (int i = 0; i < count; ++i) {
    rt::TensorInfo &piece = operands.emplace_back(whole);
    int64_t extent = i + 1 == count ? left : 1 + below(left - (count - i) + 1);
    piece.extents[joinedAxis_] = piece.global[joinedAxis_] = extent;
    left -= extent;
    join.operands.push_back(i);
  }
  auto before = static_cast<int>(call.operands.size());
  operands.insert(operands.end(), call.operands.begin() + 1,
                  call.operands.end());
  auto now = static_cast<int>(operands.size());
  auto renumber = [&](int value) {
    return value == 0       ? now
           : value < before ? value - 1 + count
                            : value - before + now + 1;
  };
  for (rt::RegionPart &part : call.region.parts) {
    std::transform(part.operands.begin(), part.operands.end(),
                   part.operands.begin(), renumber);
  }
  call.region.results[0] = renumber(call.region.results[0]);
  whole.format.clear();
  join.results = {whole};
  call.region.parts.insert(call.region.parts.begin(), std::move(join));
  call.operands = std::move(operands);
}

RegionCall DrawnRegion::call(int64_t most) {
  rt::TensorInfo whole;
  whole.type = type_;
  for (size_t d = 0; d < rank_; ++d) {
    int64_t global = moves_[d] ? 2 + below(d + 1 == rank_ ? most : 9) : 1;
    bool isRow = (hasRows_ && d + rowDims_ >= rank_) ||
                 static_cast<int>(d) == joinedAxis_;
    int64_t extent = isRow || global == 1 ? global : 1 + below(global);
    whole.global.push_back(global);
    whole.extents.push_back(extent);
    whole.offset.push_back(below(global - extent + 1));
  }
  RegionCall call;
  std::vector<Value> values = operands_;
  for (const Value &operand : operands_) {
    call.operands.push_back(infoOf(operand, whole));
  }
  auto count = static_cast<int>(operands_.size());
  for (const Part &drawn : parts_) {
    rt::RegionPart &part = call.region.parts.emplace_back();
    part.op = drawn.op;
    part.attributes = drawn.attributes;
    Value result{{}, drawn.type};
    for (int operand : drawn.operands) {
      int number = operand >= firstPart ? operand - firstPart + count : operand;
      part.operands.push_back(number);
      std::vector<bool> moves = values[number].moves;
      // Shapes broadcast from the last dimension on.
      size_t rank = std::max(moves.size(), result.moves.size());
      moves.insert(moves.begin(), rank - moves.size(), false);
      result.moves.insert(result.moves.begin(), rank - result.moves.size(),
                          false);
      for (size_t d = 0; d < rank; ++d) {
        result.moves[d] = result.moves[d] || moves[d];
      }
    }
    part.results = {infoOf(result, whole)};
    part.results[0].format.clear();
    values.push_back(std::move(result));
  }
  call.region.results = {count + static_cast<int>(parts_.size()) - 1};
  call.results = {infoOf(values.back(), whole)};
  if (joinedAxis_ >= 0) {
    joinFirst(call);
  }
  return call;
}
