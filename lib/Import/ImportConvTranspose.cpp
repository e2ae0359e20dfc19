//===- ImportConvTranspose.cpp - Transposed convolution -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transposed convolution is the gradient of a convolution by its operand,
// whose extents the node says in one of several ways.
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

using namespace divisi;
using Ints = std::vector<int64_t>;

namespace {
/// The attributes, one entry per spatial dim; `lo` and `hi` crop the result.
struct Upsampling {
  Ints kernel, strides, dilations, lo, hi;
};
} // namespace

static constexpr int64_t kLargest = int64_t{1} << 30;

static Ints readInts(NodeImporter &node, const char *name, size_t size,
                     int64_t fallback, int64_t least) {
  Ints values = node.getInts(name);
  if (values.empty()) {
    values.assign(size, fallback);
  }
  bool isBad = values.size() != size;
  for (int64_t value : values) {
    isBad |= value < least || value > kLargest;
  }
  if (isBad) {
    node.invalid(std::string(name) + " is " + formatInts(values) +
                 ", expected " + std::to_string(size) +
                 " numbers of at least " + std::to_string(least));
    values.assign(size, least);
  }
  return values;
}

/// What is cropped where the node says how large the result is, or that it is
/// as large as the image times the stride.
static void cropToShape(NodeImporter &node, const rt::Dims &extents,
                        const Ints &outputPadding, Upsampling &up) {
  std::string autoPad = node.getString("auto_pad", "NOTSET");
  Ints shape = node.getInts("output_shape");
  bool isSame = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (autoPad == "VALID") {
    up.lo.assign(extents.size(), 0);
    up.hi.assign(extents.size(), 0);
  }
  if (shape.empty() && !isSame) {
    return;
  }
  // The last as many: some models write batch and channels, too.
  bool isGiven = shape.size() >= extents.size();
  for (size_t i = 0; i < extents.size(); ++i) {
    int64_t wanted = isGiven ? shape[shape.size() - extents.size() + i]
                             : extents[i] * up.strides[i];
    int64_t full = up.strides[i] * (extents[i] - 1) + outputPadding[i] +
                   (up.kernel[i] - 1) * up.dilations[i] + 1;
    // Less than nothing is cropped, that is zeros follow, where more is wanted.
    int64_t crop = full - wanted, begin = std::max<int64_t>(0, crop);
    up.lo[i] = autoPad == "SAME_UPPER" ? begin / 2 : begin - begin / 2;
    up.hi[i] = crop - up.lo[i];
  }
}

static Upsampling readUpsampling(NodeImporter &node, const Tensor &x,
                                 const Tensor &w) {
  rt::Dims extents(x->dims.begin() + 2, x->dims.end());
  size_t rank = extents.size();
  Upsampling up;
  up.kernel.assign(w->dims.begin() + 2, w->dims.end());
  up.strides = readInts(node, "strides", rank, 1, 1);
  up.dilations = readInts(node, "dilations", rank, 1, 1);
  Ints pads = readInts(node, "pads", 2 * rank, 0, 0);
  Ints more = readInts(node, "output_padding", rank, 0, 0);
  up.lo.assign(pads.begin(), pads.begin() + static_cast<int64_t>(rank));
  up.hi.assign(pads.begin() + static_cast<int64_t>(rank), pads.end());
  cropToShape(node, extents, more, up);
  for (size_t i = 0; i < rank; ++i) {
    up.hi[i] -= more[i];
  }
  return up;
}

static void importConvTranspose(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0), &w = node.input(1);
  int64_t groups = node.getInt("group", 1);
  if (x->rank() < 3 || w->rank() != x->rank() || groups < 1 ||
      x->dims[1] != w->dims[0] || x->dims[1] % groups != 0 || w->count() == 0) {
    return node.invalid("an image of shape " + formatInts(x->dims) +
                        " does not fit a kernel of shape " +
                        formatInts(w->dims) + " in " + std::to_string(groups) +
                        " groups");
  }
  Upsampling up = readUpsampling(node, x, w);
  if (node.failed()) {
    return;
  }
  rt::Dims dims = {x->dims[0], w->dims[1] * groups};
  Ints extents;
  for (size_t i = 0; i < up.kernel.size(); ++i) {
    int64_t full = up.strides[i] * (x->dims[i + 2] - 1) +
                   (up.kernel[i] - 1) * up.dilations[i] + 1;
    extents.push_back(x->dims[i + 2] == 0 ? 0 : full - up.lo[i] - up.hi[i]);
    if (extents.back() < 0) {
      return node.invalid("pads " + formatInts(up.lo) + " and " +
                          formatInts(up.hi) + " crop more than there is");
    }
    dims.push_back(extents.back());
  }
  Tensor result = emit.sum("conv_dgrad", {x, w},
                           {{"strides", up.strides},
                            {"dilations", up.dilations},
                            {"pads_lo", up.lo},
                            {"extents", extents},
                            {"groups", groups}},
                           dims);
  if (!node.failed() && node.hasInput(2)) {
    result = addChannelBias(node, result, node.input(2));
  }
  node.setResult(0, result);
}

llvm::ArrayRef<ImporterRow> divisi::convTransposeImporters() {
  static const ImporterRow kRows[] = {{"ConvTranspose", importConvTranspose}};
  return kRows;
}
