//===- HostTensor.h - A tensor with its bytes -----------------*- C++ -*--===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_HOSTTENSOR_H
#define DIVISI_RUNTIME_HOSTTENSOR_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/Tensor.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

namespace divisi::rt {

/// Bytes at an address that is a multiple of 64; owned, movable.
class AlignedBytes {
public:
  AlignedBytes() = default;
  /// Uninitialised, or zeros; fails (Device) when memory runs out.
  static Expected<AlignedBytes> allocate(int64_t size);
  static Expected<AlignedBytes> zeros(int64_t size);

  std::byte *data() { return data_.get(); }
  const std::byte *data() const { return data_.get(); }
  int64_t size() const { return size_; }
  std::span<std::byte> span() {
    return {data_.get(), static_cast<size_t>(size_)};
  }
  std::span<const std::byte> span() const {
    return {data_.get(), static_cast<size_t>(size_)};
  }

private:
  struct Free {
    void operator()(std::byte *data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  int64_t size_ = 0;
};

/// A whole tensor in memory, row-major.
struct HostTensor {
  DType type = DType::F32;
  Dims dims;
  std::string name; ///< May be empty.
  AlignedBytes data;

  /// Zeros of that shape. Fails where the shape has too many bytes for an
  /// int64_t or for this machine.
  static Expected<HostTensor> zeros(DType type, Dims dims,
                                    std::string name = {});
  /// A copy of `bytes`, which has as many as the shape says.
  static Expected<HostTensor> copyOf(DType type, Dims dims,
                                     std::span<const std::byte> bytes,
                                     std::string name = {});
  Expected<HostTensor> clone() const;

  template <typename T> std::span<T> as() {
    return {reinterpret_cast<T *>(data.data()), data.size() / sizeof(T)};
  }
  template <typename T> std::span<const T> as() const {
    return {reinterpret_cast<const T *>(data.data()), data.size() / sizeof(T)};
  }
};

/// `f32[2, 3]`, for messages.
std::string describe(DType type, const Dims &dims);

/// The bytes of a tensor of that type and shape; nothing if a dimension is
/// negative or an int64_t cannot hold them.
std::optional<int64_t> checkedBytes(DType type, std::span<const int64_t> dims);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_HOSTTENSOR_H
