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

#include <compare>

namespace divisi::search {

/// A time of one resource.
struct Moment {
  uint32_t resource = 0; ///< Of the problem.
  int64_t time = 0;      ///< A position of the program.
  friend auto operator<=>(const Moment &, const Moment &) = default;
};

/// Indices [begin, end) of times.
struct TimeRange {
  size_t begin = 0, end = 0; ///< Half-open.
  /// Whether there is no time in it.
  bool empty() const { return begin >= end; }
};

/// Of each resource that has a limit, times among which is a peak of every
/// assignment that uses anything of it: those at whose start something begins
/// and at whose end something ends. What never uses memory doesn't count.
/// Ascending.
std::vector<Moment> maximalTimes(const Problem &problem);

/// Which of the ascending `times` are of `resource` and in `live`.
TimeRange rangeOf(const std::vector<Moment> &times, uint32_t resource,
                  Lifetime live);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_PROBLEM_MAXIMALTIMES_H
