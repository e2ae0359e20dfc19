//===- Attention.cpp - Operators of transformers --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Labels.h"
#include "dialects/NN/Nests.h"
#include "divisi/Support/Labels.h"

#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace divisi::nn {

/// An error unless `given` is 1 or `wanted`, for every dimension; their ranks
/// are equal.
static LogicalResult checkBroadcast(StringRef name, ArrayRef<int64_t> given,
                                    ArrayRef<int64_t> wanted,
                                    EmitError emitError) {
  for (auto [dim, extents] : llvm::enumerate(llvm::zip_equal(given, wanted))) {
    auto [extent, whole] = extents;
    if (extent != 1 && extent != whole) {
      return emitError() << "dimension " << dim << " of '" << name
                         << "' has extent " << extent << ", expected 1 or "
                         << whole;
    }
  }
  return success();
}

//===- attention ----------------------------------------------------------===//

std::optional<AttentionLabels> AttentionLabels::parse(StringRef text) {
  AttentionLabels labels;
  std::vector<std::string_view> parts = splitLabels(text);
  if (parts.size() != sorted.size()) {
    return std::nullopt;
  }
  for (auto [i, part] : llvm::enumerate(parts)) {
    StringRef letters = sorted[i];
    labels.tensors[i] = part;
    if (part.size() != letters.size() || part.back() != letters.back() ||
        !std::is_permutation(part.begin(), part.end(), letters.begin())) {
      return std::nullopt;
    }
  }
  return labels;
}

std::string AttentionLabels::str() const {
  return tensors[0] + "," + tensors[1] + "," + tensors[2] + "->" + tensors[3];
}

SmallVector<int64_t, 4> AttentionLabels::sort(size_t i,
                                              ArrayRef<int64_t> shape) const {
  SmallVector<int64_t, 4> extents;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    extents.push_back(shape[find(i, dim)]);
  }
  return extents;
}

/// Ranks and element types of q, k and v (C1).
static LogicalResult checkQueriesAndKeys(AttentionOp::Adaptor adaptor,
                                         EmitError emitError) {
  Type element = getElementTypeOrSelf(adaptor.getQ().getType());
  for (auto [name, value] :
       {std::pair("q", adaptor.getQ()), std::pair("k", adaptor.getK()),
        std::pair("v", adaptor.getV())}) {
    if (globalShape(value.getType()).size() != 4 ||
        getElementTypeOrSelf(value.getType()) != element) { // C1
      return emitError() << "'" << name << "' has type "
                         << globalType(value.getType())
                         << ", expected rank 4 and elements of " << element;
    }
  }
  return success();
}

/// Sorted extents of q, k and v (C2, C3).
static LogicalResult checkExtents(ArrayRef<int64_t> q, ArrayRef<int64_t> k,
                                  ArrayRef<int64_t> v, EmitError emitError) {
  if (q[0] != k[0] || k.take_front(3) != v.take_front(3) || q[3] != k[3]) {
    return emitError() << "queries [" << q << "], keys [" << k // C2
                       << "] and values [" << v << "] do not fit together";
  }
  if (k[1] == 0 ? q[1] != 0 : q[1] % k[1] != 0) { // C3
    return emitError() << q[1] << " heads of queries are not a multiple of "
                       << k[1] << " heads of keys";
  }
  return success();
}

static LogicalResult checkMask(Value mask, ArrayRef<int64_t> wanted,
                               Type element, EmitError emitError) {
  Type given = getElementTypeOrSelf(mask.getType());
  ArrayRef<int64_t> shape = globalShape(mask.getType());
  if (shape.size() != 4 || (!given.isInteger(1) && given != element)) { // C4
    return emitError() << "'mask' has type " << globalType(mask.getType())
                       << ", expected rank 4 and booleans or " << element;
  }
  return checkBroadcast("mask", shape, wanted, emitError); // C4
}

