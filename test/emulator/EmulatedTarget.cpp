//===- EmulatedTarget.cpp - Kernels for the emulator ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/RowCode.h"
#include "test/emulator/KernelTarget.h"

using namespace divisi;

std::string test::kernelTarget() {
  std::string_view level = rt::hostLevel();
  return level.empty() ? "" : rt::emulatedTarget(level);
}

bool test::isEmulated() { return true; }
