//===- Ilp.cpp - The planning problem solved by HiGHS ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HiGHS computes in doubles: its answer is evaluated anew in integers, and its
// bound, being no proof, is only told.
//
//===----------------------------------------------------------------------===//

#include "IntegerProgram.h"

#include "interfaces/highs_c_api.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace divisi::search {

static constexpr double kMostEntries = 5e6, kMostMatrixEntries = 1 << 24;

namespace {
class IlpSolver {
public:
  IlpSolver(const Problem &problem, const Options &options)
      : problem_(problem), options_(options), budget_(options) {}

  Outcome solve();

private:
  using Highs = std::unique_ptr<void, decltype(&Highs_destroy)>;

  Outcome notFound(const std::string &why) const;
  void startWarm(void *highs, const ExactProblem &exact);
  bool offer(std::vector<uint32_t> assignment);
  void configure(void *highs);
  void run(const ExactProblem &exact);
  void conclude(void *highs);
  static void onCallback(int type, const char *message,
                         const HighsCallbackDataOut *out,
                         HighsCallbackDataIn *in, void *self);
  bool interrupts(const HighsCallbackDataOut &out);

  const Problem &problem_;
  const Options &options_;
  Budget budget_;
  const ExactProblem *exact_ = nullptr;
  const IntegerProgram *ilp_ = nullptr;
  std::optional<Solution> best_;
  Stopped stopped_ = Stopped::Finished;
  std::string story_; ///< What HiGHS says of itself.
};
} // namespace

Outcome IlpSolver::notFound(const std::string &why) const {
  Outcome outcome;
  outcome.message = why;
  outcome.stopped = stopped_;
  outcome.work = budget_.spent();
  return outcome;
}

/// Keeps an assignment if it is one, exactly, and the best.
bool IlpSolver::offer(std::vector<uint32_t> assignment) {
  Solution solution = evaluate(problem_, std::move(assignment));
  if (check(problem_, solution) || (best_ && best_->cost <= solution.cost)) {
    return false;
  }
  best_ = std::move(solution);
  if (options_.onProgress) {
    options_.onProgress({budget_.seconds(), budget_.spent(), best_->cost,
                         best_->lowerBound, "ilp", &*best_});
  }
  return true;
}

/// Gives HiGHS what the default solver finds in a tenth of the budget.
void IlpSolver::startWarm(void *highs, const ExactProblem &exact) {
  Options options = options_;
  options.work = options_.work / 10;
  options.onProgress = nullptr;
  if (options_.timeLimit) {
    options.start = 0;
    options.timeLimit =
        std::max(0.0, *options_.timeLimit - budget_.seconds()) / 10;
  }
  Outcome start = solveAuto(problem_, options);
  budget_.spend(start.work);
  if (start.verdict != Verdict::Solved || !offer(start.solution.assignment)) {
    return;
  }
  std::vector<uint32_t> states;
  for (size_t v = 0; v != exact.strategies.size(); ++v) {
    const std::vector<uint32_t> &left = exact.strategies[v];
    states.push_back(uint32_t(
        std::ranges::lower_bound(left, best_->assignment[v]) - left.begin()));
  }
  std::vector<double> values = ilp_->values(states);
  Highs_setSolution(highs, values.data(), nullptr, nullptr, nullptr);
}

/// Whether HiGHS has to stop: an iteration of the simplex method counts as one
/// look at every entry.
bool IlpSolver::interrupts(const HighsCallbackDataOut &out) {
  double work = double(out.mip_total_lp_iterations) *
                double(std::max<size_t>(ilp_->value.size(), 1));
  if (work > double(budget_.left())) {
    budget_.end(Stopped::Work);
  }
  budget_.look();
  return budget_.over();
}

void IlpSolver::onCallback(int type, const char *,
                           const HighsCallbackDataOut *out,
                           HighsCallbackDataIn *in, void *self) {
  IlpSolver &solver = *static_cast<IlpSolver *>(self);
  if (type == kHighsCallbackMipInterrupt) {
    in->user_interrupt = solver.interrupts(*out);
  } else if (type == kHighsCallbackMipImprovingSolution && out->mip_solution &&
             out->mip_solution_size == solver.ilp_->numColumns()) {
    solver.offer(
        solver.exact_->assignment(solver.ilp_->states(out->mip_solution)));
  }
}

/// One thread and a seed: the same run each time. The gap is absolute: scaled
/// costs are at most a million.
void IlpSolver::configure(void *highs) {
  Highs_setBoolOptionValue(highs, "output_flag", 0);
  Highs_setIntOptionValue(highs, "threads", 1);
  Highs_setStringOptionValue(highs, "parallel", "off");
  Highs_setIntOptionValue(highs, "random_seed",
                          int(options_.seed % 2147483647u));
  Highs_setDoubleOptionValue(highs, "mip_rel_gap", 0);
  Highs_setDoubleOptionValue(highs, "mip_abs_gap", 1e-6);
  Highs_setDoubleOptionValue(highs, "mip_feasibility_tolerance", 1e-9);
  if (options_.timeLimit) {
    Highs_setDoubleOptionValue(
        highs, "time_limit",
        std::max(0.0, *options_.timeLimit - budget_.seconds()));
  }
  Highs_setCallback(highs, onCallback, this);
  Highs_startCallback(highs, kHighsCallbackMipInterrupt);
  Highs_startCallback(highs, kHighsCallbackMipImprovingSolution);
}

