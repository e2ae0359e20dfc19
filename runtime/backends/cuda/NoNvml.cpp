//===- NoNvml.cpp - A build without NVML's header -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/GpuPaths.h"

using namespace divisi;

Status divisi::rt::cuda::readGpuPaths(GpuTopology &) {
  return Status(ExitCode::Device,
                "this build of divisi found no nvml.h, so it cannot use NVML");
}
