//===- Ptxas.h - What the assembler says of kernels -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_PTXAS_H
#define DIVISI_TEST_EMULATOR_PTXAS_H

#include "divisi/runtime/kernels/Kernel.h"

#include <string>

namespace divisi::test {

/// Whether CUDA's toolkit is here, with its assembler.
bool hasPtxas();

/// What the assembler says of PTX for a GPU like "sm_90"; nothing where it
/// takes it without spilling registers.
std::string assemble(const std::string &ptx, const std::string &architecture);

/// The same of the kernel for `site`, for the GPUs that there is code for; each
/// says so in a line of its own.
std::string assembleKernel(const rt::CallSite &site);

} // namespace divisi::test

#endif // DIVISI_TEST_EMULATOR_PTXAS_H
