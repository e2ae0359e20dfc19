//===- ChooseStages.cpp - How many stages a pipeline has ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a call takes several micro-batches and nobody has said on how many
// stages, a plan is made and scheduled for each number that divides the
// devices, and the number of the one that takes least is taken, of equal ones
// the least. Programs are compared as they are, without rewriting.
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"
#include "divisi/Cost/ScheduleRecord.h"

#include <optional>

using namespace mlir;
using namespace divisi;

/// What all entries of a scheduled module take; nothing if one is not known.
static std::optional<int64_t> timeOf(ModuleOp module) {
  auto records = getScheduleRecords(module);
  if (!records || records->empty()) {
    return std::nullopt;
  }
  int64_t time = 0;
  for (const ScheduleRecord &record : *records) {
    time += record.nanoseconds;
  }
  return time;
}

Status Compilation::chooseStages() {
  PlanOptions &plan = options_.plan;
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  int64_t devices = plan.grid.devices.value_or(machine->numDevices());
  std::optional<int64_t> least;
  for (int64_t stages = 1; stages <= devices; ++stages) {
    if (devices % stages != 0) {
      continue;
    }
    if (plan.control.struck() != search::Stopped::Finished) {
      break;
    }
    std::unique_ptr<Compilation> trial = copy();
    trial->options_.searchesStages = false;
    trial->options_.plan.pipelineStages = stages;
    trial->options_.rewrite.mode = RewriteMode::Off;
    trial->options_.dumpAfter.clear();
    trial->options_.warned = nullptr;
    trial->options_.plan.control.onPlan = nullptr;
    // What cannot be planned so is no candidate; if none can, the message is
    // that of one stage.
    if (!trial->advanceTo(Stage::Schedule).isOk()) {
      continue;
    }
    std::optional<int64_t> time = timeOf(*trial->module_);
    if (time && (!least || *time < *least)) {
      least = time;
      plan.pipelineStages = stages;
    }
  }
  return Status();
}
