//===- tensors.hpp - Memory of tensors, for C++20 ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_INCLUDE_DIVISI_C_TENSORS_HPP
#define DIVISI_INCLUDE_DIVISI_C_TENSORS_HPP

#include "divisi-c/runtime.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace divisi {
inline namespace v1 {

namespace detail {
/// DLPack's code of a type.
template <typename T> constexpr uint8_t codeOf() {
  if constexpr (std::is_same_v<T, bool>) {
    return 6;
  } else if constexpr (std::is_floating_point_v<T>) {
    return 2;
  } else {
    static_assert(std::is_integral_v<T>, "give the dtype of other types");
    return std::is_signed_v<T> ? 0 : 1;
  }
}

/// How many elements a shape has.
inline int64_t countOf(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    count *= extent;
  }
  return count;
}
} // namespace detail

/// The dtype of a number of C++.
template <typename T> constexpr divisi_dtype dtypeOf() {
  return {detail::codeOf<std::remove_const_t<T>>(), uint8_t(8 * sizeof(T)), 1};
}

/// Whether these are of one type.
inline bool isSame(divisi_dtype a, divisi_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/// Memory of the caller, which lives longer than this: row-major without gaps.
class Tensor {
public:
  /// Elements of a number of C++.
  template <typename T>
  Tensor(T *data, std::vector<int64_t> shape)
      : Tensor(const_cast<std::remove_const_t<T> *>(data), std::move(shape),
               dtypeOf<T>()) {}
  /// Elements of any type.
  Tensor(void *data, std::vector<int64_t> shape, divisi_dtype dtype)
      : data_(data), shape_(std::move(shape)), dtype_(dtype) {}

  /// For the C API, while this lives.
  divisi_tensor get() const {
    return {data_,
            {1, 0},
            int32_t(shape_.size()),
            dtype_,
            const_cast<int64_t *>(shape_.data()),
            nullptr,
            0};
  }

private:
  void *data_;
  std::vector<int64_t> shape_;
  divisi_dtype dtype_;
};

/// A tensor with memory of its own.
class Array {
public:
  /// Of zeros.
  Array(std::vector<int64_t> shape, divisi_dtype dtype)
      : shape_(std::move(shape)), dtype_(dtype),
        // Elements of less than a byte take one each.
        size_(size_t(detail::countOf(shape_)) * ((dtype.bits + 7) / 8)),
        bytes_(new (kAlignment) std::byte[size_]()) {}

  /// The extents.
  const std::vector<int64_t> &shape() const { return shape_; }
  /// The type of elements.
  divisi_dtype dtype() const { return dtype_; }
  /// All of it.
  std::span<std::byte> bytes() { return {bytes_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {bytes_.get(), size_}; }
  /// The elements; none where they are of another type.
  template <typename T> std::span<const T> as() const {
    if (!isSame(dtype_, dtypeOf<T>())) {
      return {};
    }
    return {reinterpret_cast<const T *>(bytes_.get()), size_ / sizeof(T)};
  }
  /// Its memory.
  Tensor view() { return Tensor(bytes_.get(), shape_, dtype_); }

private:
  /// A line of caches: no run copies such an output.
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte *bytes) const {
      ::operator delete[](bytes, kAlignment);
    }
  };
  std::vector<int64_t> shape_;
  divisi_dtype dtype_;
  size_t size_;
  std::unique_ptr<std::byte[], Free> bytes_;
};

/// An input or output of an entry, or a global.
struct ValueInfo {
  std::string name;           ///< As the model has it.
  divisi_dtype dtype{};       ///< Of its elements.
  std::vector<int64_t> shape; ///< The extents of the whole tensor.
};

/// A program of an artifact.
struct Entry {
  std::string name;               ///< As `run` takes it.
  std::vector<ValueInfo> inputs;  ///< In the order of `run`.
  std::vector<ValueInfo> outputs; ///< Likewise.
};

} // namespace v1
} // namespace divisi

#endif // DIVISI_INCLUDE_DIVISI_C_TENSORS_HPP
