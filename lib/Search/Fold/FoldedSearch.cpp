//===- FoldedSearch.cpp - Where a search of the whole starts --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldedSearch.h"

#include "lib/Search/Neighbourhoods/Crossover.h"
#include "lib/Search/Neighbourhoods/Neighbourhoods.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace divisi::search {

namespace {
/// Of one graph. Its roundings are crossed in the whole.
class FoldedSearch {
public:
  FoldedSearch(const CostGraph &whole, const Fold &fold, const Options &options,
               int64_t work, const std::function<bool()> &stopped)
      : fold_(fold), graph_(fold.graph()), options_(options), most_(work),
        stopped_(stopped), dual_(graph_), crossover_(whole) {
    dual_.setTurning(true); // Copies of a layer fill memory alike.
  }

  void run() {
    while (work_ < most_ && !stopped_() && !dual_.stalled() && !isUseless() &&
           !isClosed(wholeBest_, dual_.best().bound, options_)) {
      dual_.step(wholeBest_.cost);
      work_ += dual_.workOfStep();
      consider(dual_.forwardTaken(), dual_.forwardValue());
      consider(dual_.backwardTaken(), dual_.backwardValue());
      crossover_.allow(dual_.workOfStep());
      for (const Assignment &taken :
           {dual_.forwardTaken(), dual_.backwardTaken()}) {
        work_ += crossover_.add(fold_.unfold(taken), wholeBest_);
      }
    }
    if (best_.exists() && options_.neighbourhoods && dual_.steps() != 0 &&
        !isUseless() && !isClosed(wholeBest_, dual_.best().bound, options_)) {
      improveAnswer();
      work_ += crossover_.add(fold_.unfold(best_.assignment), wholeBest_);
    }
  }

  static bool isClosed(const Incumbent &best, double bound,
                       const Options &options) {
    return best.exists() &&
           bound > best.cost - std::max(options.gap * std::abs(best.cost),
                                        toleranceOf(best.cost));
  }

  /// Whether the bound of the whole will rule out answers below the cutoff, as
  /// far as this one tells.
  bool isUseless() const {
    constexpr double kSurely = 1.02;
    return options_.cutoff &&
           dual_.best().bound > kSurely * double(*options_.cutoff);
  }

  /// Of the whole.
  const Incumbent &best() const { return wholeBest_; }
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

  const Fold &fold_;
  const CostGraph &graph_; ///< The folded one.
  const Options &options_;
  int64_t most_;
  const std::function<bool()> &stopped_;
  Lagrangian dual_;
  Crossover crossover_;
  Incumbent best_, wholeBest_; ///< Of the folded graph, and of the whole.
  int64_t work_ = 0;
};
} // namespace

/// How many classes each class becomes: neighbours in a chain of copies are
/// then different variables, and no pair stands for two that differ.
static constexpr uint32_t kTurns = 3;

/// Each class as kTurns classes, whose variables come in turn.
static std::vector<uint32_t> inTurn(const std::vector<uint32_t> &classOf) {
  std::vector<uint32_t> seen(std::ranges::max(classOf) + 1, 0), turns;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numberOf;
  for (uint32_t number : classOf) {
    uint32_t turn = seen[number]++ % kTurns;
    auto next = uint32_t(numberOf.size());
    turns.push_back(numberOf.try_emplace({number, turn}, next).first->second);
  }
  return turns;
}

/// Of `work`, what a fold is worth: most of it where it is much smaller than
/// the whole, little where that is less so. Where few variables are alike it is
/// larger, as tables that pairs of the whole share are summed apart.
static int64_t budgetOf(int64_t whole, int64_t folded, int64_t work) {
  constexpr int64_t kMuchSmaller = 4, kWholePart = 4, kLittle = 8;
  if (folded >= whole) {
    return 0;
  }
  return kMuchSmaller * folded < whole ? work - work / kWholePart
                                       : work / kLittle;
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
  start.point = std::move(point);
  start.potentials = std::move(potentials);
}

FoldedStart searchFolded(const CostGraph &whole,
                         const std::vector<uint32_t> &classOf,
                         const Options &options, int64_t work,
                         const std::function<bool()> &stopped) {
  FoldedStart start;
  std::vector<uint32_t> turns = inTurn(classOf);
  work = budgetOf(whole.numEntries(), foldedEntries(whole, turns), work);
  if (work == 0) {
    return start;
  }
  Fold fold(whole, std::move(turns));
  FoldedSearch search(whole, fold, options, work, stopped);
  search.run();
  start.best = search.best();
  start.work = search.work();
  if (std::isfinite(search.point().bound)) {
    takePoint(whole, fold, search.point(), start);
  }
  return start;
}

} // namespace divisi::search
