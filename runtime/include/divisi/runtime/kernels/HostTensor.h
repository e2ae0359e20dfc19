//===- HostTensor.h - A tensor with its bytes -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_HOSTTENSOR_H
#define DIVISI_RUNTIME_KERNELS_HOSTTENSOR_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/kernels/Tensor.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace divisi::rt {

/// What fails with Device where memory runs out.
Status noMemoryFor(int64_t bytes);

/// Bytes at an address that is a multiple of 64; owned, movable.
class AlignedBytes {
public:
  AlignedBytes() = default;
  /// Uninitialised; fails with Device when memory runs out.
  static Expected<AlignedBytes> allocate(int64_t size);
  /// Zeros; fails alike.
  static Expected<AlignedBytes> zeros(int64_t size);

  /// Null if there are none.
  std::byte *data() { return data_.get(); }
  /// The same, to read only.
  const std::byte *data() const { return data_.get(); }
  /// How many bytes there are.
  int64_t size() const { return size_; }
  /// All bytes.
  std::span<std::byte> span() {
    return {data_.get(), static_cast<size_t>(size_)};
  }
  /// All bytes, to read only.
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

/// A whole tensor in memory: dense row-major elements, aligned for every
/// kernel. Copies share the bytes: write only into a tensor that was just made.
class HostTensor {
public:
  /// f32[0].
  HostTensor() = default;
  /// Zeros. Fails with Invalid where a dimension is negative or int64_t cannot
  /// hold the bytes, with Device where this machine cannot.
  static Expected<HostTensor> zeros(DType type, Dims dims,
                                    std::string name = {});
  /// Undefined elements, to be written; fails like zeros().
  static Expected<HostTensor> allocate(DType type, Dims dims,
                                       std::string name = {});
  /// A copy of `bytes`; fails like zeros(), and with Invalid where they are not
  /// as many as the shape says. Booleans become 0 or 1, i4 and u4 the value of
  /// their lower bits, residues less than the prime.
  static Expected<HostTensor> copyOf(DType type, Dims dims,
                                     std::span<const std::byte> bytes,
                                     std::string name = {});
  /// From as many values of the matching C++ type as the shape says.
  static HostTensor ofInts(Dims dims, const std::vector<int64_t> &values);
  /// The same of floats.
  static HostTensor ofFloats(Dims dims, const std::vector<float> &values);
  /// The same tensor with bytes of its own; fails like zeros().
  Expected<HostTensor> clone() const;

  /// The type of its elements.
  DType type() const { return type_; }
  /// Its shape.
  const Dims &dims() const { return dims_; }
  /// May be empty.
  const std::string &name() const { return name_; }
  /// Names the tensor; copies keep their names.
  void setName(std::string name) { name_ = std::move(name); }
  /// Whether the type is a guess: a file said that an element has a byte, and
  /// no more, as NumPy's do of i4, u4 and f8.
  bool isOpaque() const { return isOpaque_; }
  /// Says so.
  void setOpaque() { isOpaque_ = true; }
  /// The same bytes as elements of a type of that width. Fails like zeros().
  Expected<HostTensor> bytesAs(DType type) const;
  /// The number of elements.
  int64_t count() const { return numElements(dims_); }
  /// The bytes of all elements.
  int64_t byteSize() const { return bytes_ ? bytes_->size() : 0; }
  /// The first element; null if there is none.
  std::byte *data() { return bytes_ ? bytes_->data() : nullptr; }
  /// The same, to read only.
  const std::byte *data() const { return bytes_ ? bytes_->data() : nullptr; }
  /// All elements as bytes.
  std::span<const std::byte> bytes() const {
    return {data(), static_cast<size_t>(byteSize())};
  }
  /// The elements; `T` is what the type is in memory (Element.h).
  template <typename T> std::span<T> as() {
    return {reinterpret_cast<T *>(data()), byteSize() / sizeof(T)};
  }
  /// The same, to read only.
  template <typename T> std::span<const T> as() const {
    return {reinterpret_cast<const T *>(data()), byteSize() / sizeof(T)};
  }

  /// Element `index` (row-major) as an integer: floats are truncated.
  int64_t intAt(int64_t index) const;
  /// Element `index` (row-major) as a float.
  double floatAt(int64_t index) const;
  /// All elements as integers.
  std::vector<int64_t> toInts() const;
  /// All elements as floats.
  std::vector<double> toFloats() const;
  /// Whether all elements have the same bits (and there is one).
  bool isSplat() const;
  /// The same bytes under other dims of as many elements.
  HostTensor reshaped(Dims dims) const;
  /// Each element converted as ONNX's Cast does: see convertElement. Fails like
  /// zeros().
  Expected<HostTensor> castTo(DType type) const;

private:
  HostTensor(DType type, Dims dims, std::string name, AlignedBytes bytes)
      : type_(type), dims_(std::move(dims)), name_(std::move(name)),
        bytes_(std::make_shared<AlignedBytes>(std::move(bytes))) {}
  void normalize();

  DType type_ = DType::F32;
  Dims dims_ = {0};
  std::string name_;
  bool isOpaque_ = false;
  std::shared_ptr<AlignedBytes> bytes_; ///< Null: none.
};

/// `count` elements of less than 8 bits, in a byte each, from bytes that hold
/// several, the first in the lowest bits, as in ONNX's files. There are that
/// many.
std::vector<std::byte>
unpackElements(DType type, std::span<const std::byte> packed, int64_t count);
/// The bytes that `count` elements of `type` have in ONNX's files.
int64_t onnxBytes(DType type, int64_t count);

/// `f32[2, 3]`, for messages.
std::string describe(DType type, const Dims &dims);

/// The bytes of a tensor of that type and shape; nothing if a dimension is
/// negative or an int64_t cannot hold them.
std::optional<int64_t> checkedBytes(DType type, std::span<const int64_t> dims);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_HOSTTENSOR_H
