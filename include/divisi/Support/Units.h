//===- Units.h - Numbers for people -----------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes are powers of 1024, rates and counts powers of 1000, as is the custom.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_UNITS_H
#define DIVISI_SUPPORT_UNITS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace divisi {

/// `1.5 GiB`, `320.0 KiB`, `12 B`.
std::string formatBytes(double bytes);

/// `1.50 s`, `3.20 ms`, `14.0 us`.
std::string formatTime(int64_t nanoseconds);

/// At most four digits and a decimal prefix: `67 TFLOP/s`, `370 GB/s`,
/// `1.979 PFLOP/s`.
std::string formatAmount(double amount, std::string_view unit);

} // namespace divisi

#endif // DIVISI_SUPPORT_UNITS_H
