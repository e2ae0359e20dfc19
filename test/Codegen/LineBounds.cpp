//===- LineBounds.cpp - How nearly whole lines are computed ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/LineBounds.h"

#include <map>

using namespace divisi;
using namespace divisi::test;

namespace {

/// The elements of one line: where they lie.
struct Line {
  const Bounded &operand;
  Bounded &result;
  std::vector<size_t> elements;

  double value(size_t i) const { return operand.values[elements[i]]; }
  double error(size_t i) const { return operand.errors[elements[i]]; }
  size_t size() const { return elements.size(); }
  /// Of the sum of `terms`, each with an error: sums are of at least sixteen
  /// chains, so none has more terms than that.
  double errorOfSum(const std::vector<double> &terms,
                    const std::vector<double> &errors) const;
  void set(size_t i, double error) const;
};

} // namespace

double Line::errorOfSum(const std::vector<double> &terms,
                        const std::vector<double> &errors) const {
  double magnitude = 0, all = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    magnitude += std::fabs(terms[i]);
    all += errors[i];
  }
  double additions = double(terms.size()) / 16 + 12;
  return all + additions * 0x1p-24 * (magnitude + all);
}

/// What is not finite is sure: a line has it because of an element that is not.
void Line::set(size_t i, double error) const {
  double z = result.values[elements[i]];
  bool isSure = std::isfinite(z)
                    ? std::isfinite(error) && std::fabs(z) + error < mostFloat
                    : true;
  result.errors[elements[i]] = !isSure             ? unknownError
                               : std::isfinite(z) ? error
                                                  : 0;
}

/// e = exp(x - m), s = sum e, e * (1 / s) or x - m - log s
static void boundSoftmax(const Line &line, bool isLog) {
  double most = -std::numeric_limits<double>::infinity(), ofMost = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    most = std::max(most, line.value(i));
    ofMost = std::max(ofMost, line.error(i));
  }
  FunctionError exp = functionError("nn.exp");
  std::vector<double> shifted, terms, errors;
  double sum = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    double x = line.value(i) - most;
    shifted.push_back(std::isfinite(x) ? line.error(i) + ofMost + roundingOf(x)
                                       : 0);
    double e = std::exp(x);
    terms.push_back(e);
    errors.push_back(e * std::expm1(shifted[i]) +
                     exp.mostUlps * ulpOf(std::max(e, exp.floor)) + kLeast);
    sum += e;
  }
  double ofSum = line.errorOfSum(terms, errors) / sum; // relative
  for (size_t i = 0; i < line.size(); ++i) {
    double z = line.result.values[line.elements[i]];
    double scaled = (errors[i] + terms[i] * ofSum) / sum / (1 - ofSum);
    double shiftedBy = shifted[i] - std::log1p(-ofSum) +
                       ulpOf(std::max(std::fabs(std::log(sum)), kLeast));
    line.set(i, ofSum >= 1 ? unknownError
                           : (isLog ? shiftedBy : scaled) + 4 * roundingOf(z));
  }
}

/// d = x - mean x, v = mean d * d, d * (1 / sqrt(v + epsilon))
static void boundNorm(const Line &line, bool center, double epsilon) {
  auto count = double(line.size());
  std::vector<double> terms, errors;
  double mean = 0, ofMean = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    terms.push_back(line.value(i));
    errors.push_back(line.error(i));
    mean += center ? line.value(i) / count : 0;
  }
  if (center) {
    ofMean = line.errorOfSum(terms, errors) / count + roundingOf(mean);
  }
  double variance = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    double d = line.value(i) - mean;
    double ofD = errors[i] + ofMean + (center ? roundingOf(d) : 0);
    terms[i] = d * d;
    errors[i] = (2 * std::fabs(d) + ofD) * ofD + roundingOf(d * d);
    variance += terms[i] / count;
  }
  double ofVariance = line.errorOfSum(terms, errors) / count +
                      2 * roundingOf(variance + epsilon) +
                      0x1p-24 * epsilon; // which is one of f32
  double least = variance + epsilon - ofVariance;
  double scale = 1 / std::sqrt(variance + epsilon);
  double ofScale = 1 / std::sqrt(least) - scale + 4 * roundingOf(scale);
  bool isSure = least > 0 && (variance + ofVariance) * count < mostFloat;
  for (size_t i = 0; i < line.size(); ++i) {
    double d = line.value(i) - mean;
    double ofD = line.error(i) + ofMean + (center ? roundingOf(d) : 0);
    line.set(i, !isSure ? unknownError
                        : std::fabs(d) * ofScale + scale * ofD +
                              ofD * ofScale + roundingOf(d * scale));
  }
}

void divisi::test::boundLines(const rt::RegionPart &part,
                              const Bounded &operand, Bounded &result) {
  rt::Dims axes = part.attributes.getInts("axes");
  if (part.op == "nn.softmax") {
    axes = {part.attributes.getInt("axis")};
  }
  std::map<size_t, Line> lines; // by their first element
  const rt::Dims &extents = operand.info.extents;
  for (size_t i = 0; i < operand.values.size(); ++i) {
    size_t first = i, left = i, stride = 1;
    for (size_t d = extents.size(); d-- > 0;) {
      size_t index = left % extents[d];
      if (std::count(axes.begin(), axes.end(), int64_t(d)) != 0) {
        first -= index * stride;
      }
      left /= extents[d];
      stride *= extents[d];
    }
    lines.try_emplace(first, Line{operand, result, {}})
        .first->second.elements.push_back(i);
  }
  for (const auto &[first, line] : lines) {
    bool isKnown = std::all_of(
        line.elements.begin(), line.elements.end(),
        [&](size_t i) { return std::isfinite(operand.errors[i]); });
    if (!isKnown) {
      for (size_t i : line.elements) {
        result.errors[i] = unknownError;
      }
    } else if (part.op == "nn.softmax") {
      boundSoftmax(line, part.attributes.getInt("log") != 0);
    } else {
      boundNorm(line, part.attributes.getInt("center") != 0,
                part.attributes.getFloat("epsilon"));
    }
  }
}
