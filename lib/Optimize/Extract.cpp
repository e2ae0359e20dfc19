//===- Extract.cpp - Programs out of an acyclic e-graph -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The baseline, improved node by node, is where HiGHS starts. Each answer is
// excluded before the next is looked for, from the cheapest that is known: a
// neighbour of an answer, or what HiGHS has met on its way. Where a limit ends
// that, the cheapest of these are the other answers.
//
// The best is looked for among fewer nodes: without those that another can
// stand in for at no cost. The further answers may take them again, since a
// program that is as cheap, or hardly dearer, is just what they are for.
//
//===----------------------------------------------------------------------===//

#include "divisi/Optimize/Extract.h"

#include "lib/Optimize/ExtractGreedy.h"
#include "lib/Optimize/ExtractProgram.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

using namespace divisi;
using namespace divisi::optimize;

/// More are left to the baseline: forced classes take memory of their square.
static constexpr size_t kMostClasses = 40'000;

/// Whether the extraction takes one node of each class that is needed, of no
/// other, and pays for them. Looks at each class after all that may read it, so
/// that a class which reads itself would be found to be needed too late.
static bool isExtraction(const ExtractionProblem &problem,
                         const ExtractionForm &form,
                         const Extraction &extraction) {
  std::vector<char> isNeeded(problem.classes.size());
  for (uint32_t root : problem.roots) {
    isNeeded[root] = 1;
  }
  int64_t cost = 0;
  for (auto c = form.order.rbegin(); c != form.order.rend(); ++c) {
    if (!isNeeded[*c] || !extraction.choice[*c]) {
      continue;
    }
    const ExtractionNode &node = problem.classes[*c][*extraction.choice[*c]];
    cost += node.cost;
    for (uint32_t child : node.children) {
      isNeeded[child] = 1;
    }
    isNeeded[*c] = 2; // And taken.
  }
  for (size_t c = 0; c != isNeeded.size(); ++c) {
    if (isNeeded[c] != (extraction.choice[c] ? 2 : 0)) {
      return false;
    }
  }
  return cost == extraction.cost;
}

namespace {
/// By cost, then by choice.
struct IsCheaper {
  bool operator()(const Extraction &a, const Extraction &b) const {
    return std::tie(a.cost, a.choice) < std::tie(b.cost, b.choice);
  }
};

/// Extracts from one problem.
class Extractor {
public:
  Extractor(const ExtractionProblem &problem, const ExtractionForm &form,
            const ExtractionLimits &limits)
      : problem_(problem), form_(form), left_(limits),
        answers_(std::max<size_t>(limits.answers, 1)) {}

  Extracted run();

private:
  void offer(Extraction extraction);
  bool solveNext(ExtractionProgram &program);
  bool take();
  bool usesDominated(const Extraction &extraction) const;
  double mostCost() const;

  const ExtractionProblem &problem_;
  const ExtractionForm &form_;
  ExtractionLimits left_;
  size_t answers_;
  std::vector<uint32_t> greedy_;             ///< What the baseline prefers.
  std::set<Extraction, IsCheaper> open_;     ///< The cheapest that are known.
  std::set<Extraction, IsCheaper> answered_; ///< And excluded.
  const Extraction *last_ = nullptr;         ///< The last of them.
  Extracted result_;
};
} // namespace

/// Keeps an extraction if it is one, new, and among the cheapest.
void Extractor::offer(Extraction extraction) {
  if (!answered_.contains(extraction) &&
      isExtraction(problem_, form_, extraction)) {
    open_.insert(std::move(extraction));
    if (open_.size() > answers_) {
      open_.erase(std::prev(open_.end()));
    }
  }
}

/// What an answer may cost.
double Extractor::mostCost() const {
  return answered_.empty()
             ? std::numeric_limits<double>::infinity()
             : double(answered_.begin()->cost) * std::max(left_.slack, 1.0);
}

bool Extractor::usesDominated(const Extraction &extraction) const {
  return std::ranges::any_of(form_.order, [&](uint32_t c) {
    if (!extraction.choice[c]) {
      return false;
    }
    auto at = std::ranges::lower_bound(form_.nodes[c], *extraction.choice[c]);
    return form_.isDominated[c][size_t(at - form_.nodes[c].begin())] != 0;
  });
}

/// The cheapest that is known becomes an answer, unless it costs too much.
bool Extractor::take() {
  if (open_.empty() || double(open_.begin()->cost) > mostCost()) {
    return false;
  }
  last_ = &*answered_.insert(open_.extract(open_.begin())).position;
  Preferences from(problem_, form_, preferencesOf(form_, *last_, greedy_));
  for (Extraction &neighbour :
       neighboursOf(problem_, form_, from, answers_ + answered_.size())) {
    offer(std::move(neighbour));
  }
  return true;
}

/// Lets HiGHS find the next answer. False if there are no more, which then is
/// complete, or HiGHS cannot go on.
bool Extractor::solveNext(ExtractionProgram &program) {
  bool isFirst = answered_.empty();
  const Extraction *start = open_.empty() ? nullptr : &*open_.begin();
  std::optional<Extraction> from;
  if (start && !(isFirst && usesDominated(*start))) {
    from = *start; // As offers may displace it.
  }
  bool isExcluded = false; // What HiGHS found last, for all its rows.
  ProgramRun run = program.run(
      isFirst, from ? &*from : nullptr, left_,
      [&](std::vector<uint32_t> preferred) {
        Extraction found =
            Preferences(problem_, form_, std::move(preferred)).extraction();
        isExcluded = answered_.contains(found);
        offer(std::move(found));
      });
  left_.nodes -= run.nodes;
  left_.iterations -= run.iterations;
  result_.iterations += run.iterations;
  if (isFirst) {
    result_.bound = std::max(result_.bound, run.bound.value_or(0));
  }
  if (run.end != ProgramRun::End::Optimal || isExcluded) {
    result_.isComplete = run.end == ProgramRun::End::Infeasible && !isFirst;
    return false;
  }
  if (!take()) {
    result_.isComplete = !open_.empty();
    return false;
  }
  return true;
}

Extracted Extractor::run() {
  greedy_ = preferGreedily(problem_, form_);
  Preferences preferences(problem_, form_, greedy_);
  result_.greedy = preferences.cost();
  result_.bound = form_.forcedCost;
  offer(preferences.extraction());
  descend(problem_, form_, preferences);
  offer(preferences.extraction());
  if (form_.order.size() <= kMostClasses) {
    ExtractionProgram program(problem_, form_);
    while (!program.isTooLarge() && left_.iterations > 0 &&
           solveNext(program)) {
      bool hasOthers = program.exclude(*last_);
      result_.isComplete = !hasOthers || answered_.size() == answers_;
      if (result_.isComplete) {
        break;
      }
    }
  }
  while (!result_.isComplete && answered_.size() < answers_ && take()) {
  }
  result_.best.assign(answered_.begin(), answered_.end());
  result_.bound = std::min(result_.bound, result_.best.front().cost);
  return std::move(result_);
}

Expected<Extracted> divisi::optimize::extract(const ExtractionProblem &problem,
                                              const ExtractionLimits &limits) {
  Expected<ExtractionForm> form = orderClasses(problem);
  if (!form) {
    return form.status();
  }
  if (form->order.size() <= kMostClasses) {
    findForced(problem, *form);
  }
  return Extractor(problem, *form, limits).run();
}
