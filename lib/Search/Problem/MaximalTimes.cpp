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

namespace {
/// When something of one resource begins to be used, and ends.
struct Changes {
  std::vector<int64_t> begins, ends;
  template <typename NodeOrEdge> void add(const NodeOrEdge &user) {
    forEachLife(user, [&](Lifetime live) {
      if (live.begin < live.end) {
        begins.push_back(live.begin);
        ends.push_back(live.end);
      }
    });
  }
};
} // namespace

/// Goes through the begins in order, and keeps one if something ends before the
/// next: else all that lives at this one lives at the next one too.
static void addMaximal(Changes changes, uint32_t resource,
                       std::vector<Moment> &times) {
  auto &[begins, ends] = changes;
  std::ranges::sort(begins);
  std::ranges::sort(ends);
  size_t ended = 0;
  for (size_t i = 0; i != begins.size(); ++i) {
    while (ended != ends.size() && ends[ended] <= begins[i]) {
      ++ended;
    }
    bool isLast = i + 1 == begins.size();
    // Between two begins something has to end; at the second's is early enough.
    if (isLast || (begins[i + 1] != begins[i] && ended != ends.size() &&
                   ends[ended] <= begins[i + 1])) {
      times.push_back({resource, begins[i]});
    }
  }
}

std::vector<Moment> maximalTimes(const Problem &problem) {
  std::vector<Changes> changes(problem.numResources());
  for (const Node &node : problem.nodes) {
    forEachUsage(node, [&](uint32_t r, const std::vector<int64_t> &usages) {
      if (usesMemory(usages)) {
        changes[r].add(node);
      }
    });
  }
  for (const Edge &edge : problem.edges) {
    forEachUsage(edge, [&](uint32_t r, uint32_t matrix) {
      if (usesMemory(problem.matrices[matrix].entries)) {
        changes[r].add(edge);
      }
    });
  }
  std::vector<Moment> times;
  for (uint32_t r = 0; r != changes.size(); ++r) {
    if (problem.limitOf(r)) {
      addMaximal(std::move(changes[r]), r, times);
    }
  }
  return times;
}

TimeRange rangeOf(const std::vector<Moment> &times, uint32_t resource,
                  Lifetime live) {
  if (live.begin >= live.end) {
    return {};
  }
  auto index = [&](int64_t time) {
    return size_t(std::ranges::lower_bound(times, Moment{resource, time}) -
                  times.begin());
  };
  return {index(live.begin), index(live.end)};
}

} // namespace divisi::search
