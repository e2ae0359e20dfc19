//===- Carries.cpp - What partial sums are carried through ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Carries.h"

#include "dialects/NN/AttentionGradient.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace divisi::nn {

namespace {
/// Elements that a factor must not have.
enum class Bar : uint8_t { Infinity, Zero };
} // namespace

static bool isBarred(const APFloat &number, Bar bar) {
  return bar == Bar::Infinity ? number.isInfinity() : number.isZero();
}

static bool isConstantWithout(Operation *op, Bar bar) {
  auto constant = dyn_cast<ConstantOp>(op);
  auto numbers = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                          : DenseFPElementsAttr();
  if (!numbers) {
    return false;
  }
  if (numbers.isSplat()) {
    return !isBarred(numbers.getSplatValue<APFloat>(), bar);
  }
  return llvm::none_of(numbers.getValues<APFloat>(),
                       [&](const APFloat &n) { return isBarred(n, bar); });
}

/// Whether each number of `from` has an image in `to` that is not infinite.
static bool fitsInto(Type from, FloatType to) {
  int most = APFloat::semanticsMaxExponent(to.getFloatSemantics());
  if (auto source = dyn_cast<FloatType>(from)) {
    return APFloat::isRepresentableBy(source.getFloatSemantics(),
                                      to.getFloatSemantics());
  }
  return from.isInteger() && int(from.getIntOrFloatBitWidth()) <= most;
}

/// Whether `op` makes no element that is barred, whatever it is given.
static bool isBounded(Operation *op, Bar bar) {
  if (isConstantWithout(op, bar)) {
    return true;
  }
  if (auto cast = dyn_cast<CastOp>(op)) {
    Type from = cast.getX().getType().getElementType();
    auto to = dyn_cast<FloatType>(cast.getY().getType().getElementType());
    return bar == Bar::Infinity && to && from.isInteger() && fitsInto(from, to);
  }
  auto softmax = dyn_cast<SoftmaxOp>(op);
  bool isFinite = (softmax && !softmax.getLog()) ||
                  isa<SinOp, CosOp, TanhOp, SigmoidOp, ErfOp, SignOp>(op);
  return bar == Bar::Infinity && isFinite;
}

/// Whether each element of `op`'s results is one of its operands' or negated,
/// or is not barred.
static bool passesOn(Operation *op, Bar bar) {
  if (auto cast = dyn_cast<CastOp>(op)) {
    auto to = dyn_cast<FloatType>(cast.getY().getType().getElementType());
    return to && isa<FloatType>(cast.getX().getType().getElementType()) &&
           fitsInto(cast.getX().getType().getElementType(), to);
  }
  if (auto pad = dyn_cast<PadOp>(op)) {
    auto type = cast<FloatType>(pad.getY().getType().getElementType());
    bool isRounded = false;
    APFloat border = pad.getValueAttr().getValue();
    border.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &isRounded);
    return !isBarred(border, bar);
  }
  if (isa<ReluOp>(op)) {
    return bar == Bar::Infinity;
  }
  // Windows of padding alone have maxima of their own, and so do gathers of
  // shards that lack the row: zeros.
  if (isa<PoolMaxOp>(op) ||
      (isa<GatherOp, TakeAlongOp>(op) && bar == Bar::Zero)) {
    return false;
  }
  auto rounding = dyn_cast<RoundingInterface>(op);
  return rounding && rounding.getRounding() == Rounding::Moves;
}

/// Whether no element of `value` is barred in any run. Goes through what moves
/// elements; nobody waits for a long way.
static bool isFree(Value value, Bar bar) {
  constexpr size_t kMostValues = 256;
  llvm::SmallSetVector<Value, 8> open;
  open.insert(value);
  for (size_t i = 0; i < open.size(); ++i) {
    Operation *op = open[i].getDefiningOp();
    if (!op || i == kMostValues) {
      return false;
    }
    if (isBounded(op, bar)) {
      continue;
    }
    if (op->getNumOperands() == 0 || !passesOn(op, bar)) {
      return false;
    }
    for (Value operand : op->getOperands()) {
      if (isa<FloatType>(getElementTypeOrSelf(operand.getType()))) {
        open.insert(operand);
      }
    }
  }
  return true;
}

LoopNest barredLoopNest(LoopInterface op) {
  LoopNest nest = op.getLoopNest();
  auto gradient = dyn_cast<AttentionGradientOp>(op.getOperation());
  if (isa<AttentionOp>(op) || (gradient && gradient.getOf() == "v")) {
    return nest; // its weights are between 0 and 1, or no numbers
  }
  Bar bar = isa<DivOp>(op) ? Bar::Zero : Bar::Infinity;
  for (auto [number, set] : llvm::enumerate(nest.linear)) {
    for (OpOperand &operand : op->getOpOperands()) {
      bool isFactor =
          !llvm::is_contained(set, operand.getOperandNumber()) &&
          isa<FloatType>(getElementTypeOrSelf(operand.get().getType()));
      if (isFactor && !isFree(operand.get(), bar)) {
        nest.barred.push_back(unsigned(number));
        break;
      }
    }
  }
  return nest;
}

} // namespace divisi::nn
