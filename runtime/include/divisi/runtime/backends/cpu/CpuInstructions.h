//===- CpuInstructions.h - Instruction sets of CPU kernels ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_CPUINSTRUCTIONS_H
#define DIVISI_RUNTIME_BACKENDS_CPU_CPUINSTRUCTIONS_H

namespace divisi::rt {

/// The instructions that kernels of cpuBackend() use on this processor: a bit
/// for each part, as oneDNN numbers them (dnnl_cpu_isa_t); 0: it has none of
/// these.
unsigned cpuInstructions();

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_BACKENDS_CPU_CPUINSTRUCTIONS_H