FailureOr<RankedTensorType> AttentionOp::inferType(Adaptor adaptor,
                                                   EmitError emitError) {
  if (failed(checkQueriesAndKeys(adaptor, emitError))) { // C1
    return failure();
  }
  std::optional<AttentionLabels> labels =
      AttentionLabels::parse(adaptor.getLabels());
  if (!labels) { // C7
    return emitError() << "'labels' is \"" << adaptor.getLabels()
                       << "\", expected \"bhsd,bhtd,bhte->bhse\", or each "
                       << "group in another order that leaves its last letter";
  }
  auto q = labels->sort(0, globalShape(adaptor.getQ().getType()));
  auto k = labels->sort(1, globalShape(adaptor.getK().getType()));
  auto v = labels->sort(2, globalShape(adaptor.getV().getType()));
  if (failed(checkExtents(q, k, v, emitError))) { // C2 C3
    return failure();
  }
  Type element = getElementTypeOrSelf(adaptor.getQ().getType());
  if (adaptor.getMask() &&
      failed(checkMask(adaptor.getMask(), // C4
                       {q[0], q[1], q[2], v[2]}, element, emitError))) {
    return failure();
  }
  double scale = adaptor.getScale(), softcap = adaptor.getSoftcap();
  if (!std::isfinite(scale) || !std::isfinite(softcap) || softcap < 0) { // C5
    return emitError() << "'scale' is " << scale << " and 'softcap' is "
                       << softcap << ", expected finite numbers, the latter "
                       << "not negative";
  }
  if (adaptor.getLeft() < -1 || adaptor.getRight() < -1) { // C6
    return emitError() << "'left' is " << adaptor.getLeft()
                       << " and 'right' is " << adaptor.getRight()
                       << ", expected at least -1";
  }
  SmallVector<int64_t> y(4);
  for (auto [dim, extent] :
       llvm::enumerate(std::array<int64_t, 4>{q[0], q[1], q[2], v[3]})) {
    y[labels->find(3, dim)] = extent;
  }
  return makeType(y, element, emitError);
}

/// How many of `keys` queries attend on average, by their positions alone.
static double attendedKeys(AttentionOp op, int64_t queries, int64_t keys) {
  double sum = 0;
  for (int64_t i = 0; i < queries; ++i) {
    // Bounds come from files: doubles do not overflow.
    double at = double(i) + double(op.getOffset());
    double first = op.getLeft() < 0 ? 0 : at - double(op.getLeft());
    double last = op.getRight() < 0 ? double(keys) : at + op.getRight() + 1;
    sum += std::max(0.0, std::min(last, double(keys)) - std::max(first, 0.0));
  }
  return queries == 0 ? 0 : sum / double(queries);
}

/// A mask of numbers stays f32: the lowest of f32, which stands for a key that
/// nobody attends but where all are such, would be minus infinity.
Rounding AttentionOp::getRounding() {
  bool isPlain = !getMask() || getElementTypeOrSelf(getMask()).isInteger(1);
  return isPlain ? Rounding::RoundsOnce : Rounding::StaysWide;
}

