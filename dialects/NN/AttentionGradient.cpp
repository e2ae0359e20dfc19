//===- AttentionGradient.cpp - Attention on its way back ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/AttentionGradient.h"

#include "dialects/NN/AttentionParts.h"
#include "dialects/NN/Nests.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNAttentionGradient.cpp.inc"

namespace divisi::nn {

//===- attention_lse ------------------------------------------------------===//

FailureOr<RankedTensorType> AttentionLseOp::inferType(Adaptor adaptor,
                                                      EmitError emitError) {
  AttentionParts parts = AttentionParts::of(adaptor, Value());
  if (failed(parts.inferType(emitError))) { // C1
    return failure();
  }
  return parts.rowsType();
}

/// As of attention, without values.
LoopNest AttentionLseOp::getLoopNest() {
  AttentionNest made(AttentionParts::of(*this, Value()));
  LoopNest &nest = made.nest;
  nest.loops[made.t.index].kind = LoopKind::Exchange;
  nest.operands = {made.map(0, getQ()), made.map(1, getK())};
  if (Value mask = getMask()) {
    nest.operands.push_back(made.mapMask(mask));
  }
  nest.results = {made.mapRows(getLse())};
  made.setFlops(2.0 * double(nest.loop(made.d).extent) + 14);
  return nest;
}

//===- attention_gradient -------------------------------------------------===//

FailureOr<RankedTensorType>
AttentionGradientOp::inferType(Adaptor adaptor, EmitError emitError) {
  AttentionParts parts = AttentionParts::of(adaptor, adaptor.getV());
  FailureOr<RankedTensorType> y = parts.inferType(emitError); // C1
  if (failed(y)) {
    return failure();
  }
  if (globalType(adaptor.getDy().getType()) != *y) { // C2
    return emitError() << "'dy' has type "
                       << globalType(adaptor.getDy().getType()) << ", expected "
                       << *y << " as the attention's result";
  }
  for (auto [name, rows] : {std::pair("lse", adaptor.getLse()),
                            std::pair("delta", adaptor.getDelta())}) {
    if (globalType(rows.getType()) != parts.rowsType()) { // C3
      return emitError() << "'" << name << "' has type "
                         << globalType(rows.getType()) << ", expected "
                         << parts.rowsType() << ", a number for each query";
    }
  }
  Value of = llvm::StringSwitch<Value>(adaptor.getOf())
                 .Case("q", adaptor.getQ())
                 .Case("k", adaptor.getK())
                 .Case("v", adaptor.getV())
                 .Default(Value());
  if (!of) { // C4
    return emitError() << "'of' is \"" << adaptor.getOf()
                       << "\", expected q, k or v";
  }
  return globalType(of.getType());
}

/// A query's gradient is a sum over keys, those of keys and values are sums
/// over queries, and over the heads that share them. All are sums of products
/// with dy and delta, whatever the weights are.
///
/// What the three have in common, the weights and dc, counts as a third, as a
/// program that needs all three makes them in one call (join-attention); but
/// where none does (kApartAttr), it counts whole. Values need no dc.
LoopNest AttentionGradientOp::getLoopNest() {
  AttentionNest made(AttentionParts::of(*this, getV()));
  LoopNest &nest = made.nest;
  size_t like = StringRef("qkv").find(getOf());
  if (like == 0) {
    nest.loops[made.t.index].kind = LoopKind::Reduction;
  } else {
    nest.loops[made.s.index].kind = LoopKind::Reduction;
    for (LoopId group : ArrayRef(made.heads).drop_front()) {
      nest.loops[group.index].kind = LoopKind::Reduction;
    }
  }
  nest.operands = {made.map(0, getQ()),    made.map(1, getK()),
                   made.map(2, getV()),    made.map(3, getDy()),
                   made.mapRows(getLse()), made.mapRows(getDelta())};
  if (Value mask = getMask()) {
    nest.operands.push_back(made.mapMask(mask));
  }
  nest.results = {made.map(like, getGradient())};
  if (like == 2) {
    nest.linear = {{3}};
  } else {
    nest.linear = {{3, 5}};
  }
  double depth = double(nest.loop(made.d).extent);
  double features = double(nest.loop(made.e).extent);
  double weights = 2 * depth + 14, shared = weights + 2 * features;
  if ((*this)->hasAttr(kApartAttr)) {
    shared = like == 2 ? weights : shared;
  } else {
    shared /= 3;
  }
  made.setFlops(shared + 2 * (like == 2 ? features : depth));
  return nest;
}

} // namespace divisi::nn