/// HiGHS's status says what it has proved. Its bound, in doubles, is told in
/// words: it is no certificate.
void IlpSolver::conclude(void *highs) {
  int64_t iterations = 0;
  double bound = 0;
  Highs_getInt64InfoValue(highs, "simplex_iteration_count", &iterations);
  int count = 0;
  if (Highs_getIntInfoValue(highs, "simplex_iteration_count", &count) ==
      kHighsStatusOk) {
    iterations = count;
  }
  budget_.spend(iterations * int64_t(ilp_->value.size()));
  std::vector<double> values(size_t(ilp_->numColumns()));
  int status = 0;
  Highs_getIntInfoValue(highs, "primal_solution_status", &status);
  if (status == kHighsSolutionStatusFeasible) {
    Highs_getSolution(highs, values.data(), nullptr, nullptr, nullptr);
    std::vector<uint32_t> assignment =
        exact_->assignment(ilp_->states(values.data()));
    offer(std::move(assignment));
  }
  int ended = Highs_getModelStatus(highs);
  if (ended == kHighsModelStatusOptimal) {
    story_ = "HiGHS calls it optimal, to a tolerance of 1e-6";
  } else if (ended == kHighsModelStatusInfeasible) {
    story_ = "HiGHS finds it infeasible, to its tolerances, which proves "
             "nothing";
  } else {
    stopped_ = ended == kHighsModelStatusTimeLimit ? Stopped::Time
               : budget_.over()                    ? budget_.why()
                                                   : Stopped::Work;
    Highs_getDoubleInfoValue(highs, "mip_dual_bound", &bound);
    story_ = "HiGHS was stopped";
    if (std::isfinite(bound)) {
      story_ += "; its own bound, which is not certified, is " +
                toString(Wide(bound / ilp_->scale + ilp_->offset));
    }
  }
}

/// Builds the program, gives HiGHS an answer to start from, and lets it run.
void IlpSolver::run(const ExactProblem &exact) {
  IntegerProgram ilp(exact);
  exact_ = &exact;
  ilp_ = &ilp;
  if (ilp.numColumns() == 0) { // Nobody has a choice.
    offer(exact.assignment(std::vector<uint32_t>(exact.sizes.size(), 0)));
    story_ = "no node has a choice";
    return;
  }
  Highs highs(Highs_create(), &Highs_destroy);
  configure(highs.get());
  std::vector<double> lower(ilp.cost.size(), 0), upper(ilp.cost.size(), 1);
  int passed = Highs_passMip(
      highs.get(), ilp.numColumns(), ilp.numRows(), int(ilp.value.size()),
      kHighsMatrixFormatRowwise, kHighsObjSenseMinimize, 0, ilp.cost.data(),
      lower.data(), upper.data(), ilp.rowLower.data(), ilp.rowUpper.data(),
      ilp.rowStart.data(), ilp.index.data(), ilp.value.data(),
      ilp.isInteger.data());
  if (passed == kHighsStatusError) {
    story_ = "HiGHS rejects the model";
    return;
  }
  startWarm(highs.get(), exact);
  budget_.look();
  if (budget_.over()) {
    stopped_ = budget_.why();
    story_ = "the budget ended before HiGHS began";
    return;
  }
  Highs_run(highs.get());
  conclude(highs.get());
}

/// Refuses what would be too large before it is built.
Outcome IlpSolver::solve() {
  double entries = 0;
  for (const Edge &edge : problem_.edges) {
    entries += double(problem_.matrices[edge.costs].entries.size());
  }
  if (entries > kMostMatrixEntries) {
    return notFound("too large for an integer program: its edges have " +
                    toString(Wide(entries)) +
                    " matrix entries, expected at most " +
                    toString(Wide(kMostMatrixEntries)));
  }
  ExactProblem exact(problem_);
  if (exact.impossible) {
    Outcome outcome =
        notFound("whatever the memory limit, no strategy of node " +
                 std::to_string(*exact.impossible) +
                 " is compatible with those of its neighbours");
    outcome.verdict = Verdict::Infeasible;
    return outcome;
  }
  entries = IntegerProgram::countEntries(exact);
  if (entries > kMostEntries) {
    return notFound("too large for an integer program: its rows would have " +
                    toString(Wide(entries)) + " entries, expected at most " +
                    toString(Wide(kMostEntries)));
  }
  run(exact);
  if (!best_) {
    return notFound("no assignment was found: " + story_);
  }
  Outcome outcome = notFound(story_);
  outcome.verdict = Verdict::Solved;
  outcome.solution = std::move(*best_);
  return outcome;
}

Outcome solveIlp(const Problem &problem, const Options &options) {
  return IlpSolver(problem, options).solve();
}

} // namespace divisi::search
