//===- HostProcessorTest.cpp ----------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Profile/HostProcessor.h"

#include "divisi/Cluster/InstructionSet.h"
#include "runtime/backends/cpu/Int8.h"
#include "divisi/runtime/code/RowCode.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace divisi;

/// A cluster of processors that state `instructionSet`.
static Cluster processors(llvm::StringRef instructionSet) {
  Cluster cluster = *presetCluster("cpu", 2);
  cluster.devices.front().kind.instructionSet = instructionSet.str();
  return cluster;
}

/// What follows from the name is what the runtime finds out by itself.
TEST(HostProcessor, NameSaysWhatTheRuntimeFinds) {
  const InstructionSet *set = findInstructionSet(hostInstructionSet());
  EXPECT_EQ(set && set->sumsBytes, rt::cpu::sumsBytesExactly());
  if (!std::getenv("ONEDNN_MAX_CPU_ISA")) {
    EXPECT_EQ(set ? set->codeLevel.str() : "", rt::hostLevel());
  }
}

TEST(HostProcessor, RunsKernelsOfItsInstructionSetOnly) {
  EXPECT_TRUE(runsKernelsOf(processors("")));
  EXPECT_TRUE(runsKernelsOf(processors(hostInstructionSet())));
  for (const InstructionSet &set : instructionSets()) {
    EXPECT_EQ(runsKernelsOf(processors(set.name)),
              set.name == hostInstructionSet())
        << set.name.str();
  }
  EXPECT_FALSE(runsKernelsOf(*presetCluster("dgx-h100", 8)));
  EXPECT_FALSE(runsKernelsOf(*presetCluster("cpu-server", 2)));
}
