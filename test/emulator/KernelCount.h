//===- KernelCount.h - How many kernels tests have run ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_KERNELCOUNT_H
#define DIVISI_TEST_EMULATOR_KERNELCOUNT_H

#include "divisi/runtime/kernels/Kernel.h"

namespace divisi::test {

/// Counts the kernel that was generated for the site, and that the test runs
/// and compares, by its structure. One in 60 is assembled, and with
/// DIVISI_EVERY_KERNEL each: the assembler takes it, and spills nothing. When
/// the program ends it says how many there were, and writes their structures, a
/// line each, to the file that DIVISI_KERNEL_LIST names: kernels_test.py counts
/// those of all programs.
void countKernel(const rt::CallSite &site);

} // namespace divisi::test

#endif // DIVISI_TEST_EMULATOR_KERNELCOUNT_H
