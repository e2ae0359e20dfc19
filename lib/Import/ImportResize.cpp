//===- ImportResize.cpp - Import of interpolation -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every mode is one table per axis: output o is the sum over taps t of
// weights[o, t] · x[indices[o, t]]. Coordinates are computed in f32, as ONNX
// Runtime does: nearest neighbours at ties depend on it.
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"
#include "OnnxTypes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace divisi;
using Ints = std::vector<int64_t>;

namespace {
struct Settings {
  std::string mode, coordinates, nearest;
  float cubic = -0.75f;
  bool excludesOutside = false, antialiases = false;
  std::string policy; ///< How sizes keep the ratio of extents.
  double extrapolation = 0;
};

/// One resized axis.
struct Axis {
  int64_t in = 0, out = 0;
  float scale = 1;
  double start = 0, end = 1; ///< The region, of what is cropped.
};

struct Table {
  int64_t taps = 1;
  Ints indices;
  std::vector<double> weights;
  std::vector<double> isOutside; ///< By output: 1 if it lies outside.
};
} // namespace

/// Where output `o` lies in the input.
static float sourceOf(const Settings &settings, const Axis &axis, int64_t o) {
  float x = static_cast<float>(o), in = static_cast<float>(axis.in),
        out = static_cast<float>(axis.out);
  if (settings.coordinates == "asymmetric") {
    return x / axis.scale;
  }
  if (settings.coordinates == "tf_half_pixel_for_nn") {
    return (x + 0.5f) / axis.scale;
  }
  if (settings.coordinates == "align_corners") {
    return axis.out == 1 ? 0 : x * (in - 1) / (out - 1);
  }
  if (settings.coordinates == "tf_crop_and_resize") {
    double last = static_cast<double>(axis.in - 1),
           span = axis.end - axis.start;
    double at = axis.out == 1
                    ? 0.5 * (axis.start + axis.end)
                    : axis.start + double(o) * span / double(axis.out - 1);
    return static_cast<float>(at * last);
  }
  if (settings.coordinates == "pytorch_half_pixel" && axis.out == 1) {
    return 0;
  }
  float offset = 0;
  if (settings.coordinates == "half_pixel_symmetric") {
    offset = in / 2 * (1 - out / (axis.scale * in));
  }
  return offset + (x + 0.5f) / axis.scale - 0.5f;
}

static float nearestOf(const std::string &mode, const Axis &axis, float x) {
  if (mode == "floor" || (mode == "simple" && axis.scale >= 1)) {
    return std::floor(x);
  }
  if (mode == "simple") {
    return std::ceil(x);
  }
  if (mode == "ceil") {
    return std::ceil(x);
  }
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5f)
                                     : std::ceil(x - 0.5f);
}

