//===- UsageProfile.h - What is in use at each time -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_USAGEPROFILE_H
#define DIVISI_LIB_PLAN_USAGEPROFILE_H

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace divisi::plan {

/// Sums over half-open intervals of positions.
class UsageProfile {
public:
  /// Of `size` positions; what is beyond them is cut off.
  explicit UsageProfile(size_t size) : changes_(size + 2, 0) {}

  /// Adds `bytes` to [begin, end).
  void add(int64_t begin, int64_t end, int64_t bytes) {
    auto last = int64_t(changes_.size()) - 1;
    if (begin < std::min(end, last)) {
      changes_[size_t(begin)] += bytes;
      changes_[size_t(std::min(end, last))] -= bytes;
    }
  }
  /// The sum at each position.
  std::vector<int64_t> sums() const {
    std::vector<int64_t> sums(changes_.size());
    int64_t sum = 0;
    for (auto [at, change] : llvm::enumerate(changes_)) {
      sums[at] = sum += change;
    }
    return sums;
  }

private:
  std::vector<int64_t> changes_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_USAGEPROFILE_H
