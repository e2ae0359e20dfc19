//===- GridPlaces.h - Functions of indices, by threads ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code of operators whose elements are functions of their indices
// (GridCode.h has that of regions): a module with one kernel.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDPLACES_H
#define DIVISI_RUNTIME_CODE_GRIDPLACES_H

#include "divisi/runtime/code/GridLaunch.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <optional>

namespace divisi::rt {

/// `nn.iota`. Its numbers are how many elements there are; how many have one
/// value each, how many values there are, and the first of them.
struct GridIota {
  DType type = DType::F32; ///< Of the result.
  /// The numbers, in order.
  int64_t count = 0, inner = 1, extent = 1, first = 0;

  /// That of `site`; nothing if it does something else.
  static std::optional<GridIota> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 1; }
  /// How many numbers the kernel takes.
  size_t numberCount() const { return 4; }
  /// The one launch.
  GridLaunch launch() const;
};

/// `nn.rotary`. Its pointers are the result, x, cosines, sines; its numbers how
/// many elements there are; their extents, the strides of x, cosines and sines;
/// how many angles there are; and where, along the last dimension, the result's
/// box begins, and those of x, cosines and sines.
struct GridRotary {
  DType type = DType::F32;  ///< Of all tensors.
  bool interleaved = false; ///< Whether pairs lie side by side.
  Dims extents;             ///< Of the result's box.
  Dims strides[3];          ///< By operand; of the last dimension 0.
  int64_t bases[3] = {};    ///< The first elements that are read, by operand.
  /// How many angles there are; where boxes begin: result, x, cosines, sines.
  int64_t angles = 0, firsts[4] = {};

  /// That of `site`; nothing if it does something else.
  static std::optional<GridRotary> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 4; }
  /// How many numbers the kernel takes.
  size_t numberCount() const { return 6 + 4 * extents.size(); }
  /// The one launch.
  GridLaunch launch() const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDPLACES_H
