//===- ImportWindow.cpp - Import of convolutions and pools ----------------===//
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

namespace {
/// How a window walks over the spatial dims.
struct Window {
  Ints kernel, strides, dilations, lo, hi;
  /// Positions per dim. With ceil_mode the last window may hang over; `over`
  /// says by how much beyond hi.
  Ints count, over;
};
} // namespace

static constexpr int64_t kLargest = int64_t{1} << 40;

static bool allWithin(const Ints &values, int64_t least) {
  return std::all_of(values.begin(), values.end(), [&](int64_t value) {
    return value >= least && value <= kLargest;
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

/// Reads strides, dilations and pads of a window over `extents`.
static Window readWindow(NodeImporter &node, Ints kernel,
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
                 "out of all proportion");
    return window;
  }
  for (size_t i = 0; i < rank; ++i) {
    if (window.kernel[i] > kLargest / window.dilations[i]) {
      node.invalid("the dilated kernel is out of all proportion");
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

static rt::Dims spatialDims(const Tensor &x) {
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
    node.invalid("the bias has not one element per channel");
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

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// `op` over windows of all dims; those of batch and channel are single points.
static Tensor emitPool(NodeImporter &node, const std::string &op,
                       const Tensor &x, const Window &window, rt::DType type) {
  auto full = [](const Ints &values, int64_t outer) {
    Ints result = {outer, outer};
    result.insert(result.end(), values.begin(), values.end());
    return result;
  };
  Ints hi = window.hi;
  rt::Dims dims = {x->dims[0], x->dims[1]};
  for (size_t i = 0; i < hi.size(); ++i) {
    hi[i] += window.over[i];
    dims.push_back(window.count[i]);
  }
  return node.emitter().emit(op, {x},
                             {{"kernel", full(window.kernel, 1)},
                              {"strides", full(window.strides, 1)},
                              {"dilations", full(window.dilations, 1)},
                              {"pads_lo", full(window.lo, 0)},
                              {"pads_hi", full(hi, 0)}},
                             type, dims);
}

static bool checkImage(NodeImporter &node) {
  if (node.input(0)->rank() < 3) {
    node.invalid("got a tensor of rank " +
                 std::to_string(node.input(0)->rank()) +
                 ", expected batch, channels and spatial dims");
  }
  return !node.failed();
}

static void importMaxPool(NodeImporter &node) {
  const Tensor &x = node.input(0);
  if (!checkImage(node)) {
    return;
  }
  if (node.wantsOutput(1)) {
    return node.unsupported("its second output, the indices, is not done yet");
  }
  Window window =
      readWindow(node, node.getInts("kernel_shape"), spatialDims(x));
  if (!node.failed()) {
    node.setResult(0, emitPool(node, "pool_max", x, window, x->type));
  }
}

/// How many elements each position averages, as a tensor [1, 1, o..].
static Tensor countTensor(NodeImporter &node, const Window &window,
                          const rt::Dims &extents, bool countPads) {
  rt::Dims dims = {1, 1};
  Tensor result = node.emitter().scalar(rt::DType::F32, 1);
  for (size_t i = 0; i < extents.size(); ++i) {
    std::vector<float> counts;
    int64_t begin = countPads ? -window.lo[i] : 0;
    int64_t end = extents[i] + (countPads ? window.hi[i] : 0);
    for (int64_t o = 0; o < window.count[i]; ++o) {
      int64_t first = o * window.strides[i] - window.lo[i], count = 0;
      for (int64_t k = 0; k < window.kernel[i]; ++k) {
        int64_t at = first + k * window.dilations[i];
        count += at >= begin && at < end;
      }
      counts.push_back(static_cast<float>(count));
    }
    rt::Dims shape(extents.size() + 2, 1);
    shape[i + 2] = window.count[i];
    result = node.emitter().binary(
        "mul", result,
        node.emitter().constant(rt::HostTensor::ofFloats(shape, counts)));
  }
  return result;
}

static void importAveragePool(NodeImporter &node) {
  const Tensor &x = node.input(0);
  if (!checkImage(node)) {
    return;
  }
  Window window =
      readWindow(node, node.getInts("kernel_shape"), spatialDims(x));
  for (size_t i = 0; i < window.count.size() && !node.failed(); ++i) {
    if (window.count[i] > int64_t{1} << 24 || window.kernel[i] > int64_t{1}
                                                                     << 16) {
      return node.unsupported("its window or result is too large");
    }
  }
  if (node.failed()) {
    return;
  }
  Emitter &emit = node.emitter();
  rt::DType type = rt::sumType(x->type);
  Tensor sum = emitPool(node, "pool_sum", x, window, type);
  Tensor counts = countTensor(node, window, spatialDims(x),
                              node.getInt("count_include_pad") != 0);
  Tensor mean = emit.binary("div", sum, emit.cast(counts, type));
  node.setResult(0, emit.cast(mean, x->type));
}

static Ints spatialAxes(const Tensor &x) {
  Ints axes(static_cast<size_t>(x->rank() - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

static void importGlobalAveragePool(NodeImporter &node) {
  if (checkImage(node)) {
    const Tensor &x = node.input(0);
    node.setResult(0, node.emitter().mean(x, spatialAxes(x)));
  }
}

static void importGlobalMaxPool(NodeImporter &node) {
  if (checkImage(node)) {
    const Tensor &x = node.input(0);
    node.setResult(0, node.emitter().reduce("max", x, spatialAxes(x), true));
  }
}

/// x / (bias + alpha/size * sum of squares over neighbouring channels)^beta
static void importLRN(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t size = node.getInt("size");
  if (x->rank() < 2 || size < 1 || size > kLargest) {
    return node.invalid("got size " + std::to_string(size) +
                        " and a tensor of rank " + std::to_string(x->rank()));
  }
  Ints ones(x->dims.size(), 1), lo(x->dims.size(), 0), hi = lo, kernel = ones;
  kernel[1] = size;
  lo[1] = (size - 1) / 2;
  hi[1] = size / 2;
  Tensor sum = emit.emit("pool_sum", {emit.binary("mul", x, x)},
                         {{"kernel", kernel},
                          {"strides", ones},
                          {"dilations", ones},
                          {"pads_lo", lo},
                          {"pads_hi", hi}},
                         x->type, x->dims);
  double factor = node.getFloat("alpha", 1e-4) / static_cast<double>(size);
  Tensor base = emit.binary("mul", sum, emit.scalar(x->type, factor));
  base =
      emit.binary("add", base, emit.scalar(x->type, node.getFloat("bias", 1)));
  base = emit.binary("pow", base,
                     emit.scalar(x->type, node.getFloat("beta", 0.75)));
  node.setResult(0, emit.binary("div", x, base));
}

llvm::ArrayRef<ImporterRow> divisi::windowImporters() {
  static const ImporterRow kRows[] = {
      {"AveragePool", importAveragePool},
      {"Conv", importConv},
      {"GlobalAveragePool", importGlobalAveragePool},
      {"GlobalMaxPool", importGlobalMaxPool},
      {"LRN", importLRN},
      {"MaxPool", importMaxPool},
  };
  return kRows;
}
