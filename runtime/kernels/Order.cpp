//===- Order.cpp - Kernels that order or accumulate -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of them need whole lines along one axis. NaN is greater than all numbers,
// and comes before them where the smallest is asked for, too (arg_reduce).
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>

namespace divisi::rt {
namespace {

/// The lines of operand 0 along one axis, and what the result has of each: as
/// many elements as its extent there, or one.
struct AxisLines {
  Nest<2> begins; ///< Result, operand.
  int64_t length = 0;
  int64_t stepTo = 1, stepFrom = 1; ///< In elements.
};

} // namespace

/// `keepsAxis`: the result has the axis, if with another extent.
static bool makeAxisLines(const CallSite &site, const Checks &checks,
                          bool keepsAxis, size_t axis, AxisLines &lines) {
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  if (!checks.resultRank(0, operand.rank() - !keepsAxis) ||
      !checks.whole(0, axis)) {
    return false;
  }
  Dims extents;
  Walk to, from;
  Dims toStrides = rowMajorStrides(result.extents);
  for (size_t d = 0, i = 0; d < operand.rank(); ++d) {
    if (d == axis) {
      i += keepsAxis;
      continue;
    }
    if (!checks.resultExtent(i, operand.global[d]) ||
        !addAffine(site, checks, 0, d, result.offset[i], 1, result.extents[i],
                   from)) {
      return false;
    }
    extents.push_back(result.extents[i]);
    to.strides.push_back(toStrides[i]);
    ++i;
  }
  lines.begins = Nest<2>(extents, {to, from});
  lines.length = operand.global[axis];
  lines.stepFrom = rowMajorStrides(operand.extents)[axis];
  if (keepsAxis) {
    lines.stepTo = toStrides[axis];
    if (result.extents[axis] != result.global[axis]) {
      return checks.fail("dimension " + std::to_string(axis) +
                         " of the result is split, expected all of it");
    }
  }
  return true;
}

/// Reads the attribute 'axis' of operand 0.
static bool getAxis(const CallSite &site, const Checks &checks, int64_t &axis) {
  return checks.counts(1, 1) &&
         checks.getInt("axis", 0, int64_t(site.operands[0].rank()) - 1, axis);
}

template <typename T> static bool isNaN(T value) { return value != value; }

//===----------------------------------------------------------------------===//
// arg_reduce
//===----------------------------------------------------------------------===//

/// Whether `a` comes before `b`.
template <bool Largest, typename A> static bool leads(A a, A b) {
  if (isNaN(a) || isNaN(b)) {
    return isNaN(a) && !isNaN(b);
  }
  return Largest ? a > b : a < b;
}

template <bool Largest, typename T>
static int64_t findLeader(const T *line, int64_t step, int64_t length,
                          bool last) {
  int64_t best = 0;
  auto value = load(line[0]);
  for (int64_t i = 1; i < length; ++i) {
    auto next = load(line[i * step]);
    bool takes =
        last ? !leads<Largest>(value, next) : leads<Largest>(next, value);
    if (takes) {
      value = next;
      best = i;
    }
  }
  return best;
}

static std::unique_ptr<PreparedKernel> prepareArgReduce(const CallSite &site,
                                                        std::string &error) {
  static constexpr std::string_view kinds[] = {"max", "min"};
  Checks checks(site, error);
  int64_t axis = 0, last = 0;
  size_t kind = 0;
  AxisLines lines;
  if (!getAxis(site, checks, axis) || !checks.getInt("last", 0, 1, last) ||
      !checks.getChoice("kind", kinds, kind) ||
      !checks.resultType(0, DType::I64) ||
      !makeAxisLines(site, checks, /*keepsAxis=*/false, axis, lines)) {
    return nullptr;
  }
  if (lines.length == 0) {
    checks.fail("dimension " + std::to_string(axis) + " is empty");
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Numbers>(site.operands[0].type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeKernel([=](auto operands, auto results, void *) {
      auto *to = static_cast<int64_t *>(results[0]);
      auto *from = static_cast<const T *>(operands[0]);
      auto *find = kind == 0 ? findLeader<true, T> : findLeader<false, T>;
      lines.begins.forEach(0, [&](const auto &at) {
        to[at[0]] = find(from + at[1], lines.stepFrom, lines.length, last != 0);
      });
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.operands[0].type);
}

//===----------------------------------------------------------------------===//
// cumulate
//===----------------------------------------------------------------------===//

namespace {
struct Cumulation {
  bool isProduct = false, exclusive = false, reverse = false;
};
} // namespace

template <typename T>
static void cumulateLine(const AxisLines &lines, const Cumulation &how, T *to,
                         const T *from) {
  using A = Accumulator<T>;
  A running = how.isProduct ? A(1) : A(0);
  for (int64_t n = 0; n < lines.length; ++n) {
    int64_t i = how.reverse ? lines.length - 1 - n : n;
    A before = running, value = A(load(from[i * lines.stepFrom]));
    running = how.isProduct ? wrapMul(running, value) : wrapAdd(running, value);
    to[i * lines.stepTo] = T(how.exclusive ? before : running);
  }
}

static std::unique_ptr<PreparedKernel> prepareCumulate(const CallSite &site,
                                                       std::string &error) {
  static constexpr std::string_view kinds[] = {"sum", "prod"};
  Checks checks(site, error);
  int64_t axis = 0, exclusive = 0, reverse = 0;
  size_t kind = 0;
  AxisLines lines;
  if (!getAxis(site, checks, axis) ||
      !checks.getInt("exclusive", 0, 1, exclusive) ||
      !checks.getInt("reverse", 0, 1, reverse) ||
      !checks.getChoice("kind", kinds, kind) ||
      !checks.resultType(0, site.operands[0].type) ||
      !makeAxisLines(site, checks, /*keepsAxis=*/true, axis, lines) ||
      !checks.resultExtent(axis, lines.length)) {
    return nullptr;
  }
  Cumulation how{kind == 1, exclusive != 0, reverse != 0};
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Numbers>(site.operands[0].type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeKernel([=](auto operands, auto results, void *) {
      lines.begins.forEach(0, [&](const auto &at) {
        cumulateLine(lines, how, static_cast<T *>(results[0]) + at[0],
                     static_cast<const T *>(operands[0]) + at[1]);
      });
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.operands[0].type);
}

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

/// Sorts the indices of a line, which has room for them in `indices`, as far as
/// the first k.
template <bool Largest, typename T>
static void sortLine(const AxisLines &lines, int64_t k, const T *from,
                     int64_t *indices, int64_t *to) {
  for (int64_t i = 0; i < lines.length; ++i) {
    indices[i] = i;
  }
  auto precedes = [&](int64_t i, int64_t j) {
    auto a = load(from[i * lines.stepFrom]), b = load(from[j * lines.stepFrom]);
    bool first = Largest ? leads<true>(a, b) : leads<true>(b, a);
    bool second = Largest ? leads<true>(b, a) : leads<true>(a, b);
    return first || (!second && i < j);
  };
  std::partial_sort(indices, indices + k, indices + lines.length, precedes);
  for (int64_t i = 0; i < k; ++i) {
    to[i * lines.stepTo] = indices[i];
  }
}

static KernelQuery queryTopK(const CallSite &site) {
  const auto *axis = site.attributes.find<int64_t>("axis");
  bool isKnown = axis && site.operands.size() == 1 && *axis >= 0 &&
                 size_t(*axis) < site.operands[0].rank();
  int64_t length = isKnown ? site.operands[0].global[size_t(*axis)] : 0;
  return {length * int64_t(sizeof(int64_t)), {}, {}};
}

static std::unique_ptr<PreparedKernel> prepareTopK(const CallSite &site,
                                                   std::string &error) {
  Checks checks(site, error);
  int64_t axis = 0, k = 0, largest = 0;
  AxisLines lines;
  if (!getAxis(site, checks, axis) ||
      !checks.getInt("k", 0, site.operands[0].global[axis], k) ||
      !checks.getInt("largest", 0, 1, largest) ||
      !checks.resultType(0, DType::I64) ||
      !makeAxisLines(site, checks, /*keepsAxis=*/true, axis, lines) ||
      !checks.resultExtent(axis, k)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Numbers>(site.operands[0].type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeKernel([=](auto operands, auto results, void *workspace) {
      auto *sort = largest ? sortLine<true, T> : sortLine<false, T>;
      lines.begins.forEach(0, [&](const auto &at) {
        sort(lines, k, static_cast<const T *>(operands[0]) + at[1],
             static_cast<int64_t *>(workspace),
             static_cast<int64_t *>(results[0]) + at[0]);
      });
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.operands[0].type);
}

std::span<const Kernel> orderKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.arg_reduce", 1, Parts, queryNothing, prepareArgReduce},
      {"nn.cumulate", 1, Parts, queryNothing, prepareCumulate},
      {"nn.top_k", 1, Whole, queryTopK, prepareTopK},
  };
  return kernels;
}

} // namespace divisi::rt
