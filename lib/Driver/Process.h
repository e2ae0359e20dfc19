//===- Process.h - What the system knows of this process --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_PROCESS_H
#define DIVISI_LIB_DRIVER_PROCESS_H

#include <cstdint>

namespace divisi {

/// steadySeconds() when this process started, the loading of its libraries
/// included. Where the system does not tell (it has no /proc): now.
double processStart();

/// The most bytes of memory that this process held at any time; 0 where the
/// system does not tell.
int64_t peakMemory();

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_PROCESS_H
