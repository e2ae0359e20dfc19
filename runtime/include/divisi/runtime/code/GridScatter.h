//===- GridScatter.h - Writing rows in blocks of threads --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code of an `nn.scatter` or `nn.insert` (GridCode.h has that of
// regions): a module with one kernel. Its pointers are the result, the initial
// tensor, the updates, the indices, and where the first bad index is written
// (GridGather::Found).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDSCATTER_H
#define DIVISI_RUNTIME_CODE_GRIDSCATTER_H

#include "divisi/runtime/code/GridGather.h"

namespace divisi::rt {

/// `nn.scatter`. A thread has some rows' elements in one column, every so many,
/// copies them, and goes over all indices of its batch in their order: so that
/// order is the reference's, and nobody waits for anybody. Its numbers are how
/// many threads have something to do; in how many parts rows are dealt out; the
/// extents of batches, and the strides of the result, of init, of indices, of
/// updates along them; the extents of a row, and the strides of the result, of
/// init, of updates; how many indices a batch has, their extents, and the
/// strides of indices and updates; rows of the result's box, its first, and all
/// there are; their strides in the result and in init; and the check's, as a
/// gather's.
struct GridScatter {
  /// As `kind` of the operator says it.
  enum class Kind : uint8_t { Set, Add, Mul, Max, Min };

  Kind kind = Kind::Set;        ///< What an update does to an element.
  DType type = DType::F32;      ///< Of the elements.
  DType indexType = DType::I64; ///< Of the indices.
  /// Of the loops over batches, elements of a row, indices of a batch.
  Dims batches, rowExtents, indexExtents;
  /// Of the result, init, updates, indices, where they move along these.
  Dims toBatch, initBatch, updateBatch, indexBatch;
  Dims toRow, initRow, updateRow;
  Dims indexStrides, updateStrides;
  int64_t initBase = 0, updateBase = 0, indexBase = 0;
  int64_t rows = 0, firstRow = 0, allRows = 0, toStride = 0, initStride = 0;
  Dims checkedStrides; ///< Of the indices, batches first.
  IndexCheck check;

  /// That of `site`; nothing if it does something else.
  static std::optional<GridScatter> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 5; }
  /// How many numbers the kernel takes.
  size_t numberCount() const {
    return 9 + 7 * batches.size() + 4 * rowExtents.size() +
           5 * indexExtents.size();
  }
  /// The one launch, which writes a Found at the workspace's begin.
  GridLaunch launch() const;
};

/// `nn.insert`: each thread has elements of the result, and looks whether they
/// are the slice's. Its numbers are how many elements there are; their extents,
/// the strides of the tensor and of the slice; which dimension of the result's
/// box begins where; how long the slice is there, and at how many places it can
/// stand; and whether the offset is checked.
struct GridInsert {
  int64_t width = 1;            ///< Of elements, in bytes.
  DType indexType = DType::I64; ///< I32 or I64.
  size_t axis = 0;              ///< The dimension along which the slice stands.
  /// Of the result's box; of the tensor and the slice.
  Dims extents, strides, sliceStrides;
  int64_t base = 0, sliceBase = 0; ///< In elements.
  int64_t firstRow = 0, sliceRows = 0, places = 0;
  IndexCheck check;

  /// That of `site`; nothing if it does something else.
  static std::optional<GridInsert> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 5; }
  /// How many numbers the kernel takes.
  size_t numberCount() const { return 5 + 3 * extents.size(); }
  /// The one launch, which writes a Found at the workspace's begin.
  GridLaunch launch() const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDSCATTER_H
