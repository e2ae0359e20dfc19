//===- Tensors.h - Tensors with data, for tests -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_KERNELS_TENSORS_H
#define DIVISI_TEST_RUNTIME_KERNELS_TENSORS_H

#include "divisi/runtime/kernels/Element.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <cstring>

namespace divisi::rt::test {

/// A box and its bytes.
struct Tensor {
  TensorInfo info;
  std::vector<std::byte> data;

  Tensor() = default;
  explicit Tensor(TensorInfo box)
      : info(std::move(box)), data(size_t(info.bytes())) {}

  template <typename T> std::vector<T> values() const {
    std::vector<T> values(data.size() / sizeof(T));
    if (!data.empty()) {
      std::memcpy(values.data(), data.data(), data.size());
    }
    return values;
  }
};

template <typename T>
constexpr DType dtypeOf =
    std::is_same_v<T, uint8_t> ? DType::Bool : typeOf<T>();

/// A whole tensor with `values`; uint8_t stands for bool.
template <typename T> Tensor make(Dims dims, const std::vector<T> &values) {
  Tensor tensor(TensorInfo::whole(dtypeOf<T>, std::move(dims)));
  if (!values.empty()) {
    std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  }
  return tensor;
}

/// Leaves no pointer to operands that the kernel says it does not read.
inline void dropUnread(const PreparedKernel &kernel,
                       std::vector<const void *> &operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i] = kernel.reads(i) ? operands[i] : nullptr;
  }
}

/// The element of `info` that is stored as number `at` with channels last, as
/// its number in row-major order.
inline int64_t rowMajorIndex(const TensorInfo &info, int64_t at) {
  size_t rank = info.rank();
  Dims index(rank);
  index[1] = at % info.extents[1];
  at /= info.extents[1];
  for (size_t d = rank; d-- > 2;) {
    index[d] = at % info.extents[d];
    at /= info.extents[d];
  }
  index[0] = at;
  int64_t number = 0;
  for (size_t d = 0; d < rank; ++d) {
    number = number * info.extents[d] + index[d];
  }
  return number;
}

/// A tensor of elements of 4 bytes in the other format.
inline Tensor turned(const Tensor &tensor) {
  Tensor to = tensor;
  bool packs = tensor.info.format.empty();
  to.info.format = packs ? channelsLast : std::string_view();
  for (int64_t i = 0; i < tensor.info.count(); ++i) {
    int64_t plain = rowMajorIndex(tensor.info, i) * 4;
    std::memcpy(&to.data[packs ? i * 4 : plain],
                &tensor.data[packs ? plain : i * 4], 4);
  }
  return to;
}

} // namespace divisi::rt::test

#endif // DIVISI_TEST_RUNTIME_KERNELS_TENSORS_H
