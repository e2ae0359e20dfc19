//===- FunctionErrors.h - How exact generated code is -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bounds that are stated for functions of f32, which ElementFunctionsTest
// measures, and with which whole regions are compared (RegionBounds.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_CODEGEN_FUNCTIONERRORS_H
#define DIVISI_TEST_CODEGEN_FUNCTIONERRORS_H

#include <algorithm>
#include <cmath>
#include <string_view>

namespace divisi::test {

/// The least normal number of f32: smaller ones may become 0.
inline constexpr double kLeast = 0x1p-126;

/// How far a function is off for exact arguments.
struct FunctionError {
  double mostUlps;
  /// Results below this are compared with it: what is lost there is lost by
  /// cancellation, as the kernels that define them lose it.
  double floor;
  double steepest; ///< Of its slopes, where that has a bound; else 0.
};

/// That of `op`; of GELU's two forms the worse one.
inline FunctionError functionError(std::string_view op) {
  struct Row {
    std::string_view op;
    FunctionError error;
  };
  static constexpr Row rows[] = {
      {"nn.exp", {6, kLeast, 0}},     {"nn.log", {1, kLeast, 0}},
      {"nn.tanh", {5, kLeast, 1}},    {"nn.erf", {4, kLeast, 1.13}},
      {"nn.sqrt", {0.5, kLeast, 0}},  {"nn.sigmoid", {4, kLeast, 0.25}},
      {"nn.silu", {8, 1e-30, 1.1}},   {"nn.gelu", {5, 1, 1.13}},
      {"nn.hard_swish", {4, 1, 1.5}},
  };
  for (const Row &row : rows) {
    if (row.op == op) {
      return row.error;
    }
  }
  return {0.5, kLeast, 0};
}

/// The unit in the last place of f32 at `value`.
inline double ulpOf(double value) {
  int exponent = std::max(std::ilogb(value), -126);
  return std::ldexp(1.0, exponent - 23);
}

} // namespace divisi::test

#endif // DIVISI_TEST_CODEGEN_FUNCTIONERRORS_H
