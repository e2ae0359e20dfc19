//===- KernelTarget.h - What runs the tests' kernels ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same drawn calls run on the emulator, which is linked in the place of
// NVIDIA's libraries, and on a GPU, whose libraries are opened as they are in a
// run. Each program has EmulatedTarget.cpp (and EmulatedEngines.cpp) or
// GpuTarget.cpp. Suites that are of the emulator begin with `Emulated`.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_KERNELTARGET_H
#define DIVISI_TEST_EMULATOR_KERNELTARGET_H

#include <cstdint>
#include <map>
#include <string>

namespace divisi::test {

/// For what kernels are generated; empty: for nothing that runs here.
std::string kernelTarget();

/// Whether that is the emulator, on which calls take long.
bool isEmulated();

/// How often each engine of the emulated cuDNN was used since this was last
/// cleared; none on a GPU.
std::map<int64_t, int64_t> &dnnEngines();

} // namespace divisi::test

#endif // DIVISI_TEST_EMULATOR_KERNELTARGET_H
