//===- Infeasible.cpp - Proves and explains infeasibility -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Infeasible.h"

#include "lib/Search/Certify/Certifier.h"

#include <algorithm>

namespace divisi::search {

static std::string nameOf(const Problem &problem, uint32_t node) {
  const std::string &name = problem.nodes[node].name;
  return "node " + std::to_string(node) +
         (name.empty() ? "" : " ('" + name + "')");
}

Outcome explainConflict(const Problem &problem, uint32_t variable) {
  Outcome outcome;
  outcome.verdict = Verdict::Infeasible;
  outcome.message = "no strategy of " + nameOf(problem, variable) +
                    " goes with any of its neighbours', whatever the limit";
  return outcome;
}

/// More than any assignment costs.
static double costCeiling(const Problem &problem) {
  std::vector<double> most;
  auto largest = [](const std::vector<int64_t> &costs) {
    double result = 0;
    for (int64_t cost : costs) {
      if (cost < kInfeasible) {
        result = std::max(result, double(cost));
      }
    }
    return result;
  };
  for (const Matrix &matrix : problem.matrices) {
    most.push_back(largest(matrix.entries));
  }
  double sum = 1;
  for (const Node &node : problem.nodes) {
    sum += largest(node.costs);
  }
  for (const Edge &edge : problem.edges) {
    sum += most[edge.costs];
  }
  return sum * (1 + 1e-6);
}

bool provesShortage(const Problem &problem, const Reduction &reduction,
                    const ReducedGraph &reduced, const MemoryFirst &memory) {
  // Prices so high that the shortage alone costs more than everything else.
  double ceiling = costCeiling(problem);
  double shortage = memory.shortage();
  if (!(shortage > 0)) {
    return false;
  }
  DualPoint point = memory.proof(4 * ceiling / shortage);
  Certifier certifier(problem, reduction, reduced, 4 * ceiling);
  Certificate certificate = certifier.begin();
  certificate.tree.push_back(certifier.makeNode(point));
  Expected<std::optional<Wide>> bound = provedBound(problem, certificate);
  return bound && (!*bound || **bound > Wide(ceiling));
}

namespace {

/// What is known of a limit: an assignment within it, a proof, or neither.
struct Attempt {
  std::optional<Wide> peak; ///< Of an assignment that fits.
  bool infeasible = false;
  Wide leastPeak = 0; ///< Of the assignments seen that exclude nothing.
  bool seen = false;
};

} // namespace

/// A rounding of which no pair is infeasible, if one is found within `work`.
static std::optional<Assignment> anyFeasible(const CostGraph &graph,
                                             Budget &budget, int64_t work) {
  if (graph.variables.empty()) {
    return Assignment();
  }
  Lagrangian lagrangian(graph);
  for (int64_t done = 0; done < work; done += lagrangian.workOfStep()) {
    lagrangian.step(kTop);
    for (const Assignment *taken :
         {&lagrangian.forwardTaken(), &lagrangian.backwardTaken()}) {
      if (costOf(graph, *taken) < kForbidden) {
        return *taken;
      }
    }
    if (!budget.spend(lagrangian.workOfStep())) {
      break;
    }
  }
  return std::nullopt;
}

/// Tries one limit: whether something fits, nothing can, or neither is known
/// when the work is done.
static Attempt attempt(Problem &problem, const Reduction &reduction,
                       int64_t limit, Budget &budget, int64_t work) {
  problem.usageLimit = limit;
  ReducedGraph reduced = buildReducedGraph(problem, reduction);
  Attempt result;
  if (reduced.overfull) {
    result.infeasible = true;
    return result;
  }
  auto peakOf = [&](const Assignment &assignment) {
    return evaluate(problem, expand(reduction, reduced, assignment)).peak;
  };
  if (reduced.graph().capacity.empty()) {
    // Whatever goes together fits.
    std::optional<Assignment> any = anyFeasible(reduced.graph(), budget, work);
    if (any) {
      result.seen = true;
      result.peak = result.leastPeak = peakOf(*any);
    }
    return result;
  }
  MemoryFirst memory(reduced.graph());
  budget.spend(memory.search(work, [&] {
    budget.look();
    return budget.over();
  }));
  result.infeasible = memory.infeasible() &&
                      provesShortage(problem, reduction, reduced, memory);
  if (!memory.closest().empty()) {
    result.seen = true;
    result.leastPeak = peakOf(memory.closest());
    if (!memory.found().empty()) {
      result.peak = result.leastPeak;
    }
  }
  return result;
}

/// At every time the least usages of what lives then: no limit below the
/// greatest of these sums will do.
static Wide leastPeak(const Problem &problem, const Reduction &reduction,
                      int64_t *time) {
  Problem lowest = problem;
  lowest.matrices.clear();
  lowest.edges.clear();
  lowest.usageLimit.reset();
  std::vector<uint32_t> none(lowest.nodes.size(), 0);
  for (uint32_t i = 0; i != lowest.nodes.size(); ++i) {
    Node &node = lowest.nodes[i];
    int64_t least = node.usages[reduction.strategies[i][0]];
    for (uint32_t s : reduction.strategies[i]) {
      least = std::min(least, node.usages[s]);
    }
    node.costs = {0};
    node.usages = {least};
    node.strategies.clear();
  }
  Solution solution = evaluate(lowest, none);
  *time = solution.peakTime;
  return solution.peak;
}

/// Bisects between limits that are proved too small and those that some
/// assignment keeps.
Outcome explainShortage(const Problem &problem, const Options &options,
                        Budget &budget, std::optional<int64_t> time) {
  Outcome outcome;
  outcome.verdict = Verdict::Infeasible;
  Reduction reduction = reduce(problem);
  int64_t peakTime = 0;
  Wide least = leastPeak(problem, reduction, &peakTime);
  outcome.time = time ? peakTime : time;
  Wide atLeast = std::max(least, Wide(*problem.usageLimit) + 1);
  std::optional<Wide> enough;
  Problem copy = problem;
  // From below first: often the least usages can be had together.
  Wide limit = atLeast;
  for (int i = 0; i != 40 && (!enough || atLeast < *enough) && !budget.over();
       ++i) {
    Attempt tried = attempt(copy, reduction, int64_t(limit), budget,
                            options.work / 64 + 1'000'000);
    if (tried.peak || (tried.seen && (!enough || tried.leastPeak < *enough))) {
      Wide peak = tried.peak ? *tried.peak : tried.leastPeak;
      enough = enough ? std::min(*enough, peak) : peak;
    }
    if (tried.infeasible) {
      atLeast = std::max(atLeast, limit + 1);
    } else if (!tried.peak && i > 8) {
      break;
    }
    limit = enough ? atLeast + (*enough - atLeast) / 2 : atLeast + atLeast / 4;
  }
  outcome.limitAtLeast = int64_t(atLeast);
  if (enough) {
    outcome.limitEnough = int64_t(*enough);
  }
  outcome.message = (time ? "at time " + std::to_string(peakTime) + " at least "
                          : std::string("at some time at least ")) +
                    toString(atLeast) + " bytes are in use, " +
                    toString(atLeast - *problem.usageLimit) +
                    " more than the limit of " +
                    std::to_string(*problem.usageLimit);
  outcome.work = budget.spent();
  return outcome;
}

} // namespace divisi::search
