//===- HostTensor.h - A tensor in this process's memory ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_EVALUATE_HOSTTENSOR_H
#define DIVISI_EVALUATE_HOSTTENSOR_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/Tensor.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace divisi {

/// Dense row-major elements, aligned for every kernel. Copies share the bytes:
/// write only into a tensor that was just made.
class HostTensor {
public:
  HostTensor() = default;
  /// Zeros. The byte size of `dims` has been checked to fit int64_t; fails
  /// with Infeasible when there is not that much memory.
  static Expected<HostTensor> zeros(rt::DType type, rt::Dims dims);
  /// A copy of `bytes`, whose size matches. Booleans become 0 or 1.
  static Expected<HostTensor> copyOf(rt::DType type, rt::Dims dims,
                                     std::span<const std::byte> bytes);
  /// From values of the matching C++ type.
  static HostTensor ofInts(rt::Dims dims, const std::vector<int64_t> &values);
  static HostTensor ofFloats(rt::Dims dims, const std::vector<float> &values);

  rt::DType type() const { return type_; }
  const rt::Dims &dims() const { return dims_; }
  int64_t count() const { return rt::numElements(dims_); }
  int64_t byteSize() const { return count() * rt::byteWidth(type_); }
  std::byte *data() const { return bytes_.get(); }
  std::span<const std::byte> bytes() const {
    return {bytes_.get(), static_cast<size_t>(byteSize())};
  }
  /// The elements; `T` is the type's C++ form.
  template <typename T> std::span<T> as() const {
    return {reinterpret_cast<T *>(bytes_.get()), static_cast<size_t>(count())};
  }

  /// Element `index` (row-major) as an integer (truncated) or a float.
  int64_t intAt(int64_t index) const;
  double floatAt(int64_t index) const;
  std::vector<int64_t> toInts() const;
  std::vector<double> toFloats() const;
  /// Whether all elements have the same bits (and there is one).
  bool isSplat() const;
  /// The same bytes under other dims of as many elements.
  HostTensor reshaped(rt::Dims dims) const;
  /// Each element converted as ONNX's Cast does: to integers by truncation
  /// (saturated, NaN to 0), to bool by comparing with 0.
  Expected<HostTensor> castTo(rt::DType type) const;

private:
  rt::DType type_ = rt::DType::F32;
  rt::Dims dims_;
  std::shared_ptr<std::byte[]> bytes_;
};

} // namespace divisi

#endif // DIVISI_EVALUATE_HOSTTENSOR_H
