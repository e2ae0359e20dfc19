//===- PlanToFit.cpp - Plans that fit into memory -------------------------===//
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

#include "divisi/Compiler/Compilation.h"
#include "divisi/Plan/PlanRecord.h"
#include "divisi/Profile/HostProcessor.h"
#include "divisi/runtime/code/GridTarget.h"
#include "passes/Lower/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Schedule/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace divisi;

/// How often a plan is searched again.
static constexpr int kMostReplans = 6;

Status Compilation::addMemory(Report &report) {
  auto ranks = memoryOfRanks(report.countsKernels);
  if (!ranks) {
    return ranks.status();
  }
  for (auto [device, memory] : llvm::zip(report.devices, *ranks)) {
    const rt::RankMemory &rank = memory.held;
    device.weightBytes = rank.weights;
    device.arenaBytes = rank.arena;
    device.workspaceBytes = rank.workspace;
    device.packedBytes = rank.packed;
    device.messageBytes = rank.messages;
    device.ownBytes = rank.device;
  }
  return Status();
}

/// Of the module at Stage::Lower, or of a copy that goes through `stages`.
Expected<std::vector<DeviceMemory>>
Compilation::memoryOfRanks(std::optional<bool> countsKernels,
                           std::function<void(OpPassManager &)> stages) {
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  return estimateMemory(*module_, {.cluster = *machine,
                                   .limit = options_.plan.memoryLimit,
                                   .countsKernels = countsKernels.value_or(
                                       runsKernelsOf(*machine)),
                                   .device = options_.device.backend,
                                   .stages = std::move(stages)});
}

Expected<std::vector<DeviceMemory>> Compilation::memory() {
  auto ranks = memoryOfRanks();
  if (!ranks) {
    return ranks.status();
  }
  return fullestOf(*ranks);
}

std::optional<std::vector<DeviceMemory>>
Compilation::memoryOfPlan(bool overlap) {
  auto ranks = memoryOfRanks(std::nullopt, [&](OpPassManager &passes) {
    buildPartitionPipeline(passes);
    buildSchedulePipeline(passes, overlap, options_.fuse);
    LowerOptions lower = lowerOptions();
    std::string &target = lower.device.codeTarget;
    target = std::string(rt::ptxOf(target)); // nobody runs it
    buildLowerPipeline(passes, lower);
  });
  return ranks ? std::optional(fullestOf(*ranks)) : std::nullopt;
}

/// The one of which most is missing.
static const DeviceMemory &tightest(const std::vector<DeviceMemory> &kinds) {
  return *llvm::max_element(kinds,
                            [](const DeviceMemory &a, const DeviceMemory &b) {
                              return a.missing() < b.missing();
                            });
}

static Status tooLarge(const PlanOptions &options,
                       const std::vector<DeviceMemory> &kinds) {
  const auto &[kind, limit, held] = tightest(kinds);
  std::string device = kinds.size() == 1 ? "device" : kind;
  return makeError(ExitCode::Infeasible,
                   "no plan was found that fits into the memory limit "
                   "of ",
                   limit, " bytes per ", device, " (",
                   options.memoryLimit == limit ? "--memory-limit"
                                                : "what a " + device + " has",
                   "): the last one holds ", held.limited(), " bytes (weights ",
                   held.weights, ", arena ", held.arena,
                   ", workspace of kernels ", held.workspace,
                   ", constants packed by kernels ", held.packed,
                   ", messages between processes ", held.messages,
                   held.device == 0 ? ""
                                    : ", in memory of devices " +
                                          std::to_string(held.device),
                   "); raise --memory-limit or take more devices");
}

/// How much less than the limit the plan in `module` needs by the planner's
/// count; of unequal parts at least what it was not to use.
static int64_t plannedSlack(ModuleOp module, int64_t limit, int64_t reserve) {
  Expected<std::optional<PlanRecord>> record = getPlanRecord(module);
  bool isKnown = record && *record && (*record)->kindPeakBytes.empty();
  return isKnown ? std::max(limit - (*record)->peakBytes, reserve) : reserve;
}

Status Compilation::planToFit() {
  // Plans at random keep to no limit; one of many is looked at by who makes
  // them.
  if (!options_.report || options_.plan.solver == "random") {
    return runPipeline(Stage::Plan);
  }
  OwningOpRef<ModuleOp> unplanned = cast<ModuleOp>((*module_)->clone());
  std::optional<std::vector<DeviceMemory>> held;
  // Plans that leave `tooLittle` free hold too much; there are none that leave
  // `tooMuch`.
  int64_t tooLittle = 0, tooMuch = std::numeric_limits<int64_t>::max();
  int64_t &reserve = options_.plan.memoryReserve;
  Status status;
  for (int replans = 0;; ++replans) {
    status = runPipeline(Stage::Plan);
    if (!status.isOk() && replans == 0) {
      break;
    }
    int64_t next = tooMuch;
    if (status.isOk()) {
      held = memoryOfPlan(/*overlap=*/false);
      if (!held || tightest(*held).missing() <= 0) {
        break;
      }
      for (const DeviceMemory &kind : *held) {
        tooMuch = std::min(tooMuch, kind.limit);
      }
      tooLittle = plannedSlack(*module_, tightest(*held).limit, reserve);
      next = tooLittle + tightest(*held).missing();
    } else {
      tooMuch = reserve;
    }
    if (next >= tooMuch) {
      next = tooMuch - (tooMuch - tooLittle) / 2;
    }
    if (replans == kMostReplans || next >= tooMuch || next <= tooLittle) {
      status = tooLarge(options_.plan, *held);
      break;
    }
    reserve = next;
    module_ = cast<ModuleOp>((*unplanned)->clone());
  }
  reserve = 0;
  return status;
}
