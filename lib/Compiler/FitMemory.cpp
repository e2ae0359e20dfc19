//===- FitMemory.cpp - Plans that fit into memory, all counted ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner counts tensors. What a device holds is known when the plan has
// been lowered: where buffers lie in the arena, what kernels want beside it. A
// plan that holds more than the limit is searched again under a lower one:
//
//   limit 100   planned 96   held 110
//   limit  90   planned 88   held  99    this one
//
//===----------------------------------------------------------------------===//

#include "ModuleReport.h"
#include "divisi/Artifact/Memory.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Plan/PlanRecord.h"

#include <algorithm>

using namespace mlir;
using namespace divisi;

/// How often a plan is searched again.
static constexpr int kMostReplans = 6;

Status Compilation::addMemory(Report &report) {
  Expected<std::vector<rt::RankMemory>> ranks =
      predictMemory(*module_, report.countsKernels);
  if (!ranks) {
    return ranks.status();
  }
  for (auto [device, rank] : llvm::zip(report.devices, *ranks)) {
    device.weightBytes = rank.weights;
    device.arenaBytes = rank.arena;
    device.workspaceBytes = rank.workspace;
    device.packedBytes = rank.packed;
  }
  return Status();
}

/// Of all ranks the one that holds most.
static rt::RankMemory fullest(const std::vector<rt::RankMemory> &ranks) {
  rt::RankMemory most;
  for (const rt::RankMemory &rank : ranks) {
    most = rank.total() > most.total() ? rank : most;
  }
  return most;
}

Expected<rt::RankMemory> Compilation::memory() {
  Expected<Cluster> machine = clusterOf(*module_, options_.plan.cluster);
  if (!machine) {
    return machine.status();
  }
  Expected<std::vector<rt::RankMemory>> ranks =
      predictMemory(*module_, hasKnownKernels(*machine));
  return ranks ? Expected<rt::RankMemory>(fullest(*ranks)) : ranks.status();
}

Expected<int64_t> Compilation::memoryLimit() {
  Expected<Cluster> machine = clusterOf(*module_, options_.plan.cluster);
  if (!machine) {
    return machine.status();
  }
  return options_.plan.memoryLimit.value_or(machine->pace().memoryBytes);
}

std::optional<rt::RankMemory> Compilation::memoryOfPlan() {
  std::unique_ptr<Compilation> trial = fork(options_.plan);
  trial->options_.progress = nullptr;
  trial->stage_ = Stage::Plan;
  if (!trial->advanceTo(Stage::Lower).isOk()) {
    return std::nullopt;
  }
  Expected<rt::RankMemory> held = trial->memory();
  return held ? std::optional(*held) : std::nullopt;
}

static Status tooLarge(const PlanOptions &options, int64_t limit,
                       const rt::RankMemory &held) {
  return makeError(ExitCode::Infeasible,
                   "no plan was found that fits into the memory limit "
                   "of ",
                   limit, " bytes per device (",
                   options.memoryLimit ? "--memory-limit" : "what a device has",
                   "): the last one holds ", held.total(), " bytes (weights ",
                   held.weights, ", arena ", held.arena,
                   ", workspace of kernels ", held.workspace,
                   ", constants packed by kernels ", held.packed,
                   "); raise --memory-limit or take more devices");
}

/// Notes what was asked for, not the lower limit that led there.
static Status noteLimit(ModuleOp module, std::optional<int64_t> limit) {
  Expected<std::optional<PlanRecord>> record = getPlanRecord(module);
  if (!record) {
    return record.status();
  }
  if (*record) {
    (*record)->memoryLimit = limit;
    setPlanRecord(module, **record);
  }
  return Status();
}

/// What the planner thinks that the plan in `module` needs.
static int64_t plannedPeak(ModuleOp module, int64_t limit) {
  Expected<std::optional<PlanRecord>> record = getPlanRecord(module);
  return record && *record ? std::min((*record)->peakBytes, limit) : limit;
}

Status Compilation::planToFit() {
  // Plans at random keep to no limit; one of many is looked at by who makes
  // them.
  if (!options_.report || options_.plan.solver == "random") {
    return runPipeline(Stage::Plan);
  }
  const PlanOptions asked = options_.plan;
  Expected<int64_t> known = memoryLimit();
  if (!known) {
    return known.status();
  }
  const int64_t limit = *known;
  OwningOpRef<ModuleOp> unplanned = cast<ModuleOp>((*module_)->clone());
  std::optional<rt::RankMemory> held;
  // Plans of `above` hold too much; of `below` there are none.
  int64_t above = limit, below = 0;
  Status status;
  for (int replans = 0;; ++replans) {
    status = runPipeline(Stage::Plan);
    if (!status.isOk() && replans == 0) {
      break;
    }
    int64_t next = 0;
    if (status.isOk()) {
      held = memoryOfPlan();
      if (!held || held->total() <= limit) {
        status = replans == 0 ? status : noteLimit(*module_, asked.memoryLimit);
        break;
      }
      above = plannedPeak(*module_, above);
      next = above - (held->total() - limit);
    } else {
      below = *options_.plan.memoryLimit;
    }
    if (next <= below) {
      next = below + (above - below) / 2;
    }
    if (replans == kMostReplans || next <= below || next >= above) {
      status = tooLarge(asked, limit, *held);
      break;
    }
    options_.plan.memoryLimit = next;
    module_ = cast<ModuleOp>((*unplanned)->clone());
  }
  options_.plan = asked;
  return status;
}
