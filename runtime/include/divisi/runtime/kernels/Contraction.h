//===- Contraction.h - Contractions as products -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The labels of a contraction fall into four groups by where they occur:
//
//               a  b  result
//   batch       x  x  x
//   m           x     x
//   n              x  x
//   k           x  x            (summed)
//
// "bshd,bthd->bhst" is a batch (b h) of products of [s, d] and [d, t]. A tensor
// can be used in place when each of its two matrix groups is walked with one
// stride, as here; otherwise it is packed into the workspace first.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_CONTRACTION_H
#define DIVISI_RUNTIME_KERNELS_CONTRACTION_H

#include "divisi/runtime/kernels/Copy.h"

namespace divisi::rt {

/// Tensors of a contraction, as indices.
enum : size_t { LeftMatrix = 0, RightMatrix = 1, ResultMatrix = 2 };

/// Loops of one group, in the result's order (k: in the left operand's).
struct LabelGroup {
  Dims extents;                ///< Per loop.
  std::array<Dims, 3> strides; ///< Per tensor; 0 where the label is absent.

  /// How many iterations the group has.
  int64_t count() const { return numElements(extents); }
  /// The one stride with which a tensor walks the group, if there is one; 1 if
  /// the group has a single iteration.
  std::optional<int64_t> stride(size_t tensor) const;
};

/// A contraction of two boxes: see the file's head.
struct Contraction {
  /// Lets the right matrix be the left one, and columns rows.
  void exchange();

  LabelGroup batch, m, n, k;          ///< See the file's head.
  std::array<int64_t, 3> widths = {}; ///< Of elements, in bytes.
  std::array<int64_t, 3> bases = {};  ///< The first element of each tensor.
  /// The left matrix is operand 1: chosen so that the result's innermost
  /// matrix dimension is n.
  bool swapped = false;
};

/// Reads the attribute 'labels' and the boxes of a matmul.
bool analyzeContraction(const CallSite &site, const Checks &checks,
                        Contraction &contraction);

/// Which of a matrix's strides has to be 1.
enum class UnitStride { None, Inner, Either };

/// One tensor of a batch of matrices, in place or packed.
struct Matrix {
  bool packed = false;          ///< Whether it is copied first, or last.
  StridedCopy copy;             ///< From the tensor to its packed form or, for
                                ///< the result, back.
  int64_t workspaceOffset = 0;  ///< Bytes.
  int64_t bytes = 0;            ///< Of the packed form.
  Walk batch;                   ///< Of the group's loops, in elements.
  int64_t outer = 1, inner = 1; ///< Strides of rows and columns.
};

/// Three matrices: m × k, k × n, m × n.
struct MatrixProduct {
  Dims batch;                     ///< The extents of the group's loops.
  int64_t m = 1, n = 1, k = 1;    ///< Rows, columns, what is summed.
  std::array<Matrix, 3> matrices; ///< LeftMatrix, RightMatrix, ResultMatrix.
  bool swapped = false;           ///< See Contraction.
  int64_t workspaceBytes = 0;     ///< Of all packed matrices.
};

/// Decides which tensors have to be packed, and where in the workspace.
MatrixProduct planProduct(const Contraction &contraction,
                          const std::array<UnitStride, 3> &units);

/// Where a matrix lies while the kernel runs: in the tensor or the workspace.
inline void *locate(const Matrix &matrix, const void *tensor, void *workspace) {
  return matrix.packed
             ? static_cast<std::byte *>(workspace) + matrix.workspaceOffset
             : const_cast<void *>(tensor);
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_CONTRACTION_H
