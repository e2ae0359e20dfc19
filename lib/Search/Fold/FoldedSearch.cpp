//===- FoldedSearch.cpp - Where a search of the whole starts --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldedSearch.h"

#include "lib/Search/Neighbourhoods/Neighbourhoods.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace divisi::search {

namespace {
/// Of one graph.
class FoldedSearch {
public:
  FoldedSearch(const CostGraph &graph, const Options &options, int64_t work,
               const std::function<bool()> &stopped, Incumbent best)
      : graph_(graph), options_(options), most_(work), stopped_(stopped),
        dual_(graph), best_(std::move(best)) {}

  void run() {
    while (work_ < most_ && !stopped_() && !dual_.stalled() &&
           !isClosed(best_, dual_.best().bound, options_)) {
      dual_.step(best_.cost);
      work_ += dual_.workOfStep();
      consider(dual_.forwardTaken(), dual_.forwardValue());
      consider(dual_.backwardTaken(), dual_.backwardValue());
    }
    if (best_.exists() && options_.neighbourhoods && dual_.steps() != 0 &&
        !isClosed(best_, dual_.best().bound, options_)) {
      improveAnswer();
    }
  }

  static bool isClosed(const Incumbent &best, double bound,
                       const Options &options) {
    return best.exists() &&
           bound > best.cost - std::max(options.gap * std::abs(best.cost),
                                        toleranceOf(best.cost));
  }

  const Incumbent &best() const { return best_; }
  const DualPoint &point() const { return dual_.best(); }
  int64_t work() const { return work_; }

private:
  void consider(const Assignment &assignment, Value value) {
    if (value.feasible() && value.cost < best_.cost) {
      best_ = {assignment, value.cost};
    }
  }

  void improveAnswer() {
    Neighbourhoods neighbourhoods(graph_, options_.seed);
    neighbourhoods.remember(dual_.forwardTaken());
    neighbourhoods.remember(dual_.backwardTaken());
    work_ += neighbourhoods.improve(best_, dual_.best(),
                                    std::min(most_ - work_, work_), stopped_);
  }

  const CostGraph &graph_;
  const Options &options_;
  int64_t most_;
  const std::function<bool()> &stopped_;
  Lagrangian dual_;
  Incumbent best_;
  int64_t work_ = 0;
};
} // namespace

static std::vector<uint32_t> sizesOf(const std::vector<uint32_t> &classOf) {
  std::vector<uint32_t> sizes;
  for (uint32_t number : classOf) {
    sizes.resize(std::max<size_t>(sizes.size(), number + 1), 0);
    ++sizes[number];
  }
  return sizes;
}

/// Each class as `parts` classes, of variables that are next to each other.
static std::vector<uint32_t> splitClasses(const std::vector<uint32_t> &classOf,
                                          uint32_t parts) {
  std::vector<uint32_t> sizes = sizesOf(classOf), seen(sizes.size(), 0);
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> numberOf;
  std::vector<uint32_t> split;
  for (uint32_t number : classOf) {
    uint64_t part = uint64_t(seen[number]++) * parts / sizes[number];
    auto next = uint32_t(numberOf.size());
    split.push_back(numberOf.try_emplace({number, part}, next).first->second);
  }
  return split;
}

/// Potentials as messages that a search of the whole can start from.
static void takePoint(const CostGraph &whole, const Fold &fold,
                      const DualPoint &folded, FoldedStart &start) {
  DualPoint point;
  Potentials potentials = fold.unfold(splitMessages(fold.graph(), folded));
  point.prices = folded.prices;
  for (const std::vector<double> &first : potentials.first) {
    for (double value : first) {
      point.messages.push_back(float(value));
    }
  }
  point.bound = boundOf(whole, point, potentials);
  start.work += 4 * whole.numEntries();
  if (point.bound > start.point.bound) {
    start.point = std::move(point);
    start.potentials = std::move(potentials);
  }
}

FoldedStart searchFolded(const CostGraph &whole,
                         const std::vector<uint32_t> &classOf,
                         const Options &options, int64_t work,
                         const std::function<bool()> &stopped) {
  FoldedStart start;
  uint32_t copies = std::ranges::max(sizesOf(classOf));
  for (uint32_t parts = 1; parts == 1 || 2 * parts < copies; parts *= 4) {
    Fold fold(whole, splitClasses(classOf, parts));
    Incumbent before = start.best;
    if (before.exists()) {
      before.assignment = fold.fold(before.assignment);
    }
    FoldedSearch search(fold.graph(), options, work - start.work, stopped,
                        std::move(before));
    search.run();
    start.work += search.work();
    if (search.best().cost < start.best.cost) {
      start.best.assignment = fold.unfold(search.best().assignment);
      start.best.cost = costOf(whole, start.best.assignment);
    }
    if (std::isfinite(search.point().bound)) {
      takePoint(whole, fold, search.point(), start);
    }
    if (start.work >= work || stopped() ||
        FoldedSearch::isClosed(start.best, start.point.bound, options)) {
      break;
    }
  }
  return start;
}

} // namespace divisi::search
