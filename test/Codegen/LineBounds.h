//===- LineBounds.h - How nearly whole lines are computed -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_CODEGEN_LINEBOUNDS_H
#define DIVISI_TEST_CODEGEN_LINEBOUNDS_H

#include "test/Codegen/FunctionErrors.h"
#include "test/Codegen/RegionBounds.h"

#include <limits>

namespace divisi::test {

/// Of what may be anything.
inline constexpr double unknownError = std::numeric_limits<double>::infinity();
/// Larger numbers may be infinite in f32.
inline constexpr double mostFloat = 3.4e38;

/// By how much f32 is off that rounds `value` once.
inline double roundingOf(double value) {
  return 0x1p-24 * std::fabs(value) + 0x1p-150;
}

/// The errors of `result`, which `part`, a softmax or a norm, makes of
/// `operand`: all elements of a line depend on all.
void boundLines(const rt::RegionPart &part, const Bounded &operand,
                Bounded &result);

} // namespace divisi::test

#endif // DIVISI_TEST_CODEGEN_LINEBOUNDS_H
