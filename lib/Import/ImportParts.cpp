//===- ImportParts.cpp - Import of operators that cut and join ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using Ints = std::vector<int64_t>;

//===----------------------------------------------------------------------===//
// Concat, Split, Slice
//===----------------------------------------------------------------------===//

static void importConcat(NodeImporter &node) {
  std::vector<Tensor> parts;
  for (size_t i = 0; i < node.numInputs(); ++i) {
    parts.push_back(node.input(i));
  }
  int64_t axis = node.normalizeAxis(node.getInt("axis"), node.input(0)->rank());
  if (!node.failed()) {
    node.setResult(0, node.emitter().concat(parts, axis));
  }
}

/// The extents of the parts of `total`; fails if they cannot be.
static Ints splitExtents(NodeImporter &node, int64_t total) {
  auto given = node.intsFrom("split", 1);
  int64_t count = static_cast<int64_t>(node.numOutputs());
  if (given && !node.failed()) {
    int64_t sum = 0;
    for (int64_t extent : *given) {
      bool fits = extent >= 0 && extent <= total - sum;
      sum += fits ? extent : 0;
      if (!fits) {
        sum = -1;
        break;
      }
    }
    if (sum != total || given->size() != node.numOutputs()) {
      node.invalid("the parts " + formatInts(*given) + " do not make up " +
                   std::to_string(node.numOutputs()) +
                   " outputs of an extent of " + std::to_string(total));
    }
    return *given;
  }
  if (node.getInt("num_outputs", count) != count) {
    node.invalid("num_outputs is " +
                 std::to_string(node.getInt("num_outputs")) +
                 ", but there are " + std::to_string(count) + " outputs");
    return {};
  }
  int64_t chunk = total / count + (total % count != 0);
  Ints result(node.numOutputs(), chunk);
  result.back() = total - chunk * (count - 1);
  // ONNX's text, its reference and ORT disagree on what this should be.
  if (result.back() < 0 || (node.version() < 18 && result.back() != chunk)) {
    node.invalid("an extent of " + std::to_string(total) +
                 " does not split into " + std::to_string(count) + " parts");
  }
  return result;
}

/// One slice an output; the parts were checked to make up the whole.
static void importSplit(NodeImporter &node) {
  const Tensor &x = node.input(0);
  int64_t axis = node.normalizeAxis(node.getInt("axis"), x->rank());
  if (node.failed()) {
    return;
  }
  Ints extents = splitExtents(node, x->dims[static_cast<size_t>(axis)]);
  if (node.failed()) {
    return;
  }
  int64_t begin = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    node.setResult(
        i, node.emitter().sliceAxis(x, axis, begin, begin + extents[i]));
    begin += extents[i];
  }
}

/// A bound of a slice: from the end if negative, then clamped.
static int64_t clampBound(int64_t bound, int64_t extent, bool isStart,
                          int64_t step) {
  if (bound < 0) {
    // INT64_MIN means "from the beginning".
    bound = bound < -extent ? (step > 0 ? 0 : -1) : bound + extent;
  }
  int64_t last = step > 0 || !isStart ? extent : extent - 1;
  if (step < 0 && !isStart) {
    last = extent - 1;
  }
  return std::min(bound, last);
}

