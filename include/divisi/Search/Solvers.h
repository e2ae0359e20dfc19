//===- Solvers.h - Solvers of the planning problem --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every solver is one free function of a problem and options. Its budget is
// work, not time: the same problem, options and seed give the same answer, with
// any number of threads. A limit of seconds, or a stop from outside, may end a
// solver at another point each time; then Outcome::stopped says so.
// Options::onProgress reports the best answer so far at any moment.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SEARCH_SOLVERS_H
#define DIVISI_SEARCH_SOLVERS_H

#include "divisi/Search/AssignmentTimer.h"
#include "divisi/Search/Problem.h"

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace divisi::search {

/// What a solver knows after `seconds` and `work`.
struct Progress {
  double seconds = 0;             ///< Since Options::start.
  int64_t work = 0;               ///< Matrix entries looked at.
  std::optional<Wide> cost;       ///< Of the best answer so far.
  std::optional<Wide> lowerBound; ///< That is proved so far.
  std::string_view by;            ///< Which ingredient found it.
  /// The best answer, if this line is about a new one; its certificate may be
  /// of an older bound. Valid during the call only.
  const Solution *improved = nullptr;
};

/// Which nodes are alike: the same operator in each block of a model. A hint:
/// it says where to look first, and changes nothing of what is true.
struct Ties {
  /// For each node, the one that stands for all that are alike: itself, or one
  /// that stands for itself. Empty: no node is tied.
  std::vector<uint32_t> leader;
};

/// What is wrong with `ties` of a valid `problem`, or nothing: not one entry a
/// node, a leader that there is not or that has another, or that has not as
/// many strategies. Costs, usages and edges need not agree.
std::optional<std::string> validate(const Problem &problem, const Ties &ties);

/// What ends a run from outside.
struct StopSignal {
  /// Nothing does.
  StopSignal() = default;
  /// `raised` does once it is true; may be null.
  StopSignal(const std::atomic<bool> *raised) : raised(raised) {}

  const std::atomic<bool> *raised = nullptr; ///< Set by a signal.
  /// So many more times isRaised() says no: for tests, which end a run at every
  /// place where it asks. Null: as often as it is asked.
  std::atomic<int64_t> *asks = nullptr;

  /// Whether to end now.
  bool isRaised() const {
    return (raised && raised->load(std::memory_order_relaxed)) ||
           (asks && asks->fetch_sub(1, std::memory_order_relaxed) <= 0);
  }
};

/// What a solver may spend, and whom it tells.
struct Options {
  /// Of what is drawn at random; another seed may give another answer.
  uint64_t seed = 0;
  /// How many matrix entries may be looked at: 1e9 are about a second of one
  /// core. At least one assignment is found whatever the budget, unless it is
  /// infeasible or the limit makes it too hard.
  int64_t work = 6'000'000'000;
  /// Stop once the answer is proved to be within this of the optimum, relative.
  double gap = 0;
  /// How much more may be looked at while the gap is above `fairGap`, or
  /// nothing fits yet; solveAuto only.
  int64_t moreWork = 0;
  double fairGap = 1;
  /// Answers of at least this cost are of no use: solveAuto stops once its
  /// bound is there.
  std::optional<Wide> cutoff;
  /// Says what assignments take, in place of the sum of their costs; may be
  /// null. solveMcmc only.
  std::shared_ptr<AssignmentTimer> timer;
  /// Where solveMcmc begins: a strategy of each node; empty: a simple plan.
  std::vector<uint32_t> first;
  /// Ingredients of solveAuto; off only to measure what they add.
  bool neighbourhoods = true;
  bool branching = true;
  /// solveAuto first looks among assignments that give every third of tied
  /// nodes the same strategy, if these are much fewer, with a part of the work;
  /// what it learns there it goes on from. Ties that are wrong are an error.
  Ties ties;
  /// Seconds since `start`, or no limit.
  std::optional<double> timeLimit;
  /// std::chrono::steady_clock at the start of the program, in seconds, so that
  /// reading the file counts; 0: the solver's own start.
  double start = 0;
  /// Of a problem that is proved to need more than its limits: whether to
  /// search for limits that would do, which may take longer than the proof.
  bool explains = true;
  /// Threads to use; the answer does not depend on it.
  unsigned threads = 1;
  /// Becomes true from outside (a signal): stop soon, answer with the best.
  StopSignal stop;
  /// Called for every better answer and for better bounds, always from the
  /// thread that called the solver.
  std::function<void(const Progress &)> onProgress;
};

/// Whether a solver has an answer.
enum class Verdict : uint8_t {
  Solved,     ///< `solution` is within the limits.
  Infeasible, ///< Proved: no assignment exists. `message` says why.
  NotFound,   ///< None was found, which proves nothing.
};

/// Why a solver ended.
enum class Stopped : uint8_t {
  Finished,    ///< Proved optimal or infeasible, or nothing left to try.
  Work,        ///< The budget of work is spent.
  Time,        ///< The time limit: another run may end elsewhere.
  Interrupted, ///< Options::stop: the same.
};

/// `finished`, `work`, `time` or `interrupted`.
std::string_view stoppedName(Stopped stopped);

/// Relative to `cost`: 0 if proved optimal; 0.01 if no assignment is cheaper
/// by more than 1 %.
double relativeGap(Wide cost, Wide lowerBound);

/// What a solver has come to.
struct Outcome {
  /// Whether there is an answer.
  Verdict verdict = Verdict::NotFound;
  /// Why the solver ended.
  Stopped stopped = Stopped::Finished;
  Solution solution;         ///< If solved.
  std::optional<Wide> timed; ///< What that takes, if Options::timer was asked.
  /// If not: what binds, at which time, and how many bytes are missing when
  /// every node takes the strategy of least memory.
  std::string message;
  std::optional<int64_t> time; ///< The time that binds, if infeasible.
  uint32_t resource = 0;       ///< Of which `time` and the limits below are.
  /// If one memory limit makes it infeasible: no limit below `limitAtLeast`
  /// would do, and `limitEnough` would, the other resources' limits as they
  /// are; equal if the smallest is known.
  std::optional<int64_t> limitAtLeast, limitEnough;
  int64_t work = 0; ///< Matrix entries looked at.
};

/// Composes the others: reductions, the joint Lagrangian, large neighbourhoods,
/// branch and bound; elimination where a small problem has no answer so far.
Outcome solveAuto(const Problem &problem, const Options &options = {});

/// A row of the table of solvers.
struct Solver {
  std::string_view name;        ///< As `--solver` takes it.
  std::string_view description; ///< One sentence for the help.
  bool isTimed;                 ///< Whether it asks Options::timer.
  /// Solves a valid problem.
  Outcome (*solve)(const Problem &problem, const Options &options);
};

/// All solvers, the default first.
std::span<const Solver> solvers();

/// The solver of that name, or null.
const Solver *findSolver(std::string_view name);

/// Message passing and prices of memory alone (Lagrangian.h): a bound, and the
/// best of its roundings.
Outcome solveLagrangian(const Problem &problem, const Options &options = {});

/// The first rounding that fits, then large neighbourhoods of it
/// (Neighbourhoods.h); the bound is that of the first roundings.
Outcome solveLocal(const Problem &problem, const Options &options = {});

/// Proves the optimum, or that there is none and which limit would do: by
/// elimination where its tables stay small, else by branch and bound. NotFound
/// says what made a problem too large. `problem` must be valid.
Outcome solveExact(const Problem &problem, const Options &options = {});

/// Alpa's integer program, solved by HiGHS from the default solver's answer.
/// Its bound is in doubles: Outcome::message tells it, the solution has none,
/// and infeasible is what it calls NotFound. Finished is optimal to 1e-6 of the
/// largest cost. The budget of work limits iterations of the simplex method.
/// `problem` must be valid.
Outcome solveIlp(const Problem &problem, const Options &options = {});

/// Metropolis-Hastings over single nodes and those that have to follow them:
/// the search of FlexFlow, by costs to compare others with, or by
/// Options::timer. Proves nothing. `problem` must be valid.
Outcome solveMcmc(const Problem &problem, const Options &options = {});

} // namespace divisi::search

#endif // DIVISI_SEARCH_SOLVERS_H
