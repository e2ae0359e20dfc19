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
        return node.invalid("the shape " + formatInts(*wanted) +
                            " copies a dim that the input does not have");
      }
      dims[i] = x->dims[i];
    } else if (dims[i] == -1 && !open) {
      open = i;
    } else if (dims[i] < 0) {
      return node.invalid("got the shape " + formatInts(*wanted) +
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
    return node.invalid("an input of shape " + formatInts(x->dims) +
                        " cannot have the shape " + formatInts(*wanted));
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

/// Without axes every extent of 1 goes.
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

/// Axes count in the result; ascending, each is inserted where it belongs.
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
      return node.invalid("got perm " + formatInts(permutation) +
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
      return node.invalid("a tensor of shape " + formatInts(x->dims) +
                          " does not expand to " + formatInts(*wanted));
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
      return node.invalid("got the repeats " + formatInts(*repeats));
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
// Blocks of pixels
//===----------------------------------------------------------------------===//

static void importDepthToSpace(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t b = node.getInt("blocksize");
  if (x->rank() != 4 || b <= 0 || b > 1 << 15 || x->dims[1] % (b * b) != 0) {
    return node.invalid("got shape " + formatInts(x->dims) +
                        " for a block of " + std::to_string(b));
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
    return node.invalid("got shape " + formatInts(x->dims) +
                        " for a block of " + std::to_string(b));
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
      {"DepthToSpace", importDepthToSpace},
      {"Expand", importExpand},
      {"Flatten", importFlatten},
      {"Reshape", importReshape},
      {"SpaceToDepth", importSpaceToDepth},
      {"Squeeze", importSqueeze},
      {"Tile", importTile},
      {"Transpose", importTranspose},
      {"Unsqueeze", importUnsqueeze},
  };
  return kRows;
}
