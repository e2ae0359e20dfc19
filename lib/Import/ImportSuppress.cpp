//===- ImportSuppress.cpp - Import of non-maximum suppression -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of each batch and class, a loop takes the box of the highest score that is
// left, and drops those that overlap it:
//
//   scores [b, c, n], boxes [b, n, 4]      what is left, and where
//   best = arg max over n                   [b, c]
//   drop best, and where its overlap is above the threshold
//
// Which steps have found a box only the run knows: their indices come first
// (RowCounts.h).
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

#include <algorithm>
#include <limits>

using namespace divisi;
using rt::DType;

namespace {

/// Boxes by their borders, each [b, n] or of the same rank as others.
struct Borders {
  Tensor top, left, bottom, right, area;
};

/// What the steps of one node have in common.
struct Suppression {
  NodeImporter &node;
  Emitter &emit;
  int64_t batch, classes, boxes, most;
  DType type;      ///< Of scores and boxes.
  double overlap;  ///< The threshold.
  Borders borders; ///< Of all boxes: [b, 1, n].
};

} // namespace

/// Any two opposite corners, or with `center_point_box` center and extents.
static Borders readBorders(NodeImporter &node, const Tensor &boxes) {
  Emitter &emit = node.emitter();
  int64_t batch = boxes->dims[0], n = boxes->dims[1];
  auto part = [&](int64_t i) {
    return emit.reshape(emit.sliceAxis(boxes, 2, i, i + 1), {batch, 1, n});
  };
  Tensor a = part(0), b = part(1), c = part(2), d = part(3);
  Borders borders;
  if (node.getInt("center_point_box") != 0) {
    auto half = [&](const Tensor &x) {
      return emit.binary("mul", x, emit.scalar(x->type, 0.5));
    };
    borders.left = emit.binary("sub", a, half(c));
    borders.right = emit.binary("add", a, half(c));
    borders.top = emit.binary("sub", b, half(d));
    borders.bottom = emit.binary("add", b, half(d));
  } else {
    borders.top = emit.binary("min", a, c);
    borders.bottom = emit.binary("max", a, c);
    borders.left = emit.binary("min", b, d);
    borders.right = emit.binary("max", b, d);
  }
  borders.area =
      emit.binary("mul", emit.binary("sub", borders.bottom, borders.top),
                  emit.binary("sub", borders.right, borders.left));
  return borders;
}

/// Where boxes overlap those of `best`, [b, c] among all: booleans [b, c, n].
static Tensor overlaps(const Suppression &all, const Tensor &best) {
  Emitter &emit = all.emit;
  const Borders &own = all.borders;
  auto pick = [&](const Tensor &border) {
    Tensor line = emit.reshape(border, {all.batch, all.boxes});
    return emit.reshape(emit.gather(line, best, 1, 1),
                        {all.batch, all.classes, 1});
  };
  Borders one = {pick(own.top), pick(own.left), pick(own.bottom),
                 pick(own.right), pick(own.area)};
  Tensor zero = emit.scalar(all.type, 0);
  auto common = [&](const Tensor &lo, const Tensor &otherLo, const Tensor &hi,
                    const Tensor &otherHi) {
    Tensor extent = emit.binary("sub", emit.binary("min", hi, otherHi),
                                emit.binary("max", lo, otherLo));
    return emit.binary("max", extent, zero);
  };
  Tensor shared =
      emit.binary("mul", common(own.top, one.top, own.bottom, one.bottom),
                  common(own.left, one.left, own.right, one.right));
  Tensor both =
      emit.binary("sub", emit.binary("add", own.area, one.area), shared);
  // Boxes without an area overlap nothing.
  auto isBox = [&](const Tensor &area) {
    return emit.compare("gt", area, zero);
  };
  Tensor areBoxes = emit.binary("and", isBox(own.area), isBox(one.area));
  Tensor isOver = emit.compare("gt", emit.binary("div", shared, both),
                               emit.scalar(all.type, all.overlap));
  return emit.binary("and", areBoxes, isOver);
}

