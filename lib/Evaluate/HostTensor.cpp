//===- HostTensor.cpp - A tensor in this process's memory -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Evaluate/HostTensor.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace divisi;
using rt::DType;

Expected<HostTensor> HostTensor::zeros(DType type, rt::Dims dims) {
  HostTensor result;
  result.type_ = type;
  result.dims_ = std::move(dims);
  size_t size = static_cast<size_t>(result.byteSize());
  size_t padded = size / 64 * 64 + 64;
  auto *data = static_cast<std::byte *>(std::aligned_alloc(64, padded));
  if (!data) {
    return Status(ExitCode::Infeasible, "no memory for a tensor of " +
                                            std::to_string(size) + " bytes");
  }
  std::memset(data, 0, padded);
  result.bytes_ = std::shared_ptr<std::byte[]>(
      data, [](std::byte *bytes) { std::free(bytes); });
  return result;
}

Expected<HostTensor> HostTensor::copyOf(DType type, rt::Dims dims,
                                        std::span<const std::byte> bytes) {
  auto result = zeros(type, std::move(dims));
  if (!result) {
    return result;
  }
  if (static_cast<int64_t>(bytes.size()) != result->byteSize()) {
    return Status(ExitCode::Invalid, "got " + std::to_string(bytes.size()) +
                                         " bytes for a tensor of " +
                                         std::to_string(result->byteSize()));
  }
  if (!bytes.empty()) {
    std::memcpy(result->data(), bytes.data(), bytes.size());
  }
  if (type == DType::Bool) {
    for (uint8_t &flag : result->as<uint8_t>()) {
      flag = flag != 0;
    }
  }
  return result;
}

template <typename T>
static HostTensor ofValues(DType type, rt::Dims dims,
                           const std::vector<T> &values) {
  auto bytes = std::as_bytes(std::span(values));
  auto result = HostTensor::copyOf(type, std::move(dims), bytes);
  assert(result && "values of a few bytes that match their dims");
  return *result;
}

HostTensor HostTensor::ofInts(rt::Dims dims,
                              const std::vector<int64_t> &values) {
  return ofValues(DType::I64, std::move(dims), values);
}

HostTensor HostTensor::ofFloats(rt::Dims dims,
                                const std::vector<float> &values) {
  return ofValues(DType::F32, std::move(dims), values);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static float fromHalf(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  double mantissa = bits & 1023;
  double value = exponent == 31
                     ? (mantissa == 0 ? INFINITY : NAN)
                     : std::ldexp(exponent ? 1024 + mantissa : mantissa,
                                  (exponent ? exponent : 1) - 25);
  return static_cast<float>(bits >> 15 ? -value : value);
}

static float fromBFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

/// Calls `visit` with element `index` in its C++ type.
template <typename Visit>
static auto visitElement(const HostTensor &tensor, int64_t index, Visit visit) {
  size_t i = static_cast<size_t>(index);
  switch (tensor.type()) {
  case DType::F64:
    return visit(tensor.as<double>()[i]);
  case DType::F32:
    return visit(tensor.as<float>()[i]);
  case DType::F16:
    return visit(fromHalf(tensor.as<uint16_t>()[i]));
  case DType::BF16:
    return visit(fromBFloat(tensor.as<uint16_t>()[i]));
  case DType::I8:
    return visit(tensor.as<int8_t>()[i]);
  case DType::I16:
    return visit(tensor.as<int16_t>()[i]);
  case DType::I32:
    return visit(tensor.as<int32_t>()[i]);
  case DType::I64:
    return visit(tensor.as<int64_t>()[i]);
  case DType::U16:
    return visit(tensor.as<uint16_t>()[i]);
  case DType::U32:
    return visit(tensor.as<uint32_t>()[i]);
  case DType::U64:
    return visit(tensor.as<uint64_t>()[i]);
  case DType::U8:
  case DType::Bool:
    break;
  }
  return visit(tensor.as<uint8_t>()[i]);
}

/// `value` as a `To`: floats are truncated and saturated, integers wrap.
template <typename To, typename From> static To convert(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) {
      return 0;
    }
    // The upper limit itself may not be a float, so compare with >=.
    if (value >= static_cast<From>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    if (value <= static_cast<From>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
  }
  return static_cast<To>(value);
}

int64_t HostTensor::intAt(int64_t index) const {
  return visitElement(*this, index,
                      [](auto value) { return convert<int64_t>(value); });
}

double HostTensor::floatAt(int64_t index) const {
  return visitElement(*this, index,
                      [](auto value) { return static_cast<double>(value); });
}

std::vector<int64_t> HostTensor::toInts() const {
  std::vector<int64_t> result(static_cast<size_t>(count()));
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = intAt(static_cast<int64_t>(i));
  }
  return result;
}

std::vector<double> HostTensor::toFloats() const {
  std::vector<double> result(static_cast<size_t>(count()));
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = floatAt(static_cast<int64_t>(i));
  }
  return result;
}

bool HostTensor::isSplat() const {
  size_t width = static_cast<size_t>(rt::byteWidth(type_));
  size_t size = static_cast<size_t>(byteSize());
  // Bytes equal to those one element earlier, all along.
  return size >= width &&
         std::memcmp(data(), data() + width, size - width) == 0;
}

HostTensor HostTensor::reshaped(rt::Dims dims) const {
  HostTensor result = *this;
  result.dims_ = std::move(dims);
  assert(result.count() == count() && "as many elements as before");
  return result;
}

template <typename To>
static void castElements(const HostTensor &from, const HostTensor &to) {
  auto out = to.as<To>();
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = visitElement(from, static_cast<int64_t>(i),
                          [](auto value) { return convert<To>(value); });
  }
}

Expected<HostTensor> HostTensor::castTo(DType type) const {
  if (type == type_) {
    return *this;
  }
  auto result = zeros(type, dims_);
  if (!result) {
    return result;
  }
  switch (type) {
  case DType::F64:
    castElements<double>(*this, *result);
    break;
  case DType::F32:
    castElements<float>(*this, *result);
    break;
  case DType::I8:
    castElements<int8_t>(*this, *result);
    break;
  case DType::I16:
    castElements<int16_t>(*this, *result);
    break;
  case DType::I32:
    castElements<int32_t>(*this, *result);
    break;
  case DType::I64:
    castElements<int64_t>(*this, *result);
    break;
  case DType::U8:
    castElements<uint8_t>(*this, *result);
    break;
  case DType::U16:
    castElements<uint16_t>(*this, *result);
    break;
  case DType::U32:
    castElements<uint32_t>(*this, *result);
    break;
  case DType::U64:
    castElements<uint64_t>(*this, *result);
    break;
  case DType::Bool:
    for (int64_t i = 0; i < count(); ++i) {
      result->as<uint8_t>()[static_cast<size_t>(i)] = floatAt(i) != 0;
    }
    break;
  case DType::F16:
  case DType::BF16:
    return Status(ExitCode::Unsupported, "a cast to " +
                                             std::string(rt::stringify(type)) +
                                             " is not done yet");
  }
  return result;
}