/// Every query is alone, and talks about all keys before it knows the weight of
/// one. A part of the values' features would need all products once more.
LoopNest AttentionOp::getLoopNest() {
  AttentionLabels labels = *AttentionLabels::parse(getLabels());
  auto q = labels.sort(0, globalShape(getQ().getType()));
  auto v = labels.sort(2, globalShape(getV().getType()));
  int64_t queries = q[2], keys = v[2], depth = q[3], features = v[3];
  LoopNest nest;
  LoopId b = nest.add("b", q[0]), h = nest.add("h", v[1]);
  SmallVector<LoopId, 2> heads = {h};
  if (q[1] != v[1]) {
    heads.push_back(nest.add("g", q[1] / v[1]));
  }
  LoopId s = nest.add("s", queries);
  LoopId t = nest.add("t", keys, LoopKind::Exchange);
  LoopId d = nest.add("d", depth, LoopKind::Whole);
  LoopId e = nest.add("e", features, LoopKind::Whole);

  auto map = [&](size_t i, Value tensor, std::array<DimMap, 4> sorted) {
    TensorMap made = mapLoops(tensor.getType(), {});
    made.dims.resize(4, DimMap::none());
    for (size_t dim = 0; dim < 4; ++dim) {
      made.dims[labels.find(i, dim)] = sorted[dim];
    }
    return made;
  };
  DimMap batch = DimMap::loop(b), head = DimMap::product(heads);
  DimMap query = DimMap::loop(s), key = DimMap::loop(t);
  nest.operands = {
      map(0, getQ(), {batch, head, query, DimMap::loop(d)}),
      map(1, getK(), {batch, DimMap::loop(h), key, DimMap::loop(d)}),
      map(2, getV(), {batch, DimMap::loop(h), key, DimMap::loop(e)})};
  if (Value mask = getMask()) {
    TensorMap map = mapLoops(mask.getType(), {});
    std::array<DimMap, 4> wholes = {batch, head, query, key};
    std::array<int64_t, 4> extents = {q[0], q[1], queries, keys};
    for (size_t dim = 0; dim < 4; ++dim) {
      map.dims.push_back(map.shape[dim] == extents[dim] ? wholes[dim]
                                                        : DimMap::none());
    }
    nest.operands.push_back(map);
  }
  nest.results = {map(3, getY(), {batch, head, query, DimMap::loop(e)})};
  nest.linear = {{2}};
  // Two products, and about 14 operations for each weight.
  double points = double(keys) * double(depth) * double(features);
  double perQuery = attendedKeys(*this, queries, keys) *
                    (2.0 * double(depth + features) + 14);
  nest.flopsPerPoint = points == 0 ? 0 : perQuery / points;
  return nest;
}

//===- rotary -------------------------------------------------------------===//

FailureOr<RankedTensorType> RotaryOp::inferType(Adaptor adaptor,
                                                EmitError emitError) {
  RankedTensorType type = globalType(adaptor.getX().getType());
  ArrayRef<int64_t> x = type.getShape();
  ArrayRef<int64_t> cos = globalShape(adaptor.getCos().getType());
  ArrayRef<int64_t> sin = globalShape(adaptor.getSin().getType());
  if (cos != sin || cos.size() != x.size() || x.empty()) { // C1
    return emitError() << "'cos' has shape [" << cos << "] and 'sin' [" << sin
                       << "], expected the same, of rank " << x.size()
                       << " and at least 1";
  }
  if (cos.back() > x.back() / 2) { // C2
    return emitError() << cos.back() << " angles need "
                       << "twice as many elements, got " << x.back();
  }
  if (failed(checkBroadcast("cos", cos.drop_back(), x.drop_back(), // C3
                            emitError))) {
    return failure();
  }
  return type;
}

/// Neighbours stay together; other pairs lie too far apart to be split.
LoopNest RotaryOp::getLoopNest() {
  ArrayRef<int64_t> x = globalShape(getX().getType());
  int64_t angles = globalShape(getCos().getType()).back();
  LoopNest nest;
  SmallVector<LoopId, 4> lead = addLoops(nest, x.drop_back());
  DimMap pairs, angle;
  if (getInterleaved() && 2 * angles == x.back()) {
    LoopId p = nest.add("p", angles);
    pairs = DimMap::product({p, nest.add("pair", 2, LoopKind::Whole)});
    angle = DimMap::loop(p);
  } else {
    pairs = DimMap::loop(nest.add("d", x.back(), LoopKind::Whole));
  }
  TensorMap rotated = mapLoops(getX().getType(), lead);
  rotated.dims.push_back(pairs);
  TensorMap table = mapLoops(getCos().getType(), {});
  for (auto [dim, loop] : llvm::enumerate(lead)) {
    table.dims.push_back(table.shape[dim] == x[dim] ? DimMap::loop(loop)
                                                    : DimMap::none());
  }
  table.dims.push_back(angle);
  nest.operands = {rotated, table, table};
  nest.results = {rotated};
  nest.linear = {{0}};
  nest.flopsPerPoint = 3;
  return nest;
}

} // namespace divisi::nn