static void importSlice(NodeImporter &node) {
  const Tensor &x = node.input(0);
  auto starts = node.intsFrom("starts", 1);
  auto ends = node.intsFrom("ends", 2);
  if (!starts || !ends) {
    return;
  }
  Ints axes(starts->size()), steps(starts->size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (auto given = node.intsFrom("axes", 3)) {
    axes = *given;
  }
  if (auto given = node.constantInts(4)) {
    steps = *given;
  }
  if (node.failed()) {
    return;
  }
  if (ends->size() != starts->size() || axes.size() != starts->size() ||
      steps.size() != starts->size()) {
    return node.invalid("starts, ends, axes and steps differ in length");
  }
  node.normalizeAxes(axes, x->rank());
  if (node.failed()) {
    return;
  }
  Ints from(x->dims.size(), 0), to = x->dims, by(x->dims.size(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = static_cast<size_t>(node.normalizeAxis(axes[i], x->rank()));
    int64_t extent = x->dims[axis], step = steps[i];
    if (step == 0) {
      return node.invalid("a step is 0");
    }
    from[axis] = clampBound((*starts)[i], extent, true, step);
    to[axis] = clampBound((*ends)[i], extent, false, step);
    // A backward slice that starts before the tensor is empty.
    if (step < 0 ? to[axis] >= from[axis] : to[axis] <= from[axis]) {
      from[axis] = to[axis] = 0;
      step = 1;
    }
    // Beyond the extent every step is the same.
    by[axis] = std::clamp(step, -std::max<int64_t>(extent, 1),
                          std::max<int64_t>(extent, 1));
  }
  node.setResult(0, node.emitter().slice(x, from, to, by));
}

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

/// The index that position `i` of a padded axis reads.
static int64_t sourceIndex(const std::string &mode, int64_t i, int64_t extent) {
  if (mode == "edge") {
    return std::clamp<int64_t>(i, 0, extent - 1);
  }
  if (mode == "wrap") {
    return ((i % extent) + extent) % extent;
  }
  return i < 0 ? -i : (i >= extent ? 2 * (extent - 1) - i : i);
}

/// Padding by the tensor's own elements: a gather along each axis.
static void importPadFromSelf(NodeImporter &node, const std::string &mode,
                              const Ints &lo, const Ints &hi) {
  Tensor result = node.input(0);
  for (size_t axis = 0; axis < lo.size(); ++axis) {
    int64_t extent = result->dims[axis];
    int64_t limit = mode == "reflect" ? extent - 1 : int64_t{1} << 31;
    if (lo[axis] == 0 && hi[axis] == 0) {
      continue;
    }
    if (extent == 0 || std::max(lo[axis], hi[axis]) > limit ||
        extent > int64_t{1} << 31 || extent + lo[axis] + hi[axis] < 0) {
      return node.unsupported("it pads an extent of " + std::to_string(extent) +
                              " by " + std::to_string(lo[axis]) + " and " +
                              std::to_string(hi[axis]) + " in mode " + mode);
    }
    Ints indices;
    for (int64_t i = -lo[axis]; i < extent + hi[axis]; ++i) {
      indices.push_back(sourceIndex(mode, i, extent));
    }
    result = node.emitter().gather(result, node.emitter().ints(indices),
                                   static_cast<int64_t>(axis), 0);
  }
  node.setResult(0, result);
}

/// Attributes became inputs at version 11, and axes can be left out since 18.
static void importPad(NodeImporter &node) {
  const Tensor &x = node.input(0);
  auto pads = node.intsFrom("pads", 1);
  if (!pads) {
    return;
  }
  double value = node.getFloat("value", 0);
  if (node.version() >= 11) {
    value = node.constantNumber(2).value_or(0);
  }
  Ints axes(x->dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (auto given = node.constantInts(3)) {
    axes = *given;
  }
  if (node.failed()) {
    return;
  }
  if (pads->size() != 2 * axes.size()) {
    return node.invalid("got " + std::to_string(pads->size()) + " pads for " +
                        std::to_string(axes.size()) + " axes");
  }
  node.normalizeAxes(axes, x->rank());
  if (node.failed()) {
    return;
  }
  Ints lo(x->dims.size(), 0), hi(x->dims.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = static_cast<size_t>(node.normalizeAxis(axes[i], x->rank()));
    lo[axis] = (*pads)[i];
    hi[axis] = (*pads)[i + axes.size()];
  }
  std::string mode = node.getString("mode", "constant");
  if (mode != "constant") {
    return importPadFromSelf(node, mode, lo, hi);
  }
  node.setResult(0, node.emitter().pad(x, lo, hi, value));
}

llvm::ArrayRef<ImporterRow> divisi::partImporters() {
  static const ImporterRow kRows[] = {
      {"Concat", importConcat},
      {"Pad", importPad},
      {"Slice", importSlice},
      {"Split", importSplit},
  };
  return kRows;
}
