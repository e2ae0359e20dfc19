//===- SoftmaxRow.h - Weights of one query's scores -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_SOFTMAXROW_H
#define DIVISI_RUNTIME_BACKENDS_CPU_SOFTMAXROW_H

#include <cstdint>

namespace divisi::rt::cpu {

/// Makes softmax of `count` numbers where they lie; zeros where all are minus
/// infinity, and NaN where one is. Sums are in an order that depends on `count`
/// alone. Exponentials are off by 2 units in the last place at most, and those
/// that are not normal numbers are 0.
using SoftmaxRow = void (*)(float *row, int64_t count);

/// For the vectors of this processor.
SoftmaxRow softmaxRow();

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_SOFTMAXROW_H
