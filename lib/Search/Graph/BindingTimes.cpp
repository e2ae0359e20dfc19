//===- BindingTimes.cpp - The times at which memory can bind --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostGraph.h"

#include <algorithm>

namespace divisi::search {

/// Calls `use` with every list of usages.
template <typename Use> static void forEachUsages(CostGraph &graph, Use use) {
  for (Variable &variable : graph.variables) {
    use(variable.usages);
  }
  for (Pair &pair : graph.pairs) {
    if (!pair.usages.empty()) {
      use(pair.usages);
    }
  }
}

/// Adds up usages of equal lifetimes, and forgets those of none.
static void mergeUsages(std::vector<Usage> &usages) {
  std::erase_if(usages, [](const Usage &u) { return u.begin >= u.end; });
  auto key = [](const Usage &u) { return std::pair(u.begin, u.end); };
  std::ranges::stable_sort(usages, {}, key);
  size_t merged = 0;
  for (size_t i = 0; i != usages.size(); ++i) {
    if (merged != 0 && key(usages[merged - 1]) == key(usages[i])) {
      SharedNumbers &sum = usages[merged - 1].usages;
      std::vector<double> both(sum.begin(), sum.end());
      for (size_t s = 0; s != both.size(); ++s) {
        both[s] += usages[i].usages[s];
      }
      sum = SharedNumbers(std::move(both));
    } else {
      if (merged != i) {
        usages[merged] = std::move(usages[i]);
      }
      ++merged;
    }
  }
  usages.resize(merged);
}

/// Where the greatest usages together exceed the capacity.
static std::vector<uint32_t> timesThatCanExceed(CostGraph &graph) {
  size_t count = graph.capacity.size();
  std::vector<double> most(count + 1, 0);
  forEachUsages(graph, [&](const std::vector<Usage> &usages) {
    for (const Usage &usage : usages) {
      double use = *std::ranges::max_element(usage.usages);
      most[usage.begin] += use;
      most[usage.end] -= use;
    }
  });
  std::vector<uint32_t> times;
  double atMost = 0;
  for (uint32_t t = 0; t != count; ++t) {
    atMost += most[t];
    // A little less, for what summing in floating point may lose.
    if (atMost * (1 + 1e-9) > graph.capacity[t]) {
      times.push_back(t);
    }
  }
  return times;
}

/// Of `times`, those that no neighbour dominates.
static std::vector<uint32_t>
timesNotDominated(CostGraph &graph, const std::vector<uint32_t> &times) {
  size_t count = graph.capacity.size();
  std::vector<uint32_t> begins(count + 1, 0), ends(count + 1, 0);
  forEachUsages(graph, [&](const std::vector<Usage> &usages) {
    for (const Usage &usage : usages) {
      ++begins[usage.begin];
      ++ends[usage.end];
    }
  });
  for (size_t t = 1; t <= count; ++t) {
    begins[t] += begins[t - 1];
    ends[t] += ends[t - 1];
  }
  std::vector<uint32_t> kept;
  for (uint32_t t : times) {
    bool dominated = false;
    while (!kept.empty()) {
      uint32_t last = kept.back();
      if (begins[last] == begins[t] &&
          graph.capacity[last] <= graph.capacity[t]) {
        dominated = true;
        break;
      }
      if (ends[last] != ends[t] || graph.capacity[last] < graph.capacity[t]) {
        break;
      }
      kept.pop_back();
    }
    if (!dominated) {
      kept.push_back(t);
    }
  }
  return kept;
}

/// Lifetimes are moved to the positions that stay, where some become empty and
/// others equal.
std::vector<uint32_t> keepBindingTimes(CostGraph &graph) {
  std::vector<uint32_t> kept =
      timesNotDominated(graph, timesThatCanExceed(graph));
  std::vector<uint32_t> position(graph.capacity.size() + 1);
  for (uint32_t t = 0, next = 0; t != position.size(); ++t) {
    position[t] = next;
    next += next != kept.size() && kept[next] == t;
  }
  forEachUsages(graph, [&](std::vector<Usage> &usages) {
    for (Usage &usage : usages) {
      usage.begin = position[usage.begin];
      usage.end = position[usage.end];
    }
    mergeUsages(usages);
  });
  for (size_t i = 0; i != kept.size(); ++i) {
    graph.capacity[i] = graph.capacity[kept[i]];
  }
  graph.capacity.resize(kept.size());
  return kept;
}

} // namespace divisi::search
