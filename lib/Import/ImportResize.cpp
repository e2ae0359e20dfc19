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

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace divisi;
using Ints = std::vector<int64_t>;

namespace {
struct Settings {
  std::string mode, coordinates, nearest;
  float cubic = -0.75f;
  bool excludesOutside = false;
};

/// One resized axis.
struct Axis {
  int64_t in = 0, out = 0;
  float scale = 1;
};

struct Table {
  int64_t taps = 1;
  Ints indices;
  std::vector<double> weights;
};
} // namespace

/// Where output `o` lies in the input.
static float sourceOf(const Settings &settings, const Axis &axis, int64_t o) {
  float x = static_cast<float>(o), in = static_cast<float>(axis.in),
        out = static_cast<float>(axis.out);
  if (settings.coordinates == "asymmetric") {
    return x / axis.scale;
  }
  if (settings.coordinates == "align_corners") {
    return axis.out == 1 ? 0 : x * (in - 1) / (out - 1);
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

static float nearestOf(const std::string &mode, float x) {
  if (mode == "floor") {
    return std::floor(x);
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

/// For every output position the input positions that it mixes, clamped to the
/// edge, and their weights.
static Table makeTable(const Settings &settings, const Axis &axis) {
  Table table;
  table.taps = settings.mode == "nearest" ? 1
               : settings.mode == "cubic" ? 4
                                          : 2;
  for (int64_t o = 0; o < axis.out; ++o) {
    float x = sourceOf(settings, axis, o);
    float base = settings.mode == "nearest"
                     ? nearestOf(settings.nearest, x)
                     : std::floor(x) - (table.taps == 4 ? 1 : 0);
    double sum = 0;
    for (int64_t t = 0; t < table.taps; ++t) {
      double at = static_cast<double>(base) + static_cast<double>(t);
      double distance = std::abs(static_cast<double>(x) - at);
      double weight = table.taps == 1   ? 1
                      : table.taps == 2 ? 1 - distance
                                        : cubicWeight(distance, settings.cubic);
      double last = static_cast<double>(axis.in - 1);
      if (settings.excludesOutside && (at < 0 || at > last)) {
        weight = 0;
      }
      table.indices.push_back(static_cast<int64_t>(std::clamp(at, 0.0, last)));
      table.weights.push_back(weight);
      sum += weight;
    }
    for (size_t t = table.weights.size() - static_cast<size_t>(table.taps);
         settings.excludesOutside && t < table.weights.size(); ++t) {
      table.weights[t] /= sum;
    }
  }
  return table;
}

static Settings readSettings(NodeImporter &node) {
  Settings settings;
  settings.mode = node.getString("mode", "nearest");
  // Before opset 11 there was one way, which these names describe.
  bool isOld = node.version() < 11;
  settings.coordinates =
      isOld ? "asymmetric"
            : node.getString("coordinate_transformation_mode", "half_pixel");
  settings.nearest =
      isOld ? "floor" : node.getString("nearest_mode", "round_prefer_floor");
  settings.cubic = static_cast<float>(node.getFloat("cubic_coeff_a", -0.75));
  settings.excludesOutside = node.getInt("exclude_outside") != 0;
  if (settings.mode == "bilinear") {
    settings.mode = "linear";
  }
  static const char *const kModes[] = {"nearest", "linear", "cubic"};
  static const char *const kCoordinates[] = {
      "asymmetric", "align_corners", "half_pixel", "half_pixel_symmetric",
      "pytorch_half_pixel"};
  if (std::find(std::begin(kModes), std::end(kModes), settings.mode) ==
      std::end(kModes)) {
    node.unsupported("its mode is '" + settings.mode + "'");
  }
  if (std::find(std::begin(kCoordinates), std::end(kCoordinates),
                settings.coordinates) == std::end(kCoordinates)) {
    node.unsupported("its coordinate_transformation_mode is '" +
                     settings.coordinates + "'");
  }
  if (node.getString("keep_aspect_ratio_policy", "stretch") != "stretch") {
    node.unsupported("its keep_aspect_ratio_policy is not 'stretch'");
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

static void importResize(NodeImporter &node) {
  Emitter &emit = node.emitter();
  Tensor result = node.input(0);
  Settings settings = readSettings(node);
  std::vector<double> scales;
  Ints sizes;
  readTargets(node, scales, sizes);
  Ints axes(result->dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (node.hasAttribute("axes")) {
    axes = node.getInts("axes");
  }
  if (node.failed()) {
    return;
  }
  size_t count = scales.empty() ? sizes.size() : scales.size();
  if (count != axes.size()) {
    return node.invalid("got " + std::to_string(count) +
                        " scales or sizes for " + std::to_string(axes.size()) +
                        " axes");
  }
  node.normalizeAxes(axes, result->rank());
  for (size_t i = 0; i < axes.size() && !node.failed(); ++i) {
    int64_t at = node.normalizeAxis(axes[i], result->rank());
    Axis axis;
    axis.in = result->dims[static_cast<size_t>(at)];
    if (scales.empty()) {
      axis.out = sizes[i];
      axis.scale = static_cast<float>(axis.out) / static_cast<float>(axis.in);
    } else {
      axis.scale = static_cast<float>(scales[i]);
      float out = std::floor(static_cast<float>(axis.in) * axis.scale);
      axis.out = out >= 0 && out < 1e9f ? static_cast<int64_t>(out) : -1;
    }
    if (axis.in < 1 || axis.out < 1 || axis.out > 1 << 24 ||
        axis.in > 1 << 24) {
      return node.invalid("it resizes an extent of " + std::to_string(axis.in) +
                          " to " + std::to_string(axis.out));
    }
    if (axis.in == axis.out && axis.scale == 1) {
      continue;
    }
    if (node.getInt("antialias") != 0 && axis.scale < 1) {
      return node.unsupported("antialias is not done yet");
    }
    Table table = makeTable(settings, axis);
    rt::Dims dims = result->dims;
    dims[static_cast<size_t>(at)] = axis.out;
    // Integers have no weights; the nearest element is a gather.
    if (result->type != rt::DType::F32 && table.taps == 1) {
      result = emit.gather(result, emit.ints(table.indices), at, 0);
      continue;
    }
    result = emit.emit("resample", {result},
                       {{"axis", at},
                        {"taps", table.taps},
                        {"indices", table.indices},
                        {"weights", table.weights}},
                       result->type, dims);
  }
  node.setResult(0, result);
}

llvm::ArrayRef<ImporterRow> divisi::resizeImporters() {
  static const ImporterRow kRows[] = {{"Resize", importResize},
                                      {"Upsample", importResize}};
  return kRows;
}
