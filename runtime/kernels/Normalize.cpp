//===- Normalize.cpp - Softmax and normalization --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both need whole lines: the axes are never split. Sums of floats are kept in
// f64, in the order of the line; what f16 and bf16 give is rounded once, at the
// end.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/FieldFunctions.h"
#include "runtime/kernels/Scalars.h"

namespace divisi::rt {
namespace {

// Those of the field are found by their argument.
using std::exp, std::log, std::sqrt;

/// What sums along a line are kept in.
template <typename T>
using LineSum = std::conditional_t<isField<T>, FieldElement, double>;

/// The lines of a tensor along some axes: where they begin in the result and
/// the operand, and the elements of one.
struct Lines {
  Nest<2> begins;
  Nest<2> line;
  int64_t length = 0;
};

} // namespace

static bool makeLines(const CallSite &site, const Checks &checks,
                      const Dims &axes, Lines &lines) {
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  Walk walk;
  if (!checks.resultRank(0, operand.rank())) {
    return false;
  }
  for (size_t d = 0; d < operand.rank(); ++d) {
    if (!checks.resultExtent(d, operand.global[d]) ||
        !addAffine(site, checks, 0, d, result.offset[d], 1, result.extents[d],
                   walk)) {
      return false;
    }
  }
  Dims outer = result.extents, inner(operand.rank(), 1);
  for (int64_t axis : axes) {
    if (result.extents[axis] != result.global[axis]) {
      return checks.fail("dimension " + std::to_string(axis) +
                         " of the result is split, expected all of it");
    }
    std::swap(outer[axis], inner[axis]);
  }
  lines.length = numElements(inner);
  lines.begins = Nest<2>(outer, {denseWalk(result), walk});
  walk.base = 0;
  lines.line = Nest<2>(inner, {denseWalk(result), walk});
  return true;
}

/// Calls body(result row, operand row, steps, count) for the rows of a line.
template <typename T, typename Body>
static void forEachRow(const Lines &lines, T *to, const T *from, Body &&body) {
  lines.line.forEachRow([&](const auto &at) {
    body(to + at[0], from + at[1], lines.line.rowStride(0),
         lines.line.rowStride(1), lines.line.rowExtent());
  });
}

/// What is subtracted before exponentials are taken: the maximum keeps them in
/// range. In the field, where nothing leaves it, softmax is what it is by
/// definition, without.
template <typename T>
static Computed<T> shiftOfLine(const Lines &lines, const T *from) {
  if constexpr (isField<T>) {
    return 0;
  }
  auto top = lowestOf<Computed<T>>();
  forEachRow<T>(lines, nullptr, from,
                [&](T *, const T *x, int64_t, int64_t step, int64_t n) {
                  for (int64_t i = 0; i < n; ++i) {
                    top = maxOf(load(x[i * step]), top);
                  }
                });
  return top;
}

/// The sum of exp(x - top) over a line.
template <typename T>
static LineSum<T> sumOfExponentials(const Lines &lines, const T *from,
                                    Computed<T> top) {
  LineSum<T> sum = 0;
  forEachRow<T>(lines, nullptr, from,
                [&](T *, const T *x, int64_t, int64_t step, int64_t n) {
                  for (int64_t i = 0; i < n; ++i) {
                    sum += exp(load(x[i * step]) - top);
                  }
                });
  return sum;
}

/// Subtracting the maximum first keeps the exponentials in range. They are kept
/// in the result where that does not round them.
template <typename T>
static void softmaxLine(const Lines &lines, T *to, const T *from) {
  using A = Computed<T>;
  A top = shiftOfLine(lines, from);
  if constexpr (isNarrowFloat<T>) {
    A scale = A(1 / sumOfExponentials(lines, from, top));
    forEachRow(lines, to, from,
               [&](T *y, const T *x, int64_t stepTo, int64_t step, int64_t n) {
                 for (int64_t i = 0; i < n; ++i) {
                   y[i * stepTo] = T(exp(load(x[i * step]) - top) * scale);
                 }
               });
    return;
  }
  LineSum<T> sum = 0;
  forEachRow(lines, to, from,
             [&](T *y, const T *x, int64_t stepTo, int64_t step, int64_t n) {
               for (int64_t i = 0; i < n; ++i) {
                 A e = exp(load(x[i * step]) - top);
                 y[i * stepTo] = T(e);
                 sum += e;
               }
             });
  A scale = A(1 / sum);
  forEachRow(lines, to, from,
             [&](T *y, const T *, int64_t stepTo, int64_t, int64_t n) {
               for (int64_t i = 0; i < n; ++i) {
                 y[i * stepTo] = T(load(y[i * stepTo]) * scale);
               }
             });
}

template <typename T>
static void logSoftmaxLine(const Lines &lines, T *to, const T *from) {
  using A = Computed<T>;
  A top = shiftOfLine(lines, from);
  A shift = A(log(sumOfExponentials(lines, from, top)));
  forEachRow(lines, to, from,
             [&](T *y, const T *x, int64_t stepTo, int64_t step, int64_t n) {
               for (int64_t i = 0; i < n; ++i) {
                 y[i * stepTo] = T(load(x[i * step]) - top - shift);
               }
             });
}

/// The sum of (x - shift)^Power over a line, in four chains.
template <int Power, typename T>
static LineSum<T> sumOfLine(const Lines &lines, const T *from,
                            LineSum<T> shift) {
  LineSum<T> sums[4] = {};
  auto term = [&](T x) {
    LineSum<T> d = load(x) - shift;
    return Power == 2 ? d * d : d;
  };
  forEachRow<T>(lines, nullptr, from,
                [&](T *, const T *x, int64_t, int64_t step, int64_t n) {
                  int64_t i = 0;
                  for (; i + 4 <= n; i += 4) {
                    for (int64_t l = 0; l < 4; ++l) {
                      sums[l] += term(x[(i + l) * step]);
                    }
                  }
                  for (; i < n; ++i) {
                    sums[0] += term(x[i * step]);
                  }
                });
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <typename T>
static void normalizeLine(const Lines &lines, T *to, const T *from, bool center,
                          double epsilon) {
  using A = Computed<T>;
  auto count = double(lines.length);
  LineSum<T> mean = 0;
  if (center) {
    mean = sumOfLine<1>(lines, from, mean) / count;
  }
  LineSum<T> variance = sumOfLine<2>(lines, from, mean) / count;
  A scale = A(1 / sqrt(variance + epsilon));
  A shift = A(mean);
  forEachRow(lines, to, from,
             [&](T *y, const T *x, int64_t stepTo, int64_t step, int64_t n) {
               if (stepTo == 1 && step == 1) {
#pragma GCC ivdep
                 for (int64_t i = 0; i < n; ++i) {
                   y[i] = T((load(x[i]) - shift) * scale);
                 }
                 return;
               }
               for (int64_t i = 0; i < n; ++i) {
                 y[i * stepTo] = T((load(x[i * step]) - shift) * scale);
               }
             });
}

/// The kernel that calls body(lines, result, operand) at the begin of each
/// line, for elements that stand for real numbers.
template <typename Body>
static std::unique_ptr<PreparedKernel>
makeLineKernel(const Checks &checks, DType type, const Lines &lines,
               Body body) {
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Reals>(type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeKernel([lines, body](auto operands, auto results, void *) {
      auto *to = static_cast<T *>(results[0]);
      auto *from = static_cast<const T *>(operands[0]);
      lines.begins.forEach(
          0, [&](const auto &at) { body(lines, to + at[0], from + at[1]); });
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, type);
}

static std::unique_ptr<PreparedKernel> prepareSoftmax(const CallSite &site,
                                                      std::string &error) {
  Checks checks(site, error);
  int64_t axis = 0, log = 0;
  Lines lines;
  if (!checks.counts(1, 1) || !checks.resultType(0, site.operands[0].type) ||
      !checks.getInt("axis", 0, int64_t(site.operands[0].rank()) - 1, axis) ||
      !checks.getInt("log", 0, 1, log) ||
      !makeLines(site, checks, {axis}, lines)) {
    return nullptr;
  }
  return makeLineKernel(checks, site.operands[0].type, lines,
                        [=](const Lines &lines, auto *to, const auto *from) {
                          log ? logSoftmaxLine(lines, to, from)
                              : softmaxLine(lines, to, from);
                        });
}

static std::unique_ptr<PreparedKernel> prepareNormalize(const CallSite &site,
                                                        std::string &error) {
  Checks checks(site, error);
  Dims axes;
  int64_t center = 0;
  double epsilon = 0;
  Lines lines;
  if (!checks.counts(1, 1) || !checks.resultType(0, site.operands[0].type) ||
      !checks.getDims("axes", site.operands[0].rank(), axes) ||
      !checks.getInt("center", 0, 1, center) ||
      !checks.getFloat("epsilon", epsilon) ||
      !makeLines(site, checks, axes, lines)) {
    return nullptr;
  }
  return makeLineKernel(checks, site.operands[0].type, lines,
                        [=](const Lines &lines, auto *to, const auto *from) {
                          normalizeLine(lines, to, from, center != 0, epsilon);
                        });
}

std::span<const Kernel> normalizeKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.normalize", 1, Parts, queryInPlace, prepareNormalize},
      {"nn.softmax", 1, Parts, queryInPlace, prepareSoftmax},
  };
  return kernels;
}

} // namespace divisi::rt
