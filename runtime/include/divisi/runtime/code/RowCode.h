//===- RowCode.h - How compiled regions are called --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler's code generator makes of a region with a RowNest, and the
// backend `cpu` runs: a shared object with one function, which imports nothing
// and has no data that changes. All of its data are arguments.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_ROWCODE_H
#define DIVISI_RUNTIME_CODE_ROWCODE_H

#include <cstdint>
#include <string>
#include <string_view>

namespace divisi::rt {

/// What one thread is to do of a call, and where. The code reads it by these
/// offsets: what changes here changes `rowFunctionName`.
struct RowArguments {
  const void *const *tensors; ///< In the order of RowNest::tensors.
  /// Of RowNest: the extents, then the strides, tensor by tensor.
  const int64_t *numbers;
  /// For rows that are computed once and read again, each of `scratchColumns`
  /// elements, a multiple of 16; null if the code wants none.
  float *scratch;
  int64_t scratchColumns;
  int64_t rowBegin, rowEnd;       ///< Of all rows, in order.
  int64_t columnBegin, columnEnd; ///< All, where operators need whole rows.
};

/// The function of an object.
using RowFunction = void (*)(const RowArguments *);
/// Its name, with the version of RowArguments.
inline constexpr char rowFunctionName[] = "divisi_rows_1";

/// A processor with all that `level` names ("x86-64-v4": the levels of the
/// x86-64 psABI), as the target of code that the host runs.
std::string nativeTarget(std::string_view level);
/// The level of `target`; empty if the host runs no code of that target,
/// whatever processor it has.
std::string_view levelOfTarget(std::string_view target);
/// Whether `target` is the host's, and its processor has what the code needs.
bool runsOnHost(std::string_view target);
/// The highest level that this processor has; empty if no code is made for it.
std::string_view hostLevel();

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_ROWCODE_H
