//===- FieldFunctions.h - Functions of the prime field ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Those that formulas of kernels are made of, by the names that the standard
// library has for floats, so that a formula is written once. None has a meaning
// beyond its name.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_FIELDFUNCTIONS_H
#define DIVISI_RUNTIME_KERNELS_FIELDFUNCTIONS_H

#include "divisi/runtime/kernels/FieldElement.h"

namespace divisi::rt {

inline FieldElement sqrt(FieldElement x) { return uninterpreted("sqrt", x); }
inline FieldElement exp(FieldElement x) { return uninterpreted("exp", x); }
inline FieldElement log(FieldElement x) { return uninterpreted("log", x); }
inline FieldElement tanh(FieldElement x) { return uninterpreted("tanh", x); }

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_FIELDFUNCTIONS_H
