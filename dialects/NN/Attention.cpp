//===- Attention.cpp - Operators of transformers --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/AttentionParts.h"
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
static LogicalResult checkQueriesAndKeys(const AttentionParts &parts,
                                         EmitError emitError) {
  Type element = getElementTypeOrSelf(parts.q.getType());
  for (auto [name, value] : {std::pair("q", parts.q), std::pair("k", parts.k),
                             std::pair("v", parts.v)}) {
    if (value && (globalShape(value.getType()).size() != 4 ||
                  getElementTypeOrSelf(value.getType()) != element)) { // C1
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

static LogicalResult checkNumbers(const AttentionParts &parts,
                                  EmitError emitError) {
  if (!std::isfinite(parts.scale) || !std::isfinite(parts.softcap) ||
      parts.softcap < 0) { // C5
    return emitError() << "'scale' is " << parts.scale << " and 'softcap' is "
                       << parts.softcap << ", expected finite numbers, the "
                       << "latter not negative";
  }
  if (parts.left < -1 || parts.right < -1) { // C6
    return emitError() << "'left' is " << parts.left << " and 'right' is "
                       << parts.right << ", expected at least -1";
  }
  return success();
}

FailureOr<RankedTensorType>
AttentionParts::inferType(EmitError emitError) const {
  if (failed(checkQueriesAndKeys(*this, emitError))) { // C1
    return failure();
  }
  std::optional<AttentionLabels> labels = AttentionLabels::parse(text);
  if (!labels) { // C7
    return emitError() << "'labels' is \"" << text
                       << "\", expected \"bhsd,bhtd,bhte->bhse\", or each "
                       << "group in another order that leaves its last letter";
  }
  auto qs = labels->sort(0, globalShape(q.getType()));
  auto ks = labels->sort(1, globalShape(k.getType()));
  auto vs = v ? labels->sort(2, globalShape(v.getType())) : ks;
  if (failed(checkExtents(qs, ks, vs, emitError))) { // C2 C3
    return failure();
  }
  Type element = getElementTypeOrSelf(q.getType());
  if (mask &&
      failed(checkMask(mask, {qs[0], qs[1], qs[2], vs[2]}, element, // C4
                       emitError))) {
    return failure();
  }
  if (failed(checkNumbers(*this, emitError))) { // C5 C6
    return failure();
  }
  SmallVector<int64_t> y(4);
  for (auto [dim, extent] :
       llvm::enumerate(std::array<int64_t, 4>{qs[0], qs[1], qs[2], vs[3]})) {
    y[labels->find(3, dim)] = extent;
  }
  return makeType(y, element, emitError);
}

RankedTensorType AttentionParts::rowsType() const {
  auto type = cast<RankedTensorType>(q.getType());
  SmallVector<int64_t, 4> extents =
      AttentionLabels::parse(text)->sort(0, globalShape(type));
  extents.pop_back();
  return RankedTensorType::get(extents, accumulatorType(type.getElementType()));
}

double AttentionParts::attendedKeys() const {
  AttentionLabels labels = *AttentionLabels::parse(text);
  int64_t queries = labels.sort(0, globalShape(q.getType()))[2];
  int64_t keys = labels.sort(1, globalShape(k.getType()))[2];
  double sum = 0;
  for (int64_t i = 0; i < queries; ++i) {
    // Bounds come from files: doubles do not overflow.
    double at = double(i) + double(offset);
    double first = left < 0 ? 0 : at - double(left);
    double last = right < 0 ? double(keys) : at + double(right) + 1;
    sum += std::max(0.0, std::min(last, double(keys)) - std::max(first, 0.0));
  }
  return queries == 0 ? 0 : sum / double(queries);
}

AttentionNest::AttentionNest(const AttentionParts &parts)
    : parts_(parts), labels_(*AttentionLabels::parse(parts.text)) {
  auto q = labels_.sort(0, globalShape(parts.q.getType()));
  auto k = labels_.sort(1, globalShape(parts.k.getType()));
  b = nest.add("b", q[0]);
  h = nest.add("h", k[1]);
  heads = {h};
  if (q[1] != k[1]) {
    heads.push_back(nest.add("g", q[1] / k[1]));
  }
  s = nest.add("s", q[2]);
  t = nest.add("t", k[2]);
  d = nest.add("d", q[3], LoopKind::Whole);
  if (parts.v) {
    auto v = labels_.sort(2, globalShape(parts.v.getType()));
    e = nest.add("e", v[3], LoopKind::Whole);
  }
}

TensorMap AttentionNest::map(size_t like, Value tensor) const {
  bool isOfKeys = like == 1 || like == 2;
  std::array<DimMap, 4> sorted = {
      DimMap::loop(b), isOfKeys ? DimMap::loop(h) : DimMap::product(heads),
      DimMap::loop(isOfKeys ? t : s), DimMap::loop(like < 2 ? d : e)};
  TensorMap made = mapLoops(tensor.getType(), {});
  made.dims.resize(4, DimMap::none());
  for (size_t dim = 0; dim < 4; ++dim) {
    made.dims[labels_.find(like, dim)] = sorted[dim];
  }
  return made;
}

TensorMap AttentionNest::mapMask(Value mask) const {
  TensorMap map = mapLoops(mask.getType(), {});
  std::array<DimMap, 4> wholes = {DimMap::loop(b), DimMap::product(heads),
                                  DimMap::loop(s), DimMap::loop(t)};
  auto q = labels_.sort(0, globalShape(parts_.q.getType()));
  std::array<int64_t, 4> extents = {q[0], q[1], q[2], nest.loop(t).extent};
  for (size_t dim = 0; dim < 4; ++dim) {
    map.dims.push_back(map.shape[dim] == extents[dim] ? wholes[dim]
                                                      : DimMap::none());
  }
  return map;
}

TensorMap AttentionNest::mapRows(Value rows) const {
  TensorMap map = mapLoops(rows.getType(), {});
  map.dims = {DimMap::loop(b), DimMap::product(heads), DimMap::loop(s)};
  return map;
}

void AttentionNest::setFlops(double perPair) {
  double points = double(nest.loop(t).extent);
  for (const Loop &loop : nest.loops) {
    points *= loop.kind == LoopKind::Whole ? double(loop.extent) : 1;
  }
  nest.flopsPerPoint =
      points == 0 ? 0 : parts_.attendedKeys() * perPair / points;
}

FailureOr<RankedTensorType> AttentionOp::inferType(Adaptor adaptor,
                                                   EmitError emitError) {
  return AttentionParts::of(adaptor, adaptor.getV()).inferType(emitError);
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
  AttentionNest made(AttentionParts::of(*this, getV()));
  LoopNest &nest = made.nest;
  nest.loops[made.t.index].kind = LoopKind::Exchange;
  nest.operands = {made.map(0, getQ()), made.map(1, getK()),
                   made.map(2, getV())};
  if (Value mask = getMask()) {
    nest.operands.push_back(made.mapMask(mask));
  }
  nest.results = {made.map(3, getY())};
  nest.linear = {{2}};
  // Two products, and about 14 operations for each weight.
  made.setFlops(
      2.0 * double(nest.loop(made.d).extent + nest.loop(made.e).extent) + 14);
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
