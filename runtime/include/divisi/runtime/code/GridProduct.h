//===- GridProduct.h - Products in blocks of threads ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Generated code of an `nn.matmul` that no library takes, and of
// `nn.matmul_integer`: a module with one kernel. Its parameters are
//
//   pointers                      the result, the operands; the zero point of
//                                 the first one, if that is a tensor
//   numbers, of 64 bits each      as `Number`; the zero points of codes; of the
//                                 loops of Contraction.h, in the order batch,
//                                 m, n, k, their extents, and the strides of
//                                 each tensor that has them
//
// A block has squares of the result. Rows and columns of the operands pass, 32
// summed elements at a time, through its shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDPRODUCT_H
#define DIVISI_RUNTIME_CODE_GRIDPRODUCT_H

#include "divisi/runtime/code/GridLaunch.h"
#include "divisi/runtime/kernels/Contraction.h"

namespace divisi::rt {

/// See the file's head. What differs from rank to rank is in numbers alone.
struct GridProduct {
  /// Squares of all matrices, and of one, along the columns and the rows; rows,
  /// columns, and what is summed.
  enum Number : size_t {
    Squares,
    Across,
    Down,
    Rows,
    Columns,
    Sums,
    numNumbers
  };
  /// Rows and columns of a square, and rows of threads that share it.
  static constexpr int64_t square = 32, rowsAtOnce = 8;

  Contraction contraction;           ///< Not swapped.
  std::array<DType, 2> types = {};   ///< Elements of both matrices.
  DType to = DType::F32;             ///< Elements of the result.
  bool hasCodes = false;             ///< Less `zeros`.
  bool hasZero = false;              ///< Operand 2 is that of the left one.
  std::array<int64_t, 2> zeros = {}; ///< What is subtracted from either matrix.

  /// That of `site`; nothing if it does something else, or has elements that
  /// no GPU computes with.
  static std::optional<GridProduct> of(const CallSite &site);

  /// The loops, and per tensor, whether it moves along these.
  struct Loops {
    const LabelGroup *group;  ///< One of the contraction.
    std::array<bool, 3> isIn; ///< Per tensor.
  };
  /// Of the groups batch, m, n and k.
  std::array<Loops, 4> loops() const;
  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return hasZero ? 4 : 3; }
  /// How many numbers the kernel takes.
  size_t numberCount() const;
  /// The one launch.
  GridLaunch launch() const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDPRODUCT_H
