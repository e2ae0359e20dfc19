//===- Simulation.cpp - What entries of a compilation do when -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"
#include "divisi/Schedule/SimulateEntry.h"

using namespace divisi;

Expected<std::vector<SimulatedEntry>> Compilation::simulate() {
  if (stage_ != Stage::Schedule) {
    return Status(ExitCode::Usage,
                  ("a module after the stage " + stringifyStage(stage_) +
                   " is not simulated: give the model, or a dump of a stage up "
                   "to schedule")
                      .str());
  }
  Expected<Cluster> machine = cluster();
  return machine ? simulateEntries(*module_, *machine)
                 : Expected<std::vector<SimulatedEntry>>(machine.status());
}
