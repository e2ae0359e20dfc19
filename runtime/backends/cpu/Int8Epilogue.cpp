//===- Int8Epilogue.cpp - What follows a product of bytes -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Int8Epilogue.h"
#include "divisi/runtime/backends/cpu/CpuInstructions.h"
#include "runtime/backends/cpu/PostOps.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace divisi::rt::cpu {

bool sumsBytesExactly() {
  constexpr unsigned vnni =
      (dnnl_cpu_isa_avx2_vnni & ~dnnl_cpu_isa_avx2) |
      (dnnl_cpu_isa_avx512_core_vnni & ~dnnl_cpu_isa_avx512_core);
  return (cpuInstructions() & vnni) != 0;
}

MemoryDesc retyped(const_dnnl_memory_desc_t like, dnnl_data_type_t type) {
  const dnnl_dims_t *dims = nullptr, *strides = nullptr;
  int rank = 0;
  dnnl_memory_desc_t desc = nullptr;
  dnnl_memory_desc_query(like, dnnl_query_dims, &dims);
  dnnl_memory_desc_query(like, dnnl_query_strides, &strides);
  dnnl_memory_desc_query(like, dnnl_query_ndims_s32, &rank);
  return isDone(dnnl_memory_desc_create_with_strides(&desc, rank, *dims, type,
                                                     *strides))
             ? MemoryDesc(desc)
             : nullptr;
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

void Int8Epilogue::append(dnnl_alg_kind_t algorithm, double alpha,
                          double beta) {
  ops_.push_back({algorithm, float(alpha), float(beta), false});
  isPlain_ = false;
  unitsOf_.reset();
}

/// Lets the register have the units of `wanted`.
void Int8Epilogue::mean(Meaning wanted) {
  double scale = meaning_.scale / wanted.scale;
  double shift = (meaning_.shift - wanted.shift) / wanted.scale;
  if (isFoldable()) {
    for (size_t c = 0; c < scales_.size(); ++c) {
      scales_[c] = float(scales_[c] * scale);
      biases_[c] = float(biases_[c] * scale + shift);
    }
  } else {
    append(dnnl_eltwise_linear, scale, shift);
  }
  meaning_ = wanted;
  isPlain_ = false;
}

/// Lets it be the value itself.
void Int8Epilogue::meanItself() {
  if (!isPlain_) {
    mean({1, 0});
    isPlain_ = true;
  }
}

/// The part that quantizes what clips behind part `number` leave.
std::optional<size_t> Int8Epilogue::quantizeBehindClips(size_t number) const {
  const std::vector<RegionPart> &parts = site_->region->parts;
  for (size_t p = number + 1; p < parts.size(); ++p) {
    if (parts[p].op == "nn.quantize") {
      return p;
    }
    const ScalarFacts *facts = findFunction(parts[p].op, parts[p].attributes);
    if (!facts || facts->postOp != PostOpKind::Clip) {
      break;
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

bool Int8Epilogue::readDequantize(const RegionPart &part) {
  if (isSum_) {
    auto scales = channelsAt(part.operands[1], DType::F32);
    if (!scales || part.operands.size() != 2) {
      return part.operands.size() == 2 && readScale(part.operands[1]);
    }
    scales_.assign(scales->begin(), scales->end());
    biases_.assign(scales_.size(), 0);
    for (size_t c = 0; c < sumBiases_.size(); ++c) {
      biases_[c] = float(sumBiases_[c] * (*scales)[c]);
    }
    isSum_ = false;
    isPlain_ = true;
    return true;
  }
  auto code = isCode_ ? codeOf(part, DType::I8) : std::nullopt;
  if (!code) {
    return false;
  }
  meaning_ = {code->scale, code->scale * (meaning_.shift - code->zero)};
  isCode_ = isPlain_ = false;
  return true;
}

/// One scale for all, which is not known yet.
bool Int8Epilogue::readScale(int value) {
  if (value >= int(site_->operands.size()) || !sumBiases_.empty() ||
      site_->operands[size_t(value)].type != DType::F32 ||
      site_->operands[size_t(value)].count() != 1 ||
      numElements(site_->operands[size_t(value)].global) != 1) {
    return false;
  }
  Dims extents;
  for (int64_t channel : channels_) {
    extents.push_back(site_->results[0].extents[size_t(channel)]);
  }
  scaleAt_ = size_t(value);
  biases_.assign(size_t(numElements(extents)), 0);
  isSum_ = false;
  isPlain_ = true;
  return true;
}

/// Integers that are added before there are scales.
bool Int8Epilogue::readSumBias(const RegionPart &part) {
  if (!sumBiases_.empty()) {
    return false;
  }
  auto biases =
      channelsAt(part.operands[part.operands[0] == value_ ? 1 : 0], DType::I32);
  if (biases) {
    sumBiases_ = std::move(*biases);
  }
  return biases.has_value();
}

bool Int8Epilogue::readQuantize(size_t number) {
  const RegionPart &part = site_->region->parts[number];
  auto code = isCode_ ? std::nullopt : codeOf(part, part.results[0].type);
  if (!code) {
    return false;
  }
  bool isLast = number + 1 == site_->region->parts.size();
  Meaning wanted{code->scale, isLast ? -code->scale * code->zero : 0};
  if (unitsOf_ == number) {
    meaning_ = wanted;
  } else {
    mean(wanted);
  }
  if (!isLast) {
    append(dnnl_eltwise_round, 0, 0);
    append(dnnl_eltwise_clip_v2, code->low - code->zero,
           code->high - code->zero);
    meaning_ = {1, code->zero};
  }
  isCode_ = true;
  return true;
}

/// Relu, or a bound that is one number: in the units of the code that follows,
/// if one does.
bool Int8Epilogue::readClip(size_t number, ScalarFunction function) {
  constexpr double most = std::numeric_limits<float>::max();
  const std::vector<RegionPart> &parts = site_->region->parts;
  const RegionPart &part = parts[number];
  std::optional<double> bound = 0;
  if (function != ScalarFunction::Relu) {
    bound = numberAt(part.operands[part.operands[0] == value_ ? 1 : 0]);
  }
  // A clip makes a number of NaN, which only a scale can bring.
  if (!bound || isCode_ || scaleAt_) {
    return false;
  }
  std::optional<size_t> next = quantizeBehindClips(number);
  if (auto code = next && isFoldable()
                      ? codeOf(parts[*next], parts[*next].results[0].type)
                      : std::nullopt) {
    bool isLast = *next + 1 == parts.size();
    mean({code->scale, isLast ? -code->scale * code->zero : 0});
    unitsOf_ = next;
  }
  double at = (*bound - meaning_.shift) / meaning_.scale;
  bool isUpper = (function == ScalarFunction::Min) == (meaning_.scale > 0);
  bool isPlain = isPlain_;
  std::optional<size_t> units = unitsOf_;
  append(dnnl_eltwise_clip_v2, isUpper ? -most : at, isUpper ? at : most);
  isPlain_ = isPlain;
  unitsOf_ = units;
  return true;
}

/// `number` is the other operand of the function than the register, which
/// `isFirst`.
void Int8Epilogue::addNumber(ScalarFunction function, bool isFirst,
                             double number) {
  using enum ScalarFunction;
  auto &[scale, shift] = meaning_;
  if (function == Mul || function == Div) {
    double factor = function == Mul ? number : 1 / number;
    scale *= factor;
    shift *= factor;
  } else if (function == Add) {
    shift += number;
  } else if (isFirst) {
    shift -= number;
  } else {
    scale = -scale;
    shift = number - shift;
  }
  isPlain_ = false;
  unitsOf_.reset();
}

bool Int8Epilogue::addChannels(ScalarFunction function,
                               const std::vector<double> &numbers) {
  using enum ScalarFunction;
  bool isSum = function == Add || function == Sub;
  double sign = function == Sub ? -1 : 1;
  if (!ops_.empty()) {
    if (!isSum) {
      return false;
    }
    Reader &reader = readers_.emplace_back(int(ops_.size()), std::nullopt);
    for (double number : numbers) {
      reader.channels.push_back(float(sign * number / meaning_.scale));
    }
    ops_.push_back({dnnl_binary_add, 0, 0, true});
    return true;
  }
  if (scaleAt_ && (!isSum || !isPlain_)) {
    return false;
  }
  meanItself();
  for (size_t c = 0; c < numbers.size(); ++c) {
    double factor = isSum ? 1 : function == Mul ? numbers[c] : 1 / numbers[c];
    if (!scaleAt_) {
      scales_[c] = float(scales_[c] * factor);
    }
    biases_[c] =
        float(isSum ? biases_[c] + sign * numbers[c] : biases_[c] * factor);
  }
  return true;
}

/// An operand of the result's box that is added, in f32 or, by `part`,
/// quantized.
bool Int8Epilogue::addTensor(const RegionPart &part, int operand,
                             bool isQuantized) {
  if (operand >= int(site_->operands.size())) {
    return false;
  }
  const TensorInfo &info = site_->operands[size_t(operand)];
  if ((!isQuantized && info.type != DType::F32) ||
      !isSameBox(info, site_->results[0])) {
    return false;
  }
  if (isQuantized) {
    auto code = codeOf(part, info.type);
    if (!code) {
      return false;
    }
    // The other's code less its zero point: units of the other's.
    mean({code->scale, code->scale * code->zero});
    meaning_ = {code->scale, 0};
  } else {
    meanItself();
  }
  readers_.push_back({int(ops_.size()), size_t(operand), {}});
  ops_.push_back({dnnl_binary_add, 0, 0, true});
  isPlain_ = !isQuantized;
  unitsOf_.reset();
  return true;
}

/// `other` is the value beside the register, which comes first or second.
bool Int8Epilogue::readBinary(const RegionPart &part, const ScalarFacts &facts,
                              bool isFirst, int other) {
  bool isDivision = facts.function == ScalarFunction::Div;
  bool isAdd = facts.function == ScalarFunction::Add;
  if (isCode_) {
    return false;
  }
  if (other >= int(site_->operands.size())) {
    return false;
  }
  bool isFloat = site_->operands[size_t(other)].type == DType::F32;
  auto number = isFloat ? numberAt(other) : std::nullopt;
  if (number && (isFirst || !isDivision)) {
    addNumber(facts.function, isFirst, *number);
    return true;
  }
  if (!isFirst && !facts.has(Commutes)) {
    return false;
  }
  auto channels = channelsAt(other, DType::F32);
  return channels ? addChannels(facts.function, *channels)
                  : isAdd && addTensor(part, other, false);
}

bool Int8Epilogue::readPart(size_t number) {
  const RegionPart &part = site_->region->parts[number];
  if (part.op == "nn.dequantize" && part.operands[0] == value_) {
    return readDequantize(part);
  }
  const ScalarFacts *facts = findFunction(part.op, part.attributes);
  PostOpKind kind = facts ? facts->postOp : PostOpKind::NoPostOp;
  if (isSum_) {
    return facts && facts->function == ScalarFunction::Add && readSumBias(part);
  }
  if (part.op == "nn.quantize" && part.operands[0] == value_) {
    return readQuantize(number);
  }
  if (kind == PostOpKind::Clip) {
    return readClip(number, facts->function);
  }
  if (auto eltwise = eltwiseOf(part.op, part.attributes); eltwise && !isCode_) {
    meanItself();
    auto [first, second] = eltwiseArguments(*eltwise);
    append(*eltwise, first, second);
    isPlain_ = true;
    return true;
  }
  bool isFirst = part.operands[0] == value_;
  if (part.op == "nn.add_dequantized") {
    return isFirst && !isCode_ && addTensor(part, part.operands[1], true);
  }
  return kind == PostOpKind::Binary && part.operands.size() == 2 &&
         readBinary(part, *facts, isFirst, part.operands[isFirst ? 1 : 0]);
}

/// Each part goes on with the value of the one before, which nobody else reads.
bool Int8Epilogue::readParts(size_t count) {
  const std::vector<RegionPart> &parts = site_->region->parts;
  int operands = int(site_->operands.size());
  if (site_->region->results != std::vector<int>{operands + int(count) - 1}) {
    return false;
  }
  for (size_t p = 0; p < count; ++p) {
    int64_t uses = site_->region->countReads(operands + int(p));
    if (parts[p].results.size() != 1 || uses != (p + 1 < count ? 1 : 0) ||
        !isSameBox(parts[p].results[0], site_->results[0])) {
      return false;
    }
  }
  value_ = operands;
  for (size_t p = 1; p < count; ++p) {
    if (std::count(parts[p].operands.begin(), parts[p].operands.end(),
                   value_) != 1 ||
        !readPart(p)) {
      return false;
    }
    value_ = operands + int(p);
  }
  return true;
}

bool Int8Epilogue::isFinite() const {
  auto isNumber = [](float number) { return std::isfinite(number); };
  return std::all_of(scales_.begin(), scales_.end(), isNumber) &&
         std::all_of(biases_.begin(), biases_.end(), isNumber) &&
         std::all_of(ops_.begin(), ops_.end(),
                     [](const PostOp &op) {
                       return std::isfinite(op.alpha) && std::isfinite(op.beta);
                     }) &&
         std::all_of(readers_.begin(), readers_.end(),
                     [&](const Reader &reader) {
                       return std::all_of(reader.channels.begin(),
                                          reader.channels.end(), isNumber);
                     });
}

bool Int8Epilogue::read(const CallSite &site, const Dims &channels,
                        bool hasValues) {
  *this = Int8Epilogue();
  site_ = &site;
  channels_ = channels;
  hasValues_ = hasValues;
  DType type = site.results[0].type;
  if (!site.region) {
    return type == DType::I32;
  }
  if (!readParts(site.region->parts.size()) || isSum_ ||
      (!isCode_ && type != DType::F32)) {
    return false;
  }
  if (!isCode_) {
    meanItself();
  }
  return isFinite();
}

//===----------------------------------------------------------------------===//
// To oneDNN
//===----------------------------------------------------------------------===//

bool Int8Epilogue::addTo(dnnl_primitive_attr_t attr, const CallSite &site,
                         const MemoryDesc &channels,
                         const_dnnl_memory_desc_t result) {
  dnnl_post_ops_t made = nullptr;
  if (!isDone(dnnl_post_ops_create(&made))) {
    return false;
  }
  Owner<dnnl_post_ops, dnnl_post_ops_destroy> ops(made);
  descs_.clear();
  for (const Reader &reader : readers_) {
    descs_.push_back(retyped(reader.operand ? result : channels.get(),
                             reader.operand
                                 ? typeOf(site.operands[*reader.operand].type)
                                 : dnnl_f32));
  }
  size_t next = 0;
  for (const PostOp &op : ops_) {
    dnnl_status_t status =
        op.isBinary ? dnnl_post_ops_append_binary(made, op.algorithm,
                                                  descs_[next++].get())
                    : dnnl_post_ops_append_eltwise(made, op.algorithm, op.alpha,
                                                   op.beta);
    if (!isDone(status)) {
      return false;
    }
  }
  return isDone(dnnl_primitive_attr_set_post_ops(attr, made));
}

} // namespace divisi::rt::cpu
