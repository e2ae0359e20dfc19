//===- ChooseDevice.cpp - What of a cluster has memory of its own ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/Cluster.h"
#include "divisi/Compiler/Compilation.h"

#include <utility>

using namespace divisi;

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
