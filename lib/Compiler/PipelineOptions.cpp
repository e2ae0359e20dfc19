//===- PipelineOptions.cpp - Options of micro-batches and stages ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace llvm;
using namespace divisi;

Status divisi::addObjective(const GivenOptions &given,
                            CompileOptions &options) {
  static constexpr std::pair<StringLiteral, Objective> kObjectives[] = {
      {"latency", Objective::Latency},
      {"throughput", Objective::Throughput},
      {"step", Objective::Step}};
  for (const auto &[name, objective] : kObjectives) {
    if (given.objective == name.str()) {
      options.objective = objective;
    }
  }
  if (given.objective && !options.objective) {
    return Status(ExitCode::Usage,
                  "--objective '" + *given.objective +
                      "': expected latency, throughput or step");
  }
  return Status();
}

/// Those of a model are searched where throughput is wanted.
Status divisi::addMicroBatches(const GivenOptions &given,
                               CompileOptions &options) {
  bool isWanted = options.objective == Objective::Throughput;
  options.impliesMicroBatches = isWanted && !given.microBatches;
  std::string text =
      given.microBatches.value_or(options.impliesMicroBatches ? "auto" : "1");
  int64_t most = given.train ? (1 << 20) - 1 : 1024;
  options.givesStages = given.pipelineParallel.has_value() ||
                        !options.plan.stageDevices.empty() ||
                        options.plan.pipelineStages > 1;
  options.givesBranches = given.branchParallel.has_value();
  options.searchesMicroBatches = text == "auto";
  if (options.searchesMicroBatches) {
    return given.solver == "random"
               ? Status(ExitCode::Usage,
                        std::string(options.impliesMicroBatches
                                        ? "--objective throughput"
                                        : "--micro-batches auto") +
                            " compares plans, and the solver random draws one; "
                            "give a number" +
                            (options.impliesMicroBatches ? " of micro-batches"
                                                         : ""))
               : Status();
  }
  int64_t count = 0;
  if (StringRef(text).getAsInteger(10, count) || count < 1 || count > most) {
    return makeError(ExitCode::Usage, "--micro-batches ", text,
                     ": expected a number from 1 to ", most, ", or auto");
  }
  options.searchesStages = !options.givesStages && searchesStagesOf(count) &&
                           given.solver != "random"; // which draws one plan
  options.microBatches = count;
  return Status();
}

Status divisi::addBranches(const GivenOptions &given, PlanOptions &options) {
  std::string text = given.branchParallel.value_or("off");
  if (text != "auto" && text != "off") {
    return Status(ExitCode::Usage,
                  "--branch-parallel '" + text + "': expected auto or off");
  }
  options.dividesBranches = text == "auto";
  if (options.dividesBranches && options.pipelineStages > 1) {
    return Status(ExitCode::Usage,
                  "--branch-parallel auto divides devices among branches, and "
                  "--pipeline-parallel-size among layers; leave one of them "
                  "out");
  }
  if (options.dividesBranches && given.solver == "random") {
    return Status(ExitCode::Usage,
                  "--branch-parallel auto compares plans, and the solver "
                  "random draws one; leave one of them out");
  }
  return Status();
}

/// Equal numbers say how many stages there are, and how many devices.
Status divisi::addStageDevices(const GivenOptions &given,
                               PlanOptions &options) {
  if (given.stageDevices.empty()) {
    return Status();
  }
  if (given.stageDevices == "auto") {
    options.searchesStageDevices = true;
    return given.mesh.empty()
               ? Status()
               : Status(ExitCode::Usage,
                        "--stage-devices auto searches numbers of devices, and "
                        "--mesh says one; leave one of them out");
  }
  constexpr int64_t kMost = Cluster::maxDevices;
  std::vector<int64_t> sizes;
  SmallVector<StringRef> parts;
  StringRef(given.stageDevices).split(parts, ',');
  for (StringRef part : parts) {
    int64_t size = 0;
    if (part.trim().getAsInteger(10, size) || size < 1 || size > kMost) {
      return Status(ExitCode::Usage,
                    "--stage-devices '" + given.stageDevices +
                        "': expected a number of devices per stage, such as "
                        "2,1, or auto");
    }
    sizes.push_back(size);
  }
  auto stages = int64_t(sizes.size());
  if (given.pipelineParallel.value_or(stages) != stages) {
    return makeError(ExitCode::Usage, "--stage-devices ", given.stageDevices,
                     " is of ", stages,
                     " stages, and --pipeline-parallel-size is ",
                     *given.pipelineParallel);
  }
  int64_t all = llvm::sum_of(sizes);
  if (given.devices.value_or(all) != all) {
    return makeError(ExitCode::Usage, "--stage-devices ", given.stageDevices,
                     " are ", all, " devices together, and --devices is ",
                     *given.devices);
  }
  options.pipelineStages = stages;
  options.grid.devices = all;
  if (llvm::all_equal(sizes)) {
    if (given.solver == "random" && given.mesh.empty()) {
      options.stageDevices = std::move(sizes); // others are drawn else
    }
    return Status();
  }
  if (!given.mesh.empty()) {
    return Status(ExitCode::Usage,
                  "--mesh " + given.mesh +
                      " is for one number of devices, and --stage-devices " +
                      given.stageDevices +
                      " gives stages several; leave one of them out");
  }
  options.stageDevices = std::move(sizes);
  return Status();
}
