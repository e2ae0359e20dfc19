//===- PresentPlan.cpp - The plan that a module has -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PresentPlan.h"

#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Plan/PlanRecord.h"

using namespace mlir;

namespace divisi::plan {

/// A value that has no place rests as it is made, and a stop there is none.
static void completePlaces(const PlanningInputs &inputs, Fixed &present) {
  for (auto [index, tensor] : llvm::enumerate(inputs.dataflow().values)) {
    if (tensor.kind == DataflowValue::Kind::Result && !present.values[index] &&
        present.sites[tensor.index]) {
      present.values[index] = resultLayout(
          inputs.dataflow().sites[tensor.index].nest, inputs.devices.grid,
          *present.sites[tensor.index], tensor.number);
    }
  }
  for (auto [stop, place] :
       llvm::zip_equal(inputs.dataflow().stops, present.stops)) {
    if (!place) {
      place = present.values[stop.tensor];
    }
  }
}

Expected<PresentPlan> readPlan(ModuleOp module, const Cluster &cluster) {
  PresentPlan plan;
  auto &[inputs, options, present] = plan;
  SmallVector<spmd::GridOp> grids(module.getOps<spmd::GridOp>());
  if (grids.size() != 1) {
    return makeError(
        ExitCode::Usage, "the plan has ", grids.size(),
        " grids; alternatives are known only for plans on one grid");
  }
  Expected<std::optional<PlanRecord>> record = getPlanRecord(module);
  if (!record) {
    return record.status();
  }
  PlanRecord known = record->value_or(PlanRecord());
  options.batchDim = known.batchDim;
  options.memoryLimit = known.memoryLimit;
  options.zero = known.zero.value_or("");
  if (known.maxStrategies > 0) {
    options.maxStrategies = size_t(known.maxStrategies);
  }
  FirstError error(module.getContext());
  FailureOr<ModuleDataflow> dataflow = readDataflow(module, options.batchDim);
  if (failed(dataflow)) {
    return Status(ExitCode::Invalid, error.message());
  }
  inputs.cluster = cluster;
  inputs.grid = grids.front();
  Grid grid = inputs.grid.getValue();
  SmallVector<int64_t> devices = inputs.grid.getDeviceIds();
  inputs.devices = {grid,
                    rolesFrom(known.roles, grid.numAxes()),
                    {devices.begin(), devices.end()},
                    linksOf(inputs.grid, cluster)};
  inputs.setDataflow(std::move(*dataflow));
  FailureOr<Fixed> fixed = readFixed(inputs.dataflow(), inputs.grid);
  if (failed(fixed)) {
    return Status(ExitCode::Invalid, error.message());
  }
  present = std::move(*fixed);
  completePlaces(inputs, present);
  inputs.fixed = Fixed::nothingOf(inputs.dataflow());
  return plan;
}

Status incompletePlan() {
  return Status(ExitCode::Invalid,
                "the plan is incomplete: an operator, a global, an argument or "
                "a result has no strategy");
}

template <typename T>
static std::optional<uint32_t> find(const std::vector<T> &list,
                                    const std::optional<T> &wanted) {
  auto it = wanted ? llvm::find(list, *wanted) : list.end();
  return it == list.end() ? std::nullopt
                          : std::optional<uint32_t>(it - list.begin());
}

/// What `present` is in the numbers of the problem; nothing if a part of it is
/// missing.
std::optional<std::vector<uint32_t>>
assignmentOf(const PlanningProblem &planning, const Fixed &present) {
  std::vector<uint32_t> assignment(planning.problem.nodes.size(), 0);
  bool isWhole = true;
  auto set = [&](unsigned node, std::optional<uint32_t> choice) {
    isWhole &= choice.has_value();
    assignment[node] = choice.value_or(0);
  };
  for (auto [index, choices] : llvm::enumerate(planning.choices)) {
    set(planning.siteNodes[index], find(choices->splits, present.sites[index]));
  }
  for (auto [index, places] : llvm::enumerate(planning.valuePlaces)) {
    if (!places.empty()) {
      set(planning.valueNodes[index], find(places, present.values[index]));
    }
  }
  for (auto [index, places] : llvm::enumerate(planning.stopPlaces)) {
    set(planning.stopNodes[index], find(places, present.stops[index]));
  }
  for (auto [index, places] : llvm::enumerate(planning.outputPlaces)) {
    set(planning.outputNodes[index], find(places, present.outputs[index]));
  }
  return isWhole ? std::optional(std::move(assignment)) : std::nullopt;
}

} // namespace divisi::plan
