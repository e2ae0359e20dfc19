//===- PlanPrice.cpp - What the planner says of a plan --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanPrice.h"

#include "lib/Plan/PresentPlan.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::plan;

/// A problem in which every node has the strategy of the plan alone is quickly
/// made.
divisi::Expected<PlanPrice> divisi::priceOfPlan(ModuleOp module,
                                                const Cluster &cluster) {
  Expected<PresentPlan> plan = readPlan(module, cluster);
  if (!plan) {
    return plan.status();
  }
  plan->inputs.fixed = plan->present;
  // Nobody cuts these options short.
  PlanningProblem planning =
      *makeProblem(plan->inputs, plan->options, {.present = &plan->present});
  auto assignment = assignmentOf(planning, plan->present);
  if (!assignment) {
    return incompletePlan();
  }
  search::Solution solution =
      search::evaluate(planning.problem, std::move(*assignment));
  PlanPrice price;
  price.nanoseconds = nanosecondsOf(solution.cost);
  price.peaks = peaksOf(solution);
  for (auto [index, edge] : llvm::enumerate(planning.problem.edges)) {
    int64_t cost = planning.problem.matrices[edge.costs].at(
        solution.assignment[edge.from], solution.assignment[edge.to]);
    if (cost > 0 && !planning.fusionAt(index)) {
      price.conversions.push_back(nanosecondsOf(cost));
    }
  }
  llvm::sort(price.conversions);
  return price;
}
