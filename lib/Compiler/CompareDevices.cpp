//===- CompareDevices.cpp - The same model on fewer devices ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/CompareDevices.h"

#include "divisi/Plan/DropPlan.h"
#include "divisi/Plan/PlanRecord.h"

#include <algorithm>

using namespace mlir;
using namespace divisi;

/// What one of the plans may take: they are only compared with. Most take a
/// small part of it.
static constexpr int64_t kWork = 4'000'000'000;
/// More halvings than that say nothing new.
static constexpr size_t kMostCounts = 6;

std::vector<int64_t> divisi::fewerDevices(int64_t devices) {
  std::vector<int64_t> counts;
  while (devices > 1 && counts.size() < kMostCounts) {
    devices /= primeFactors(devices).front();
    counts.push_back(devices);
  }
  if (!counts.empty()) {
    counts.back() = 1;
  }
  return counts;
}

divisi::Expected<DeviceComparison>
divisi::compareDevices(ModuleOp module, const PlanOptions &options,
                       int64_t devices) {
  DeviceComparison comparison;
  for (int64_t count : fewerDevices(devices)) {
    OwningOpRef<ModuleOp> copy = module.clone();
    if (auto dropped = dropPlan(*copy, {}); !dropped) {
      return dropped.status();
    }
    PlanOptions fewer;
    fewer.cluster = options.cluster;
    fewer.grid.devices = count;
    fewer.batchDim = options.batchDim;
    fewer.memoryLimit = options.memoryLimit;
    fewer.zero = options.zero;
    fewer.recompute = "none"; // a plan that computes again is planned as it is
    fewer.seed = options.seed;
    fewer.gap = options.gap;
    fewer.hostInstructionSet = options.hostInstructionSet;
    fewer.maxStrategies = options.maxStrategies;
    fewer.work = std::min(options.work, kWork);
    divisi::Expected<PlanReport> plan = planModule(*copy, fewer);
    bool fits = bool(plan);
    if (!fits && plan.status().code() != ExitCode::Infeasible &&
        plan.status().code() != ExitCode::NoPlan) {
      return plan.status();
    }
    if (auto record = getPlanRecord(*copy); record && *record) {
      comparison.work += (*record)->workDone;
    }
    comparison.plans.push_back({count, fits, fits ? plan->nanoseconds : 0});
  }
  return comparison;
}

Status divisi::addComparison(ModuleOp planned, const PlanOptions &asked,
                             Report &report) {
  PlanOptions options = asked;
  if (report.plan) {
    options.batchDim = report.plan->batchDim;
    options.memoryLimit = report.plan->memoryLimit;
    options.zero = report.plan->zero.value_or("");
  }
  divisi::Expected<DeviceComparison> comparison =
      compareDevices(planned, options, report.numDevices());
  if (!comparison) {
    return comparison.status();
  }
  report.fewer = std::move(comparison->plans);
  report.comparisonWork = comparison->work;
  return Status();
}
