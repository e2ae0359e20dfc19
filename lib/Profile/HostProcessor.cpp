//===- HostProcessor.cpp - The processor that compiles --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Profile/HostProcessor.h"

#include "divisi/Cluster/InstructionSet.h"
#include "divisi/runtime/backends/cpu/CpuInstructions.h"

using namespace divisi;

std::string divisi::hostInstructionSet() {
  std::string name;
  for (const InstructionSet &set : instructionSets()) {
    if ((set.parts & ~rt::cpuInstructions()) == 0) {
      name = set.name.str();
    }
  }
  return name;
}

bool divisi::runsKernelsOf(const Cluster &cluster) {
  DeviceKind pace = cluster.pace();
  return pace.isProcessor() && (pace.instructionSet.empty() ||
                                pace.instructionSet == hostInstructionSet());
}
