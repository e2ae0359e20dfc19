//===- KeepToLimit.cpp - Orders that fit into memory ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stage::Plan keeps to the memory limit in the order of the module. Overlap
// needs more, and how much it needs is estimated before it is lowered. Where
// that turns out to be too much, the order of the plan is kept.
//
//===----------------------------------------------------------------------===//

#include "PlanMeter.h"
#include "divisi/Plan/PlanRecord.h"

using namespace mlir;
using namespace divisi;

/// Whether some device holds more than its limit.
static bool isOverfull(const std::vector<DeviceMemory> &kinds) {
  return llvm::any_of(
      kinds, [](const DeviceMemory &kind) { return kind.missing() > 0; });
}

std::optional<std::vector<DeviceMemory>>
Compilation::memoryAsRun(bool overlap) {
  auto held = memoryOfPlan(overlap);
  return overlap && held && isOverfull(*held) ? memoryOfPlan(false) : held;
}

void Compilation::keepOrder(Stage next) {
  if (next == Stage::Partition) {
    meter().forgetModules(); // plans are measured no more
  }
  if (next == Stage::Schedule && options_.overlap && options_.report) {
    inOrder_ = cast<ModuleOp>((*module_)->clone());
  }
}

/// Schedules and lowers what `inOrder` is again.
Status Compilation::lowerInOrder(OwningOpRef<ModuleOp> inOrder) {
  module_ = std::move(inOrder);
  stage_ = Stage::Partition;
  bool overlap = std::exchange(options_.overlap, false);
  Status status = runStage(Stage::Schedule);
  status = status.isOk() ? runStage(Stage::Lower) : status;
  options_.overlap = overlap;
  return status;
}

Status Compilation::keepToLimit() {
  OwningOpRef<ModuleOp> inOrder = std::exchange(inOrder_, nullptr);
  if (!inOrder) {
    return Status();
  }
  // Of a plan that was read, the limit that it was made for.
  std::optional<int64_t> given = options_.plan.memoryLimit;
  Expected<std::optional<PlanRecord>> record = getPlanRecord(*module_);
  if (record && *record && !given) {
    options_.plan.memoryLimit = (*record)->memoryLimit;
  }
  auto held = memory(); // who asks for it next is told why it is not known
  Status status;
  if (held && isOverfull(*held)) {
    status = lowerInOrder(std::move(inOrder));
  }
  options_.plan.memoryLimit = given;
  return status;
}
