//===- Copy.cpp - Moving boxes of elements --------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Copy.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>
#include <cstring>

namespace divisi::rt {

StridedCopy::StridedCopy(int64_t width, const Dims &extents, const Walk &to,
                         const Walk &from)
    : width_(width), nest_(extents, {to, from}), tileLoop_(nest_.rank()) {
  if (nest_.rowStride(0) != 1 || nest_.rowStride(1) <= 1) {
    return;
  }
  for (size_t d = 0; d + 1 < nest_.rank(); ++d) {
    if (nest_.stride(d, 1) == 1 && nest_.extent(d) > 1) {
      tileLoop_ = d;
    }
  }
}

/// One row: `count` elements.
template <typename T>
static void copyRow(T *to, int64_t stepTo, const T *from, int64_t stepFrom,
                    int64_t count) {
  if (stepTo == 1 && stepFrom == 1) {
    std::memcpy(to, from, count * sizeof(T));
  } else if (stepTo == 1 && stepFrom == 0) {
    std::fill_n(to, count, *from);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      to[i * stepTo] = from[i * stepFrom];
    }
  }
}

template <typename T> void StridedCopy::runTyped(T *to, const T *from) const {
  int64_t columns = nest_.rowExtent();
  int64_t stepTo = nest_.rowStride(0), stepFrom = nest_.rowStride(1);
  if (tileLoop_ == nest_.rank()) {
    nest_.forEachRow([&](const auto &at) {
      copyRow(to + at[0], stepTo, from + at[1], stepFrom, columns);
    });
    return;
  }
  // A transpose: tiles of 16 × 16, so that each line of the source that comes
  // to the cache is used up.
  constexpr int64_t tile = 16;
  int64_t rows = nest_.extent(tileLoop_), lead = nest_.stride(tileLoop_, 0);
  Nest<2> outer = nest_.without(tileLoop_);
  outer.forEachRow([&](const auto &at) {
    for (int64_t r0 = 0; r0 < rows; r0 += tile) {
      int64_t r1 = std::min(rows, r0 + tile);
      for (int64_t c0 = 0; c0 < columns; c0 += tile) {
        int64_t c1 = std::min(columns, c0 + tile);
        for (int64_t r = r0; r < r1; ++r) {
          T *out = to + at[0] + r * lead;
          const T *in = from + at[1] + r;
          for (int64_t c = c0; c < c1; ++c) {
            out[c] = in[c * stepFrom];
          }
        }
      }
    }
  });
}

void StridedCopy::run(void *to, const void *from) const {
  switch (width_) {
  case 1:
    return runTyped(static_cast<uint8_t *>(to),
                    static_cast<const uint8_t *>(from));
  case 2:
    return runTyped(static_cast<uint16_t *>(to),
                    static_cast<const uint16_t *>(from));
  case 4:
    return runTyped(static_cast<uint32_t *>(to),
                    static_cast<const uint32_t *>(from));
  default:
    return runTyped(static_cast<uint64_t *>(to),
                    static_cast<const uint64_t *>(from));
  }
}

void fill(DType type, void *to, int64_t count, double value) {
  if (value == 0) {
    std::memset(to, 0, count * byteWidth(type));
    return;
  }
  dispatch<AllTypes>(type, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(static_cast<T *>(to), count, convertElement<T>(value));
  });
}

} // namespace divisi::rt
