//===- MinPlus.cpp - The inner loop of message passing --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors are the compilers' extension, which becomes two instructions where
// the processor has only half of the width.
//
//===----------------------------------------------------------------------===//

#include "MinPlus.h"

#include <cstring>

namespace divisi::search {

#define DIVISI_ALWAYS_INLINE inline __attribute__((always_inline))

using Lanes = float __attribute__((vector_size(32)));

static DIVISI_ALWAYS_INLINE void load(Lanes &lanes, const float *from) {
  std::memcpy(&lanes, from, sizeof(Lanes));
}

/// `Width` vectors of columns at once, so that their minima stay in registers.
template <unsigned Width>
static DIVISI_ALWAYS_INLINE void columns(const float *in, uint32_t rows,
                                         const float *table, uint32_t stride,
                                         float *out) {
  Lanes least[Width];
  for (unsigned w = 0; w != Width; ++w) {
    load(least[w], table + 8 * w);
    least[w] += in[0];
  }
  for (uint32_t i = 1; i < rows; ++i) {
    const float *row = table + uint64_t(i) * stride;
    for (unsigned w = 0; w != Width; ++w) {
      Lanes sum;
      load(sum, row + 8 * w);
      sum += in[i];
      least[w] = sum < least[w] ? sum : least[w];
    }
  }
  for (unsigned w = 0; w != Width; ++w) {
    std::memcpy(out + 8 * w, &least[w], sizeof(Lanes));
  }
}

static DIVISI_ALWAYS_INLINE void minPlus(const float *in, uint32_t rows,
                                         const float *table, uint32_t stride,
                                         float *out) {
  uint32_t j = 0;
  for (; j + 32 <= stride; j += 32) {
    columns<4>(in, rows, table + j, stride, out + j);
  }
  if (j + 16 <= stride) {
    columns<2>(in, rows, table + j, stride, out + j);
    j += 16;
  }
  if (j < stride) {
    columns<1>(in, rows, table + j, stride, out + j);
  }
}

static void minPlusAnywhere(const float *in, uint32_t rows, const float *table,
                            uint32_t stride, float *out) {
  minPlus(in, rows, table, stride, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
minPlusAVX2(const float *in, uint32_t rows, const float *table, uint32_t stride,
            float *out) {
  minPlus(in, rows, table, stride, out);
}
#endif

MinPlus minPlusForThisProcessor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    return minPlusAVX2;
  }
#endif
  return minPlusAnywhere;
}

} // namespace divisi::search
