//===- Solvers.cpp - The table of solvers ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Solvers.h"

#include "Portfolio.h"

#include <algorithm>
#include <cmath>

namespace divisi::search {

std::string_view stoppedName(Stopped stopped) {
  static constexpr std::string_view kNames[] = {"finished", "work", "time",
                                                "interrupted"};
  return kNames[static_cast<size_t>(stopped)];
}

double relativeGap(Wide cost, Wide lowerBound) {
  if (cost == lowerBound) {
    return 0;
  }
  // Their difference is exact; only its ratio is rounded.
  return double(cost - lowerBound) / std::max(std::abs(double(cost)), 1.0);
}

/// Work after which a small problem without an answer is given to `exact`.
static constexpr int64_t kPatience = 30'000'000;

std::optional<std::string> validate(const Problem &problem, const Ties &ties) {
  const std::vector<uint32_t> &leader = ties.leader;
  size_t count = problem.nodes.size();
  if (!leader.empty() && leader.size() != count) {
    return "ties are of " + std::to_string(leader.size()) +
           " nodes, expected " + std::to_string(count);
  }
  for (size_t i = 0; i != leader.size(); ++i) {
    std::string tied = "node " + std::to_string(i) + " is tied to node " +
                       std::to_string(leader[i]);
    if (leader[i] >= count) {
      return tied + ", of " + std::to_string(count);
    }
    if (leader[leader[i]] != leader[i]) {
      return tied + ", which is tied to another itself, node " +
             std::to_string(leader[leader[i]]);
    }
    size_t own = problem.nodes[i].costs.size();
    size_t leaders = problem.nodes[leader[i]].costs.size();
    if (own != leaders) {
      return tied + ", but has " + std::to_string(own) +
             " strategies where that has " + std::to_string(leaders);
    }
  }
  return std::nullopt;
}

static bool isSmall(const Problem &problem) {
  return problem.nodes.size() <= 64;
}

/// A small problem on which the search finds nothing soon is eliminated
/// instead; what that finds, the search starts from again, for its certificate.
Outcome solveAuto(const Problem &problem, const Options &options) {
  if (auto wrong = validate(problem, options.ties)) {
    Outcome outcome;
    outcome.message = *wrong;
    return outcome;
  }
  const Ingredients ingredients = {
      .neighbourhoods = options.neighbourhoods,
      .branching = options.branching,
      .ties = options.ties.leader.empty() ? nullptr : &options.ties};
  if (!isSmall(problem)) {
    return runPortfolio(problem, options, ingredients);
  }
  Ingredients impatient = ingredients;
  impatient.patience = std::min(kPatience, options.work / 8);
  Outcome outcome = runPortfolio(problem, options, impatient);
  if (outcome.verdict != Verdict::NotFound ||
      outcome.stopped != Stopped::Finished) {
    return outcome;
  }
  Outcome exact = solveExact(problem, options);
  if (exact.verdict == Verdict::NotFound) {
    return runPortfolio(problem, options, ingredients);
  }
  if (exact.verdict == Verdict::Solved) {
    // What the search has not found it may still prove.
    Ingredients started = ingredients;
    started.start = &exact.solution;
    return runPortfolio(problem, options, started);
  }
  return exact;
}

Outcome solveLagrangian(const Problem &problem, const Options &options) {
  return runPortfolio(problem, options,
                      {.neighbourhoods = false, .branching = false});
}

Outcome solveLocal(const Problem &problem, const Options &options) {
  return runPortfolio(problem, options, {.dual = false, .branching = false});
}

static constexpr Solver kSolvers[] = {
    {"auto", "composes the others; the default", false, solveAuto},
    {"lagrangian", "message passing and prices of memory, jointly: bounds",
     false, solveLagrangian},
    {"local", "large neighbourhoods of the first answer", false, solveLocal},
    {"exact", "proves the optimum of small problems by elimination", false,
     solveExact},
    {"ilp", "the integer program of Alpa, by HiGHS; for small problems", false,
     solveIlp},
    {"mcmc",
     "Metropolis-Hastings, as FlexFlow does it; plans by simulated time", true,
     solveMcmc},
};

std::span<const Solver> solvers() { return kSolvers; }

const Solver *findSolver(std::string_view name) {
  const auto *it = std::ranges::find(kSolvers, name, &Solver::name);
  return it == std::end(kSolvers) ? nullptr : it;
}

} // namespace divisi::search
