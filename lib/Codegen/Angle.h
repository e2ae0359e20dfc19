//===- Angle.h - Angles less quarter turns ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_ANGLE_H
#define DIVISI_LIB_CODEGEN_ANGLE_H

#include "lib/Codegen/Real.h"

namespace divisi {

/// An angle, as quarter turns and what is left.
struct Angle {
  mlir::Value quarters; ///< An i64, of which the last two bits count.
  Real rest;            ///< From -pi/4 to pi/4.
};

/// That of `x`; what the rest is of infinity and NaN is not said. Large ones
/// are multiplied with as many bits of 2/pi as they need (Payne and Hanek,
/// "Radian reduction for trigonometric functions", 1983).
Angle reduceAngle(Real x);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_ANGLE_H
