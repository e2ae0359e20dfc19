//===- GridLaunch.h - Launch parameters of a kernel -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDLAUNCH_H
#define DIVISI_RUNTIME_CODE_GRIDLAUNCH_H

#include <cstdint>
#include <vector>

namespace divisi::rt {

/// One launch of a kernel of the compiler's (GridCode.h), for blocks of
/// threads: what it is handed, pointers before numbers, and how many threads
/// there are.
struct GridLaunch {
  /// From which byte on it gets a tensor.
  struct Pointer {
    /// An operand of the call; from their number on a result; or `workspace`.
    int tensor;
    int64_t begin = 0;
  };
  static constexpr int workspace = -1;

  std::vector<Pointer> pointers; ///< The first arguments, in order.
  std::vector<int64_t> numbers;  ///< The arguments behind them.
  /// How many blocks there are, and how many threads each has.
  uint32_t gridX = 1, gridY = 1, blockX = 1, blockY = 1;

  /// Appends to `numbers`.
  void addNumbers(const std::vector<int64_t> &more) {
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDLAUNCH_H
