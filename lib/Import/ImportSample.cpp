//===- ImportSample.cpp - Import of sampling at computed places -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sample is a weighted sum of the elements around its place, its taps. Space
// is one dim, so that each tap is a gather at an index computed from places:
//
//   y[.., p] = sum over taps of weight[p] · x[.., index[p]]
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using rt::DType;

namespace {

/// Positions along one axis, and how much each of them counts.
struct Taps {
  std::vector<Tensor> positions; ///< Whole numbers, as floats.
  std::vector<Tensor> weights;   ///< Null entries: 1.
};

/// Arithmetic of a tensor with numbers.
class Arithmetic {
public:
  Arithmetic(Emitter &emit, DType type) : emit_(emit), type_(type) {}

  Tensor operator()(const char *op, const Tensor &x, double y) const {
    return emit_.binary(op, x, emit_.scalar(type_, y));
  }
  Tensor operator()(const char *op, const Tensor &x, const Tensor &y) const {
    return emit_.binary(op, x, y);
  }
  Tensor from(double x, const Tensor &y) const {
    return emit_.binary("sub", emit_.scalar(type_, x), y);
  }
  Tensor clamp(const Tensor &x, double lo, double hi) const {
    return (*this)("min", (*this)("max", x, lo), hi);
  }

private:
  Emitter &emit_;
  DType type_;
};

} // namespace

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

/// Keys' kernel with a = -0.75 at the distances 1 + f, f, 1 - f, 2 - f.
static std::vector<Tensor> cubicWeights(const Arithmetic &math,
                                        const Tensor &f) {
  constexpr double a = -0.75;
  auto near = [&](const Tensor &d) {
    Tensor inner = math("sub", math("mul", d, a + 2), a + 3);
    return math("add", math("mul", inner, math("mul", d, d)), 1);
  };
  auto far = [&](const Tensor &d) {
    Tensor inner = math("sub", math("mul", d, a), 5 * a);
    inner = math("add", math("mul", inner, d), 8 * a);
    return math("sub", math("mul", inner, d), 4 * a);
  };
  return {far(math("add", f, 1)), near(f), near(math.from(1, f)),
          far(math.from(2, f))};
}

/// The taps of the places `at` along an axis.
static Taps tapsOf(Emitter &emit, const Arithmetic &math, const Tensor &at,
                   const std::string &mode) {
  if (mode == "nearest") {
    return {{emit.unary("round", at)}, {nullptr}};
  }
  Tensor base = emit.unary("floor", at);
  Tensor fraction = math("sub", at, base);
  if (mode == "linear") {
    return {{base, math("add", base, 1)}, {math.from(1, fraction), fraction}};
  }
  return {
      {math("sub", base, 1), base, math("add", base, 1), math("add", base, 2)},
      cubicWeights(math, fraction)};
}

/// Positions mirrored at lo and hi until they lie between them.
static Tensor reflect(Emitter &emit, const Arithmetic &math, const Tensor &at,
                      double lo, double hi) {
  double span = std::max(hi - lo, 1.0);
  Tensor way = emit.unary("abs", math("sub", at, lo));
  way = emit.binary("mod", way, emit.scalar(at->type, 2 * span),
                    {{"fmod", int64_t{1}}});
  Tensor mirrored = math.from(2 * span, way);
  return math("add", math("min", way, mirrored), lo);
}

namespace {
/// What the node says, and its operands.
struct SampleGrid {
  std::string mode, padding;
  bool alignsCorners = false;
  rt::Dims extents; ///< Of space.
  Tensor places;    ///< [n, p, axes], x before y before z
  DType type = DType::F32;
};
} // namespace

/// Places in [-1, 1] along `axis` as positions.
static Tensor positionsOf(Emitter &emit, const Arithmetic &math,
                          const SampleGrid &grid, size_t axis) {
  auto count = static_cast<int64_t>(grid.extents.size());
  int64_t column = count - 1 - static_cast<int64_t>(axis);
  Tensor at = emit.sliceAxis(grid.places, 2, column, column + 1);
  at = emit.reshape(at, {at->dims[0], 1, at->dims[1]});
  auto extent = static_cast<double>(grid.extents[axis]);
  at = math("add", at, 1);
  if (grid.alignsCorners) {
    return math("mul", at, (extent - 1) / 2);
  }
  return math("div", math("sub", math("mul", at, extent), 1), 2);
}

