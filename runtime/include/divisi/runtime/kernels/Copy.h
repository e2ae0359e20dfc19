//===- Copy.h - Moving boxes of elements ------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_COPY_H
#define DIVISI_RUNTIME_KERNELS_COPY_H

#include "divisi/runtime/kernels/Nest.h"

namespace divisi::rt {

/// Copies a box of elements from one walk to another: runs of bytes where both
/// are contiguous, tiles where one of them is transposed.
class StridedCopy {
public:
  /// Copies nothing.
  StridedCopy() = default;
  /// `width` is 1, 2, 4 or 8 bytes. The walks may not overlap.
  StridedCopy(int64_t width, const Dims &extents, const Walk &to,
              const Walk &from);

  /// Copies from and to tensors that begin there.
  void run(void *to, const void *from) const;

private:
  template <typename T> void runTyped(T *to, const T *from) const;

  int64_t width_ = 1;
  Nest<2> nest_;
  /// The loop in which the source is contiguous, if it is not the innermost
  /// one; the nest's rank if there is none.
  size_t tileLoop_ = 0;
};

/// Writes `value`, converted to `type`, to `count` elements. Of types without
/// kernels only 0 can be written.
void fill(DType type, void *to, int64_t count, double value);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_COPY_H
