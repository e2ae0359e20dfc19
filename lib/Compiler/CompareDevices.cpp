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

#include "llvm/ADT/StringRef.h"

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

/// What the plans have in common that are compared.
static PlanOptions comparable(const PlanOptions &options, int64_t devices) {
  PlanOptions other;
  other.cluster = options.cluster;
  other.grid.devices = devices;
  other.batchDim = options.batchDim;
  other.memoryLimit = options.memoryLimit;
  other.zero = options.zero;
  other.recompute = "none"; // a plan that computes again is planned as it is
  other.seed = options.seed;
  other.gap = options.gap;
  other.hostInstructionSet = options.hostInstructionSet;
  other.maxStrategies = options.maxStrategies;
  other.work = std::min(options.work, kWork);
  return other;
}

/// Plans `module`, which is left as it is; adds to `work`. Fails as planModule,
/// but for plans that do not fit.
static divisi::Expected<ReportComparison>
planOther(ModuleOp module, const PlanOptions &options, int64_t &work) {
  OwningOpRef<ModuleOp> copy = module.clone();
  if (auto dropped = dropPlan(*copy, {}); !dropped) {
    return dropped.status();
  }
  divisi::Expected<PlanReport> plan = planModule(*copy, options);
  ReportComparison other;
  other.devices = *options.grid.devices;
  other.fits = bool(plan);
  if (!plan && plan.status().code() != ExitCode::Infeasible &&
      plan.status().code() != ExitCode::NoPlan) {
    return plan.status();
  }
  if (auto record = getPlanRecord(*copy); record && *record) {
    work += (*record)->workDone;
  }
  if (plan) {
    other.nanoseconds = plan->nanoseconds;
    other.peakBytes = plan->peakBytes;
  }
  return other;
}

/// Adds the plans of one kind of parallelism.
static Status addOfOneKind(ModuleOp module, const PlanOptions &options,
                           DeviceComparison &comparison) {
  struct Kind {
    llvm::StringLiteral name;
    std::optional<int64_t> GridRequest::*degree;
    llvm::StringLiteral zero;
  };
  const Kind kinds[] = {{"DP", &GridRequest::dataParallel, ""},
                        {"TP", &GridRequest::tensorParallel, ""},
                        {"FSDP (ZeRO-3)", &GridRequest::dataParallel, "3"}};
  for (const Kind &kind : kinds) {
    PlanOptions alone = options;
    alone.zero = kind.zero.str();
    alone.grid.*kind.degree = alone.grid.devices;
    auto other = planOther(module, alone, comparison.work);
    bool isOfTraining = !kind.zero.empty();
    if (!other && isOfTraining && other.status().code() == ExitCode::Usage) {
      continue; // the program has no states to shard
    }
    if (!other) {
      return other.status();
    }
    other->parallelism = kind.name.str();
    comparison.ofOneKind.push_back(std::move(*other));
  }
  return Status();
}

divisi::Expected<DeviceComparison>
divisi::compareDevices(ModuleOp module, const PlanOptions &options,
                       int64_t devices) {
  DeviceComparison comparison;
  for (int64_t count : fewerDevices(devices)) {
    auto other = planOther(module, comparable(options, count), comparison.work);
    if (!other) {
      return other.status();
    }
    comparison.plans.push_back(std::move(*other));
  }
  if (devices > 1) {
    if (Status status =
            addOfOneKind(module, comparable(options, devices), comparison);
        !status.isOk()) {
      return status;
    }
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
  report.ofOneKind = std::move(comparison->ofOneKind);
  report.comparisonWork = comparison->work;
  return Status();
}
