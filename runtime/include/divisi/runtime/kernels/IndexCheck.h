//===- IndexCheck.h - Checks of indices in data -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For every kernel that takes indices from a tensor. They may be from -extent
// to extent - 1, where extent is that of the whole dimension, of which the
// kernel's box may hold a part:
//
//   table [64, 8], rows 0 to 31 here     60: good, and not here; 70, -65: bad
//
// This reads the indices once more, in one loop that ORs sign bits; the bad
// index is searched for only if there is one.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_INDEXCHECK_H
#define DIVISI_RUNTIME_KERNELS_INDEXCHECK_H

#include "divisi/runtime/kernels/Nest.h"

namespace divisi::rt {

/// Checks a box of indices.
class IndexCheck {
public:
  /// Of the indices that the launch reads of `operand`: the box at `first`
  /// (globally) of `extents`, which the operand's box holds. Checks nothing if
  /// `site` says so.
  IndexCheck(const CallSite &site, size_t operand, const Dims &first,
             const Dims &extents, int64_t extent);
  IndexCheck() = default;

  /// Whether it checks anything.
  bool isOn() const { return isOn_; }
  /// That the index of this number, in the box's order, is bad.
  BadIndex describe(int64_t number, int64_t index) const {
    return {index, int64_t(extent_), positionOf(number)};
  }

  /// Notes the first bad one of `indices`, the operand's data, in `context`.
  template <typename Index>
  void run(const Index *indices, LaunchContext &context) const {
    if (!isOn_) {
      return;
    }
    uint64_t signs = 0;
    nest_.forEachRow([&](const auto &at) {
      signs |= signsOf(indices + at[0], nest_.rowExtent(), nest_.rowStride(0));
    });
    if (int64_t(signs) < 0) {
      findFirst(indices, context);
    }
  }

private:
  /// The sign bit is set if an index is bad; sums wrap to the same answer.
  static uint64_t signOf(int64_t index, uint64_t extent) {
    return (uint64_t(index) + extent) | (extent - 1 - uint64_t(index));
  }

  template <typename Index>
  uint64_t signsOf(const Index *indices, int64_t count, int64_t stride) const {
    uint64_t signs = 0, extent = extent_;
    if (stride == 1) { // a loop that compilers turn into vectors
      for (int64_t i = 0; i < count; ++i) {
        signs |= signOf(indices[i], extent);
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        signs |= signOf(indices[i * stride], extent);
      }
    }
    return signs;
  }

  template <typename Index>
  void findFirst(const Index *indices, LaunchContext &context) const {
    int64_t number = 0;
    nest_.forEachRow([&](const auto &at) {
      for (int64_t i = 0; i < nest_.rowExtent(); ++i, ++number) {
        int64_t index = indices[at[0] + i * nest_.rowStride(0)];
        if (!context.badIndex && int64_t(signOf(index, extent_)) < 0) {
          context.note(describe(number, index));
        }
      }
    });
  }

  /// Of the box's element of that number, in the whole tensor.
  Dims positionOf(int64_t number) const;

  bool isOn_ = false;
  Nest<1> nest_; ///< In the box's order.
  Dims first_, extents_;
  uint64_t extent_ = 0;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_INDEXCHECK_H
