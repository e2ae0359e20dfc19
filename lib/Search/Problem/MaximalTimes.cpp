//===- MaximalTimes.cpp - When memory usage can have a peak ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaximalTimes.h"

#include <algorithm>

namespace divisi::search {

static bool usesMemory(const std::vector<int64_t> &usages) {
  return std::ranges::any_of(usages, [](int64_t use) { return use > 0; });
}

/// Goes through the begins in order, and keeps one if something ends before the
/// next: else all that lives at this one lives at the next one too.
std::vector<int64_t> maximalTimes(const Problem &problem) {
  std::vector<int64_t> begins, ends;
  auto add = [&](Lifetime live, const std::vector<int64_t> &usages) {
    if (live.begin < live.end && usesMemory(usages)) {
      begins.push_back(live.begin);
      ends.push_back(live.end);
    }
  };
  for (const Node &node : problem.nodes) {
    add(node.live, node.usages);
  }
  for (const Edge &edge : problem.edges) {
    if (edge.usages) {
      add(edge.live, problem.matrices[*edge.usages].entries);
    }
  }
  std::ranges::sort(begins);
  std::ranges::sort(ends);
  std::vector<int64_t> times;
  size_t ended = 0;
  for (size_t i = 0; i != begins.size(); ++i) {
    while (ended != ends.size() && ends[ended] <= begins[i]) {
      ++ended;
    }
    bool isLast = i + 1 == begins.size();
    // Between two begins something has to end; at the second's is early enough.
    if (isLast || (begins[i + 1] != begins[i] && ended != ends.size() &&
                   ends[ended] <= begins[i + 1])) {
      times.push_back(begins[i]);
    }
  }
  return times;
}

TimeRange rangeOf(const std::vector<int64_t> &times, Lifetime live) {
  if (live.begin >= live.end) {
    return {};
  }
  auto index = [&](int64_t time) {
    return size_t(std::ranges::lower_bound(times, time) - times.begin());
  };
  return {index(live.begin), index(live.end)};
}

} // namespace divisi::search
