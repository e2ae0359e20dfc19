//===- HandWritten.h - Regions as a person would write them -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_BENCH_CODEGEN_HANDWRITTEN_H
#define DIVISI_BENCH_CODEGEN_HANDWRITTEN_H

#include <cstdint>

namespace divisi::bench {

/// Rows `begin` to `end` of: y = normalize(a + b) * gamma + beta, over rows of
/// `columns` elements. For the processor that the bench is built on.
void residualNorm(const float *a, const float *b, const float *gamma,
                  const float *beta, float *y, int64_t begin, int64_t end,
                  int64_t columns, float epsilon);

} // namespace divisi::bench

#endif // DIVISI_BENCH_CODEGEN_HANDWRITTEN_H
