//===- Int8Constants.cpp - Scales that are known --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"
#include "runtime/backends/cpu/Int8Epilogue.h"

#include <algorithm>

namespace divisi::rt::cpu {

bool Int8Epilogue::isConstant(int value) const {
  return size_t(value) < site_->constants.size() &&
         bool(site_->constants[size_t(value)]);
}

/// The element of a constant that the result's elements with channel indices
/// `at` see.
template <typename T>
static double elementAt(const CallSite &site, int value, int64_t at) {
  return double(site.constants[size_t(value)].element<T>(at));
}

static double elementOf(const CallSite &site, int value, int64_t at) {
  switch (site.operands[size_t(value)].type) {
  case DType::I8:
    return elementAt<int8_t>(site, value, at);
  case DType::U8:
    return elementAt<uint8_t>(site, value, at);
  case DType::I32:
    return elementAt<int32_t>(site, value, at);
  default:
    return elementAt<float>(site, value, at);
  }
}

/// The number that a constant of one element is; 1 as long as there are no
/// values.
std::optional<double> Int8Epilogue::numberAt(int value) const {
  if (!isConstant(value) ||
      numElements(site_->operands[size_t(value)].global) != 1 ||
      site_->operands[size_t(value)].count() != 1) {
    return std::nullopt;
  }
  return hasValues_ ? elementOf(*site_, value, 0) : 1;
}

/// The numbers of a constant that differs along channels alone, for those of
/// the result's box.
std::optional<std::vector<double>> Int8Epilogue::channelsAt(int value,
                                                            DType type) const {
  const TensorInfo &result = site_->results[0];
  if (!isConstant(value)) {
    return std::nullopt;
  }
  const TensorInfo &info = site_->operands[size_t(value)];
  if (info.type != type || info.rank() > result.rank() ||
      !info.format.empty()) {
    return std::nullopt;
  }
  size_t missing = result.rank() - info.rank();
  Dims strides = rowMajorStrides(info.extents), extents, steps;
  int64_t base = 0;
  for (size_t d = 0; d < info.rank(); ++d) {
    bool isChannel = std::count(channels_.begin(), channels_.end(),
                                int64_t(missing + d)) != 0;
    if (info.global[d] == 1) {
      continue;
    }
    int64_t first = result.offset[missing + d] - info.offset[d];
    if (!isChannel || info.global[d] != result.global[missing + d] ||
        first < 0 || first + result.extents[missing + d] > info.extents[d]) {
      return std::nullopt;
    }
    base += first * strides[d];
  }
  for (int64_t channel : channels_) {
    bool isThere = size_t(channel) >= missing &&
                   info.global[size_t(channel) - missing] != 1;
    extents.push_back(result.extents[size_t(channel)]);
    steps.push_back(isThere ? strides[size_t(channel) - missing] : 0);
  }
  std::vector<double> numbers(size_t(numElements(extents)), 1);
  Nest<1> nest(extents, {Walk{base, steps}});
  auto next = numbers.begin();
  nest.forEach(0, [&](const auto &at) {
    *next++ = hasValues_ ? elementOf(*site_, value, at[0]) : 1;
  });
  return numbers;
}

/// How `part` quantizes to `type`, or dequantizes from it.
std::optional<Int8Epilogue::Code> Int8Epilogue::codeOf(const RegionPart &part,
                                                       DType type) const {
  size_t at = part.op == "nn.add_dequantized" ? 2 : 1;
  if (type != DType::I8 && type != DType::U8) {
    return std::nullopt;
  }
  auto scale = numberAt(part.operands[at]);
  auto zero = part.operands.size() > at + 1 ? numberAt(part.operands[at + 1])
                                            : std::optional<double>(0);
  if (!scale || !zero ||
      site_->operands[part.operands[at]].type != DType::F32) {
    return std::nullopt;
  }
  bool isSigned = type == DType::I8;
  return Code{*scale, *zero, isSigned ? -128.0 : 0, isSigned ? 127.0 : 255};
}

} // namespace divisi::rt::cpu
