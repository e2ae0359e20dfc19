//===- GridGather.h - Gathers in blocks of threads --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Generated code of an `nn.gather` or `nn.take_along` (GridCode.h has that of
// regions): a module with one kernel. Its parameters are
//
//   four pointers                 the result, the data, the indices, and where
//                                 the first bad index is written
//   numbers, of 64 bits each      how many elements; their extents, strides of
//                                 the data and of the indices along them; the
//                                 stride of a row of the data, and which rows
//                                 are here; what is checked: how many indices,
//                                 their extents and strides
//
// Each thread has elements of the result, and reads the index of each. The
// first block also checks all indices.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDGATHER_H
#define DIVISI_RUNTIME_CODE_GRIDGATHER_H

#include "divisi/runtime/code/GridLaunch.h"
#include "divisi/runtime/kernels/IndexCheck.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <optional>

namespace divisi::rt {

/// See the file's head. What differs from rank to rank is in numbers alone.
struct GridGather {
  /// Threads of a block.
  static constexpr uint32_t threads = 256;
  /// What the kernel says of the indices.
  struct Found {
    int64_t number; ///< Of the first bad one, in the order of the check; ...
    int64_t index;  ///< ... and what it is.
  };
  /// `number` where none is bad.
  static constexpr int64_t none = INT64_MAX;

  int64_t width = 1;            ///< Of elements, in bytes.
  DType indexType = DType::I64; ///< I32 or I64.
  /// Along the dimensions of the result, which is dense.
  Dims extents, dataStrides, indexStrides;
  int64_t dataBase = 0, indexBase = 0; ///< In elements.
  /// From one row of the data to the next; how many there are in all, the first
  /// one that is here, and how many of them are.
  int64_t rowStride = 0, global = 0, offset = 0, rows = 0;
  Dims checkedExtents, checkedStrides; ///< Of the indices.
  IndexCheck check;

  /// That of `site`; nothing if it does something else.
  static std::optional<GridGather> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 4; }
  /// How many numbers the kernel takes.
  size_t numberCount() const {
    return 6 + 3 * extents.size() + 2 * checkedExtents.size();
  }
  /// The one launch, which writes a Found at the workspace's begin.
  GridLaunch launch() const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDGATHER_H
