//===- Box.h - Boxes of tensors, and copies between them --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rank holds a box of a tensor, dense and row-major. Whatever moves
// between ranks is the common part of two boxes:
//
//   source box [0,4)x[0,6)  result box [2,6)x[3,6)   piece [2,4)x[3,6)
//
// which is two runs of three elements. A BoxCopy knows its runs; making one
// allocates, running one does not.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_DEVICE_BOX_H
#define DIVISI_RUNTIME_DEVICE_BOX_H

#include "divisi/runtime/kernels/Tensor.h"

#include <cstddef>
#include <span>

namespace divisi::rt {

/// Per dimension the half-open interval [begin, end), begin <= end.
struct Box {
  /// Both as long as the tensor has dimensions.
  Dims begin, end;

  /// The number of dimensions.
  size_t rank() const { return begin.size(); }
  /// The number of elements.
  int64_t count() const;
  /// Whether it has no element; a box of rank 0 has one.
  bool empty() const { return count() == 0; }
  /// end - begin.
  Dims extents() const;

  /// [0, d) in every dimension.
  static Box whole(const Dims &dims);

  friend bool operator==(const Box &, const Box &) = default;
};

/// The common part; some box without elements if there is none.
Box intersect(const Box &a, const Box &b);

/// Whether every element of `inner` is in `outer`.
bool contains(const Box &outer, const Box &inner);

/// Appends disjoint boxes to `rest` that are together `box` without `cut`.
void subtract(const Box &box, const Box &cut, std::vector<Box> &rest);

/// From an element of a row-major box without gaps to the next of each
/// dimension, in units of `width`.
Dims denseStrides(int64_t width, const Dims &extents);

/// One copy of a piece from one dense box to another.
class BoxCopy {
public:
  /// `piece` lies in both boxes; elements are `width` bytes wide.
  BoxCopy(int64_t width, const Box &piece, const Box &source,
          const Box &result);
  /// The same where the boxes have gaps, or another order: the strides are in
  /// bytes.
  BoxCopy(int64_t width, const Box &piece, const Box &source,
          const Dims &sourceStrides, const Box &result,
          const Dims &resultStrides);

  /// Of the piece.
  int64_t bytes() const { return bytes_; }
  /// Whether the piece is one run of bytes on both sides.
  bool isContiguous() const { return loops_.empty(); }
  /// Where it begins, in bytes from the start of each box.
  int64_t sourceOffset() const { return sourceOffset_; }
  /// The same of the result.
  int64_t resultOffset() const { return resultOffset_; }

  /// Copies; the pointers are the starts of the two boxes.
  void run(const std::byte *source, std::byte *result) const;

  /// Calls `body(sourceOffset, resultOffset, bytes)` for every run, in order.
  template <typename Body> void forEachRun(Body body) const {
    if (bytes_ != 0) {
      walk(0, loops_.size(), sourceOffset_, resultOffset_, body);
    }
  }

  /// Runs that lie evenly apart; offsets and strides in bytes.
  struct Rows {
    int64_t sourceOffset, resultOffset; ///< Of the first run.
    int64_t bytes;                      ///< Of each run.
    int64_t count;                      ///< How many there are.
    int64_t sourceStride, resultStride; ///< From one to the next.
  };
  /// Calls `body(rows)` for all runs, those of the innermost loop at a time.
  template <typename Body> void forEachRows(Body body) const {
    if (bytes_ != 0) {
      walkRows(body);
    }
  }

private:
  void addDim(int64_t count, int64_t sourceStride, int64_t resultStride);

  struct Loop {
    int64_t count, sourceStride, resultStride; // strides in bytes
  };

  template <typename Body>
  void walk(size_t depth, size_t end, int64_t source, int64_t result,
            Body &body) const {
    if (depth == end) {
      body(source, result, runBytes_);
      return;
    }
    const Loop &loop = loops_[depth];
    for (int64_t i = 0; i < loop.count; ++i) {
      walk(depth + 1, end, source + i * loop.sourceStride,
           result + i * loop.resultStride, body);
    }
  }

  template <typename Body> void walkRows(Body &body) const {
    bool isOne = loops_.empty();
    Loop rows = isOne ? Loop{1, 0, 0} : loops_.back();
    auto each = [&](int64_t source, int64_t result, int64_t bytes) {
      body(Rows{source, result, bytes, rows.count, rows.sourceStride,
                rows.resultStride});
    };
    walk(0, isOne ? 0 : loops_.size() - 1, sourceOffset_, resultOffset_, each);
  }

  std::vector<Loop> loops_; ///< Outermost first; without the run itself.
  int64_t runBytes_ = 0, bytes_ = 0, sourceOffset_ = 0, resultOffset_ = 0;
};

/// A piece that comes from `owner`.
struct Fetch {
  size_t owner; ///< Its index among the owners.
  BoxCopy copy; ///< From the owner's box into the result's.
};

/// How to fill `result` from the boxes of `owners`: every element comes from
/// the first owner in `order` (indices into `owners`) that has it. Returns
/// false if an element is nobody's.
bool planFetches(int64_t width, const Box &result, std::span<const Box> owners,
                 std::span<const size_t> order, std::vector<Fetch> &fetches);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_DEVICE_BOX_H
