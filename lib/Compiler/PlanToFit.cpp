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

#include "dialects/NN/Bodies.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Cost/ScheduleRecord.h"
#include "divisi/Plan/FewBatches.h"
#include "divisi/Profile/HostProcessor.h"
#include "divisi/runtime/code/GridTarget.h"
#include "passes/Lower/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Schedule/Passes.h"

#include "mlir/Pass/PassManager.h"

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

/// Of `module` at Stage::Lower, or of a copy that goes through `stages`.
Expected<std::vector<DeviceMemory>>
Compilation::memoryOfRanks(ModuleOp module,
                           std::function<void(OpPassManager &)> stages) {
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  return estimateMemory(module, {.cluster = *machine,
                                 .limit = options_.plan.memoryLimit,
                                 .countsKernels = runsKernelsOf(*machine),
                                 .device = options_.device.backend,
                                 .stages = std::move(stages)});
}

Expected<std::vector<DeviceMemory>> Compilation::memory() {
  auto ranks = memoryOfRanks(*module_);
  if (!ranks) {
    return ranks.status();
  }
  return fullestOf(*ranks);
}

/// Of a pipeline that is lowered with `batches` of its micro-batches; 0: all.
Expected<std::vector<DeviceMemory>>
Compilation::memoryOfBatches(ModuleOp planned, bool overlap, int64_t batches) {
  return memoryOfRanks(planned, [&](OpPassManager &passes) {
    buildPartitionPipeline(passes, {.proves = false, .mostBatches = batches});
    buildSchedulePipeline(passes, overlap, options_.fuse, /*proves=*/false);
    LowerOptions lower = lowerOptions();
    lower.proves = false;
    std::string &target = lower.device.codeTarget;
    target = std::string(rt::ptxOf(target)); // nobody runs it
    buildLowerPipeline(passes, lower);
  });
}

std::optional<std::vector<DeviceMemory>>
Compilation::memoryOfPlan(ModuleOp planned, bool overlap) {
  std::optional<FewBatches> few = FewBatches::of(planned);
  if (few && !few->tellsMemory()) {
    few.reset();
  }
  auto ranks = memoryOfBatches(planned, overlap, few ? few->more() : 0);
  if (ranks && few && few->growsMemory()) {
    auto fewer = memoryOfBatches(planned, overlap, few->fewer());
    if (!fewer) {
      return std::nullopt;
    }
    for (auto [some, all] : llvm::zip_equal(*fewer, *ranks)) {
      all.held.arena = few->bytes(some.held.arena, all.held.arena);
      all.held.device = few->bytes(some.held.device, all.held.device);
    }
  }
  return ranks ? std::optional(fullestOf(*ranks)) : std::nullopt;
}

std::optional<std::vector<DeviceMemory>>
Compilation::memoryOfPlan(bool overlap) {
  return memoryOfPlan(*module_, overlap);
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

/// What all entries take together, of a pipeline with `batches` of its
/// micro-batches; 0: all.
std::optional<int64_t> Compilation::timeOfBatches(ModuleOp planned,
                                                  int64_t batches) {
  ScopedDiagnosticHandler quiet(planned.getContext(),
                                [](Diagnostic &) { return success(); });
  PassManager passes(planned.getContext());
  passes.enableVerifier(false);
  buildPartitionPipeline(passes, {.proves = false, .mostBatches = batches});
  buildSchedulePipeline(passes, options_.overlap, options_.fuse,
                        /*proves=*/false);
  if (failed(passes.run(planned))) {
    return std::nullopt;
  }
  return scheduledTime(planned);
}

/// What bodies hide is not known by run.
std::optional<int64_t> Compilation::timeOfPlan(ModuleOp planned) {
  bool hasLoops =
      planned->walk([](nn::LoopOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (hasLoops) {
    return std::nullopt;
  }
  std::optional<FewBatches> few = FewBatches::of(planned);
  if (!few) {
    return timeOfBatches(planned, 0);
  }
  OwningOpRef<ModuleOp> copy = planned.clone();
  std::optional<int64_t> fewer = timeOfBatches(*copy, few->fewer());
  std::optional<int64_t> more = timeOfBatches(planned, few->more());
  return fewer && more ? std::optional(few->nanoseconds(*fewer, *more))
                       : std::nullopt;
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
      if (auto held = memoryOfPlan(planned, /*overlap=*/false)) {
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
