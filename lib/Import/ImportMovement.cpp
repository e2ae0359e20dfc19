//===- ImportMovement.cpp - Import of operators that move elements --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"
#include "divisi/Support/CheckedMath.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using Ints = std::vector<int64_t>;

static std::string text(const Ints &values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    out += (i ? ", " : "") + std::to_string(values[i]);
  }
  return out + "]";
}

//===----------------------------------------------------------------------===//
// The same elements under another shape
//===----------------------------------------------------------------------===//

static void importReshape(NodeImporter &node) {
  const Tensor &x = node.input(0);
  auto wanted = node.intsFrom("shape", 1);
  if (!wanted) {
    return;
  }
  rt::Dims dims = *wanted;
  bool zeroCopies = node.getInt("allowzero") == 0;
  std::optional<size_t> open;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && zeroCopies) {
      if (i >= x->dims.size()) {
        return node.invalid("the shape " + text(*wanted) +
                            " copies a dim that the input does not have");
      }
      dims[i] = x->dims[i];
    } else if (dims[i] == -1 && !open) {
      open = i;
    } else if (dims[i] < 0) {
      return node.invalid("got the shape " + text(*wanted) +
                          ", expected one -1 at most");
    }
  }
  if (open) {
    dims[*open] = 1;
  }
  auto others = checkedProduct(dims);
  if (open && others && *others != 0 && x->count() % *others == 0) {
    dims[*open] = x->count() / *others;
    others = x->count();
  } else if (open && others && *others == 0 && x->count() == 0) {
    // Any extent would do; the input's own is what a user expects.
    dims[*open] = 0;
  }
  if (!others || *others != x->count()) {
    return node.invalid("an input of shape " + text(x->dims) +
                        " cannot have the shape " + text(*wanted));
  }
  node.setResult(0, node.emitter().reshape(x, dims));
}

static void importFlatten(NodeImporter &node) {
  const Tensor &x = node.input(0);
  int64_t axis = node.getInt("axis", 1);
  axis = axis < 0 ? axis + x->rank() : axis;
  if (axis < 0 || axis > x->rank()) {
    return node.invalid("got axis " + std::to_string(node.getInt("axis", 1)) +
                        " for a tensor of rank " + std::to_string(x->rank()));
  }
  auto begin = x->dims.begin();
  auto product = [](auto from, auto to) {
    return std::accumulate(from, to, int64_t{1}, std::multiplies<>());
  };
  node.setResult(
      0, node.emitter().reshape(x, {product(begin, begin + axis),
                                    product(begin + axis, x->dims.end())}));
}

static void importSqueeze(NodeImporter &node) {
  const Tensor &x = node.input(0);
  bool isGiven = node.hasAttribute("axes") || node.hasInput(1);
  auto given = node.intsFrom("axes", 1);
  if (node.failed()) {
    return;
  }
  Ints axes = node.normalizeAxes(given.value_or(Ints()), x->rank());
  rt::Dims dims;
  for (int64_t i = 0; i < x->rank(); ++i) {
    int64_t extent = x->dims[static_cast<size_t>(i)];
    bool isDropped =
        isGiven ? std::binary_search(axes.begin(), axes.end(), i) : extent == 1;
    if (!isDropped) {
      dims.push_back(extent);
    } else if (extent != 1) {
      return node.invalid("axis " + std::to_string(i) + " has the extent " +
                          std::to_string(extent) + ", expected 1");
    }
  }
  node.setResult(0, node.emitter().reshape(x, dims));
}

static void importUnsqueeze(NodeImporter &node) {
  const Tensor &x = node.input(0);
  auto given = node.intsFrom("axes", 1);
  if (!given) {
    return;
  }
  int64_t rank = x->rank() + static_cast<int64_t>(given->size());
  Ints axes = node.normalizeAxes(*given, rank);
  if (node.failed()) {
    return;
  }
  rt::Dims dims = x->dims;
  for (int64_t axis : axes) {
    dims.insert(dims.begin() + axis, 1);
  }
  node.setResult(0, node.emitter().reshape(x, dims));
}

//===----------------------------------------------------------------------===//
// Permutations and repetition
//===----------------------------------------------------------------------===//

static void importTranspose(NodeImporter &node) {
  const Tensor &x = node.input(0);
  Ints permutation(x->dims.size());
  std::iota(permutation.rbegin(), permutation.rend(), 0);
  if (node.hasAttribute("perm")) {
    permutation = node.getInts("perm");
  }
  Ints sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i) ||
        sorted.size() != x->dims.size()) {
      return node.invalid("got perm " + text(permutation) +
                          " for a tensor of rank " + std::to_string(x->rank()));
    }
  }
  if (sorted.size() != x->dims.size()) {
    return node.invalid("perm is empty");
  }
  node.setResult(0, node.emitter().transpose(x, permutation));
}

