//===- FieldFunctions.h - Functions of the prime field ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By the names that the standard library has for floats, so that a formula is
// written once. None has a meaning beyond its name.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_FIELDFUNCTIONS_H
#define DIVISI_RUNTIME_KERNELS_FIELDFUNCTIONS_H

#include "divisi/runtime/kernels/FieldElement.h"

namespace divisi::rt {

inline FieldElement sqrt(FieldElement x) { return uninterpreted("sqrt", x); }
inline FieldElement exp(FieldElement x) { return uninterpreted("exp", x); }
inline FieldElement log(FieldElement x) { return uninterpreted("log", x); }
inline FieldElement erf(FieldElement x) { return uninterpreted("erf", x); }
inline FieldElement sin(FieldElement x) { return uninterpreted("sin", x); }
inline FieldElement cos(FieldElement x) { return uninterpreted("cos", x); }
inline FieldElement tan(FieldElement x) { return uninterpreted("tan", x); }
inline FieldElement asin(FieldElement x) { return uninterpreted("asin", x); }
inline FieldElement acos(FieldElement x) { return uninterpreted("acos", x); }
inline FieldElement atan(FieldElement x) { return uninterpreted("atan", x); }
inline FieldElement sinh(FieldElement x) { return uninterpreted("sinh", x); }
inline FieldElement cosh(FieldElement x) { return uninterpreted("cosh", x); }
inline FieldElement asinh(FieldElement x) { return uninterpreted("asinh", x); }
inline FieldElement acosh(FieldElement x) { return uninterpreted("acosh", x); }
inline FieldElement atanh(FieldElement x) { return uninterpreted("atanh", x); }
inline FieldElement tanh(FieldElement x) { return uninterpreted("tanh", x); }
inline FieldElement floor(FieldElement x) { return uninterpreted("floor", x); }
inline FieldElement ceil(FieldElement x) { return uninterpreted("ceil", x); }
inline FieldElement nearbyint(FieldElement x) {
  return uninterpreted("nearbyint", x);
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_FIELDFUNCTIONS_H
