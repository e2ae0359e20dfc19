//===- Units.cpp - Numbers for people -------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Units.h"

#include <cmath>
#include <cstdio>
#include <iterator>

namespace divisi {

static std::string print(const char *format, double number,
                         std::string_view unit) {
  char text[64];
  std::snprintf(text, sizeof(text), format, number);
  return unit.empty() ? text : std::string(text) + " " + std::string(unit);
}

std::string formatBytes(double bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return print(unit == 0 ? "%.0f" : "%.1f", bytes, kUnits[unit]);
}

std::string formatTime(int64_t nanoseconds) {
  double time = double(nanoseconds);
  double size = std::abs(time);
  return size >= 1e9   ? print("%.2f", time / 1e9, "s")
         : size >= 1e6 ? print("%.2f", time / 1e6, "ms")
                       : print("%.1f", time / 1e3, "us");
}

std::string formatAmount(double amount, std::string_view unit) {
  static constexpr const char *kPrefixes[] = {"", "K", "M", "G", "T", "P", "E"};
  size_t prefix = 0;
  while (std::abs(amount) >= 1000 && prefix + 1 < std::size(kPrefixes)) {
    amount /= 1000;
    ++prefix;
  }
  return print("%.4g", amount, kPrefixes[prefix] + std::string(unit));
}

} // namespace divisi
