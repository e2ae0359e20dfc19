//===- CompareTensors.cpp - Whether two tensors agree ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/CompareTensors.h"

#include <algorithm>
#include <cmath>

using namespace divisi;

/// The index in `dims` of row-major element `index`, as `[1, 2]`.
static std::string positionOf(const rt::Dims &dims, int64_t index) {
  std::string text;
  for (size_t dim = dims.size(); dim-- > 0;) {
    text =
        std::to_string(index % dims[dim]) + (text.empty() ? "" : ", ") + text;
    index /= dims[dim];
  }
  return "[" + text + "]";
}

static bool isClose(float got, float expected, double bound) {
  if (std::isnan(got) || std::isnan(expected)) {
    return std::isnan(got) && std::isnan(expected);
  }
  if (std::isinf(got) || std::isinf(expected)) {
    return got == expected;
  }
  return std::abs(double(got) - expected) <=
         bound + 1e-3 * std::abs(double(expected));
}

/// The message names the worst of the elements that are too far apart; one of
/// those alone tells a wrong shard from rounding.
static Comparison compareFloats(const rt::HostTensor &got,
                                const rt::HostTensor &expected) {
  Comparison comparison;
  std::span<const float> a = got.as<float>(), b = expected.as<float>();
  double largest = 0;
  for (float value : b) {
    largest = std::isfinite(value) ? std::max(largest, std::abs(double(value)))
                                   : largest;
  }
  size_t worst = 0, wrong = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    double error = std::abs(double(a[i]) - b[i]);
    if (error > comparison.largestError) {
      comparison.largestError = error;
    }
    if (!isClose(a[i], b[i], 1e-4 * largest)) {
      worst = wrong++ == 0 || error > std::abs(double(a[worst]) - b[worst])
                  ? i
                  : worst;
    }
  }
  if (wrong > 0) {
    comparison.equal = false;
    comparison.message =
        std::to_string(wrong) + " of " + std::to_string(b.size()) +
        " elements differ; at " + positionOf(expected.dims(), worst) + " got " +
        std::to_string(a[worst]) + ", expected " + std::to_string(b[worst]);
  }
  return comparison;
}

Comparison divisi::compareTensors(const rt::HostTensor &got,
                                  const rt::HostTensor &expected) {
  Comparison comparison;
  if (got.type() != expected.type() || got.dims() != expected.dims()) {
    comparison.equal = false;
    comparison.message = "got " + rt::describe(got.type(), got.dims()) +
                         ", expected " +
                         rt::describe(expected.type(), expected.dims());
    return comparison;
  }
  if (got.type() == rt::DType::F32) {
    return compareFloats(got, expected);
  }
  std::span<const std::byte> a = got.bytes(), b = expected.bytes();
  auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at != a.end()) {
    comparison.equal = false;
    int64_t index = (at - a.begin()) / rt::byteWidth(got.type());
    comparison.message =
        "elements differ, first at " + positionOf(expected.dims(), index);
  }
  return comparison;
}
