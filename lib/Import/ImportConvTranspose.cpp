//===- ImportConvTranspose.cpp - Transposed convolution -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transposed convolution is a convolution of the image with stride-1 zeros
// between its elements, by the kernel with its axes reversed and its features
// exchanged. With a stride it multiplies by these zeros, too.
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

/// stride - 1 zeros between the elements along each spatial dim.
static Tensor spread(Emitter &emit, Tensor x, const Ints &strides) {
  for (size_t i = 0; i < strides.size(); ++i) {
    size_t at = i + 2;
    int64_t extent = x->dims[at];
    if (strides[i] == 1 || extent == 0) {
      continue;
    }
    rt::Dims apart = x->dims, joined = x->dims;
    apart.insert(apart.begin() + static_cast<int64_t>(at) + 1, 1);
    joined[at] = extent * strides[i];
    Ints lo(apart.size(), 0), hi(apart.size(), 0);
    hi[at + 1] = strides[i] - 1;
    x = emit.pad(emit.reshape(x, apart), lo, hi, 0);
    x = emit.sliceAxis(emit.reshape(x, joined), static_cast<int64_t>(at), 0,
                       (extent - 1) * strides[i] + 1);
  }
  return x;
}

/// [C, M/g, k..] as [M, C/g, k..], the k.. reversed.
static Tensor turnKernel(Emitter &emit, const Tensor &w, int64_t groups) {
  rt::Dims grouped = w->dims;
  grouped[0] /= groups;
  grouped.insert(grouped.begin(), groups);
  Ints order(grouped.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int64_t>(i);
  }
  std::swap(order[1], order[2]);
  rt::Dims dims = w->dims;
  dims[0] = w->dims[1] * groups;
  dims[1] = w->dims[0] / groups;
  Tensor turned =
      emit.reshape(emit.transpose(emit.reshape(w, grouped), order), dims);
  Ints starts(dims.size(), 0), limits = dims, steps(dims.size(), 1);
  for (size_t i = 2; i < dims.size(); ++i) {
    starts[i] = dims[i] - 1;
    limits[i] = -1;
    steps[i] = -1;
  }
  return emit.slice(turned, starts, limits, steps);
}

static void importConvTranspose(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0), &w = node.input(1);
  int64_t groups = node.getInt("group", 1);
  if (x->rank() < 3 || w->rank() != x->rank() || groups < 1 ||
      x->dims[1] != w->dims[0] || x->dims[1] % groups != 0 || w->count() == 0) {
    return node.invalid("an image of shape " + formatInts(x->dims) +
                        " does not fit to a kernel of shape " +
                        formatInts(w->dims) + " in " + std::to_string(groups) +
                        " groups");
  }
  Upsampling up = readUpsampling(node, x, w);
  if (node.failed()) {
    return;
  }
  Tensor image = spread(emit, x, up.strides);
  size_t rank = up.kernel.size();
  Ints around, ones(rank, 1), lo(2, 0), hi(2, 0);
  rt::Dims dims = {x->dims[0], w->dims[1] * groups};
  for (size_t i = 0; i < rank; ++i) {
    around.push_back((up.kernel[i] - 1) * up.dilations[i]);
    dims.push_back(image->dims[i + 2] + around[i]);
    lo.push_back(-up.lo[i]);
    hi.push_back(-up.hi[i]);
  }
  Tensor result = emit.sum("conv", {image, turnKernel(emit, w, groups)},
                           {{"strides", ones},
                            {"dilations", up.dilations},
                            {"pads_lo", around},
                            {"pads_hi", around},
                            {"groups", groups}},
                           dims);
  result = emit.pad(result, lo, hi, 0);
  if (!node.failed() && node.hasInput(2)) {
    result = addChannelBias(node, result, node.input(2));
  }
  node.setResult(0, result);
}

llvm::ArrayRef<ImporterRow> divisi::convTransposeImporters() {
  static const ImporterRow kRows[] = {{"ConvTranspose", importConvTranspose}};
  return kRows;
}