/// `taps` moved into [0, extent) as the padding says; `inside` gets, by tap,
/// whether it was there before, where zeros are outside.
static void padTaps(Emitter &emit, const Arithmetic &math,
                    const SampleGrid &grid, double extent, Taps &taps,
                    std::vector<Tensor> &inside) {
  for (Tensor &position : taps.positions) {
    Tensor there;
    if (grid.padding == "zeros") {
      Tensor low = emit.compare("ge", position, emit.scalar(grid.type, 0));
      Tensor high =
          emit.compare("le", position, emit.scalar(grid.type, extent - 1));
      there = emit.binary("and", low, high);
    } else if (grid.padding == "reflection") {
      position = grid.alignsCorners
                     ? reflect(emit, math, position, 0, extent - 1)
                     : reflect(emit, math, position, -0.5, extent - 0.5);
    }
    inside.push_back(there);
    position = emit.cast(math.clamp(position, 0, extent - 1), DType::I64);
  }
}

/// Reads the node; fails where its operands do not fit.
static SampleGrid readGrid(NodeImporter &node) {
  SampleGrid grid;
  const Tensor &x = node.input(0), &places = node.input(1);
  grid.mode = node.getString("mode", "linear");
  // What version 20 calls linear and cubic.
  grid.mode = grid.mode == "bilinear"  ? "linear"
              : grid.mode == "bicubic" ? "cubic"
                                       : grid.mode;
  grid.padding = node.getString("padding_mode", "zeros");
  grid.alignsCorners = node.getInt("align_corners") != 0;
  int64_t axes = x->rank() - 2;
  if (axes < 1 || places->rank() != x->rank() || places->dims.back() != axes ||
      places->dims[0] != x->dims[0] || x->count() == 0) {
    node.invalid("a grid of shape " + formatInts(places->dims) +
                 " does not fit an image of shape " + formatInts(x->dims));
    return grid;
  }
  if (grid.mode == "cubic" && axes != 2) {
    node.unsupported("its mode is cubic, and the image has " +
                     std::to_string(axes) + " spatial dims; expected 2");
    return grid;
  }
  grid.extents.assign(x->dims.begin() + 2, x->dims.end());
  grid.type = rt::sumType(places->type);
  grid.places = node.emitter().reshape(
      node.emitter().cast(places, grid.type),
      {places->dims[0], places->count() / (places->dims[0] * axes), axes});
  return grid;
}

/// The taps of an image are all combinations of those of its axes.
void divisi::importGridSample(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  SampleGrid grid = readGrid(node);
  if (node.failed()) {
    return;
  }
  Arithmetic math(emit, grid.type);
  // Combinations so far: index, weight and whether inside, each [n, 1, p].
  std::vector<Tensor> indices = {nullptr}, weights = {nullptr},
                      inside = {nullptr};
  auto both = [&](const char *op, const Tensor &a, const Tensor &b) {
    return a && b ? emit.binary(op, a, b) : (a ? a : b);
  };
  for (size_t axis = 0; axis < grid.extents.size(); ++axis) {
    Taps taps =
        tapsOf(emit, math, positionsOf(emit, math, grid, axis), grid.mode);
    std::vector<Tensor> there, newIndices, newWeights, newInside;
    padTaps(emit, math, grid, static_cast<double>(grid.extents[axis]), taps,
            there);
    for (size_t i = 0; i < indices.size(); ++i) {
      Tensor before = indices[i]
                          ? emit.binary("mul", indices[i],
                                        emit.constant(rt::HostTensor::ofInts(
                                            {}, {grid.extents[axis]})))
                          : nullptr;
      for (size_t t = 0; t < taps.positions.size(); ++t) {
        newIndices.push_back(both("add", before, taps.positions[t]));
        newWeights.push_back(both("mul", weights[i], taps.weights[t]));
        newInside.push_back(both("and", inside[i], there[t]));
      }
    }
    indices = newIndices, weights = newWeights, inside = newInside;
  }
  int64_t n = x->dims[0], points = grid.places->dims[1];
  Tensor flat = emit.reshape(x, {n, x->dims[1], x->count() / (n * x->dims[1])});
  Tensor sum;
  for (size_t i = 0; i < indices.size(); ++i) {
    Tensor value = emit.gather(flat, emit.reshape(indices[i], {n, points}), 2,
                               /*batchDims=*/1);
    if (inside[i]) {
      value = emit.select(inside[i], value, emit.scalar(x->type, 0));
    }
    if (weights[i]) {
      value = emit.binary("mul", emit.cast(value, grid.type), weights[i]);
    }
    sum = sum ? emit.binary("add", sum, value) : value;
  }
  rt::Dims dims = {n, x->dims[1]};
  dims.insert(dims.end(), node.input(1)->dims.begin() + 1,
              node.input(1)->dims.end() - 1);
  node.setResult(0, emit.reshape(emit.cast(sum, x->type), dims));
}

