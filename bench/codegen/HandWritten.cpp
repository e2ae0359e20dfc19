//===- HandWritten.cpp - Regions as a person would write them -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built with -O3 -march=native -ffast-math: vectors as wide as there are, four
// sums at a time, the sum of the residual kept where the result will be.
//
//===----------------------------------------------------------------------===//

#include "bench/codegen/HandWritten.h"

#include <cmath>
#include <cstring>

#ifdef __AVX512F__
static constexpr int64_t lanes = 16;
#else
static constexpr int64_t lanes = 8;
#endif
typedef float Vector __attribute__((vector_size(lanes * 4)));

static Vector loadVector(const float *from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}

static void storeVector(float *to, Vector vector) {
  std::memcpy(to, &vector, sizeof(vector));
}

static float sumOf(const Vector (&sums)[4]) {
  Vector all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  float sum = 0;
  for (int64_t i = 0; i < lanes; ++i) {
    sum += all[i];
  }
  return sum;
}

static void residualNormRow(const float *a, const float *b, const float *gamma,
                            const float *beta, float *y, int64_t columns,
                            float epsilon) {
  constexpr int64_t step = 4 * lanes;
  int64_t main = columns / step * step;
  Vector sums[4] = {};
  for (int64_t i = 0; i < main; i += step) {
    for (int64_t v = 0; v < 4; ++v) {
      int64_t at = i + v * lanes;
      Vector x = loadVector(a + at) + loadVector(b + at);
      storeVector(y + at, x);
      sums[v] += x;
    }
  }
  float mean = sumOf(sums);
  for (int64_t i = main; i < columns; ++i) {
    y[i] = a[i] + b[i];
    mean += y[i];
  }
  mean /= static_cast<float>(columns);
  Vector squares[4] = {};
  for (int64_t i = 0; i < main; i += step) {
    for (int64_t v = 0; v < 4; ++v) {
      Vector d = loadVector(y + i + v * lanes) - mean;
      squares[v] += d * d;
    }
  }
  float variance = sumOf(squares);
  for (int64_t i = main; i < columns; ++i) {
    variance += (y[i] - mean) * (y[i] - mean);
  }
  float scale = 1 / std::sqrt(variance / static_cast<float>(columns) + epsilon);
  for (int64_t i = 0; i < main; i += lanes) {
    Vector d = loadVector(y + i) - mean;
    storeVector(y + i,
                d * scale * loadVector(gamma + i) + loadVector(beta + i));
  }
  for (int64_t i = main; i < columns; ++i) {
    y[i] = (y[i] - mean) * scale * gamma[i] + beta[i];
  }
}

void divisi::bench::residualNorm(const float *a, const float *b,
                                 const float *gamma, const float *beta,
                                 float *y, int64_t begin, int64_t end,
                                 int64_t columns, float epsilon) {
  for (int64_t row = begin; row < end; ++row) {
    int64_t at = row * columns;
    residualNormRow(a + at, b + at, gamma, beta, y + at, columns, epsilon);
  }
}
