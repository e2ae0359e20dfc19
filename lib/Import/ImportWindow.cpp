//===- ImportWindow.cpp - Import of convolutions --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Window.h"

#include <algorithm>

using namespace divisi;
using Ints = std::vector<int64_t>;

static bool allWithin(const Ints &values, int64_t least) {
  return std::all_of(values.begin(), values.end(), [&](int64_t value) {
    return value >= least && value <= kLargestExtent;
  });
}

/// Pads so that there are ceil(extent / stride) positions; an odd rest goes to
/// the end for SAME_UPPER, to the beginning for SAME_LOWER.
static void padToSame(Window &window, const rt::Dims &extents, bool upper) {
  for (size_t i = 0; i < extents.size(); ++i) {
    int64_t stride = window.strides[i];
    int64_t count = (extents[i] + stride - 1) / stride;
    int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t pads =
        std::max<int64_t>(0, (count - 1) * stride + reach - extents[i]);
    window.lo[i] = upper ? pads / 2 : pads - pads / 2;
    window.hi[i] = pads - window.lo[i];
  }
}

/// Counts the positions; fails where there are none.
static void countPositions(NodeImporter &node, Window &window,
                           const rt::Dims &extents) {
  bool ceil = node.getInt("ceil_mode") != 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    int64_t stride = window.strides[i];
    int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t room = extents[i] + window.lo[i] + window.hi[i] - reach;
    if (room < 0) {
      return node.invalid("a window of " + std::to_string(reach) +
                          " does not fit an extent of " +
                          std::to_string(extents[i]) + " with its pads");
    }
    int64_t count = room / stride + 1;
    int64_t over = 0;
    if (ceil && room % stride != 0 &&
        // A window that starts in the padding at the end is dropped.
        count * stride < extents[i] + window.lo[i]) {
      over = stride - room % stride;
      ++count;
    }
    window.count.push_back(count);
    window.over.push_back(over);
  }
}

Window divisi::readWindow(NodeImporter &node, Ints kernel,
                          const rt::Dims &extents) {
  Window window;
  size_t rank = extents.size();
  window.kernel = std::move(kernel);
  auto read = [&](const char *name, size_t size, int64_t fallback) {
    Ints values = node.getInts(name);
    return values.empty() ? Ints(size, fallback) : values;
  };
  window.strides = read("strides", rank, 1);
  window.dilations = read("dilations", rank, 1);
  Ints pads = read("pads", 2 * rank, 0);
  if (window.kernel.size() != rank || window.strides.size() != rank ||
      window.dilations.size() != rank || pads.size() != 2 * rank) {
    node.invalid("kernel_shape, strides, dilations or pads do not have an "
                 "entry for each of " +
                 std::to_string(rank) + " spatial dims");
    return window;
  }
  if (!allWithin(window.kernel, 1) || !allWithin(window.strides, 1) ||
      !allWithin(window.dilations, 1) || !allWithin(extents, 0)) {
    node.invalid("kernel_shape, strides and dilations are not positive, or "
                 "unreasonably large");
    return window;
  }
  for (size_t i = 0; i < rank; ++i) {
    if (window.kernel[i] > kLargestExtent / window.dilations[i]) {
      node.invalid("the dilated kernel is unreasonably large");
      return window;
    }
  }
  if (!allWithin(pads, 0)) {
    node.unsupported("it has negative pads; use Pad before it");
    return window;
  }
  window.lo.assign(pads.begin(), pads.begin() + static_cast<int64_t>(rank));
  window.hi.assign(pads.begin() + static_cast<int64_t>(rank), pads.end());
  std::string autoPad = node.getString("auto_pad", "NOTSET");
  if (autoPad == "VALID") {
    window.lo = window.hi = Ints(rank, 0);
  } else if (autoPad != "NOTSET") {
    padToSame(window, extents, autoPad == "SAME_UPPER");
  }
  countPositions(node, window, extents);
  return window;
}

rt::Dims divisi::spatialDims(const Tensor &x) {
  return rt::Dims(x->dims.begin() + 2, x->dims.end());
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

Tensor divisi::importConvolution(NodeImporter &node, const Tensor &x,
                                 const Tensor &w) {
  if (x->rank() < 3 || w->rank() != x->rank()) {
    node.invalid("got an input of rank " + std::to_string(x->rank()) +
                 " and a kernel of rank " + std::to_string(w->rank()) +
                 ", expected the same rank, 3 at least");
    return x;
  }
  Window window = readWindow(node, spatialDims(w), spatialDims(x));
  int64_t groups = node.getInt("group", 1);
  if (node.failed()) {
    return x;
  }
  Ints declared = node.getInts("kernel_shape");
  if (!declared.empty() && declared != window.kernel) {
    node.invalid("kernel_shape is not that of the kernel");
    return x;
  }
  if (groups < 1 || x->dims[1] % groups != 0 ||
      x->dims[1] / groups != w->dims[1] || w->dims[0] % groups != 0) {
    node.invalid("it has " + std::to_string(groups) + " groups, " +
                 std::to_string(x->dims[1]) + " channels and a kernel of " +
                 std::to_string(w->dims[0]) + " by " +
                 std::to_string(w->dims[1]));
    return x;
  }
  rt::Dims dims = {x->dims[0], w->dims[0]};
  dims.insert(dims.end(), window.count.begin(), window.count.end());
  return node.emitter().sum("conv", {x, w},
                            {{"strides", window.strides},
                             {"dilations", window.dilations},
                             {"pads_lo", window.lo},
                             {"pads_hi", window.hi},
                             {"groups", groups}},
                            dims);
}

Tensor divisi::addChannelBias(NodeImporter &node, const Tensor &x,
                              const Tensor &bias) {
  if (bias->dims != rt::Dims{x->dims[1]}) {
    node.invalid("the bias does not have one element per channel");
    return x;
  }
  rt::Dims shape(x->dims.size(), 1);
  shape[1] = x->dims[1];
  return node.emitter().binary("add", x, node.emitter().reshape(bias, shape));
}

/// The bias is an addition of its own: kernels have none.
static void importConv(NodeImporter &node) {
  Tensor result = importConvolution(node, node.input(0), node.input(1));
  if (!node.failed() && node.hasInput(2)) {
    result = addChannelBias(node, result, node.input(2));
  }
  node.setResult(0, result);
}

llvm::ArrayRef<ImporterRow> divisi::windowImporters() {
  static const ImporterRow kRows[] = {{"Conv", importConv}};
  return kRows;
}
