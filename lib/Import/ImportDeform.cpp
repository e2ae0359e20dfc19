//===- ImportDeform.cpp - Import of deformable convolution ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each tap of the kernel reads the image where an offset says, between its
// elements: what all taps read is sampled as GridSample does it, and a product
// over channels and taps remains.
//
//===----------------------------------------------------------------------===//

#include "Window.h"

using namespace divisi;
using rt::DType;

namespace {
struct DeformConv {
  Window window;
  int64_t batch = 0, channels = 0, groups = 1, offsetGroups = 1, taps = 0;
  int64_t height = 0, width = 0; ///< Of the result.
};
} // namespace

static DeformConv readDeformConv(NodeImporter &node) {
  DeformConv it;
  const rt::Dims &x = node.input(0)->dims, &w = node.input(1)->dims;
  if (x.size() != 4 || w.size() != 4) {
    node.unsupported("its image has the shape " + formatInts(x) +
                     " and its kernel " + formatInts(w) +
                     "; expected two spatial dims");
    return it;
  }
  it.window = readWindow(node, {w[2], w[3]}, {x[2], x[3]});
  it.groups = node.getInt("group", 1);
  it.offsetGroups = node.getInt("offset_group", 1);
  if (node.failed()) {
    return it;
  }
  it.batch = x[0];
  it.channels = x[1];
  if (it.groups < 1 || it.offsetGroups < 1 || it.channels % it.groups != 0 ||
      it.channels % it.offsetGroups != 0 || w[1] != it.channels / it.groups ||
      w[0] % it.groups != 0) {
    node.invalid("it has " + std::to_string(it.groups) + " groups, " +
                 std::to_string(it.offsetGroups) + " groups of offsets, " +
                 std::to_string(it.channels) + " channels and a kernel of " +
                 std::to_string(w[0]) + " by " + std::to_string(w[1]));
    return it;
  }
  it.taps = w[2] * w[3];
  it.height = it.window.count[0];
  it.width = it.window.count[1];
  int64_t maps = it.offsetGroups * it.taps;
  if (node.checkDims(2, {it.batch, 2 * maps, it.height, it.width})) {
    node.checkDims(4, {it.batch, maps, it.height, it.width});
  }
  return it;
}

/// Where the taps of all positions lie without an offset along spatial dim
/// `axis`: [taps, height or 1, width or 1].
static Tensor tapsAlong(Emitter &emit, const DeformConv &it, size_t axis,
                        DType type) {
  const Window &window = it.window;
  std::vector<double> values;
  for (int64_t tap = 0; tap < it.taps; ++tap) {
    int64_t k = axis == 0 ? tap / window.kernel[1] : tap % window.kernel[1];
    for (int64_t o = 0; o < window.count[axis]; ++o) {
      values.push_back(double(o * window.strides[axis] - window.lo[axis] +
                              k * window.dilations[axis]));
    }
  }
  return axis == 0 ? emit.numbers(type, {it.taps, it.height, 1}, values)
                   : emit.numbers(type, {it.taps, 1, it.width}, values);
}

/// All places as GridSample wants them: [batch * groups, taps * height, width,
/// 2], x before y, an image from -1 to 1.
static Tensor placesOf(NodeImporter &node, const DeformConv &it) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  DType type = rt::sumType(x->type);
  int64_t images = it.batch * it.offsetGroups;
  Tensor offsets = emit.reshape(emit.cast(node.input(2), type),
                                {images, it.taps, 2, it.height, it.width});
  std::vector<Tensor> axes;
  for (size_t axis : {1, 0}) {
    auto number = [&](double value) { return emit.scalar(type, value); };
    int64_t at = static_cast<int64_t>(axis);
    Tensor place = emit.reshape(emit.sliceAxis(offsets, 2, at, at + 1),
                                {images, it.taps, it.height, it.width});
    place = emit.binary("add", place, tapsAlong(emit, it, axis, type));
    place = emit.binary("add", emit.binary("mul", place, number(2)), number(1));
    place = emit.binary("div", place, number(double(x->dims[2 + axis])));
    place = emit.binary("sub", place, number(1));
    axes.push_back(
        emit.reshape(place, {images, it.taps * it.height, it.width, 1}));
  }
  return emit.concat(axes, 3);
}

static void importDeformConv(NodeImporter &node) {
  DeformConv it = readDeformConv(node);
  if (node.failed()) {
    return;
  }
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0), &w = node.input(1);
  int64_t part = it.channels / it.offsetGroups;
  Tensor image = emit.reshape(
      x, {it.batch * it.offsetGroups, part, x->dims[2], x->dims[3]});
  NodeImporter sample(node.node(), emit, {image, placesOf(node, it)});
  importGridSample(sample);
  if (node.failed()) {
    return;
  }
  Tensor read =
      emit.reshape(sample.results()[0], {it.batch, it.offsetGroups, part,
                                         it.taps, it.height, it.width});
  if (node.hasInput(4)) {
    Tensor mask = emit.reshape(node.input(4), {it.batch, it.offsetGroups, 1,
                                               it.taps, it.height, it.width});
    read = emit.binary("mul", read, mask);
  }
  int64_t depth = it.channels / it.groups, results = w->dims[0] / it.groups;
  read = emit.reshape(
      read, {it.batch, it.groups, depth, it.taps, it.height, it.width});
  Tensor kernel = emit.reshape(w, {it.groups, results, depth, it.taps});
  Tensor y = emit.reshape(emit.matmul(read, kernel, "ngcthw,gmct->ngmhw"),
                          {it.batch, w->dims[0], it.height, it.width});
  node.setResult(0,
                 node.hasInput(3) ? addChannelBias(node, y, node.input(3)) : y);
}

llvm::ArrayRef<ImporterRow> divisi::deformImporters() {
  static const ImporterRow kRows[] = {{"DeformConv", importDeformConv}};
  return kRows;
}
