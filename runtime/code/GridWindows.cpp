//===- GridWindows.cpp - Windows in blocks of threads ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridWindows.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/kernels/Element.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <cstdio>

using namespace divisi;
using namespace divisi::rt;

static bool isNumber(DType type) {
  return (typeBit(type) & (Floats | Ints)) != 0;
}

std::optional<GridPool> GridPool::of(const CallSite &site) {
  bool isMax = site.op == "nn.pool_max";
  if ((!isMax && site.op != "nn.pool_sum") || site.region ||
      site.operands.size() != 1 || site.results.size() != 1 ||
      !isPlainOrChannelsLast(site) || !isNumber(site.operands[0].type)) {
    return std::nullopt;
  }
  std::string ignored;
  GridPool pool{isMax, site.operands[0].type, site.results[0].type, {}, {}, {}};
  if (!makePoolWindow(site, ignored, pool.window)) {
    return std::nullopt;
  }
  pool.order = storedOrder(site.results[0]);
  pool.strides = stridesOf(site.operands[0]);
  return pool;
}

std::string GridPool::structure() const {
  std::string text = std::string("pool ") + (isMax ? "max" : "sum") + " of " +
                     std::string(stringify(from)) + " to " +
                     std::string(stringify(to)) + ", stored";
  for (int64_t dim : order) {
    text += " " + std::to_string(dim) +
            (window[size_t(dim)].taps > 1 ? " windowed" : "");
  }
  return text;
}

GridLaunch GridPool::launch() const {
  int64_t count = 1;
  Dims extents;
  for (int64_t dim : order) {
    extents.push_back(window[size_t(dim)].extent);
    count *= extents.back();
  }
  GridLaunch launch = launchElements(count);
  launch.pointers = {{1}, {0}};
  launch.numbers = {count};
  launch.addNumbers(extents);
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim &dim = window[d];
    launch.addNumbers({dim.index(0, 0), dim.stride, dim.dilation, dim.taps,
                       dim.global, dim.operandOffset, strides[d]});
  }
  return launch;
}

/// What the attributes say of the axis; false if that is not right.
static bool readTables(const CallSite &site, const Checks &checks,
                       GridResample &made) {
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  size_t size = size_t(result.global[made.axis]) * size_t(made.taps);
  const auto *weights = site.attributes.find<std::vector<double>>("weights");
  if (!checks.getInts("indices", size, 0, operand.global[made.axis] - 1,
                      made.rows) ||
      !weights || weights->size() != size) {
    return false;
  }
  made.weights = *weights;
  made.first = result.offset[made.axis];
  made.operandFirst = operand.offset[made.axis];
  auto begin = made.rows.begin() + made.first * made.taps;
  return std::all_of(
      begin, begin + result.extents[made.axis] * made.taps,
      [&](int64_t row) { return checks.covers(0, made.axis, row, row + 1); });
}

std::optional<GridResample> GridResample::of(const CallSite &site) {
  std::string ignored;
  Checks checks(site, ignored);
  int64_t axis = 0;
  GridResample made;
  if (site.op != "nn.resample" || site.region || !checks.counts(1, 1) ||
      !isPlainOrChannelsLast(site) ||
      !checks.resultType(0, site.operands[0].type) ||
      !checks.resultRank(0, site.operands[0].rank()) ||
      !isNumber(site.operands[0].type) ||
      !checks.getInt("axis", 0, int64_t(site.operands[0].rank()) - 1, axis) ||
      !checks.getInt("taps", 1, maxStep, made.taps)) {
    return std::nullopt;
  }
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  made.type = operand.type;
  made.axis = size_t(axis);
  if (!readTables(site, checks, made)) {
    return std::nullopt;
  }
  Dims strides = stridesOf(operand);
  made.rowStride = strides[made.axis];
  strides[made.axis] = 0;
  for (size_t d = 0; d < result.rank(); ++d) {
    int64_t begin = result.offset[d];
    if (d != made.axis &&
        (!checks.resultExtent(d, operand.global[d]) ||
         !checks.covers(0, d, begin, begin + result.extents[d]))) {
      return std::nullopt;
    }
    made.base += (begin - operand.offset[d]) * strides[d];
  }
  made.order = storedOrder(result);
  made.extents = permuted(result.extents, made.order);
  made.strides = permuted(strides, made.order);
  return made;
}

bool GridResample::moves() const {
  return taps == 1 && std::ranges::all_of(
                          weights, [](double weight) { return weight == 1; });
}

std::string GridResample::structure() const {
  std::string text = "resample " + std::string(stringify(type)) + ", dim " +
                     std::to_string(axis) + ", stored";
  for (int64_t dim : order) {
    text += " " + std::to_string(dim);
  }
  text += ", " + std::to_string(taps) + " taps:";
  for (size_t i = 0; i < rows.size(); ++i) {
    char weight[40]; // exactly
    std::snprintf(weight, sizeof(weight), " %a*", weights[i]);
    text += weight + std::to_string(rows[i]);
  }
  return text;
}

GridLaunch GridResample::launch() const {
  int64_t count = numElements(extents);
  GridLaunch launch = launchElements(count);
  launch.pointers = {{1}, {0, base * byteWidth(type)}};
  launch.numbers = {count};
  launch.addNumbers(extents);
  launch.addNumbers(strides);
  launch.addNumbers({first, operandFirst, rowStride});
  return launch;
}
