//===- HostTensor.cpp - A tensor with its bytes ---------------------------===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/HostTensor.h"

#include <cstring>

using namespace divisi;
using namespace divisi::rt;

Expected<AlignedBytes> AlignedBytes::allocate(int64_t size) {
  constexpr int64_t alignment = 64;
  AlignedBytes bytes;
  bytes.size_ = size;
  if (size == 0) {
    return bytes;
  }
  void *data = nullptr;
  if (size > 0 && size <= INT64_MAX - alignment) {
    data = std::aligned_alloc(alignment,
                              (size + alignment - 1) / alignment * alignment);
  }
  if (!data) {
    return makeError(ExitCode::Device, "no memory for ", size, " bytes");
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
  int64_t bytes = byteWidth(type);
  bool overflowed = false, isEmpty = false;
  for (int64_t dim : dims) {
    if (dim < 0) {
      return std::nullopt;
    }
    // A zero makes the tensor empty, whatever the others would overflow to.
    isEmpty |= dim == 0;
    overflowed |= __builtin_mul_overflow(bytes, dim, &bytes);
  }
  if (isEmpty) {
    return 0;
  }
  if (overflowed) {
    return std::nullopt;
  }
  return bytes;
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

Expected<HostTensor> HostTensor::zeros(DType type, Dims dims,
                                       std::string name) {
  Expected<int64_t> bytes = bytesOrError(type, dims);
  if (!bytes) {
    return bytes.status();
  }
  Expected<AlignedBytes> data = AlignedBytes::zeros(*bytes);
  if (!data) {
    return data.status();
  }
  return HostTensor{type, std::move(dims), std::move(name), std::move(*data)};
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
  return HostTensor{type, std::move(dims), std::move(name), std::move(*data)};
}

Expected<HostTensor> HostTensor::clone() const {
  return copyOf(type, dims, data.span(), name);
}