/// One step: of the scores that are left, what it has found goes into row
/// `index` of the stacks `places` and `found`, each [most, b, c].
static ImportedBody makeStep(const Suppression &all) {
  Emitter &emit = all.emit;
  rt::Dims dims = {all.batch, all.classes, all.boxes};
  rt::Dims stacked = {all.most, all.batch, all.classes};
  emit.beginBody(emit.nodeName() + "/step");
  Tensor index = emit.bodyArgument(DType::I64, {});
  Tensor left = emit.bodyArgument(all.type, dims);
  Tensor places = emit.bodyArgument(DType::I64, stacked);
  Tensor found = emit.bodyArgument(DType::Bool, stacked);
  Tensor none = emit.scalar(all.type, -std::numeric_limits<double>::infinity());
  Tensor best = emit.emit("arg_reduce", {left},
                          {{"kind", std::string("max")},
                           {"axis", int64_t(2)},
                           {"last", int64_t(0)}},
                          DType::I64, {all.batch, all.classes});
  Tensor isAny = emit.compare("gt", emit.reduce("max", left, {2}, false), none);
  Tensor isBest = emit.compare("eq", emit.iota(DType::I64, dims, 2),
                               emit.reshape(best, {all.batch, all.classes, 1}));
  Tensor drops = emit.binary("or", isBest, overlaps(all, best));
  return emit.endBody(std::vector<Tensor>{
      emit.select(drops, none, left), emit.insertRow(places, best, index, 0),
      emit.insertRow(found, isAny, index, 0)});
}

/// The indices [rows, 3], those that are found first.
static void giveIndices(const Suppression &all, Tensor places, Tensor found) {
  Emitter &emit = all.emit;
  int64_t rows = all.batch * all.classes * all.most;
  // By batch and class, and within these in the order of steps.
  auto line = [&](const Tensor &x) {
    return emit.reshape(emit.transpose(x, {1, 2, 0}), {rows});
  };
  places = line(places);
  auto [order, count] = chooseRows(emit, line(found));
  auto ofRow = [&](int64_t stride, int64_t extent) {
    Tensor at =
        emit.binary("div", order, emit.integer(std::max<int64_t>(stride, 1)));
    at = emit.binary("mod", at, emit.integer(std::max<int64_t>(extent, 1)),
                     {{"fmod", int64_t(0)}});
    return emit.reshape(at, {rows, 1});
  };
  Tensor indices = emit.concat(
      {ofRow(all.classes * all.most, all.batch), ofRow(all.most, all.classes),
       emit.reshape(emit.gather(places, order, 0, 0), {rows, 1})},
      1);
  emit.countRows(indices, 0, count);
  all.node.setResult(0, indices);
}

/// The number in constant input `i`, or `fallback` where it is left out.
static double numberOf(NodeImporter &node, size_t i, double fallback) {
  return node.hasInput(i) ? node.constantNumber(i).value_or(fallback)
                          : fallback;
}

static void importNonMaxSuppression(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &boxes = node.input(0);
  Tensor scores = node.input(1);
  if (boxes->rank() != 3 || scores->rank() != 3 || boxes->dims[2] != 4 ||
      boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2]) {
    return node.invalid("got boxes of shape " + formatInts(boxes->dims) +
                        " and scores of shape " + formatInts(scores->dims) +
                        ", expected [batch, boxes, 4] and [batch, classes, "
                        "boxes]");
  }
  double most = numberOf(node, 2, 0), overlap = numberOf(node, 3, 0);
  std::optional<double> least;
  if (node.hasInput(4)) {
    least = numberOf(node, 4, 0);
  }
  if (node.failed()) {
    return;
  }
  Suppression all = {node,
                     emit,
                     scores->dims[0],
                     scores->dims[1],
                     scores->dims[2],
                     int64_t(std::clamp(most, 0.0, double(scores->dims[2]))),
                     scores->type,
                     overlap,
                     readBorders(node, boxes)};
  if (all.most * all.batch * all.classes == 0) {
    return node.setResult(
        0, emit.constant(*rt::HostTensor::zeros(DType::I64, {0, 3})));
  }
  if (least) {
    scores = emit.select(
        emit.compare("gt", scores, emit.scalar(scores->type, *least)), scores,
        emit.scalar(scores->type, -std::numeric_limits<double>::infinity()));
  }
  ImportedBody step = makeStep(all);
  if (!step.function) {
    return;
  }
  rt::Dims stacked = {all.most, all.batch, all.classes};
  std::vector<Tensor> results =
      emit.loop(step, emit.integer(all.most), all.most,
                {scores, emit.expand(emit.scalar(DType::I64, 0), stacked),
                 emit.expand(emit.scalar(DType::Bool, 0), stacked)});
  giveIndices(all, results[1], results[2]);
}

llvm::ArrayRef<ImporterRow> divisi::suppressImporters() {
  static const ImporterRow kRows[] = {
      {"NonMaxSuppression", importNonMaxSuppression}};
  return kRows;
}