/// Keys' kernel at distance `x`, with the parameter `a`.
static double cubicWeight(double x, double a) {
  x = std::abs(x);
  if (x <= 1) {
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  }
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// The weight of an element at `distance`, of all that are mixed.
static double weightOf(const Settings &settings, double distance) {
  if (settings.mode == "nearest") {
    return 1;
  }
  return settings.mode == "cubic" ? cubicWeight(distance, settings.cubic)
                                  : std::max(0.0, 1 - std::abs(distance));
}

/// For every output position the input positions that it mixes, clamped to the
/// edge, and their weights. To antialias is to widen the kernel by as much as
/// the image shrinks.
static Table makeTable(const Settings &settings, const Axis &axis) {
  Table table;
  bool isNearest = settings.mode == "nearest";
  bool isWide = settings.antialiases && axis.scale < 1 && !isNearest;
  double shrink = isWide ? static_cast<double>(axis.scale) : 1;
  int64_t radius = isNearest ? 0 : settings.mode == "cubic" ? 2 : 1;
  int64_t before =
      1 - static_cast<int64_t>(std::ceil(static_cast<double>(radius) / shrink));
  table.taps = isNearest ? 1 : 2 - 2 * before;
  double last = static_cast<double>(axis.in - 1);
  for (int64_t o = 0; o < axis.out; ++o) {
    float x = sourceOf(settings, axis, o);
    float base = settings.mode == "nearest"
                     ? nearestOf(settings.nearest, axis, x)
                     : std::floor(x) + static_cast<float>(before);
    double sum = 0;
    table.isOutside.push_back(x < 0 || static_cast<double>(x) > last);
    for (int64_t t = 0; t < table.taps; ++t) {
      double at = static_cast<double>(base) + static_cast<double>(t);
      double weight =
          weightOf(settings, (static_cast<double>(x) - at) * shrink);
      if (settings.excludesOutside && (at < 0 || at > last)) {
        weight = 0;
      }
      table.indices.push_back(static_cast<int64_t>(std::clamp(at, 0.0, last)));
      table.weights.push_back(weight);
      sum += weight;
    }
    for (size_t t = table.weights.size() - static_cast<size_t>(table.taps);
         (settings.excludesOutside || isWide) && t < table.weights.size();
         ++t) {
      table.weights[t] /= sum;
    }
  }
  return table;
}

static Settings readSettings(NodeImporter &node) {
  Settings settings;
  settings.mode = node.getString("mode", "nearest");
  // Before opset 11 there was one way: "simple" goes down where an axis grows
  // and up where it shrinks.
  bool isOld = node.version() < 11;
  settings.coordinates =
      isOld ? "asymmetric"
            : node.getString("coordinate_transformation_mode", "half_pixel");
  settings.nearest =
      isOld ? "simple" : node.getString("nearest_mode", "round_prefer_floor");
  settings.cubic = static_cast<float>(node.getFloat("cubic_coeff_a", -0.75));
  settings.excludesOutside = node.getInt("exclude_outside") != 0;
  settings.antialiases = node.getInt("antialias") != 0;
  settings.policy = node.getString("keep_aspect_ratio_policy", "stretch");
  settings.extrapolation = node.getFloat("extrapolation_value", 0);
  if (settings.mode == "bilinear") {
    settings.mode = "linear";
  }
  static const char *const kModes[] = {"nearest", "linear", "cubic"};
  static const char *const kCoordinates[] = {
      "asymmetric",           "align_corners",      "half_pixel",
      "half_pixel_symmetric", "pytorch_half_pixel", "tf_crop_and_resize",
      "tf_half_pixel_for_nn"};
  if (std::find(std::begin(kModes), std::end(kModes), settings.mode) ==
      std::end(kModes)) {
    node.unsupported("its mode is '" + settings.mode + "'");
  }
  if (std::find(std::begin(kCoordinates), std::end(kCoordinates),
                settings.coordinates) == std::end(kCoordinates)) {
    node.unsupported("its coordinate_transformation_mode is '" +
                     settings.coordinates + "'");
  }
  return settings;
}

/// The scales of an Upsample or Resize, or its sizes; one of them is empty.
static void readTargets(NodeImporter &node, std::vector<double> &scales,
                        Ints &sizes) {
  bool isOld = node.version() < 11;
  const auto &attributes = node.node().attributes;
  if (auto it = attributes.find("scales"); it != attributes.end()) {
    if (const auto *fs = std::get_if<std::vector<float>>(&it->second.value)) {
      scales.assign(fs->begin(), fs->end());
    }
    return;
  }
  size_t at = isOld ? 1 : 2;
  if (node.hasInput(at) && node.input(at)->count() != 0) {
    auto bytes = node.emitter().bytesOf(node.input(at));
    if (!bytes) {
      return node.unsupported("its scales are computed at run time");
    }
    scales = bytes->toFloats();
  } else if (auto given = node.constantInts(3)) {
    sizes = *given;
  }
}

/// The scale that keeps the ratio of all extents, so that none is larger, or
/// none smaller, than its size says.
static float commonScale(const Settings &settings, const Tensor &x,
                         const Ints &axes, const Ints &sizes) {
  float scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto in = static_cast<float>(x->dims[static_cast<size_t>(axes[i])]);
    float one = static_cast<float>(sizes[i]) / in;
    bool isBetter = settings.policy == "not_larger" ? one < scale : one > scale;
    scale = i == 0 || isBetter ? one : scale;
  }
  return scale;
}

/// The region of what is cropped, if the node has one.
static std::vector<double> readRegion(NodeImporter &node,
                                      const Settings &settings) {
  if (settings.coordinates != "tf_crop_and_resize" || !node.hasInput(1)) {
    return {};
  }
  auto bytes = node.constantTensor(1);
  return bytes ? bytes->toFloats() : std::vector<double>();
}

