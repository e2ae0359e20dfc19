//===- EmulatedEngines.cpp - What the emulated cuDNN has used -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/DnnEngine.h"
#include "test/emulator/KernelTarget.h"

using namespace divisi;

std::map<int64_t, int64_t> &test::dnnEngines() {
  return emulator::engineUses();
}
