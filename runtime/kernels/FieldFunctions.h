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

/// Of an element of the prime field nothing is known but that equal arguments
/// have equal results.
inline FieldElement sqrt(FieldElement x) { return uninterpreted("sqrt", x); }
/// The same of exp.
inline FieldElement exp(FieldElement x) { return uninterpreted("exp", x); }
/// The same of log.
inline FieldElement log(FieldElement x) { return uninterpreted("log", x); }
/// The same of tanh.
inline FieldElement tanh(FieldElement x) { return uninterpreted("tanh", x); }

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_FIELDFUNCTIONS_H
