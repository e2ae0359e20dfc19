//===- MeasurePlan.cpp - What devices hold under a plan -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeasurePlan.h"

#include "divisi/Cost/ModuleCluster.h"

using namespace mlir;

namespace divisi::plan {

/// Whether there are plans for all stages, with the one that is looked at.
static bool isWhole(const PlanOptions &options) {
  const StageShare &share = options.share;
  return llvm::all_of(options.stageDevices, [&](int64_t devices) {
    return share.devices == 0 || devices == share.devices ||
           llvm::any_of(share.others, [&](const SizedPlan &plan) {
             return plan.devices == devices;
           });
  });
}

OwningOpRef<ModuleOp> onStages(OwningOpRef<ModuleOp> planned,
                               const PlanOptions &options) {
  if (options.pipelineStages == 1) {
    return planned;
  }
  if (!isWhole(options)) {
    return nullptr;
  }
  const StageShare &share = options.share;
  std::vector<SizedPlan> plans = share.others;
  OwningOpRef<ModuleOp> own;
  if (share.devices > 0) {
    own = std::move(planned);
    planned = cast<ModuleOp>((*own)->clone());
    plans.push_back({share.devices, *own});
  }
  return placeStages(*planned, pipelineOf(options), plans).isOk()
             ? std::move(planned)
             : nullptr;
}

/// The module with that plan; null if it cannot have it.
OwningOpRef<ModuleOp>
PlanMeasurer::planned(const PlanningInputs &inputs,
                      const PlanningProblem &planning,
                      const std::vector<uint32_t> &assignment) const {
  if (!isWhole(options_)) {
    return nullptr;
  }
  ModuleOp module = module_;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  FailureOr<ModuleDataflow> dataflow = readDataflow(*copy, options_.batchDim);
  if (failed(dataflow)) {
    return nullptr;
  }
  spmd::GridOp grid = inputs.grid;
  if (grid) {
    grid = SymbolTable(*copy).lookup<spmd::GridOp>(grid.getSymName());
  } else {
    grid = createGrid(*copy, inputs.devices.grid, inputs.devices.devices);
  }
  setCluster(*copy, inputs.cluster);
  annotate(*dataflow, planning, grid, assignment);
  return onStages(std::move(copy), options_);
}

std::optional<int64_t>
PlanMeasurer::simulate(const PlanningInputs &inputs,
                       const PlanningProblem &planning,
                       const std::vector<uint32_t> &assignment) const {
  OwningOpRef<ModuleOp> module = planned(inputs, planning, assignment);
  return module ? options_.simulate(*module) : std::nullopt;
}

/// The fullest of those that `memory` is of.
static const HeldMemory *fullest(const std::vector<HeldMemory> &held,
                                 const KindMemory &memory) {
  const HeldMemory *most = nullptr;
  for (const HeldMemory &kind : held) {
    bool isSame = memory.kind.empty() ||
                  (kind.kind == memory.kind && kind.limit == memory.limit);
    if (isSame && (!most || kind.bytes > most->bytes)) {
      most = &kind;
    }
  }
  return most;
}

std::vector<HeldMemory> PlanMeasurer::heldBy(const PlanningInputs &inputs,
                                             const FitOutcome &fit) const {
  std::vector<HeldMemory> measured;
  KindMemories memories = memoriesOf(inputs, options_);
  bool isTooMuch = llvm::any_of(llvm::zip_equal(memories, fit.use->least),
                                [](const auto &pair) {
                                  const auto &[memory, least] = pair;
                                  return least > *memory.limit;
                                });
  if (isAble() && !isTooMuch) {
    if (auto module =
            planned(inputs, *fit.planning, fit.outcome.solution.assignment)) {
      measured = options_.measure(*module);
    }
  }
  std::vector<HeldMemory> held;
  for (auto [memory, peak] : llvm::zip_equal(memories, fit.use->peaks)) {
    const HeldMemory *known = fullest(measured, memory);
    held.push_back(known ? *known
                         : HeldMemory{memory.kind, *memory.limit, peak, ""});
  }
  // Kinds of which all devices hold the same are one to the planner.
  for (const HeldMemory &kind : measured) {
    if (kind.missing() > 0 && kind.missing() > held.front().missing()) {
      held.front() = kind;
    }
  }
  return held;
}

} // namespace divisi::plan
