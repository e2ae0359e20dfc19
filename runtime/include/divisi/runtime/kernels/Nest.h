//===- Nest.h - Loops in which every tensor has its own strides -*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator on boxes becomes a nest of loops over the result's box, and per
// tensor a first element and a stride for every loop: 0 for a broadcast. A
// tensor's box may be larger than what is read of it.
//
//   add [2, 8, 768] + [768]   →  loops 16 × 768, strides (768, 1) and (0, 1)
//
// Adjacent loops that every tensor walks as one are merged, so that a plain
// operator is one long loop.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_NEST_H
#define DIVISI_RUNTIME_KERNELS_NEST_H

#include "divisi/runtime/kernels/Checks.h"

#include <array>

namespace divisi::rt {

/// a / b rounded up; b is positive.
inline int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/// Row-major strides of a dense box, in elements.
Dims rowMajorStrides(const Dims &extents);

/// Where a tensor is read by a nest, in elements.
struct Walk {
  int64_t base = 0; ///< The first element.
  Dims strides;     ///< Per loop of the nest.
};

/// A nest over N tensors.
template <size_t N> class Nest {
public:
  /// One iteration, at the first element of each.
  Nest() { addLoop(1, {}); }
  /// Loops of these extents, the last one innermost.
  Nest(const Dims &extents, const std::array<Walk, N> &walks) {
    for (size_t n = 0; n < N; ++n) {
      base_[n] = walks[n].base;
    }
    for (size_t d = 0; d < extents.size(); ++d) {
      std::array<int64_t, N> strides;
      for (size_t n = 0; n < N; ++n) {
        strides[n] = walks[n].strides[d];
      }
      addLoop(extents[d], strides);
    }
    if (rank_ == 0) {
      addLoop(1, {});
    }
  }

  /// Whether some loop has no iteration.
  bool isEmpty() const { return empty_; }
  /// How many loops there are after merging; at least one.
  size_t rank() const { return rank_; }
  /// The iterations of a loop.
  int64_t extent(size_t loop) const { return extents_[loop]; }
  /// How far a tensor moves with an iteration of a loop.
  int64_t stride(size_t loop, size_t tensor) const {
    return strides_[loop][tensor];
  }
  /// The first element of a tensor.
  int64_t base(size_t tensor) const { return base_[tensor]; }
  /// The innermost loop.
  int64_t rowExtent() const { return extents_[rank_ - 1]; }
  /// How far a tensor moves with an iteration of it.
  int64_t rowStride(size_t tensor) const { return strides_[rank_ - 1][tensor]; }

  /// The nest without one of its outer loops, at that loop's first iteration.
  Nest without(size_t loop) const {
    Nest nest = *this;
    for (size_t d = loop + 1; d < rank_; ++d) {
      nest.extents_[d - 1] = extents_[d];
      nest.strides_[d - 1] = strides_[d];
    }
    --nest.rank_;
    return nest;
  }

  /// Calls `body(at)` for every iteration of all loops but the innermost
  /// `inner`; at[n] is the element of tensor n where these begin.
  template <typename Body> void forEach(size_t inner, Body &&body) const {
    if (empty_) {
      return;
    }
    std::array<int64_t, N> at = base_;
    std::array<int64_t, maxRank> index = {};
    size_t outer = rank_ - inner;
    while (true) {
      body(at);
      size_t d = outer;
      for (; d > 0; --d) {
        const auto &strides = strides_[d - 1];
        for (size_t n = 0; n < N; ++n) {
          at[n] += strides[n];
        }
        if (++index[d - 1] < extents_[d - 1]) {
          break;
        }
        for (size_t n = 0; n < N; ++n) {
          at[n] -= strides[n] * extents_[d - 1];
        }
        index[d - 1] = 0;
      }
      if (d == 0) {
        return;
      }
    }
  }
  /// forEach(1, body).
  template <typename Body> void forEachRow(Body &&body) const {
    forEach(1, body);
  }

private:
  /// Adds an innermost loop, or merges it with the last one.
  void addLoop(int64_t extent, const std::array<int64_t, N> &strides) {
    empty_ |= extent == 0;
    if (rank_ > 0 && extent == 1) {
      return;
    }
    if (rank_ > 0) {
      auto &last = strides_[rank_ - 1];
      bool merges = true;
      for (size_t n = 0; n < N; ++n) {
        merges &= last[n] == strides[n] * extent;
      }
      if (merges || extents_[rank_ - 1] == 1) {
        extents_[rank_ - 1] *= extent;
        last = strides;
        return;
      }
    }
    extents_[rank_] = extent;
    strides_[rank_++] = strides;
  }

  size_t rank_ = 0;
  bool empty_ = false;
  std::array<int64_t, maxRank> extents_ = {};
  std::array<std::array<int64_t, N>, maxRank> strides_ = {};
  std::array<int64_t, N> base_ = {};
};

/// How a dense box is walked in its own order.
Walk denseWalk(const TensorInfo &info);

/// How `operand` is read by an elementwise operator: dimensions aligned from
/// the right, missing ones and those of global extent 1 broadcast.
bool broadcastWalk(const CallSite &site, const Checks &checks, size_t operand,
                   Walk &walk);

/// One dimension of a tensor that is read at `first` + i*`step` (global
/// indices) for i in [0, extent): checks that the box holds it, and adds to the
/// walk.
bool addAffine(const CallSite &site, const Checks &checks, size_t operand,
               size_t dim, int64_t first, int64_t step, int64_t extent,
               Walk &walk);

/// Whether both are the same box of tensors of one shape (types aside).
bool isSameBox(const TensorInfo &a, const TensorInfo &b);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_NEST_H
