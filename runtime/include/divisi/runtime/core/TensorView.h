//===- TensorView.h - A tensor in somebody else's memory --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A session reads and writes its caller's memory, described field by field as
// in DLPack's DLTensor:
//
//   DLTensor    data   dtype   shape   strides   byte_offset
//   TensorView  data   type    dims    strides   byteOffset
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_TENSORVIEW_H
#define DIVISI_RUNTIME_CORE_TENSORVIEW_H

#include "divisi/runtime/kernels/HostTensor.h"

namespace divisi::rt {

/// Elements in memory of the host that it does not own.
struct TensorView {
  void *data = nullptr;    ///< Inputs are only read.
  DType type = DType::F32; ///< Booleans are 0 or 1, i4 and u4 in their range.
  Dims dims = {};          ///< The extents.
  /// From an element to the next of each dimension, in elements; empty where
  /// the tensor is row-major without gaps. Those of inputs may be zero.
  Dims strides = {};
  uint64_t byteOffset = 0; ///< Of the first element, from `data`.

  /// The first element.
  std::byte *first() const {
    return static_cast<std::byte *>(data) + byteOffset;
  }
  /// All of `tensor`, which stays where it is; only to be read.
  static TensorView of(const HostTensor &tensor) {
    return {const_cast<std::byte *>(tensor.data()), tensor.type(),
            tensor.dims()};
  }
  /// The same, to be written.
  static TensorView of(HostTensor &tensor) {
    return {tensor.data(), tensor.type(), tensor.dims()};
  }
};

/// An input or output of a run.
struct TensorArgument {
  /// The whole tensor. Of an output, each session writes what its ranks hold,
  /// and leaves the rest as it is.
  TensorArgument(TensorView whole) : views({std::move(whole)}) {}
  /// The box of each rank of the session, in the order of
  /// Session::localRanks(); what stands for a rank without a box is ignored.
  explicit TensorArgument(std::vector<TensorView> boxes)
      : views(std::move(boxes)), isWhole(false) {}

  std::vector<TensorView> views; ///< One, or one per rank of the session.
  bool isWhole = true;           ///< Whether it is one.

  /// What the `local`-th rank of the session reads or writes.
  const TensorView &viewOf(size_t local) const {
    return views[isWhole ? 0 : local];
  }
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_TENSORVIEW_H
