//===- TargetMachine.cpp - What a program is compiled for -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleReport.h"
#include "divisi/Cluster/InstructionSet.h"
#include "divisi/Compiler/Compilation.h"
#include "passes/Lower/Passes.h"

#include <utility>

using namespace mlir;
using namespace divisi;

Expected<Cluster> Compilation::cluster() {
  Expected<Cluster> machine = clusterOf(*module_, options_.plan.cluster);
  if (machine) {
    machine->describeHost(options_.plan.hostInstructionSet);
  }
  return machine;
}

const InstructionSet *Compilation::instructionSet() {
  Expected<Cluster> machine = cluster();
  return machine ? findInstructionSet(machine->pace().instructionSet) : nullptr;
}

LowerOptions Compilation::lowerOptions() {
  std::string level = options_.nativeLevel;
  if (level == kTargetLevel) {
    const InstructionSet *set = instructionSet();
    level = set ? set->codeLevel.str() : "";
  }
  return {.device = options_.device, .nativeLevel = level};
}

/// Once: later stages, and copies of the module, go by the same.
Status Compilation::chooseDevice() {
  auto deviceOf = std::exchange(options_.deviceOf, nullptr);
  if (!deviceOf) {
    return Status();
  }
  Expected<Cluster> machine = cluster();
  if (machine) {
    options_.device = deviceOf(*machine);
  }
  return machine.status();
}
