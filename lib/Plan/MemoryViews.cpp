//===- MemoryViews.cpp - What a problem knows of memory -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryViews.h"

#include "PlanTimer.h"
#include "Ties.h"

#include <cmath>

namespace divisi::plan {

/// The assignment as strategies and places.
static Fixed fixedBy(const PlanningProblem &planning,
                     const std::vector<uint32_t> &assignment) {
  Fixed fixed;
  for (auto [choices, node] :
       llvm::zip_equal(planning.choices, planning.siteNodes)) {
    fixed.sites.push_back(choices->splits[assignment[node]]);
  }
  auto take = [&](const std::vector<std::vector<Layout>> &places,
                  const std::vector<unsigned> &nodes,
                  std::vector<std::optional<Layout>> &list) {
    for (auto [layouts, node] : llvm::zip_equal(places, nodes)) {
      list.push_back(layouts.empty()
                         ? std::nullopt
                         : std::optional(layouts[assignment[node]]));
    }
  };
  take(planning.valuePlaces, planning.valueNodes, fixed.values);
  take(planning.stopPlaces, planning.stopNodes, fixed.stops);
  take(planning.outputPlaces, planning.outputNodes, fixed.outputs);
  return fixed;
}

/// By a problem that nobody cuts short, in which every node has one strategy.
static std::vector<int64_t>
plannedPeaks(const PlanningInputs &inputs, const PlanOptions &options,
             const PlanningProblem &planning,
             const std::vector<uint32_t> &assignment) {
  Fixed fixed = fixedBy(planning, assignment);
  search::Problem problem =
      makeProblem(inputs, options, {.fixed = &fixed, .isControlled = false})
          ->problem;
  return peaksOf(search::evaluate(
      problem, std::vector<uint32_t>(problem.nodes.size(), 0)));
}

/// Of a problem with all that rests, also for a view that leaves that out:
/// a usage without a limit is nothing to solvers.
static MemoryDetail detailOf(const MemoryView &view) {
  return view.detail == MemoryDetail::None ? MemoryDetail::Resting
                                           : view.detail;
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

int64_t Ladder::rung(int64_t index) const {
  constexpr double kMost = 62;
  double power = std::min(double(index) / toDouble_, kMost);
  return int64_t(std::floor(std::exp2(std::max(power, 0.0))));
}

/// Of the highest rung that is not above `limit`.
int64_t Ladder::indexOf(int64_t limit) const {
  auto index =
      int64_t(toDouble_ * std::log2(double(std::max<int64_t>(limit, 1))));
  while (index > 0 && rung(index) > limit) {
    --index;
  }
  while (rung(index + 1) <= limit && rung(index + 1) > rung(index)) {
    ++index;
  }
  return index;
}

int64_t Ladder::limitAt(int64_t limit, int step) const {
  if (step == 0) {
    return limit;
  }
  int64_t index = indexOf(limit) + step + (step < 0 ? 1 : 0);
  return index < 0 ? 0 : rung(index);
}

int Ladder::stepAt(int64_t limit, int64_t bytes) const {
  auto above = int(indexOf(bytes) - indexOf(limit));
  return above > 0 ? above : above - 1;
}

double Ladder::stepsAbove(int64_t limit, int64_t bytes) const {
  return toDouble_ * std::log2(double(std::max<int64_t>(bytes, 1)) /
                               double(std::max<int64_t>(limit, 1)));
}

/// What `view` leaves of the limits.
static void setLimits(const PlanningInputs &inputs, const PlanOptions &options,
                      const MemoryView &view, Ladder ladder,
                      search::Problem &problem) {
  KindMemories memories = memoriesOf(inputs, options);
  for (auto [kind, memory] : llvm::enumerate(memories)) {
    std::optional<int64_t> &limit =
        kind == 0 ? problem.usageLimit : problem.moreResources[kind - 1].limit;
    limit.reset();
    if (view.detail != MemoryDetail::None) {
      limit = ladder.limitAt(*memory.limit, view.step);
    }
  }
}

namespace {
/// A problem as a view has it, while this is alive.
class Viewed {
public:
  Viewed(const PlanningInputs &inputs, const PlanOptions &options,
         const MemoryView &view, Ladder ladder, PlanningProblem &planning)
      : planning_(planning) {
    setLimits(inputs, options, view, ladder, planning.problem);
    if (view.isLeast) {
      leaveOut();
    }
  }
  ~Viewed();

private:
  void leaveOut();

  PlanningProblem &planning_;
  /// Of what is left out: what it uses.
  std::vector<search::Node> nodes_;
  std::vector<search::Edge> edges_;
};
} // namespace

void Viewed::leaveOut() {
  search::Problem &problem = planning_.problem;
  for (unsigned number : planning_.elidedNodes) {
    search::Node &node = problem.nodes[number];
    search::Node &kept = nodes_.emplace_back();
    kept.usages.assign(node.usages.size(), 0);
    std::swap(kept.usages, node.usages);
    std::swap(kept.moreUsages, node.moreUsages);
  }
  for (unsigned number : planning_.elidedEdges) {
    search::Edge &edge = problem.edges[number];
    search::Edge &kept = edges_.emplace_back();
    std::swap(kept.usages, edge.usages);
    std::swap(kept.moreUsages, edge.moreUsages);
  }
}

/// In the opposite order, as some nodes are left out twice.
Viewed::~Viewed() {
  search::Problem &problem = planning_.problem;
  for (size_t i = nodes_.size(); i-- != 0;) {
    search::Node &node = problem.nodes[planning_.elidedNodes[i]];
    node.usages = std::move(nodes_[i].usages);
    node.moreUsages = std::move(nodes_[i].moreUsages);
  }
  for (size_t i = edges_.size(); i-- != 0;) {
    search::Edge &edge = problem.edges[planning_.elidedEdges[i]];
    edge.usages = edges_[i].usages;
    edge.moreUsages = std::move(edges_[i].moreUsages);
  }
}

/// Of all plans within the limits, from what is proved in `view`: prices and
/// potentials bound at any limits and usages, only less well.
static std::optional<search::Wide>
boundAtLimits(const PlanningInputs &inputs, const PlanOptions &options,
              const ViewRequest &request, PlanningProblem &planning,
              const search::Solution &solution) {
  const MemoryView &view = request.view;
  bool isAtLimits = view.step == 0 && (view.isLeast || !request.isMeasured);
  if (view.detail == MemoryDetail::None || isAtLimits) {
    return solution.lowerBound;
  }
  Viewed viewed(inputs, options,
                {.detail = view.detail, .isLeast = request.isMeasured},
                request.ladder, planning);
  Expected<std::optional<search::Wide>> bound =
      search::provedBound(planning.problem, solution.certificate);
  return bound ? *bound : std::nullopt;
}

FitOutcome solveView(const PlanningInputs &inputs, const PlanOptions &options,
                     const search::Solver &solver,
                     const search::Options &solverOptions,
                     ViewRequest request) {
  FitOutcome fit;
  const MemoryView &view = request.view;
  if (request.known && request.known->memory == detailOf(view)) {
    fit.planning = std::move(request.known);
  } else if (auto planning = makeProblem(inputs, options,
                                         {.memory = detailOf(view),
                                          .below = request.below,
                                          .least = request.least,
                                          .routers = request.routers})) {
    fit.planning = std::make_shared<PlanningProblem>(std::move(*planning));
  } else {
    return fit;
  }
  PlanningProblem &planning = *fit.planning;
  search::Options asked = solverOptions;
  if (auto ties = tiesOf(inputs.dataflow(), planning)) {
    asked.ties = std::move(*ties);
  }
  if (solver.isTimed && options.judge == "simulated") {
    asked.timer = makePlanTimer(fit.planning, inputs);
  }
  {
    Viewed viewed(inputs, options, view, request.ladder, planning);
    fit.outcome = solver.solve(planning.problem, asked);
  }
  if (fit.outcome.verdict != search::Verdict::Solved) {
    return fit;
  }
  const std::vector<uint32_t> &assignment = fit.outcome.solution.assignment;
  auto peaks = [&] {
    return peaksOf(search::evaluate(planning.problem, assignment));
  };
  bool isWhole = view.detail != MemoryDetail::Globals;
  fit.use = {.peaks = isWhole
                          ? plannedPeaks(inputs, options, planning, assignment)
                          : peaks(),
             .seen = peaks()};
  Viewed viewed(inputs, options, {.detail = view.detail, .isLeast = true},
                request.ladder, planning);
  fit.use->least = peaks();
  fit.bound =
      boundAtLimits(inputs, options, request, planning, fit.outcome.solution);
  if (fit.bound && planning.below) {
    fit.bound =
        std::min(*fit.bound, search::Wide(*planning.below) * kNanosecond);
  }
  return fit;
}

std::optional<std::string> checkView(const PlanningInputs &inputs,
                                     const PlanOptions &options,
                                     const ViewRequest &request,
                                     const search::Solution &solution) {
  PlanningProblem &planning = *request.known;
  Viewed viewed(inputs, options, request.view, request.ladder, planning);
  return search::check(planning.problem, solution);
}

//===----------------------------------------------------------------------===//
// Which view is next
//===----------------------------------------------------------------------===//

/// The ends of the ladder: what fits is seldom counted as 20 % more, and what
/// lies beside tensors is seldom a thousand times as much.
static constexpr int kHighest = 16, kLowest = -640;
/// Where the way down of small problems begins, and where they look before.
static constexpr int kTop = 4, kSafe = -24;

ViewSearch::ViewSearch(bool isLarge, bool isMeasured, bool isTight)
    : isLarge_(isLarge), isMeasured_(isMeasured), top_(kTop) {
  // What lies beside tensors is not known yet.
  constexpr int kGuess = -3;
  if (isTight) {
    begin(isLarge ? MemoryDetail::Resting : MemoryDetail::All,
          isMeasured ? kGuess : 0);
  }
}

void ViewSearch::probe() {
  isProbe_ = true;
  afterProbe_ = view_;
  view_ = {.detail = MemoryDetail::All, .isLeast = true};
}

/// Small problems look for a plan that fits in any case, then go down.
bool ViewSearch::begin(MemoryDetail detail, int step) {
  fits_ = over_ = none_ = std::nullopt;
  floor_.reset();
  last_.reset();
  tries_ = tail_ = 0;
  isSafe_ = isMeasured_ && !isLarge_;
  view_ = {.detail = detail,
           .step = isSafe_ ? kSafe : std::clamp(step, kLowest, kHighest)};
  return true;
}

/// A problem that counts all is as large as any.
bool ViewSearch::nextDetail(int wantedOfAll) {
  if (view_.detail == MemoryDetail::Resting) {
    return begin(MemoryDetail::All, isMeasured_ ? wantedOfAll : 0);
  }
  view_ = {.detail = view_.detail, .isLeast = true};
  return isMeasured_;
}

/// What lies beside tensors grows as less is planned for: by two plans it is
/// known how fast.
int ViewSearch::wantedNow(const ViewResult &result) const {
  if (!last_ || last_->first == view_.step) {
    return result.wanted;
  }
  double slope =
      (result.excess - last_->second) / double(view_.step - last_->first);
  if (!(slope > 0.1)) {
    return result.wanted;
  }
  double step = std::floor(view_.step - result.excess / slope);
  return int(std::clamp(step, double(kLowest), double(kHighest)));
}

/// From a plan that fits to one that holds more, and takes less time.
bool ViewSearch::climb(const ViewResult &result) {
  int nearest = isLarge_ ? 4 : 1;
  int above = (over_ ? *over_ : kHighest + 1) - *fits_;
  if (above <= nearest || (!over_ && result.wanted <= *fits_)) {
    return false;
  }
  view_.step = std::clamp(over_ ? *fits_ + above / 2 : wantedNow(result),
                          *fits_ + 1, over_ ? *over_ - 1 : kHighest);
  return true;
}

/// From plans that hold too much to one that holds less.
bool ViewSearch::descend(const ViewResult &result) {
  int low = none_ ? *none_ + 1 : kLowest;
  // Only what is measured may hold less than is planned.
  int high = over_ ? *over_ - 1 : isMeasured_ ? kHighest : 0;
  if (low > high) {
    return false;
  }
  int wanted = wantedNow(result);
  bool isGuided = result.hasPlan && wanted >= low;
  view_.step = isGuided ? std::min(wanted, high)
               : over_  ? (low + high + 1) / 2
                        : high;
  return true;
}

/// Far below the limit, and further while plans hold too much.
bool ViewSearch::lookSafely(const ViewResult &result) {
  constexpr int kMost = 5;
  if (result.fits) {
    floor_ = view_.step;
  }
  int low = none_.value_or(view_.step + 2 * kSafe);
  int high = over_.value_or(-1);
  isSafe_ =
      !result.fits && !result.isUseless && tries_ < kMost && high - low > 1;
  view_.step = isSafe_ ? (low + high) / 2 : top_;
  return true;
}

/// Rung by rung down to a plan that fits.
bool ViewSearch::walk(const ViewResult &result) {
  constexpr int kMost = 100, kTail = 2;
  if (isSafe_) {
    return lookSafely(result);
  }
  if (result.fits || result.isUseless || tail_ > 0) {
    ++tail_;
  }
  int step = std::min(view_.step - (view_.step == 1 ? 2 : 1), result.below);
  bool isKnown = floor_ && step <= *floor_;
  if (!result.hasPlan || isKnown || tail_ > kTail || tries_ == kMost) {
    return false;
  }
  view_.step = step;
  return true;
}

bool ViewSearch::goOn(const ViewResult &result) {
  if (isOneOfMany()) {
    return walk(result);
  }
  constexpr int kMost = 4;
  return tries_ < kMost && !result.isUseless &&
         (fits_ ? climb(result) : descend(result));
}

bool ViewSearch::next(const ViewResult &result) {
  if (isProbe_) {
    isProbe_ = false;
    view_ = afterProbe_;
    return true;
  }
  if (view_.isLeast || view_.detail == MemoryDetail::Globals) {
    return false;
  }
  if (view_.detail == MemoryDetail::None) {
    if (result.fits || result.isUseless) {
      return false;
    }
    MemoryDetail detail = isLarge_ ? MemoryDetail::Resting : MemoryDetail::All;
    int wanted = isLarge_ ? result.wanted : result.wantedOfAll;
    top_ = std::min(kTop, result.below);
    return begin(detail, isMeasured_ ? wanted : 0);
  }
  std::optional<int> &known = !result.hasPlan ? none_
                              : result.fits   ? fits_
                                              : over_;
  known = view_.step;
  ++tries_;
  int step = view_.step;
  bool goesOn = goOn(result);
  if (result.hasPlan) {
    last_ = {step, result.excess};
  }
  if (goesOn) {
    return true;
  }
  if (fits_ || result.isUseless) {
    view_ = {.detail = view_.detail, .isLeast = true};
    return isMeasured_;
  }
  return nextDetail(result.wantedOfAll);
}

} // namespace divisi::plan