/// Broadcasts in both directions: the wanted shape may be the smaller one.
static void importExpand(NodeImporter &node) {
  const Tensor &x = node.input(0);
  auto wanted = node.constantInts(1);
  if (!wanted) {
    return;
  }
  rt::Dims dims(std::max(wanted->size(), x->dims.size()), 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t back = dims.size() - i;
    int64_t m = back <= x->dims.size() ? x->dims[x->dims.size() - back] : 1;
    int64_t n = back <= wanted->size() ? (*wanted)[wanted->size() - back] : 1;
    if ((m != n && m != 1 && n != 1) || n < 0) {
      return node.invalid("a tensor of shape " + text(x->dims) +
                          " does not expand to " + text(*wanted));
    }
    dims[i] = m == 1 ? n : m;
  }
  node.setResult(0, node.emitter().expand(x, dims));
}

/// [a, b] repeated (m, n) → [1, a, 1, b] → [m, a, n, b] → [m·a, n·b].
static void importTile(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  auto repeats = node.constantInts(1);
  if (!repeats) {
    return;
  }
  if (repeats->size() != x->dims.size()) {
    return node.invalid("got " + std::to_string(repeats->size()) +
                        " repeats for a tensor of rank " +
                        std::to_string(x->rank()));
  }
  rt::Dims thin, wide, dims;
  for (size_t i = 0; i < x->dims.size(); ++i) {
    auto extent = checkedMul(x->dims[i], (*repeats)[i]);
    if (!extent || (*repeats)[i] < 0) {
      return node.invalid("got the repeats " + text(*repeats));
    }
    dims.push_back(*extent);
    if ((*repeats)[i] != 1) {
      thin.push_back(1);
      wide.push_back((*repeats)[i]);
    }
    thin.push_back(x->dims[i]);
    wide.push_back(x->dims[i]);
  }
  node.setResult(0,
                 emit.reshape(emit.expand(emit.reshape(x, thin), wide), dims));
}

//===----------------------------------------------------------------------===//
// Parts
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
      node.invalid("the parts " + text(*given) + " do not make up " +
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

//===----------------------------------------------------------------------===//
// Blocks of pixels
//===----------------------------------------------------------------------===//

static void importDepthToSpace(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t b = node.getInt("blocksize");
  if (x->rank() != 4 || b <= 0 || b > 1 << 15 || x->dims[1] % (b * b) != 0) {
    return node.invalid("got shape " + text(x->dims) + " for a block of " +
                        std::to_string(b));
  }
  int64_t n = x->dims[0], c = x->dims[1] / (b * b), h = x->dims[2],
          w = x->dims[3];
  bool isCRD = node.getString("mode", "DCR") == "CRD";
  Tensor parts = emit.reshape(x, isCRD ? rt::Dims{n, c, b, b, h, w}
                                       : rt::Dims{n, b, b, c, h, w});
  parts = emit.transpose(parts, isCRD ? Ints{0, 1, 4, 2, 5, 3}
                                      : Ints{0, 3, 4, 1, 5, 2});
  node.setResult(0, emit.reshape(parts, {n, c, h * b, w * b}));
}

static void importSpaceToDepth(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t b = node.getInt("blocksize");
  if (x->rank() != 4 || b <= 0 || x->dims[2] % b != 0 || x->dims[3] % b != 0) {
    return node.invalid("got shape " + text(x->dims) + " for a block of " +
                        std::to_string(b));
  }
  int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2] / b,
          w = x->dims[3] / b;
  Tensor parts = emit.reshape(x, {n, c, h, b, w, b});
  bool isCRD = node.getString("mode", "DCR") == "CRD";
  parts = emit.transpose(parts, isCRD ? Ints{0, 1, 3, 5, 2, 4}
                                      : Ints{0, 3, 5, 1, 2, 4});
  auto depth = checkedProduct(rt::Dims{c, b, b});
  node.setResult(0, emit.reshape(parts, {n, depth.value_or(-1), h, w}));
}

llvm::ArrayRef<ImporterRow> divisi::movementImporters() {
  static const ImporterRow kRows[] = {
      {"Concat", importConcat},
      {"DepthToSpace", importDepthToSpace},
      {"Expand", importExpand},
      {"Flatten", importFlatten},
      {"Pad", importPad},
      {"Reshape", importReshape},
      {"Slice", importSlice},
      {"SpaceToDepth", importSpaceToDepth},
      {"Split", importSplit},
      {"Squeeze", importSqueeze},
      {"Tile", importTile},
      {"Transpose", importTranspose},
      {"Unsqueeze", importUnsqueeze},
  };
  return kRows;
}
