//===- Solvers.cpp - The table of solvers ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Solvers.h"

#include <algorithm>

namespace divisi::search {

Outcome solveAuto(const Problem &problem, const Options &options) {
  Outcome outcome = solveChains(problem, options);
  if (outcome.status == Status::NotFound) {
    Outcome exact = solveExact(problem, options);
    return exact.status == Status::NotFound ? outcome : exact;
  }
  return outcome;
}

static constexpr Solver kSolvers[] = {
    {"auto", "composes the others; the default", solveAuto},
    {"exact", "proves the optimum of small problems by elimination",
     solveExact},
    {"ilp", "the integer program of Alpa, by HiGHS; for small problems",
     solveIlp},
    {"mcmc", "Metropolis-Hastings, as FlexFlow does it: a baseline", solveMcmc},
};

std::span<const Solver> solvers() { return kSolvers; }

const Solver *findSolver(std::string_view name) {
  const auto *it = std::ranges::find(kSolvers, name, &Solver::name);
  return it == std::end(kSolvers) ? nullptr : it;
}

} // namespace divisi::search
