//===- WeighRow.h - Weights of one query's scores ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_WEIGHROW_H
#define DIVISI_RUNTIME_BACKENDS_CPU_WEIGHROW_H

#include <cstdint>

namespace divisi::rt::cpu {

/// Makes exp(x - top) of `count` numbers where they lie, and returns their sum;
/// `top` becomes the largest of itself and them first. Zeros where all of that
/// is minus infinity, and NaN where one is. Sums are in an order that depends on
/// `count` alone. Exponentials are off by 2 units in the last place at most, and
/// those that are not normal numbers are 0.
using WeighRow = float (*)(float *row, int64_t count, float &top);

/// For the vectors of this processor.
WeighRow weighRow();

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_WEIGHROW_H
