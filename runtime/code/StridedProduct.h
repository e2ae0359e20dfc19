//===- StridedProduct.h - Contractions for libraries ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library takes a batch of matrices that are one stride apart, of which rows
// or columns lie side by side. Labels that fit into that are walked by it; each
// index of the others is a call of its own, and nothing is copied first:
//
//   "bshd,bthd->bhst"   for each b: h products of [s, d] and [d, t]
//   "bhsd,hde->bse"     for each b, h: [s, d] times [d, e], which is added to
//                       what the h before it made
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_STRIDEDPRODUCT_H
#define DIVISI_RUNTIME_CODE_STRIDEDPRODUCT_H

#include "divisi/runtime/kernels/Contraction.h"

namespace divisi::rt {

/// See the file's head. The result's columns lie side by side.
struct StridedProduct {
  /// One tensor, as the library sees it.
  struct Matrix {
    int64_t base = 0;          ///< The first element.
    int64_t leading = 1;       ///< From one row to the next; of columns if ...
    bool columnsFirst = false; ///< ... these are what lies side by side.
    int64_t batchStride = 0;   ///< From one product to the next.
  };
  /// What is left to calls.
  struct Loop {
    int64_t extent;                 ///< Iterations.
    std::array<int64_t, 3> strides; ///< Per tensor.
  };

  /// Of one call: how many products, rows, columns, and what is summed.
  int64_t batch = 1, m = 1, n = 1, k = 1;
  std::array<Matrix, 3> matrices; ///< m × k, k × n, m × n.
  /// The left matrix is operand 1. It does not depend on a rank's extents.
  bool swapped = false;
  std::vector<Loop> loops; ///< Each iteration makes another part of the result.
  std::vector<Loop> sums;  ///< Each is added to the last one's.
  /// Dimensions of the result that are columns, ascending.
  Dims columnDims;

  /// That of `site`, a matmul; nothing if a matrix has neither rows nor columns
  /// side by side.
  static std::optional<StridedProduct> of(const CallSite &site);

  /// How many calls it takes.
  int64_t calls() const;
  /// Where the tensors begin in each of them, by element; `isFirst` and
  /// `isLast` of those that are added up.
  void
  forEach(const std::function<void(const std::array<int64_t, 3> &begins,
                                   bool isFirst, bool isLast)> &call) const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_STRIDEDPRODUCT_H
