//===- MaximalTimes.h - When memory usage can have a peak -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Usage never rises where nothing begins, and who lives at a time after which
// nothing ends lives at the next one too. Only the other times can be a peak:
//
//   a  |-----------|
//   b     |--|                 asked: in b, in c
//   c           |-----|
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_PROBLEM_MAXIMALTIMES_H
#define DIVISI_LIB_SEARCH_PROBLEM_MAXIMALTIMES_H

#include "divisi/Search/Problem.h"

namespace divisi::search {

/// Indices [begin, end) of times.
struct TimeRange {
  size_t begin = 0, end = 0; ///< Half-open.
  /// Whether there is no time in it.
  bool empty() const { return begin >= end; }
};

/// Ascending times among which is a peak of every assignment that uses
/// anything: those at whose start something begins and at whose end something
/// ends. What never uses memory doesn't count.
std::vector<int64_t> maximalTimes(const Problem &problem);

/// Which of the ascending `times` are in `live`.
TimeRange rangeOf(const std::vector<int64_t> &times, Lifetime live);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_PROBLEM_MAXIMALTIMES_H
