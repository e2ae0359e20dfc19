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
  outcome.message =
      "no strategy of " + nameOf(problem, variable) +
      " is compatible with any of its neighbours', whatever the limit";
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
  std::optional<Wide> peak; ///< Of an assignment that fits, of the resource.
  bool infeasible = false;
  Wide leastPeak = 0; ///< Of the assignments seen that only this limit stops.
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

static void setLimit(Problem &problem, uint32_t resource,
                     std::optional<int64_t> limit) {
  (resource == 0 ? problem.usageLimit
                 : problem.moreResources[resource - 1].limit) = limit;
}

/// Tries the limits of `problem`, of which `resource` has one: whether
/// something fits, nothing can, or neither is known when the work is done.
static Attempt attempt(const Problem &problem, const Reduction &reduction,
                       uint32_t resource, Budget &budget, int64_t work) {
  ReducedGraph reduced = buildReducedGraph(problem, reduction);
  Attempt result;
  if (reduced.overfull) {
    result.infeasible = true;
    return result;
  }
  Problem others = problem;
  setLimit(others, resource, std::nullopt);
  auto look = [&](const Assignment &assignment, bool fits) {
    Solution solution =
        evaluate(problem, expand(reduction, reduced, assignment));
    if (exceeded(others, solution)) {
      return;
    }
    result.seen = true;
    result.leastPeak = solution.peakOf(resource).usage;
    if (fits) {
      result.peak = result.leastPeak;
    }
  };
  if (reduced.graph().capacity.empty()) {
    // Whatever goes together fits.
    std::optional<Assignment> any = anyFeasible(reduced.graph(), budget, work);
    if (any) {
      look(*any, true);
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
    look(memory.closest(), !memory.found().empty());
  }
  return result;
}

/// At every time the least usages of what lives then: no limit below the
/// greatest of these sums will do.
static Peak leastPeak(const Problem &problem, const Reduction &reduction,
                      uint32_t resource) {
  Problem lowest;
  for (uint32_t i = 0; i != problem.nodes.size(); ++i) {
    const Node &node = problem.nodes[i];
    forEachUsage(node, [&](uint32_t r, const std::vector<int64_t> &usages) {
      if (r != resource) {
        return;
      }
      int64_t least = usages[reduction.strategies[i][0]];
      for (uint32_t s : reduction.strategies[i]) {
        least = std::min(least, usages[s]);
      }
      lowest.nodes.push_back({.costs = {0},
                              .usages = {least},
                              .live = node.live,
                              .moreLives = node.moreLives});
    });
  }
  return evaluate(lowest, std::vector<uint32_t>(lowest.nodes.size(), 0))
      .peakOf(0);
}

/// A resource whose limit is too small even where the others have none.
static std::optional<uint32_t> shortAlone(const Problem &problem,
                                          const Reduction &reduction,
                                          Budget &budget, int64_t work) {
  for (uint32_t r = 0; r != problem.numResources(); ++r) {
    Problem alone = problem;
    for (uint32_t other = 0; other != problem.numResources(); ++other) {
      setLimit(alone, other, other == r ? problem.limitOf(r) : std::nullopt);
    }
    if (problem.limitOf(r) &&
        attempt(alone, reduction, r, budget, work).infeasible) {
      return r;
    }
  }
  return std::nullopt;
}

/// Whether nothing fits even where `resource` has no limit.
static bool othersAreShort(const Problem &problem, const Reduction &reduction,
                           uint32_t resource, Budget &budget, int64_t work) {
  Problem others = problem;
  setLimit(others, resource, std::nullopt);
  return problem.numResources() > 1 &&
         attempt(others, reduction, resource, budget, work).infeasible;
}

/// Bisects between limits that are proved too small and those that some
/// assignment keeps.
static void findLimit(const Problem &problem, const Reduction &reduction,
                      uint32_t resource, Wide atLeast, Budget &budget,
                      int64_t work, Outcome &outcome) {
  std::optional<Wide> enough;
  Problem copy = problem;
  // From below first: often the least usages can be had together.
  Wide limit = atLeast;
  for (int i = 0; i != 40 && (!enough || atLeast < *enough) && !budget.over();
       ++i) {
    setLimit(copy, resource, int64_t(limit));
    Attempt tried = attempt(copy, reduction, resource, budget, work);
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
}

Outcome explainShortage(const Problem &problem, const Options &options,
                        Budget &budget, std::optional<Moment> time) {
  Outcome outcome;
  outcome.verdict = Verdict::Infeasible;
  outcome.work = budget.spent();
  if (!options.explains) {
    outcome.message = "no assignment is within the limits";
    return outcome;
  }
  Reduction reduction = reduce(problem);
  int64_t work = options.work / 64 + 1'000'000;
  std::optional<uint32_t> resource;
  if (time) {
    resource = time->resource;
  } else if (problem.numResources() == 1) {
    resource = 0;
  } else {
    resource = shortAlone(problem, reduction, budget, work);
  }
  if (!resource) {
    outcome.message = "no assignment is within the limits of all resources "
                      "together";
    outcome.work = budget.spent();
    return outcome;
  }
  Peak least = leastPeak(problem, reduction, *resource);
  Wide limit = *problem.limitOf(*resource);
  outcome.resource = *resource;
  if (time) {
    outcome.time = least.time;
  }
  Wide atLeast = std::max(least.usage, limit + 1);
  outcome.limitAtLeast = int64_t(atLeast);
  if (!othersAreShort(problem, reduction, *resource, budget, work)) {
    findLimit(problem, reduction, *resource, atLeast, budget, work, outcome);
  }
  outcome.message =
      (time ? "at time " + std::to_string(least.time) + " at least "
            : std::string("at some time at least ")) +
      std::to_string(*outcome.limitAtLeast) + " bytes" +
      ofResource(problem, *resource) + " are in use, " +
      toString(*outcome.limitAtLeast - limit) + " more than the limit of " +
      toString(limit);
  outcome.work = budget.spent();
  return outcome;
}

} // namespace divisi::search
