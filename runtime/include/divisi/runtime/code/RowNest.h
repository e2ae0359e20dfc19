//===- RowNest.h - The memory accesses of a region --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory accesses of a region of elementwise operators, transposes that
// keep rows whole, and operators that need whole rows. Rows are the
// innermost elements of the results; the other dimensions index the rows.
// Neighbouring ones that all tensors have, or do not have, together are one
// group:
//
//   normalize %x, mul %gamma, add %bias     %x [2, 128, 768], %gamma [768]
//     groups   2 * 128, 768
//     strides  %x 768, 1    %gamma 0, 1    %bias 0, 1    result 768, 1
//
// The number of groups, and which tensors move along which, is the same for all
// ranks; extents and strides are those of one. So one piece of code does the
// call of all ranks (RowCode.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_ROWNEST_H
#define DIVISI_RUNTIME_CODE_ROWNEST_H

#include "divisi/runtime/kernels/Kernel.h"

#include <optional>

namespace divisi::rt {

/// An operator whose results need all of a line of its only operand.
struct RowOperator {
  std::string_view op; ///< "nn.softmax"
  /// The attribute that names the line's dimension, or those of it.
  std::string_view axes;
  bool isCostly; ///< Its functions take many instructions.
  int64_t steps; ///< What it takes of each element, a sum being 1.
};
/// The operator of that name; null if it is none on lines.
const RowOperator *findRowOperator(std::string_view op);

/// See the file's head.
struct RowNest {
  /// A tensor of the call: its operands, then its results.
  struct Tensor {
    int value;    ///< Of the region.
    DType type;   ///< Of its elements.
    Dims strides; ///< In elements, per group; 0: it does not move along it.
  };

  Dims extents;                 ///< Per group; the last one is that of a row.
  std::vector<Tensor> tensors;  ///< Operands, then results.
  bool hasRowOperators = false; ///< Then rows cannot be cut.
  /// Rows of f32 that code may keep, since they cost much to compute again.
  int scratchRows = 0;

  size_t barrierGroup = 0; ///< That begins with the barrier.

  /// That of the region of `site`; nothing where it has none: it has other
  /// operators, or elements of a row do not lie side by side. No group has
  /// dimension `barrier` of the results and one outside of it.
  static std::optional<RowNest> of(const CallSite &site, int64_t barrier = -1);

  /// How many rows there are.
  int64_t rows() const;
  /// The elements of one.
  int64_t columns() const { return extents.back(); }
  /// Those of a row of scratch memory, which begins on a line of the cache.
  int64_t scratchColumns() const { return (columns() + 15) / 16 * 16; }
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_ROWNEST_H
