//===- ImportSignal.cpp - Import of operators on signals ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Fourier transform of a static length is a product with a table of cosines
// and sines, and one of overlapping frames a convolution with that table:
//
//   y[.., k, z] = sum over t, c of x[.., t, c] · table[t, c, k, z]
//
// where c and z are the real and imaginary part.
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"
#include "OnnxTypes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace divisi;
using rt::DType;
using Ints = std::vector<int64_t>;

/// So many elements at most has the table of a transform.
static constexpr int64_t kLargestTable = int64_t{1} << 24;

//===----------------------------------------------------------------------===//
// Fourier transforms
//===----------------------------------------------------------------------===//

namespace {
/// One transform, from `taken` elements of `in` parts to `given` of `out`.
struct Transform {
  int64_t length = 1; ///< Of the signal in time.
  int64_t taken = 1, in = 1;
  int64_t given = 1, out = 2;
  bool isInverse = false, isHalf = false;
};
} // namespace

/// table[t, c, k, z] for t < taken, times the weight of what stands for two: of
/// a real signal the upper half of the spectrum mirrors the lower.
static std::vector<double> fourierTable(const Transform &of) {
  std::vector<double> table;
  double sign = of.isInverse ? 1 : -1;
  for (int64_t t = 0; t < of.taken; ++t) {
    bool isTwice = of.isInverse && of.isHalf && t > 0 && 2 * t != of.length;
    double weight =
        of.isInverse ? (isTwice ? 2.0 : 1.0) / double(of.length) : 1;
    for (int64_t c = 0; c < of.in; ++c) {
      for (int64_t k = 0; k < of.given; ++k) {
        double angle = 2 * std::numbers::pi * double(t * k % of.length) /
                       double(of.length);
        double real = weight * std::cos(angle),
               imaginary = weight * sign * std::sin(angle);
        // (a + bi)(real + imaginary i), of a and of b.
        table.push_back(c == 0 ? real : -imaginary);
        if (of.out == 2) {
          table.push_back(c == 0 ? imaginary : real);
        }
      }
    }
  }
  return table;
}

/// Fails if the table would be out of all proportion.
static bool checkTable(NodeImporter &node, const Transform &of) {
  if (of.length < 1 || of.length > kLargestTable ||
      of.taken * of.in >
          kLargestTable / std::max<int64_t>(of.given, 1) / of.out) {
    node.unsupported("a transform of length " + std::to_string(of.length) +
                     " needs too large a table, or none");
  }
  return !node.failed();
}

/// The axis is an input since version 20; before it was an attribute.
static int64_t dftAxis(NodeImporter &node, int64_t rank) {
  int64_t axis = node.getInt("axis", 1);
  if (node.version() >= 20) {
    axis = -2;
    if (auto given = node.constantNumber(2)) {
      axis = static_cast<int64_t>(*given);
    }
  }
  axis = node.normalizeAxis(axis, rank);
  if (!node.failed() && axis == rank - 1) {
    node.invalid("its axis is that of the real and imaginary parts");
  }
  return axis;
}

static void importDFT(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  if (x->rank() < 2 || x->dims.back() < 1 || x->dims.back() > 2) {
    return node.invalid("got a signal of shape " + formatInts(x->dims) +
                        ", expected one or two parts in the last dim");
  }
  int64_t axis = dftAxis(node, x->rank());
  auto wanted = node.constantNumber(1);
  if (node.failed()) {
    return;
  }
  int64_t extent = x->dims[static_cast<size_t>(axis)];
  Transform of;
  of.isInverse = node.getInt("inverse") != 0;
  of.isHalf = node.getInt("onesided") != 0;
  of.in = x->dims.back();
  // The inverse of half a spectrum is real, and twice as long.
  of.out = of.isInverse && of.isHalf ? 1 : 2;
  of.length = of.out == 1 ? 2 * (extent - 1) : extent;
  of.length = wanted ? static_cast<int64_t>(*wanted) : of.length;
  int64_t half = of.length / 2 + 1;
  of.given = of.isHalf && !of.isInverse ? half : of.length;
  // A longer signal is cut, a shorter one goes on with zeros.
  of.taken = std::min(extent, of.out == 1 ? half : of.length);
  if (!checkTable(node, of)) {
    return;
  }
  std::string letters = "abcdefghijklmnopqrs";
  auto rank = static_cast<size_t>(x->rank());
  if (rank > letters.size()) {
    return node.unsupported("it has more dims than there are letters");
  }
  std::string from = letters.substr(0, rank - 1);
  std::string to = from;
  to[static_cast<size_t>(axis)] = 'y';
  from[static_cast<size_t>(axis)] = 't';
  Tensor table = emit.numbers(x->type, {of.taken, of.in, of.given, of.out},
                              fourierTable(of));
  node.setResult(0, emit.matmul(emit.sliceAxis(x, axis, 0, of.taken), table,
                                from + "u,tuyz->" + to + "z"));
}