/// What each of `axes` is resized to; fails where the node does not say it.
static std::vector<Axis> readAxes(NodeImporter &node, const Settings &settings,
                                  const Ints &axes) {
  const Tensor &x = node.input(0);
  std::vector<double> scales, region = readRegion(node, settings);
  Ints sizes;
  readTargets(node, scales, sizes);
  if (node.failed()) {
    return {};
  }
  size_t count = scales.empty() ? sizes.size() : scales.size();
  if (count != axes.size() ||
      (!region.empty() && region.size() != 2 * axes.size())) {
    node.invalid("got " + std::to_string(count) + " scales or sizes for " +
                 std::to_string(axes.size()) + " axes");
    return {};
  }
  bool keepsRatio = scales.empty() && settings.policy != "stretch";
  float common = keepsRatio ? commonScale(settings, x, axes, sizes) : 0;
  std::vector<Axis> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    Axis axis;
    axis.in = x->dims[static_cast<size_t>(axes[i])];
    auto in = static_cast<float>(axis.in);
    float out = 0;
    if (keepsRatio) {
      axis.scale = common;
      out = std::floor(common * in + 0.5f);
    } else if (scales.empty()) {
      out = static_cast<float>(std::clamp<int64_t>(sizes[i], -1, 1 << 30));
      axis.scale = out / in;
    } else {
      axis.scale = static_cast<float>(scales[i]);
      out = std::floor(in * axis.scale);
    }
    axis.out = out >= 0 && out < 1e9f ? static_cast<int64_t>(out) : -1;
    if (!region.empty()) {
      axis.start = region[i];
      axis.end = region[i + axes.size()];
    }
    if (axis.in < 1 || axis.out < 1 || axis.out > 1 << 24 ||
        axis.in > 1 << 24) {
      node.invalid("it resizes an extent of " + std::to_string(axis.in) +
                   " to " + std::to_string(axis.out));
    }
    result.push_back(axis);
  }
  return result;
}

/// `x` with the axis `at` resized.
static Tensor resizeAxis(Emitter &emit, const Tensor &x, int64_t at,
                         const Axis &axis, const Table &table) {
  // The nearest element is a gather.
  if (x->type != rt::DType::F32 && table.taps == 1) {
    return emit.gather(x, emit.ints(table.indices), at, 0);
  }
  rt::Dims dims = x->dims;
  dims[static_cast<size_t>(at)] = axis.out;
  return emit.emit("resample", {x},
                   {{"axis", at},
                    {"taps", table.taps},
                    {"indices", table.indices},
                    {"weights", table.weights}},
                   x->type, dims);
}

static void importResize(NodeImporter &node) {
  Emitter &emit = node.emitter();
  Tensor result = node.input(0);
  Settings settings = readSettings(node);
  Ints axes(result->dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (node.hasAttribute("axes")) {
    axes = node.getInts("axes");
  }
  node.normalizeAxes(axes, result->rank());
  for (int64_t &axis : axes) {
    axis = node.normalizeAxis(axis, result->rank());
  }
  if (node.failed()) {
    return;
  }
  bool isCropped = settings.coordinates == "tf_crop_and_resize";
  std::vector<Axis> resized = readAxes(node, settings, axes);
  // Integers have no weights: they are mixed as floats, and cut after that.
  rt::DType type = result->type;
  if (settings.mode != "nearest" && !rt::isFloatType(type)) {
    result = emit.cast(result, exactFloat(type));
  }
  Tensor outside;
  for (size_t i = 0; i < axes.size() && !node.failed(); ++i) {
    const Axis &axis = resized[i];
    if (axis.in == axis.out && axis.scale == 1 && !isCropped) {
      continue;
    }
    Table table = makeTable(settings, axis);
    result = resizeAxis(emit, result, axes[i], axis, table);
    if (isCropped) {
      rt::Dims line(result->dims.size(), 1);
      line[static_cast<size_t>(axes[i])] = axis.out;
      Tensor here = emit.numbers(rt::DType::Bool, line, table.isOutside);
      outside = outside ? emit.binary("or", outside, here) : here;
    }
  }
  if (outside && !node.failed()) {
    result = emit.select(
        outside, emit.scalar(result->type, settings.extrapolation), result);
  }
  node.setResult(0, emit.cast(result, type));
}

llvm::ArrayRef<ImporterRow> divisi::resizeImporters() {
  static const ImporterRow kRows[] = {{"Resize", importResize},
                                      {"Upsample", importResize}};
  return kRows;
}
