//===- CompareTensors.cpp - Whether two tensors agree ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/CompareTensors.h"

#include "llvm/ADT/iterator_range.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace divisi;

/// How one element differs.
struct ElementError {
  double error = 0, allowed = 0;

  /// Beyond 1 it is too large; above all others if a number is missing.
  double share() const {
    if (error == 0) {
      return 0;
    }
    double share = error / allowed;
    return std::isnan(share) ? std::numeric_limits<double>::infinity() : share;
  }
};

namespace {
/// A row of the table in the header.
struct TypeTolerance {
  double absolute, relative;
};
} // namespace

static TypeTolerance toleranceOf(rt::DType type) {
  switch (type) {
  case rt::DType::F64:
    return {1e-7, 1e-6};
  case rt::DType::F16:
    return {2e-3, 1e-2};
  case rt::DType::BF16:
    return {1.6e-2, 5e-2};
  case rt::DType::F8E4M3FN:
  case rt::DType::F8E4M3FNUZ:
    return {3e-2, 1.25e-1};
  case rt::DType::F8E5M2:
  case rt::DType::F8E5M2FNUZ:
    return {6e-2, 2.5e-1};
  case rt::DType::F4E2M1:
    return {1.2e-1, 5e-1};
  case rt::DType::F8E8M0:
    return {2.5e-1, 1};
  default:
    return {1e-4, 1e-3};
  }
}

/// Whose row of the table holds for a tensor of `type`.
static rt::DType toleranceRow(rt::DType type, const Tolerance &tolerance) {
  bool allowsMore =
      toleranceOf(tolerance.computedIn).absolute > toleranceOf(type).absolute;
  return allowsMore ? tolerance.computedIn : type;
}

/// What `tolerance` allows whatever an element is.
static double absolutePart(const rt::HostTensor &expected,
                           const Tolerance &tolerance) {
  if (tolerance.absolute) {
    return *tolerance.absolute;
  }
  double largest = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    double value = std::abs(expected.floatAt(i));
    largest = std::isfinite(value) ? std::max(largest, value) : largest;
  }
  rt::DType row = toleranceRow(expected.type(), tolerance);
  return toleranceOf(row).absolute * largest;
}

/// Zeros of two signs differ by the least number that there is.
static ElementError bitError(double got, double expected) {
  bool same = std::signbit(got) == std::signbit(expected) && got == expected;
  same |= std::isnan(got) && std::isnan(expected);
  double error = std::max(std::abs(got - expected),
                          std::numeric_limits<double>::denorm_min());
  return {same ? 0 : error, 0};
}

static ElementError floatError(double got, double expected, double absolute,
                               double relative) {
  bool same = got == expected || (std::isnan(got) && std::isnan(expected));
  double allowed = absolute;
  if (std::isfinite(expected)) {
    allowed += relative * std::abs(expected);
  }
  return {same ? 0 : std::abs(got - expected), allowed};
}

/// Exact also where a double is not.
static ElementError intError(int64_t got, int64_t expected) {
  uint64_t a = static_cast<uint64_t>(got), b = static_cast<uint64_t>(expected);
  return {static_cast<double>(got > expected ? a - b : b - a), 0};
}

/// The index in `dims` of row-major element `index`.
static rt::Dims positionOf(const rt::Dims &dims, int64_t index) {
  rt::Dims position(dims.size());
  for (size_t dim = dims.size(); dim-- > 0;) {
    position[dim] = index % dims[dim];
    index /= dims[dim];
  }
  return position;
}

static std::string textOf(const rt::HostTensor &tensor, int64_t index) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (rt::isFloatType(tensor.type())) {
    os << llvm::format("%.7g", tensor.floatAt(index));
  } else {
    os << tensor.intAt(index);
  }
  return text;
}

/// Of the norm of what is expected; what is no number on either side has to be
/// the same on both.
static constexpr double kQuantizedError = 0.05;

/// The norm of the difference as a share of that of `expected`.
static double normError(const rt::HostTensor &got,
                        const rt::HostTensor &expected) {
  double off = 0, all = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    double a = got.floatAt(i), b = expected.floatAt(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      all += std::isfinite(b) ? b * b : 0;
      continue;
    }
    off += (a - b) * (a - b);
    all += b * b;
  }
  return std::sqrt(off / all);
}

Comparison divisi::compareTensors(const rt::HostTensor &got,
                                  const rt::HostTensor &expected,
                                  const Tolerance &tolerance) {
  Comparison comparison;
  if (got.type() != expected.type() || got.dims() != expected.dims()) {
    comparison.equal = false;
    comparison.message = "got " + rt::describe(got.type(), got.dims()) +
                         ", expected " +
                         rt::describe(expected.type(), expected.dims());
    return comparison;
  }
  bool floats = rt::isFloatType(got.type());
  bool isExact = floats && tolerance.isExact;
  double absolute = floats ? absolutePart(expected, tolerance) : 0;
  rt::DType row = toleranceRow(expected.type(), tolerance);
  if (floats && !isExact && row != expected.type()) {
    comparison.toleranceOf = row;
  }
  double relative = tolerance.relative.value_or(toleranceOf(row).relative);
  int64_t worst = 0;
  ElementError largest;
  for (int64_t i = 0; i < expected.count(); ++i) {
    ElementError error = isExact ? bitError(got.floatAt(i), expected.floatAt(i))
                         : floats
                             ? floatError(got.floatAt(i), expected.floatAt(i),
                                          absolute, relative)
                             : intError(got.intAt(i), expected.intAt(i));
    comparison.wrong += error.share() > 1;
    if (i == 0 || error.share() > largest.share()) {
      largest = error;
      worst = i;
    }
  }
  comparison.error = largest.error;
  comparison.allowed = largest.allowed;
  if (expected.count() > 0) {
    comparison.worst = positionOf(expected.dims(), worst);
  }
  if (comparison.wrong > 0 && floats && !isExact && tolerance.isQuantized &&
      !tolerance.absolute && !tolerance.relative) {
    double error = normError(got, expected);
    if (error <= kQuantizedError) {
      comparison.normError = error;
      return comparison;
    }
  }
  if (comparison.wrong > 0) {
    comparison.equal = false;
    comparison.message = llvm::formatv(
        "{0} of {1} elements differ; at [{2:$[, ]}] got {3}, expected {4}",
        comparison.wrong, expected.count(),
        llvm::make_range(comparison.worst.begin(), comparison.worst.end()),
        textOf(got, worst), textOf(expected, worst));
  }
  return comparison;
}
