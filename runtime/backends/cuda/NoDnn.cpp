//===- NoDnn.cpp - A build without cuDNN's header -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/Families.h"

std::span<const divisi::rt::Kernel> divisi::rt::cuda::convKernels(bool) {
  return {};
}
