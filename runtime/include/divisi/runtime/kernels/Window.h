//===- Window.h - Windows that slide over a tensor --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Iteration o and tap k of a window read the global index
//
//   o·stride + k·dilation − low
//
// Outside of the tensor that is padding. A box of the result reads a part of
// the operand, which its box must hold.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_WINDOW_H
#define DIVISI_RUNTIME_KERNELS_WINDOW_H

#include "divisi/runtime/kernels/Nest.h"

#include <algorithm>

namespace divisi::rt {

/// Iterations `first`, `first + every`, ... of a result's row that one tap
/// joins with the operand's indices `index`, `index + step`, ... (global).
struct TapRun {
  int64_t first = 0, count = 0, every = 1; ///< Iterations.
  int64_t index = 0, step = 1;             ///< Indices.
};

/// One dimension of a window, seen from a box of the result and a box of the
/// operand.
struct WindowDim {
  /// Of the operator: low is the padding before the operand.
  int64_t taps = 1, stride = 1, dilation = 1, low = 0;
  int64_t global = 0;            ///< Extent of the operand.
  int64_t begin = 0, extent = 0; ///< The result's box.
  int64_t operandOffset = 0;     ///< Of the operand's box.

  /// The operand's global index of local iteration i and tap k.
  int64_t index(int64_t i, int64_t k) const {
    return (begin + i) * stride + k * dilation - low;
  }
  /// The local iterations [first, last) whose tap k is not padding.
  void clip(int64_t k, int64_t &first, int64_t &last) const;
  /// What tap k reads for the local iterations [from, to); count may be below
  /// 1.
  TapRun run(int64_t k, int64_t from, int64_t to) const;
  /// What tap k reads for local iteration i, unless it is padding.
  std::optional<int64_t> locate(int64_t i, int64_t k) const;
};

/// The taps of a window, over all its dimensions; the last dimension's
/// iterations are a row. `Dim` is WindowDim, or what has the same members.
template <typename Dim> class WindowWalk {
public:
  /// Over `dims` of an operand that has these strides along them.
  WindowWalk(std::vector<Dim> dims, const Dims &operandStrides)
      : dims_(std::move(dims)), strides_(operandStrides) {
    for (const Dim &dim : dims_) {
      taps_ *= dim.taps;
    }
  }

  /// Of all dimensions together.
  int64_t taps() const { return taps_; }

  /// For the iterations [from, to) of the row whose outer local iterations are
  /// `row`, calls body(tap, run, at, step) for every tap that meets the tensor:
  /// iterations run.first, run.first + run.every, ... read the operand's
  /// elements at, at + step, ....
  template <typename Body>
  void forEachTap(const int64_t *row, int64_t from, int64_t to,
                  Body &&body) const {
    size_t inner = dims_.size() - 1;
    const Dim &last = dims_[inner];
    int64_t stride = strides_[inner];
    int64_t tap[maxRank] = {}; // of the outer dimensions
    for (int64_t outer = 0, n = taps_ / last.taps; outer < n; ++outer) {
      int64_t at = 0;
      bool isThere = locateOuter(row, tap, at);
      for (size_t d = inner; d-- > 0 && ++tap[d] == dims_[d].taps;) {
        tap[d] = 0;
      }
      if (!isThere) {
        continue;
      }
      for (int64_t k = 0; k < last.taps; ++k) {
        TapRun run = last.run(k, from, to);
        if (run.count > 0) {
          body(outer * last.taps + k, run,
               at + (run.index - last.operandOffset) * stride,
               run.step * stride);
        }
      }
    }
  }

  /// Calls body(row, from, to, at) for pieces of all rows of the result's box:
  /// iterations [from, to) of a row, at most pieceExtent, the first of which is
  /// element `at` of the box.
  template <typename Body> void forEachPiece(Body &&body) const {
    int64_t row[maxRank] = {};
    size_t inner = dims_.size() - 1;
    int64_t count = 1;
    for (size_t d = 0; d < inner; ++d) {
      count *= dims_[d].extent;
    }
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t from = 0; from < rowExtent(); from += pieceExtent) {
        int64_t to = std::min(rowExtent(), from + pieceExtent);
        body(row, from, to, i * rowExtent() + from);
      }
      for (size_t d = inner; d-- > 0;) {
        if (++row[d] < dims_[d].extent) {
          break;
        }
        row[d] = 0;
      }
    }
  }
  /// Iterations of the last dimension.
  int64_t rowExtent() const { return dims_.back().extent; }

  /// Sums of a piece stay in the processor's first cache.
  static constexpr int64_t pieceExtent = 512;

private:
  /// The operand's element for the outer dimensions; false in the padding.
  bool locateOuter(const int64_t *row, const int64_t *tap, int64_t &at) const {
    for (size_t d = dims_.size() - 1; d-- > 0;) {
      const Dim &dim = dims_[d];
      std::optional<int64_t> index = dim.locate(row[d], tap[d]);
      if (!index) {
        return false;
      }
      at += (*index - dim.operandOffset) * strides_[d];
    }
    return true;
  }

  std::vector<Dim> dims_;
  Dims strides_;
  int64_t taps_ = 1;
};

/// The row-major strides of a box, from dimension `dim` on.
inline Dims stridesFrom(const TensorInfo &info, size_t dim) {
  Dims strides = rowMajorStrides(info.extents);
  return Dims(strides.begin() + dim, strides.end());
}

/// Numbers, types and ranks of a convolution's operands, or of its gradient's:
/// an image and a weight of one type, whose sums the result holds.
bool checkConvolution(const CallSite &site, const Checks &checks);

/// The attributes of a window over `dims` dimensions of operand 0, the first of
/// which is `firstDim`; `taps` are the kernel's extents. Checks the result's
/// extents and that the operand's box has the reach.
bool makeWindow(const CallSite &site, const Checks &checks, size_t firstDim,
                const Dims &taps, std::vector<WindowDim> &window);

/// The window of `nn.pool_max` or `nn.pool_sum`, over all dimensions; false and
/// a message if the operands do not fit.
bool makePoolWindow(const CallSite &site, std::string &error,
                    std::vector<WindowDim> &window);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_WINDOW_H
