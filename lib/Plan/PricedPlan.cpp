//===- PricedPlan.cpp - What a plan takes ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PricedPlan.h"

#include "divisi/Cost/ModuleCluster.h"

namespace divisi::plan {

Expected<PricedPlan> pricePlan(mlir::ModuleOp module) {
  // What is wrong is in the status, for who asks.
  mlir::ScopedDiagnosticHandler quiet(
      module.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  Expected<Cluster> cluster = getCluster(module);
  if (!cluster) {
    return cluster.status();
  }
  Expected<PresentPlan> plan = readPlan(module, *cluster);
  if (!plan) {
    return plan.status();
  }
  PricedPlan priced;
  priced.plan = std::move(*plan);
  auto &[inputs, options, present] = priced.plan;
  options.memoryLimit.reset();
  std::optional<PlanningProblem> planning =
      makeProblem(inputs, options, {.fixed = &present, .isControlled = false});
  std::optional<std::vector<uint32_t>> assignment;
  if (planning) {
    assignment = assignmentOf(*planning, present);
  }
  if (!assignment) {
    return incompletePlan();
  }
  priced.planning = std::move(*planning);
  priced.assignment = std::move(*assignment);
  priced.solution =
      search::evaluate(priced.planning.problem, priced.assignment);
  return priced;
}

} // namespace divisi::plan
