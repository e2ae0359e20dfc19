//===- ImportPool.cpp - Import of pools -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Window.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using Ints = std::vector<int64_t>;

/// Each tap becomes operators where indices are wanted.
static constexpr int64_t kMostTaps = 64;

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

static bool checkImage(NodeImporter &node, const Tensor &x) {
  if (x->rank() < 3) {
    node.invalid("got a tensor of rank " + std::to_string(x->rank()) +
                 ", expected batch, channels and spatial dims");
  }
  return !node.failed();
}

/// A tap of the window, at offset[i] along spatial dim i, of all positions: the
/// index of each in its plane, below 0 where it is padding.
static Tensor indexOfTap(NodeImporter &node, const Window &window,
                         const rt::Dims &extents, const Ints &offset) {
  Emitter &emit = node.emitter();
  bool isColumnMajor = node.getInt("storage_order") != 0;
  Tensor index = emit.ints({0});
  int64_t stride = 1;
  for (size_t i = 0; i < extents.size(); ++i) {
    size_t axis = isColumnMajor ? i : extents.size() - 1 - i;
    Ints line;
    for (int64_t o = 0; o < window.count[axis]; ++o) {
      int64_t at = o * window.strides[axis] + offset[axis] - window.lo[axis];
      line.push_back(at < 0 || at >= extents[axis] ? -kLargestExtent
                                                   : at * stride);
    }
    rt::Dims shape(extents.size() + 2, 1);
    shape[axis + 2] = window.count[axis];
    index = emit.binary("add", index, emit.reshape(emit.ints(line), shape));
    stride *= extents[axis];
  }
  return index;
}

/// Where the first largest element of each window stands in the whole tensor:
/// each tap is compared with the best before it.
static Tensor indicesOfMax(NodeImporter &node, const Tensor &x,
                           const Window &window) {
  Emitter &emit = node.emitter();
  rt::Dims extents = spatialDims(x);
  int64_t taps = 1;
  for (int64_t k : window.kernel) {
    taps *= std::min<int64_t>(k, 1 << 16);
    if (taps > kMostTaps) {
      node.unsupported("its indices are read, and its window has more than " +
                       std::to_string(kMostTaps) + " elements");
      return nullptr;
    }
  }
  size_t rank = x->dims.size();
  Ints lo(rank, 0), hi(rank, 0), steps(rank, 1);
  for (size_t i = 0; i < extents.size(); ++i) {
    lo[i + 2] = window.lo[i];
    hi[i + 2] = window.hi[i] + window.over[i];
    steps[i + 2] = window.strides[i];
  }
  Tensor padded = emit.pad(x, lo, hi, 0);
  Tensor none = emit.integer(0);
  Tensor best, where;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Ints offset(extents.size()), from(rank, 0), to = padded->dims;
    int64_t rest = tap;
    for (size_t i = extents.size(); i-- > 0;) {
      offset[i] = rest % window.kernel[i] * window.dilations[i];
      rest /= window.kernel[i];
      from[i + 2] = offset[i];
      to[i + 2] = offset[i] + (window.count[i] - 1) * window.strides[i] + 1;
    }
    Tensor value = emit.slice(padded, from, to, steps);
    Tensor index =
        emit.expand(indexOfTap(node, window, extents, offset), value->dims);
    if (!best) {
      best = value, where = index;
      continue;
    }
    Tensor isBetter = emit.binary("or", emit.compare("gt", value, best),
                                  emit.compare("lt", where, none));
    isBetter = emit.binary("and", isBetter, emit.compare("ge", index, none));
    best = emit.select(isBetter, value, best);
    where = emit.select(isBetter, index, where);
  }
  // The planes before it.
  int64_t plane = x->count() / std::max<int64_t>(1, x->dims[0] * x->dims[1]);
  rt::Dims planes(rank, 1);
  planes[0] = x->dims[0], planes[1] = x->dims[1];
  Tensor first = emit.reshape(
      emit.iota(rt::DType::I64, {planes[0] * planes[1]}, 0), planes);
  first = emit.binary("mul", first, emit.integer(plane));
  return emit.binary("add", where, first);
}

/// The window over the image that is pooled; nothing if something has failed.
static std::optional<Window> readPool(NodeImporter &node, const Tensor &x) {
  if (!checkImage(node, x)) {
    return std::nullopt;
  }
  Window window =
      readWindow(node, node.getInts("kernel_shape"), spatialDims(x));
  return node.failed() ? std::nullopt : std::optional(std::move(window));
}

