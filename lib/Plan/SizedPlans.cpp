//===- SizedPlans.cpp - Plans of a program for stages of each size --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizedPlans.h"

#include "PricedPlan.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace divisi::plan {

static spmd::GridOp onlyGrid(ModuleOp module) {
  SmallVector<spmd::GridOp> grids(module.getOps<spmd::GridOp>());
  assert(grids.size() == 1 && "stages are made of plans on one grid");
  return grids.front();
}

/// All operations but grids, which are those of plans.
static std::vector<Operation *> operationsOf(ModuleOp module) {
  std::vector<Operation *> all;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<spmd::GridOp>(op)) {
      all.push_back(op);
    }
  });
  return all;
}

SizedPlans::SizedPlans(ModuleOp program) {
  plans_.emplace_back().grid = onlyGrid(program);
}

SizedPlans::SizedPlans(ModuleOp program, ArrayRef<SizedPlan> plans) {
  std::vector<Operation *> own = operationsOf(program);
  for (const SizedPlan &plan : plans) {
    Plan &made = plans_.emplace_back();
    made.devices = plan.devices;
    made.grid = onlyGrid(plan.module);
    for (auto [op, twin] : llvm::zip_equal(own, operationsOf(plan.module))) {
      assert(op->getName() == twin->getName() && "it is a copy");
      made.twins[op] = twin;
    }
  }
}

size_t SizedPlans::planFor(int64_t devices) const {
  auto found = llvm::find_if(
      plans_, [&](const Plan &plan) { return plan.devices == devices; });
  return found == plans_.end() ? 0 : size_t(found - plans_.begin());
}

Operation *SizedPlans::twin(size_t plan, Operation *op) const {
  const auto &twins = plans_[plan].twins;
  return twins.empty() ? op : twins.lookup(op);
}

/// Per node of `planning`, the operators that it is of, or that its tensor is
/// made or used by.
static std::vector<SmallVector<Operation *, 1>>
operatorsOfNodes(const ModuleDataflow &dataflow,
                 const PlanningProblem &planning) {
  std::vector<SmallVector<Operation *, 1>> owners(
      planning.problem.nodes.size());
  for (auto [op, node] : llvm::zip_equal(dataflow.ops, planning.siteNodes)) {
    owners[node].push_back(op);
  }
  auto offer = [&](unsigned node, Operation *op) {
    if (owners[node].empty()) {
      owners[node].push_back(op);
    }
  };
  for (unsigned stop = 0; stop != dataflow.stops.size(); ++stop) {
    offer(planning.stopNodes[stop],
          usersOf(dataflow, stop).front()->getOwner());
  }
  for (auto [index, tensor] : llvm::enumerate(dataflow.values)) {
    bool isPoint = !planning.valuePlaces[index].empty();
    if (isPoint && tensor.kind == DataflowValue::Kind::Result) {
      offer(planning.valueNodes[index], dataflow.ops[tensor.index]);
    }
  }
  return owners;
}

llvm::DenseMap<Operation *, int64_t> timesOfWays(ModuleOp module) {
  llvm::DenseMap<Operation *, int64_t> times;
  Expected<PricedPlan> priced = pricePlan(module);
  if (!priced) {
    return times;
  }
  const PlanningProblem &planning = priced->planning;
  const search::Problem &problem = planning.problem;
  std::vector<SmallVector<Operation *, 1>> owners =
      operatorsOfNodes(priced->plan.inputs.dataflow(), planning);
  for (const search::Edge &edge : problem.edges) {
    int64_t cost = problem.matrices[edge.costs].at(
        priced->assignment[edge.from], priced->assignment[edge.to]);
    auto &to = owners[edge.to].empty() ? owners[edge.from] : owners[edge.to];
    for (Operation *op : to) {
      times[op] += nanosecondsOf(cost) / int64_t(to.size());
    }
  }
  return times;
}

} // namespace divisi::plan