/// Frames of the signal, times the window: a convolution by the table.
static void importSTFT(NodeImporter &node) {
  Emitter &emit = node.emitter();
  Tensor x = node.input(0);
  auto step = node.constantNumber(1), length = node.constantNumber(3);
  if (node.failed()) {
    return;
  }
  if (x->rank() == 2) {
    x = emit.reshape(x, {x->dims[0], x->dims[1], 1});
  }
  Transform of;
  of.length = length             ? static_cast<int64_t>(*length)
              : node.hasInput(2) ? node.input(2)->count()
                                 : 0;
  if (x->rank() != 3 || x->dims[2] < 1 || x->dims[2] > 2 || !step ||
      *step < 1 || of.length < 1 || of.length > x->dims[1] ||
      (node.hasInput(2) && node.input(2)->dims != rt::Dims{of.length})) {
    return node.invalid("got a signal of shape " + formatInts(x->dims) +
                        " for frames of " + std::to_string(of.length) +
                        ", and a window that is as long");
  }
  of.isHalf = node.getInt("onesided", 1) != 0;
  of.in = x->dims[2];
  of.taken = of.length;
  of.given = of.isHalf ? of.length / 2 + 1 : of.length;
  if (!checkTable(node, of)) {
    return;
  }
  // [t, c, k, z] to a kernel [(k z), c, t].
  Tensor kernel = emit.numbers(x->type, {of.taken, of.in, of.given, of.out},
                               fourierTable(of));
  kernel = emit.reshape(emit.transpose(kernel, {2, 3, 1, 0}),
                        {of.given * of.out, of.in, of.taken});
  if (node.hasInput(2)) {
    kernel = emit.binary("mul", kernel, node.input(2));
  }
  auto stride = static_cast<int64_t>(*step);
  int64_t frames = (x->dims[1] - of.length) / stride + 1;
  Tensor result = emit.sum("conv", {emit.transpose(x, {0, 2, 1}), kernel},
                           {{"strides", Ints{stride}},
                            {"dilations", Ints{1}},
                            {"pads_lo", Ints{0}},
                            {"pads_hi", Ints{0}},
                            {"groups", int64_t{1}}},
                           {x->dims[0], of.given * of.out, frames});
  result = emit.reshape(result, {x->dims[0], of.given, of.out, frames});
  node.setResult(0, emit.transpose(result, {0, 3, 1, 2}));
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// The type that the attribute `output_datatype` names.
static std::optional<DType> outputType(NodeImporter &node) {
  auto type = convertType(static_cast<int>(node.getInt("output_datatype", 1)));
  if (!type) {
    node.unsupported("its output_datatype is not supported");
  }
  return type;
}

/// a0 - a1·cos(x) + a2·cos(2x) over one period.
static void importWindow(NodeImporter &node, double a0, double a1, double a2) {
  auto size = node.constantNumber(0);
  auto type = outputType(node);
  if (!size || !type) {
    return;
  }
  if (*size < 0 || *size > kLargestTable) {
    return node.invalid("got the size " + std::to_string(int64_t(*size)));
  }
  auto count = static_cast<int64_t>(*size);
  bool isPeriodic = node.getInt("periodic", 1) != 0;
  int64_t period = std::max<int64_t>(isPeriodic ? count : count - 1, 1);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    double x = 2 * std::numbers::pi * double(i) / double(period);
    values.push_back(a0 - a1 * std::cos(x) + a2 * std::cos(2 * x));
  }
  node.setResult(0, node.emitter().numbers(*type, {count}, values));
}

static void importHannWindow(NodeImporter &node) {
  importWindow(node, 0.5, 0.5, 0);
}

static void importHammingWindow(NodeImporter &node) {
  importWindow(node, 25.0 / 46, 21.0 / 46, 0);
}

static void importBlackmanWindow(NodeImporter &node) {
  importWindow(node, 0.42, 0.5, 0.08);
}

/// The bins of the spectrum at which the triangles of `count` bands begin, peak
/// and end; they are evenly spaced in mel.
static Ints melEdges(int64_t count, double length, double rate, double lowest,
                     double highest) {
  auto toMel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double first = toMel(lowest);
  double step = (toMel(highest) - first) / double(count + 2);
  Ints edges;
  for (int64_t i = 0; i < count + 2; ++i) {
    double mel = first + step * double(i);
    double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    edges.push_back(int64_t(std::floor((length + 1) * hertz / rate)));
  }
  return edges;
}

static void importMelWeightMatrix(NodeImporter &node) {
  std::vector<double> given;
  for (size_t i = 0; i < 5; ++i) {
    given.push_back(node.constantNumber(i).value_or(0));
  }
  auto type = outputType(node);
  if (node.failed()) {
    return;
  }
  double bands = given[0], length = given[1];
  if (!(bands >= 1) || !(length >= 1) || !(given[2] > 0) || !(given[3] >= 0) ||
      !(given[4] >= given[3]) || given[4] > given[2] ||
      (length / 2 + 1) * bands > double(kLargestTable)) {
    return node.invalid("its bands, lengths and frequencies do not describe a "
                        "table");
  }
  auto columns = static_cast<int64_t>(bands);
  int64_t rows = static_cast<int64_t>(length) / 2 + 1;
  std::vector<double> table(size_t(rows * columns), 0);
  Ints edges = melEdges(columns, length, given[2], given[3], given[4]);
  for (int64_t i = 0; i < columns; ++i) {
    int64_t low = edges[size_t(i)], peak = edges[size_t(i) + 1],
            high = edges[size_t(i) + 2];
    for (int64_t j = low; j < std::min(std::max(high, peak + 1), rows); ++j) {
      double rise = low == peak ? 1 : double(j - low) / double(peak - low);
      double fall = double(high - j) / double(high - peak);
      table[size_t(j * columns + i)] = j <= peak ? rise : fall;
    }
  }
  node.setResult(0, node.emitter().numbers(*type, {rows, columns}, table));
}

llvm::ArrayRef<ImporterRow> divisi::signalImporters() {
  static const ImporterRow kRows[] = {
      {"BlackmanWindow", importBlackmanWindow},
      {"DFT", importDFT},
      {"HammingWindow", importHammingWindow},
      {"HannWindow", importHannWindow},
      {"MelWeightMatrix", importMelWeightMatrix},
      {"STFT", importSTFT},
  };
  return kRows;
}
