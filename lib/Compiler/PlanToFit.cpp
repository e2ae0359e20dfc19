//===- PlanToFit.cpp - Plans that fit into memory -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner counts tensors. What a device holds is known when the plan has
// been lowered: where buffers lie in the arena, what kernels want beside it. So
// the planner asks about each plan that it would take.
//
//===----------------------------------------------------------------------===//

#include "PlanMeter.h"
#include "dialects/NN/Bodies.h"
#include "divisi/Profile/HostProcessor.h"

using namespace mlir;
using namespace divisi;

Status Compilation::addMemory(Report &report) {
  auto ranks = memoryOfRanks(*module_);
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
    device.overhead = rank.overhead;
  }
  return Status();
}

/// Of `module` at Stage::Lower.
Expected<std::vector<DeviceMemory>>
Compilation::memoryOfRanks(ModuleOp module) {
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  return estimateMemory(module, {.cluster = *machine,
                                 .limit = options_.plan.memoryLimit,
                                 .countsKernels = runsKernelsOf(*machine),
                                 .device = options_.device.backend});
}

Expected<std::vector<DeviceMemory>> Compilation::memory() {
  auto ranks = memoryOfRanks(*module_);
  if (!ranks) {
    return ranks.status();
  }
  return fullestOf(*ranks);
}

Compilation::PlanMeter &Compilation::meter() {
  if (!meter_) {
    meter_ = std::make_shared<PlanMeter>();
  }
  return *meter_;
}

std::optional<std::vector<DeviceMemory>>
Compilation::memoryOfPlan(bool overlap) {
  return meter().memory(*this, *module_, overlap);
}

/// `weights 12, arena 7, …`, in bytes.
static std::string partsOf(const rt::RankMemory &held) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "weights " << held.weights << ", arena " << held.arena
     << ", workspace of kernels " << held.workspace
     << ", constants packed by kernels " << held.packed
     << ", messages between processes " << held.messages
     << (held.device == 0
             ? ""
             : ", in memory of devices " + std::to_string(held.device));
  if (held.overhead.total() > 0) {
    os << ", the GPU's context " << held.overhead.context << ", its code "
       << held.overhead.modules << ", NCCL " << held.overhead.nccl;
  }
  return text;
}

/// What bodies hide is not known by run.
std::optional<int64_t> Compilation::timeOfPlan(ModuleOp planned) {
  bool hasLoops =
      planned->walk([](nn::LoopOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (hasLoops) {
    return std::nullopt;
  }
  return meter().time(*this, planned);
}

Status Compilation::planToFit() {
  if (planned_) {
    module_ = std::move(planned_);
    return Status();
  }
  PlanOptions &plan = options_.plan;
  // One of many plans is looked at by who makes them.
  if (options_.report) {
    plan.measure = [this](ModuleOp planned) {
      std::vector<HeldMemory> kinds;
      if (auto held = meter().memory(*this, planned, /*overlap=*/false)) {
        for (const auto &[kind, limit, memory] : *held) {
          kinds.push_back({kind, limit, memory.limited(), partsOf(memory)});
        }
      }
      return kinds;
    };
  }
  if (options_.report && options_.overlap) {
    plan.simulate = [this](ModuleOp planned) { return timeOfPlan(planned); };
  }
  Status status = runPipeline(Stage::Plan);
  plan.measure = nullptr;
  plan.simulate = nullptr;
  return status;
}
