//===- HostTensor.cpp - A tensor with its bytes ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/HostTensor.h"

#include "divisi/Support/CheckedMath.h"
#include "divisi/runtime/kernels/Element.h"
#include "runtime/kernels/Pages.h"

#include <cassert>
#include <cstring>

using namespace divisi;
using namespace divisi::rt;

Status divisi::rt::noMemoryFor(int64_t bytes) {
  return makeError(ExitCode::Device, "no memory for ", bytes, " bytes");
}

Expected<AlignedBytes> AlignedBytes::allocate(int64_t size) {
  AlignedBytes bytes;
  bytes.size_ = size;
  if (size == 0) {
    return bytes;
  }
  void *data = allocatePages(size);
  if (!data) {
    return noMemoryFor(size);
  }
  bytes.data_.reset(static_cast<std::byte *>(data));
  return bytes;
}

Expected<AlignedBytes> AlignedBytes::zeros(int64_t size) {
  Expected<AlignedBytes> bytes = allocate(size);
  if (bytes && size != 0) {
    std::memset(bytes->data(), 0, size);
  }
  return bytes;
}

std::optional<int64_t> divisi::rt::checkedBytes(DType type,
                                                std::span<const int64_t> dims) {
  return divisi::checkedBytes(dims, 8 * byteWidth(type));
}

std::string divisi::rt::describe(DType type, const Dims &dims) {
  std::ostringstream os;
  os << stringify(type) << "[";
  for (size_t d = 0; d < dims.size(); ++d) {
    os << (d == 0 ? "" : ", ") << dims[d];
  }
  os << "]";
  return os.str();
}

static Expected<int64_t> bytesOrError(DType type, const Dims &dims) {
  if (std::optional<int64_t> bytes = checkedBytes(type, dims)) {
    return *bytes;
  }
  return makeError(ExitCode::Invalid, "a tensor ", describe(type, dims),
                   " has a negative dimension or more than 2^63 bytes");
}

Expected<HostTensor> HostTensor::allocate(DType type, Dims dims,
                                          std::string name) {
  Expected<int64_t> bytes = bytesOrError(type, dims);
  if (!bytes) {
    return bytes.status();
  }
  Expected<AlignedBytes> data = AlignedBytes::allocate(*bytes);
  if (!data) {
    return data.status();
  }
  return HostTensor(type, std::move(dims), std::move(name), std::move(*data));
}

Expected<HostTensor> HostTensor::zeros(DType type, Dims dims,
                                       std::string name) {
  auto tensor = allocate(type, std::move(dims), std::move(name));
  if (tensor && tensor->byteSize() != 0) {
    std::memset(tensor->data(), 0, tensor->byteSize());
  }
  return tensor;
}

/// The byte of an element of less than 8 bits: the lowest ones of `byte`.
static uint8_t lowBits(DType type, int byte) {
  bool hasSign = type == DType::I2 || type == DType::I4;
  int most = (1 << bitWidth(type)) - 1, sign = hasSign ? (most + 1) / 2 : 0;
  return uint8_t(((byte & most) ^ sign) - sign);
}

/// Makes the bits of every element those of its value: booleans have many, and
/// so have what is less than its bytes.
void HostTensor::normalize() {
  if (type_ == DType::Bool) {
    for (uint8_t &flag : as<uint8_t>()) {
      flag = flag != 0;
    }
  } else if (type_ == DType::Field) {
    for (FieldElement &element : as<FieldElement>()) {
      element = FieldElement(element.residue);
    }
  } else if (bitWidth(type_) < 8) {
    for (uint8_t &byte : as<uint8_t>()) {
      byte = lowBits(type_, byte);
    }
  }
}

Expected<HostTensor> HostTensor::copyOf(DType type, Dims dims,
                                        std::span<const std::byte> bytes,
                                        std::string name) {
  Expected<int64_t> expected = bytesOrError(type, dims);
  if (!expected) {
    return expected.status();
  }
  if (*expected != static_cast<int64_t>(bytes.size())) {
    return makeError(ExitCode::Invalid, "got ", bytes.size(),
                     " bytes for a tensor ", describe(type, dims),
                     ", expected ", *expected);
  }
  Expected<AlignedBytes> data = AlignedBytes::allocate(*expected);
  if (!data) {
    return data.status();
  }
  if (!bytes.empty()) {
    std::memcpy(data->data(), bytes.data(), bytes.size());
  }
  HostTensor tensor(type, std::move(dims), std::move(name), std::move(*data));
  tensor.normalize();
  return tensor;
}

Expected<HostTensor> HostTensor::bytesAs(DType type) const {
  return copyOf(type, dims_, bytes(), name_);
}

Expected<HostTensor> HostTensor::clone() const {
  return copyOf(type_, dims_, bytes(), name_);
}

template <typename T>
static HostTensor ofValues(DType type, Dims dims,
                           const std::vector<T> &values) {
  auto bytes = std::as_bytes(std::span(values));
  auto result = HostTensor::copyOf(type, std::move(dims), bytes);
  assert(result && "values of a few bytes that match their dims");
  return *result;
}

HostTensor HostTensor::ofInts(Dims dims, const std::vector<int64_t> &values) {
  return ofValues(DType::I64, std::move(dims), values);
}

HostTensor HostTensor::ofFloats(Dims dims, const std::vector<float> &values) {
  return ofValues(DType::F32, std::move(dims), values);
}

int64_t divisi::rt::onnxBytes(DType type, int64_t count) {
  int64_t shared = 8 / std::min<int64_t>(bitWidth(type), 8);
  return (count / shared + (count % shared != 0)) * byteWidth(type);
}

std::vector<std::byte>
divisi::rt::unpackElements(DType type, std::span<const std::byte> packed,
                           int64_t count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  auto width = static_cast<size_t>(bitWidth(type));
  for (size_t i = 0; i < bytes.size(); ++i) {
    int shared = std::to_integer<int>(packed[i * width / 8]);
    bytes[i] = std::byte(lowBits(type, shared >> (i * width % 8)));
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Element `index` of `tensor` as a To: see convertElement.
template <typename To>
static To elementAs(const HostTensor &tensor, int64_t index) {
  To result{};
  dispatch<AllTypes>(tensor.type(), [&](auto zero) {
    auto elements = tensor.as<decltype(zero)>();
    result = convertElement<To>(elements[static_cast<size_t>(index)]);
  });
  return result;
}

int64_t HostTensor::intAt(int64_t index) const {
  return elementAs<int64_t>(*this, index);
}

double HostTensor::floatAt(int64_t index) const {
  return elementAs<double>(*this, index);
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
  size_t width = static_cast<size_t>(byteWidth(type_));
  size_t size = static_cast<size_t>(byteSize());
  // Bytes equal to those one element earlier, all along.
  return size >= width &&
         std::memcmp(data(), data() + width, size - width) == 0;
}

HostTensor HostTensor::reshaped(Dims dims) const {
  HostTensor result = *this;
  result.dims_ = std::move(dims);
  assert(result.count() == count() && "as many elements as before");
  return result;
}

template <typename To, typename From>
static void castElements(std::span<const From> from, std::span<To> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = convertElement<To>(from[i]);
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
  dispatch<AllTypes>(type_, [&](auto from) {
    dispatch<AllTypes>(type, [&](auto to) {
      castElements(as<decltype(from)>(), result->as<decltype(to)>());
    });
  });
  return result;
}
