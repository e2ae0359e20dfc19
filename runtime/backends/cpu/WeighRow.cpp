//===- WeighRow.cpp - Weights of one query's scores -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library's exponential takes one number at a time, which is most of what
// attention takes beside its products. Here it is a polynomial on vectors,
// compiled for each kind of processor.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/WeighRow.h"
#include "divisi/runtime/code/RowCode.h"
#include "divisi/runtime/kernels/Arithmetic.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace divisi::rt::cpu {
namespace {

/// Comparisons of wider vectors are made one by one by GCC 12.
constexpr int64_t lanes = 8;
using Floats [[gnu::vector_size(32)]] = float;
using Ints [[gnu::vector_size(32)]] = int32_t;

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

/// Calls body(vector) for the row, and writes what that makes of it. Behind the
/// end stands minus infinity.
template <typename Body>
[[gnu::always_inline]] inline void forEachVector(float *row, int64_t count,
                                                 Body &&body) {
  Floats x;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    std::memcpy(&x, row + i, sizeof(x));
    body(x);
    std::memcpy(row + i, &x, sizeof(x));
  }
  if (i == count) {
    return;
  }
  float rest[lanes];
  std::fill_n(rest, lanes, minusInfinity);
  std::copy(row + i, row + count, rest);
  std::memcpy(&x, rest, sizeof(x));
  body(x);
  std::memcpy(rest, &x, sizeof(x));
  std::copy(rest, rest + (count - i), row + i);
}

/// exp(x) for x up to 0: 2^n exp(r) with n whole and |r| <= log(2) / 2.
[[gnu::always_inline]] inline void exponential(Floats &x) {
  constexpr float least = -87.33f; // that of a normal number
  constexpr float shift = 0x1.8p23f;
  const Floats zero = {};
  Ints isSmall = x < least;
  Floats from = isSmall ? zero + least : x;
  Floats rounded = from * 1.44269504f + shift; // n stands in its last bits
  Floats n = rounded - shift;
  Floats r = from - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  Floats y = zero + 1.9875691500e-4f;
  for (float next : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                     1.6666665459e-1f, 5.0000001201e-1f}) {
    y = y * r + next;
  }
  y = y * r * r + r + 1.0f;
  Ints bits;
  std::memcpy(&bits, &rounded, sizeof(bits));
  bits = (bits + 127) << 23;
  Floats power;
  std::memcpy(&power, &bits, sizeof(power));
  x = isSmall ? zero : y * power;
}

[[gnu::always_inline]] inline float makeWeights(float *row, int64_t count,
                                                float &top) {
  Floats most = Floats{} + minusInfinity, sums = {};
  forEachVector(row, count, [&](Floats &x) __attribute__((always_inline)) {
    most = (x > most) | (x != x) ? x : most;
  });
  for (int64_t l = 0; l < lanes; ++l) {
    top = maxOf(float(most[l]), top);
  }
  if (top == minusInfinity) {
    std::fill_n(row, count, 0.0f);
    return 0;
  }
  float to = top; // what `row` may be
  forEachVector(row, count, [&](Floats &x) __attribute__((always_inline)) {
    x -= to;
    exponential(x);
    sums += x;
  });
  double total = 0;
  for (int64_t l = 0; l < lanes; ++l) {
    total += double(sums[l]);
  }
  return float(total);
}

float weighOfAny(float *row, int64_t count, float &top) {
  return makeWeights(row, count, top);
}

#ifdef __x86_64__
[[gnu::target("arch=x86-64-v3")]] float weighOf3(float *row, int64_t count,
                                                 float &top) {
  return makeWeights(row, count, top);
}
#endif

} // namespace

WeighRow weighRow() {
#ifdef __x86_64__
  return hostLevel().empty() ? weighOfAny : weighOf3;
#else
  return weighOfAny;
#endif
}

} // namespace divisi::rt::cpu
