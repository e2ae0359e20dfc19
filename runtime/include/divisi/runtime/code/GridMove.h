//===- GridMove.h - Code that moves elements in blocks ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code of a call that moves elements (Movement.h; GridCode.h has that
// of regions): a module with one kernel, launched for each part. Its parameters
// are
//
//   two pointers                  where elements are moved to, and from
//   numbers, of 64 bits each      how much there is to do, the extents, the
//                                 strides of the result, of the operand
//
// Transposes of the innermost dimension go through the block's shared memory,
// square by square, so that adjacent threads read and write adjacent
// elements. Their loops are in another order: the last two are the one along
// which the operand's elements are adjacent, and the one along which the
// result's are.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDMOVE_H
#define DIVISI_RUNTIME_CODE_GRIDMOVE_H

#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/GridLaunch.h"
#include "divisi/runtime/kernels/Movement.h"

namespace divisi::rt {

/// See the file's head.
struct GridMove {
  /// Squares have so many rows and columns, and blocks a thread for each column
  /// and some of the rows.
  static constexpr int64_t square = 32, rowsAtOnce = 8;
  /// Threads of a block.
  static constexpr int64_t threads = square * rowsAtOnce;

  /// What one launch does.
  struct Piece {
    size_t operand;           ///< From which elements are moved.
    int64_t toBase, fromBase; ///< In bytes.
    Dims extents, to, from;   ///< Per loop, in elements.
  };

  int64_t width = 1; ///< Of elements, in bytes.
  size_t loops = 1;  ///< How many each piece has.
  /// Whether rows and columns are exchanged through shared memory.
  bool hasSquares = false;
  std::vector<Piece> pieces;
  std::optional<double> fill; ///< What is written first, everywhere.

  /// That of `site`; nothing if it does something else. All ranks have equal
  /// widths, numbers of loops, and squares or none.
  static std::optional<GridMove> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 2; }
  /// How many numbers the kernel takes.
  size_t numberCount() const { return 1 + 3 * loops; }
  /// Those of `pieces`, of a call with so many operands.
  std::vector<GridLaunch> launches(size_t operands) const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDMOVE_H
