//===- RealRemainder.h - What a division leaves -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_REALREMAINDER_H
#define DIVISI_LIB_CODEGEN_REALREMAINDER_H

#include "lib/Codegen/Real.h"

namespace divisi {

/// x * 2^power, an i64 from -2000 to 2000, rounded once.
Real scaled(Real x, mlir::Value power);

/// x less the multiple of y, towards 0, that leaves less than y: exact, as C's
/// fmod.
Real remainder(Real x, Real y);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_REALREMAINDER_H
