//===- CheckOptions.cpp - Options that make no sense ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanningInputs.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace divisi {

PipelineRequest pipelineOf(const PlanOptions &options) {
  return {options.pipelineStages, options.stageDevices, options.chunksPerStage,
          options.schedule, options.memoryLimit};
}

} // namespace divisi

namespace divisi::plan {

Status checkOptions(const PlanOptions &options) {
  if (options.batchDim < 0) {
    return makeError(ExitCode::Usage, "the batch dimension is ",
                     options.batchDim, ", expected at least 0");
  }
  if (options.work < 0) {
    return makeError(ExitCode::Usage, "the budget of work is ", options.work,
                     ", expected at least 0");
  }
  if (!(options.gap >= 0)) {
    return makeError(ExitCode::Usage, "the gap is ", options.gap,
                     ", expected at least 0");
  }
  if (Status status = checkPipeline(pipelineOf(options)); !status.isOk()) {
    return status;
  }
  if (options.maxStrategies < 1) {
    return Status(ExitCode::Usage, "the most strategies of an operator are 0, "
                                   "expected at least 1");
  }
  if (options.recompute != "auto" && options.recompute != "none" &&
      options.recompute != "full") {
    return Status(ExitCode::Usage, "what is computed again is '" +
                                       options.recompute +
                                       "', expected auto, none or full");
  }
  if (options.judge != "simulated" && options.judge != "sum") {
    return Status(ExitCode::Usage, "what decides between plans is '" +
                                       options.judge +
                                       "', expected simulated or sum");
  }
  if (options.grid.maxAxes && *options.grid.maxAxes < 1) {
    return makeError(ExitCode::Usage, "the most axes of a grid are ",
                     *options.grid.maxAxes, ", expected at least 1");
  }
  return Status();
}

Status checkStages(const PlanOptions &options, int64_t devices) {
  if (devices < options.pipelineStages) {
    return makeError(ExitCode::Usage, "--pipeline-parallel-size is ",
                     options.pipelineStages, ", and there are ", devices,
                     " devices");
  }
  int64_t all = llvm::sum_of(options.stageDevices);
  if (all > devices) {
    return makeError(ExitCode::Usage, "--stage-devices are ", all,
                     " devices together, and there are ", devices);
  }
  return Status();
}

Status checkZero(const Dataflow &dataflow, const PlanOptions &options,
                 const DeviceGrid &devices) {
  if (options.zero.empty()) {
    return Status();
  }
  Expected<ZeroDegrees> zero = parseZero(options.zero);
  if (!zero) {
    return zero.status();
  }
  if (!hasStates(dataflow)) {
    return Status(ExitCode::Usage,
                  "ZeRO is for training steps, and the module updates no "
                  "parameter by a gradient; leave --zero out, or add --train");
  }
  int64_t all = devices.grid.numPositions();
  for (int64_t degree : {zero->parameters, zero->gradients, zero->states}) {
    if (degree < all && all % degree != 0) {
      return makeError(ExitCode::Usage, "ZeRO over ", degree, " devices: ", all,
                       " are no multiple of them; give a number that divides ",
                       all, ", or ", all, " itself");
    }
  }
  bool isSplit =
      std::max({zero->parameters, zero->gradients, zero->states}) > 1;
  if (isSplit && all > 1 &&
      !llvm::is_contained(devices.roles, AxisRole::Data)) {
    return Status(ExitCode::Usage,
                  "ZeRO splits states over axes of data, and the grid has "
                  "none; name one in --mesh, as in data=8, or leave that out");
  }
  return Status();
}

} // namespace divisi::plan
