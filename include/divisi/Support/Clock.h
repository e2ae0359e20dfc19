//===- Clock.h - The clock that limits are measured by ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_CLOCK_H
#define DIVISI_SUPPORT_CLOCK_H

#include <chrono>
#include <cstdint>

namespace divisi {

/// std::chrono::steady_clock now, in seconds.
inline double steadySeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The same, in nanoseconds.
inline int64_t steadyNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace divisi

#endif // DIVISI_SUPPORT_CLOCK_H
