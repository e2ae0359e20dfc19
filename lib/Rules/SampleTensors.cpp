//===- SampleTensors.cpp - Random tensors for rules -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/SampleTensors.h"

#include "divisi/runtime/kernels/Element.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

using namespace divisi;
using namespace divisi::rewrite;
using rt::DType;
using rt::HostTensor;

//===----------------------------------------------------------------------===//
// Drawing
//===----------------------------------------------------------------------===//

static double drawSpecial(std::mt19937_64 &random) {
  static constexpr double limits[] = {0.0,
                                      -0.0,
                                      1.0,
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN(),
                                      3.0e38,
                                      -3.0e38,
                                      1.0e-40};
  return limits[random() % std::size(limits)];
}

static double drawReal(Distribution distribution, double scale,
                       std::mt19937_64 &random) {
  if (distribution == Distribution::Integers) {
    return double(int64_t(random() % 19) - 9);
  }
  if (distribution == Distribution::Special && random() % 3 == 0) {
    return drawSpecial(random);
  }
  return scale * (double(random() >> 11) * 0x1p-51 - 2);
}

static Expected<HostTensor> drawFloats(const TensorForm &form,
                                       Distribution distribution,
                                       std::mt19937_64 &random) {
  Expected<HostTensor> numbers = HostTensor::zeros(DType::F64, form.dims);
  if (!numbers) {
    return numbers;
  }
  double scale = distribution == Distribution::Scaled
                     ? std::ldexp(1.0, int(random() % 25) - 12)
                     : 1;
  for (double &number : numbers->as<double>()) {
    number = drawReal(distribution, scale, random);
  }
  return numbers->castTo(form.type);
}

/// An integer by one of four tastes: an index, small, or any bits.
static uint64_t drawInteger(uint64_t taste, std::mt19937_64 &random) {
  uint64_t bits = random();
  return taste == 0   ? bits % 2
         : taste == 1 ? uint64_t(int64_t(bits % 19) - 9)
         : taste == 2 ? bits % 9 + 1
                      : bits;
}

Expected<HostTensor> divisi::rewrite::drawTensor(const TensorForm &form,
                                                 Distribution distribution,
                                                 std::mt19937_64 &random) {
  if (rt::isFloatType(form.type)) {
    return drawFloats(form, distribution, random);
  }
  Expected<HostTensor> tensor = HostTensor::zeros(form.type, form.dims);
  if (!tensor) {
    return tensor;
  }
  uint64_t taste = random() % 5;
  rt::dispatch<rt::Ints | rt::Bools | rt::typeBit(DType::Field)>(
      form.type, [&](auto zero) {
        using T = decltype(zero);
        for (T &element : tensor->as<T>()) {
          if constexpr (rt::isField<T>) {
            element = T(random());
          } else if constexpr (std::is_same_v<T, rt::Flag>) {
            element = T(random() % 2 != 0);
          } else if (taste == 4) {
            // The first and the last, beyond which they wrap.
            uint64_t bits = random();
            element = T((bits & 1 ? std::numeric_limits<T>::max()
                                  : std::numeric_limits<T>::min()) +
                        T(bits & 2   ? 0
                          : bits & 1 ? -1
                                     : 1));
          } else {
            element = T(drawInteger(taste, random));
          }
        }
      });
  return tensor;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

/// What the difference of two floats may be, relative to the largest.
static double relative(DType type) {
  return type == DType::F64 ? 1e-9 : type == DType::F32 ? 1e-4 : 2e-2;
}

static bool areEqual(double a, double b, Tolerance tolerance, double bound) {
  if (tolerance == Tolerance::Finite) {
    return std::isfinite(a) == std::isfinite(b);
  }
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) && std::isnan(b);
  }
  if (tolerance == Tolerance::Exact) {
    return a == b && std::signbit(a) == std::signbit(b);
  }
  return a == b || std::abs(a - b) <= bound;
}

double divisi::rewrite::largestOf(const HostTensor &tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.count() && rt::isFloatType(tensor.type());
       ++i) {
    double value = std::abs(tensor.floatAt(i));
    largest = std::isfinite(value) ? std::max(largest, value) : largest;
  }
  return largest;
}

Expected<HostTensor> divisi::rewrite::withoutSigns(const HostTensor &tensor) {
  if (!rt::isFloatType(tensor.type())) {
    return tensor;
  }
  Expected<HostTensor> numbers = tensor.castTo(DType::F64);
  if (!numbers) {
    return numbers;
  }
  // A cast to the type that it has is the tensor itself.
  Expected<HostTensor> positive = HostTensor::zeros(DType::F64, tensor.dims());
  if (!positive) {
    return positive;
  }
  auto from = std::as_const(*numbers).as<double>();
  std::transform(from.begin(), from.end(), positive->as<double>().begin(),
                 [](double number) { return std::abs(number); });
  return positive->castTo(tensor.type());
}

std::optional<Difference> divisi::rewrite::compare(const HostTensor &source,
                                                   const HostTensor &target,
                                                   Tolerance tolerance,
                                                   double magnitude) {
  if (!rt::isFloatType(source.type())) {
    auto a = source.bytes(), b = target.bytes();
    auto found = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    if (found == a.end()) {
      return std::nullopt;
    }
    int64_t index = (found - a.begin()) / rt::byteWidth(source.type());
    return Difference{index, source.floatAt(index), target.floatAt(index)};
  }
  double bound =
      relative(source.type()) * std::max(largestOf(source), magnitude);
  for (int64_t i = 0; i < source.count(); ++i) {
    double a = source.floatAt(i), b = target.floatAt(i);
    if (!areEqual(a, b, tolerance, bound)) {
      return Difference{i, a, b};
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

std::string divisi::rewrite::printIndex(int64_t index, const rt::Dims &dims) {
  std::string text;
  for (auto extent = dims.rbegin(); extent != dims.rend(); ++extent) {
    text = std::to_string(index % *extent) + (text.empty() ? "" : ", ") + text;
    index /= *extent;
  }
  return "[" + text + "]";
}

static void printLevel(std::ostream &out, const HostTensor &tensor, size_t dim,
                       int64_t &index) {
  if (dim == tensor.dims().size()) {
    if (rt::isFloatType(tensor.type()) || tensor.type() == DType::Field) {
      out << tensor.floatAt(index++);
    } else {
      out << tensor.intAt(index++);
    }
    return;
  }
  out << "[";
  for (int64_t i = 0; i < tensor.dims()[dim]; ++i) {
    out << (i ? ", " : "");
    printLevel(out, tensor, dim + 1, index);
  }
  out << "]";
}

std::string divisi::rewrite::print(const HostTensor &tensor) {
  constexpr int64_t most = 24;
  if (tensor.count() > most) {
    return std::to_string(tensor.count()) + " elements";
  }
  std::ostringstream out;
  int64_t index = 0;
  printLevel(out, tensor, 0, index);
  return out.str();
}