//===----------------------------------------------------------------------===//
// AffineGrid
//===----------------------------------------------------------------------===//

/// theta [n, axes, axes + 1] times the places of an even grid.
static void importAffineGrid(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &theta = node.input(0);
  auto size = node.constantInts(1);
  if (!size) {
    return;
  }
  auto axes = static_cast<int64_t>(size->size()) - 2;
  if (axes < 1 || theta->dims != rt::Dims{size->front(), axes, axes + 1} ||
      *std::min_element(size->begin(), size->end()) < 0) {
    return node.invalid("theta of shape " + formatInts(theta->dims) +
                        " does not fit the size " + formatInts(*size));
  }
  bool alignsCorners = node.getInt("align_corners") != 0;
  rt::Dims space(size->begin() + 2, size->end()), full = space;
  full.push_back(1);
  std::vector<Tensor> columns;
  for (int64_t axis = axes - 1; axis >= 0; --axis) {
    auto extent = space[static_cast<size_t>(axis)];
    std::vector<double> places;
    for (int64_t i = 0; i < extent; ++i) {
      double inner = extent > 1 ? double(2 * i) / double(extent - 1) - 1 : 0;
      places.push_back(alignsCorners ? inner
                                     : double(2 * i + 1) / double(extent) - 1);
    }
    rt::Dims line(full.size(), 1);
    line[static_cast<size_t>(axis)] = extent;
    columns.push_back(
        emit.expand(emit.numbers(theta->type, line, places), full));
  }
  columns.push_back(emit.expand(emit.scalar(theta->type, 1), full));
  Tensor grid = emit.concat(columns, axes);
  int64_t points = grid->count() / (axes + 1);
  Tensor result =
      emit.matmul(emit.reshape(grid, {points, axes + 1}), theta, "pk,njk->npj");
  rt::Dims dims = {size->front()};
  dims.insert(dims.end(), space.begin(), space.end());
  dims.push_back(axes);
  node.setResult(0, emit.reshape(result, dims));
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

namespace {
/// The samples of all regions along one axis, each [k, samples].
struct Samples {
  Tensor low, high;             ///< i64, in range.
  Tensor lowWeight, highWeight; ///< 0 where the sample lies outside.
};
} // namespace

/// `bins` of `ratio` samples each between two columns of the regions.
static Samples sampleAxis(NodeImporter &node, const Tensor &regions,
                          int64_t column, int64_t extent, int64_t bins,
                          int64_t ratio) {
  Emitter &emit = node.emitter();
  Arithmetic math(emit, regions->type);
  bool isHalf = node.getString("coordinate_transformation_mode",
                               "output_half_pixel") == "half_pixel";
  double scale = node.getFloat("spatial_scale", 1), offset = isHalf ? 0.5 : 0;
  auto edge = [&](int64_t i) {
    return math("sub", math("mul", emit.sliceAxis(regions, 1, i, i + 1), scale),
                offset);
  };
  Tensor start = edge(column);
  Tensor length = math("sub", edge(column + 2), start);
  if (!isHalf) {
    length = math("max", length, 1);
  }
  std::vector<double> steps;
  for (int64_t i = 0; i < bins * ratio; ++i) {
    steps.push_back((double(i) + 0.5) / double(bins * ratio));
  }
  Tensor line = emit.numbers(regions->type, {1, bins * ratio}, steps);
  Tensor at = math("add", start, math("mul", length, line));
  auto last = static_cast<double>(extent - 1);
  Tensor inside =
      emit.binary("and", emit.compare("ge", at, emit.scalar(at->type, -1)),
                  emit.compare("le", at, emit.scalar(at->type, last + 1)));
  at = math.clamp(at, 0, last);
  Tensor low = emit.unary("floor", at);
  Tensor fraction = math("sub", at, low);
  Tensor none = emit.scalar(at->type, 0);
  return {emit.cast(low, DType::I64),
          emit.cast(math("min", math("add", low, 1), last), DType::I64),
          emit.select(inside, math.from(1, fraction), none),
          emit.select(inside, fraction, none)};
}

/// Four gathers from the image [c, (n h w)] for all samples of all regions.
static void importRoiAlign(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0), &regions = node.input(1),
               &batch = node.input(2);
  int64_t rows = node.getInt("output_height", 1),
          columns = node.getInt("output_width", 1),
          ratio = node.getInt("sampling_ratio", 0);
  if (x->rank() != 4 || x->count() == 0 || regions->rank() != 2 ||
      regions->dims[1] != 4 || batch->dims != rt::Dims{regions->dims[0]} ||
      rows < 1 || columns < 1) {
    return node.invalid("regions of shape " + formatInts(regions->dims) +
                        " do not fit an image of shape " + formatInts(x->dims));
  }
  if (ratio < 1) {
    return node.unsupported("its sampling_ratio is 0, so that the number of "
                            "samples depends on the regions; give a number");
  }
  int64_t height = x->dims[2], width = x->dims[3], k = regions->dims[0];
  Samples ys = sampleAxis(node, regions, 1, height, rows, ratio);
  Samples xs = sampleAxis(node, regions, 0, width, columns, ratio);
  Tensor image = emit.reshape(emit.transpose(x, {1, 0, 2, 3}),
                              {x->dims[1], x->dims[0] * height * width});
  Tensor first =
      emit.scaleIndex(emit.cast(batch, DType::I64), x->dims[0], height * width);
  first = emit.reshape(first, {k, 1, 1});
  int64_t tall = rows * ratio, wide = columns * ratio;
  bool isMax = node.getString("mode", "avg") == "max";
  Tensor result;
  for (const auto &[y, wy] :
       {std::pair(ys.low, ys.lowWeight), std::pair(ys.high, ys.highWeight)}) {
    for (const auto &[at, wx] :
         {std::pair(xs.low, xs.lowWeight), std::pair(xs.high, xs.highWeight)}) {
      Tensor row = emit.binary("mul", emit.reshape(y, {k, tall, 1}),
                               emit.integer(width));
      Tensor index = emit.binary("add", emit.binary("add", first, row),
                                 emit.reshape(at, {k, 1, wide}));
      Tensor weight = emit.binary("mul", emit.reshape(wy, {k, tall, 1}),
                                  emit.reshape(wx, {k, 1, wide}));
      Tensor value = emit.binary("mul", emit.gather(image, index, 1, 0),
                                 emit.cast(weight, x->type));
      result =
          result ? emit.binary(isMax ? "max" : "add", result, value) : value;
    }
  }
  result = emit.reshape(result, {x->dims[1], k, rows, ratio, columns, ratio});
  result = isMax ? emit.reduce("max", result, {3, 5}, /*keepDims=*/true)
                 : emit.mean(result, {3, 5});
  result = emit.reshape(result, {x->dims[1], k, rows, columns});
  node.setResult(0, emit.transpose(result, {1, 0, 2, 3}));
}

llvm::ArrayRef<ImporterRow> divisi::sampleImporters() {
  static const ImporterRow kRows[] = {
      {"AffineGrid", importAffineGrid},
      {"GridSample", importGridSample},
      {"RoiAlign", importRoiAlign},
  };
  return kRows;
}