static void importMaxPool(NodeImporter &node) {
  const Tensor &x = node.input(0);
  std::optional<Window> read = readPool(node, x);
  if (!read) {
    return;
  }
  const Window &window = *read;
  node.setResult(0, emitPool(node, "pool_max", x, window, x->type));
  if (node.wantsOutput(1)) {
    node.setResult(1, indicesOfMax(node, x, window));
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

Tensor divisi::importAverage(NodeImporter &node, const Tensor &x) {
  std::optional<Window> read = readPool(node, x);
  if (!read) {
    return x;
  }
  const Window &window = *read;
  for (size_t i = 0; i < window.count.size(); ++i) {
    if (window.count[i] > int64_t{1} << 24 || window.kernel[i] > int64_t{1}
                                                                     << 16) {
      node.unsupported("its window or result is too large");
      return x;
    }
  }
  Emitter &emit = node.emitter();
  rt::DType type = rt::sumType(x->type);
  Tensor sum = emitPool(node, "pool_sum", x, window, type);
  Tensor counts = countTensor(node, window, spatialDims(x),
                              node.getInt("count_include_pad") != 0);
  Tensor mean = emit.binary("div", sum, emit.cast(counts, type));
  return emit.cast(mean, x->type);
}

static void importAveragePool(NodeImporter &node) {
  node.setResult(0, importAverage(node, node.input(0)));
}

/// |x| to the power of p.
static Tensor powerOf(Emitter &emit, const Tensor &x, int64_t p) {
  return p == 1   ? emit.unary("abs", x)
         : p == 2 ? emit.binary("mul", x, x)
                  : emit.binary("pow", emit.unary("abs", x),
                                emit.scalar(x->type, static_cast<double>(p)));
}

/// The p-th root.
static Tensor rootOf(Emitter &emit, const Tensor &x, int64_t p) {
  return p == 1 ? x
         : p == 2
             ? emit.unary("sqrt", x)
             : emit.binary("pow", x,
                           emit.scalar(x->type, 1 / static_cast<double>(p)));
}

/// Sums of f16 and bf16 are f32 until the root is drawn.
static void importLpPool(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  std::optional<Window> read = readPool(node, x);
  if (!read) {
    return;
  }
  const Window &window = *read;
  int64_t p = node.getInt("p", 2);
  rt::DType type = rt::sumType(x->type);
  Tensor sum = emitPool(node, "pool_sum", powerOf(emit, emit.cast(x, type), p),
                        window, type);
  node.setResult(0, emit.cast(rootOf(emit, sum, p), x->type));
}

static Ints spatialAxes(const Tensor &x) {
  Ints axes(static_cast<size_t>(x->rank() - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

static void importGlobalAveragePool(NodeImporter &node) {
  if (checkImage(node, node.input(0))) {
    const Tensor &x = node.input(0);
    node.setResult(0, node.emitter().mean(x, spatialAxes(x)));
  }
}

static void importGlobalLpPool(NodeImporter &node) {
  if (checkImage(node, node.input(0))) {
    Emitter &emit = node.emitter();
    const Tensor &x = node.input(0);
    int64_t p = node.getInt("p", 2);
    Tensor sum =
        emit.reduce("sum", powerOf(emit, emit.cast(x, rt::sumType(x->type)), p),
                    spatialAxes(x), true);
    node.setResult(0, emit.cast(rootOf(emit, sum, p), x->type));
  }
}

static void importGlobalMaxPool(NodeImporter &node) {
  if (checkImage(node, node.input(0))) {
    const Tensor &x = node.input(0);
    node.setResult(0, node.emitter().reduce("max", x, spatialAxes(x), true));
  }
}

/// x / (bias + alpha/size * sum of squares over neighbouring channels)^beta
static void importLRN(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t size = node.getInt("size");
  if (x->rank() < 2 || size < 1 || size > kLargestExtent) {
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

llvm::ArrayRef<ImporterRow> divisi::poolImporters() {
  static const ImporterRow kRows[] = {
      {"AveragePool", importAveragePool},
      {"GlobalAveragePool", importGlobalAveragePool},
      {"GlobalLpPool", importGlobalLpPool},
      {"GlobalMaxPool", importGlobalMaxPool},
      {"LRN", importLRN},
      {"LpPool", importLpPool},
      {"MaxPool", importMaxPool},
  };
  return kRows;
}
