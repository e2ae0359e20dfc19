//===- GridCode.h - Code for blocks of threads ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler's code generator makes of a region with a RowNest for
// devices that have blocks of threads, and how their backends launch it: a
// module with one kernel, for all extents. Its parameters are
//
//   one pointer per tensor          in the order of RowNest::tensors
//   numbers, of 64 bits each        rows, the extents, the strides by tensor
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_GRIDCODE_H
#define DIVISI_RUNTIME_KERNELS_GRIDCODE_H

#include "runtime/kernels/RowNest.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace divisi::rt {

/// The kernel, with the version of its parameters.
inline constexpr char gridFunctionName[] = "divisi_grid_1";

/// Code in PTX for GPUs from `architecture` on ("sm_80"), as a target.
std::string ptxTarget(std::string_view architecture);
/// Code for the emulator, on a processor of `level` (RowCode.h).
std::string emulatedTarget(std::string_view level);
/// "sm_80" of such a target; empty for one of the emulator.
std::string_view architectureOfTarget(std::string_view target);
/// Whether code of that target is a kernel as this file says.
bool isGridTarget(std::string_view target);

/// Threads that exchange values by shuffles.
inline constexpr int warpSize = 32;
/// How many of them a block has at most.
inline constexpr int mostWarps = 8;

/// How a kernel is launched.
struct GridShape {
  uint32_t lanes = 1;        ///< Threads of a row; a power of two.
  uint32_t rowsOfBlock = 1;  ///< One where a row has more than a warp.
  uint32_t rowBlocks = 1;    ///< Blocks along rows, ...
  uint32_t columnBlocks = 1; ///< ... and along columns, where rows can be cut.

  /// Of calls like `nest`, on its extents.
  static GridShape of(const RowNest &nest);
};

/// How many numbers a kernel for `nest` takes.
size_t numberCount(const RowNest &nest);
/// These numbers.
std::vector<int64_t> gridNumbers(const RowNest &nest);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_GRIDCODE_H
