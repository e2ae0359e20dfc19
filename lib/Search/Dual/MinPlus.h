//===- MinPlus.h - The inner loop of message passing ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_DUAL_MINPLUS_H
#define DIVISI_LIB_SEARCH_DUAL_MINPLUS_H

#include <cstdint>

namespace divisi::search {

/// out[j] = min over i < rows of in[i] + table[i * stride + j], for j < stride,
/// a multiple of kLanes. Additions and minima only, so every width of vectors
/// gives the same numbers.
using MinPlus = void (*)(const float *in, uint32_t rows, const float *table,
                         uint32_t stride, float *out);

/// The widest that this processor runs.
MinPlus minPlusForThisProcessor();

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_DUAL_MINPLUS_H
