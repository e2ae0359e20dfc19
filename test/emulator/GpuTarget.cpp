//===- GpuTarget.cpp - Kernels for a GPU ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/backends/cuda/GpuTopology.h"
#include "divisi/runtime/code/GridCode.h"
#include "test/emulator/KernelTarget.h"

#include <gtest/gtest.h>

using namespace divisi;

/// That of GPU 0, on which the tests run.
std::string test::kernelTarget() {
  static const std::string target = [] {
    auto topology = rt::readGpuTopology();
    EXPECT_TRUE(topology) << topology.status().message();
    return topology && !topology->gpus.empty()
               ? rt::ptxTarget("sm_" +
                               std::to_string(topology->gpus[0].capability))
               : std::string();
  }();
  return target;
}

bool test::isEmulated() { return false; }

std::map<int64_t, int64_t> &test::dnnEngines() {
  static std::map<int64_t, int64_t> none;
  return none;
}
