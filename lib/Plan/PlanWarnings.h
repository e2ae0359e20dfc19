//===- PlanWarnings.h - What a user may not have meant ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_PLANWARNINGS_H
#define DIVISI_LIB_PLAN_PLANWARNINGS_H

#include "ProblemBuilder.h"
#include "divisi/Plan/ModuleDataflow.h"
#include "divisi/Plan/PlanModule.h"

#include <string>
#include <vector>

namespace divisi::plan {

/// What the bound does not speak of: what was too much to look at.
std::optional<std::string> noteLeftOut(const CappedChoices &capped,
                                       size_t maxStrategies);

/// What of the request cannot have the effect that it seems to ask for: a batch
/// dimension that no input has or nothing uses, more data parallelism than
/// there is batch, tensor parallelism that the heads do not divide by.
std::vector<std::string> warnOfRequest(const ModuleDataflow &dataflow,
                                       const DeviceGrid &devices,
                                       int64_t batchDim);

/// That most of the work of a plan is done by several devices; nothing if not.
std::optional<std::string>
warnOfReplication(const Dataflow &dataflow, const PlanningProblem &planning,
                  const Grid &grid, const std::vector<uint32_t> &assignment);

/// How many bytes a parameter the states of a training step take on the fullest
/// device; nothing if `dataflow` is none.
std::optional<std::string> noteStates(const Dataflow &dataflow,
                                      const PlanningProblem &planning,
                                      const KindMemories &memories,
                                      const Grid &grid,
                                      const std::vector<uint32_t> &assignment);

/// Which of the devices that were asked for a plan on `devices` leaves idle.
std::vector<std::string> noteIdle(const Cluster &cluster,
                                  const DeviceGrid &devices,
                                  const PlanOptions &options);

/// Which names of axes constrain and which do not, if `mesh` has names.
std::optional<std::string> noteAxisNames(const std::string &mesh,
                                         const DeviceGrid &devices);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_PLANWARNINGS_H
