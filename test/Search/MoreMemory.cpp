//===- MoreMemory.cpp - Adds resources to random problems -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProblems.h"

#include <algorithm>

namespace divisi::search {

namespace {
/// Adds resources and intervals to a problem.
class Enricher {
public:
  Enricher(Problem problem, uint64_t seed)
      : dice_(seed + 77), problem_(std::move(problem)) {}

  Problem make() {
    uint32_t more = uint32_t(dice_.below(3));
    for (Node &node : problem_.nodes) {
      liveAgain(node);
      for (uint32_t r = 0; r != more && !dice_.oneIn(5); ++r) {
        auto &usages = node.moreUsages.emplace_back();
        for (size_t s = 0; s != node.costs.size() && !dice_.oneIn(20); ++s) {
          usages.push_back(int64_t(dice_.below(20)));
        }
        usages.resize(usages.empty() ? 0 : node.costs.size(), 3);
      }
    }
    for (Edge &edge : problem_.edges) {
      if (edge.from != edge.to && dice_.oneIn(4)) {
        useMore(edge, more);
      }
    }
    problem_.moreResources.resize(more);
    for (uint32_t r = 1; r <= more; ++r) {
      limit(r);
    }
    return std::move(problem_);
  }

private:
  template <typename NodeOrEdge> void liveAgain(NodeOrEdge &user) {
    int64_t end = user.live.end;
    while (dice_.oneIn(3)) {
      int64_t begin = end + int64_t(dice_.below(3));
      end = begin + int64_t(dice_.below(3));
      user.moreLives.push_back({begin, end});
    }
  }

  void useMore(Edge &edge, uint32_t more) {
    if (!edge.usages && more == 0) {
      return;
    }
    if (!edge.usages) {
      edge.live = {dice_.below(int64_t(4)), 0};
      edge.live.end = edge.live.begin + int64_t(dice_.below(3));
    }
    liveAgain(edge);
    for (uint32_t r = 0; r != more; ++r) {
      auto &matrix = edge.moreUsages.emplace_back();
      if (edge.usages && dice_.oneIn(2)) {
        continue;
      }
      matrix = uint32_t(problem_.matrices.size());
      problem_.matrices.push_back(problem_.matrices[edge.costs]);
      for (int64_t &entry : problem_.matrices.back().entries) {
        entry = int64_t(dice_.below(12));
      }
    }
  }

  /// Within what the first assignments that dice give use, or none.
  void limit(uint32_t resource) {
    if (dice_.oneIn(4)) {
      return;
    }
    int64_t least = INT64_MAX;
    for (int tries = 0; tries != 4; ++tries) {
      std::vector<uint32_t> chosen;
      for (const Node &node : problem_.nodes) {
        chosen.push_back(uint32_t(dice_.below(node.costs.size())));
      }
      least = std::min(least, int64_t(peakOf(problem_, chosen, resource)));
    }
    problem_.moreResources[resource - 1].limit = least + dice_.between(-1, 6);
  }

  Dice dice_;
  Problem problem_;
};
} // namespace

Problem withMoreMemory(Problem problem, uint64_t seed) {
  return Enricher(std::move(problem), seed).make();
}

} // namespace divisi::search
