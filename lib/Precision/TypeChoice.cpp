//===- TypeChoice.cpp - Which operators may be narrow ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeChoice.h"

#include "FirstProducts.h"

#include "dialects/NN/NN.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace divisi;

nn::Rounding divisi::roundingOf(Operation *op) {
  auto says = dyn_cast<nn::RoundingInterface>(op);
  return says ? says.getRounding() : nn::Rounding::StaysWide;
}

bool divisi::isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// The operands of `op` that the choice is about.
static SmallVector<Value> floatsOf(Operation *op) {
  SmallVector<Value> values;
  for (Value operand : op->getOperands()) {
    if (isF32(operand.getType()) && !operand.getDefiningOp<nn::ConstantOp>()) {
      values.push_back(operand);
    }
  }
  return values;
}

/// The activations that `op` takes without spreading them, each once. Two are a
/// join of streams.
static SmallVector<Value> streamsOf(Operation *op, const Origins &origins) {
  int64_t size = elementsOf(op->getResult(0));
  llvm::SmallSetVector<Value, 2> streams;
  for (Value x : floatsOf(op)) {
    bool isSpread = op->hasTrait<nn::Broadcasting>() && elementsOf(x) != size;
    if (origins.of(x) == Origin::Activation && !isSpread) {
      streams.insert(x);
    }
  }
  return streams.takeVector();
}

static bool hasFloats(Operation &op) {
  return llvm::any_of(op.getOperandTypes(), isF32) ||
         llvm::any_of(op.getResultTypes(), isF32);
}

/// Whether elements at one place are added or subtracted: the operator is
/// linear in all of its operands at once.
static bool addsOperands(Operation *op) {
  if (!op->hasTrait<nn::Broadcasting>() ||
      roundingOf(op) != nn::Rounding::RoundsOnce) {
    return false;
  }
  LoopNest nest = cast<nn::LoopInterface>(op).getLoopNest();
  return llvm::any_of(nest.linear, [&](const auto &operands) {
    return operands.size() == op->getNumOperands();
  });
}

// What is wide is never made narrow again, so that this ends.
TypeChoice::TypeChoice(func::FuncOp function, const Origins &origins,
                       const DenseSet<Operation *> &named, bool keepsFirst)
    : origins_(origins), named_(named) {
  if (keepsFirst) {
    first_ = findFirstProducts(function, origins, named);
  }
  SmallVector<Operation *> operators;
  for (Operation &op : function.getOps()) {
    if (isa<nn::LoopInterface>(op) && hasFloats(op)) {
      operators.push_back(&op);
    }
  }
  for (bool changes = true; changes;) {
    changes = false;
    // Sums are finished from where they are made, before their readers ask.
    for (Operation *op : operators) {
      changes |= update(op);
    }
    for (Operation *op : llvm::reverse(operators)) {
      changes |= update(op);
    }
  }
  // Whoever asks may have changed operands by then.
  for (Operation *op : operators) {
    for (Value result : op->getResults()) {
      if (isF32(result.getType()) && sumsWithWeights(result)) {
        activations_.insert(result);
      }
    }
  }
}

bool TypeChoice::update(Operation *op) {
  bool isNews =
      !wide_.contains(op) && mustBeWide(op) && wide_.insert(op).second;
  if (!exact_.contains(op) && followsFromExact(op)) {
    isNews |= exact_.insert(op).second;
  }
  return isNews;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool TypeChoice::isExact(Value value) const {
  Operation *op = value.getDefiningOp();
  // An input is as exact as can be, and so is what is computed once.
  return !op || origins_.of(value) != Origin::Activation || exact_.contains(op);
}

bool TypeChoice::isWide(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || origins_.isStatic(value)) {
    return true;
  }
  nn::Rounding rounding = roundingOf(op);
  bool hasChoice =
      rounding == nn::Rounding::Moves || rounding == nn::Rounding::RoundsOnce;
  return !hasChoice || wide_.contains(op);
}

/// isActivation, as it is known so far.
bool TypeChoice::sumsWithWeights(Value value) const {
  Operation *op = value.getDefiningOp();
  if (isExact(value) || !isWide(value) || named_.contains(op)) {
    return false;
  }
  if (roundingOf(op) == nn::Rounding::SumsProducts) {
    return llvm::any_of(op->getOperands(),
                        [&](Value x) { return origins_.isStatic(x); });
  }
  SmallVector<Value> streams = streamsOf(op, origins_);
  return roundingOf(op) == nn::Rounding::RoundsOnce && streams.size() == 1 &&
         sumsWithWeights(streams[0]);
}

bool TypeChoice::followsFromExact(Operation *op) const {
  switch (roundingOf(op)) {
  case nn::Rounding::Moves: {
    // Rows of a weight alone are those of a narrow one.
    SmallVector<Value> floats = floatsOf(op);
    return llvm::all_of(floats, [&](Value x) { return isExact(x); }) &&
           llvm::any_of(floats, [&](Value x) { return !origins_.isStatic(x); });
  }
  case nn::Rounding::RoundsOnce:
    return !named_.contains(op) && (isBetween(op) || isJoin(op));
  case nn::Rounding::SumsProducts:
    return first_.contains(op);
  case nn::Rounding::SumsElements:
  case nn::Rounding::StaysWide:
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Users
//===----------------------------------------------------------------------===//

/// What a function returns is f32; it is narrowed before that if it was so all
/// the time.
bool TypeChoice::wantsWide(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (isa<func::ReturnOp>(user)) {
    return isExact(use.get());
  }
  switch (roundingOf(user)) {
  case nn::Rounding::Moves:
  case nn::Rounding::RoundsOnce:
  case nn::Rounding::SumsProducts:
    return wide_.contains(user);
  case nn::Rounding::SumsElements:
  case nn::Rounding::StaysWide:
    return true;
  }
  return true;
}

bool TypeChoice::allWantWide(Value value) const {
  return !value.use_empty() && llvm::all_of(value.getUses(), [&](OpOperand &u) {
    return wantsWide(u);
  });
}

bool TypeChoice::anyWantsWide(Value value) const {
  return llvm::any_of(value.getUses(),
                      [&](OpOperand &use) { return wantsWide(use); });
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

bool TypeChoice::mustBeWide(Operation *op) const {
  if (named_.contains(op)) {
    return true;
  }
  switch (roundingOf(op)) {
  case nn::Rounding::Moves:
    return movesInWide(op);
  case nn::Rounding::RoundsOnce:
    return roundsInWide(op);
  case nn::Rounding::SumsProducts:
    return origins_.of(op->getResult(0)) != Origin::Activation ||
           first_.contains(op);
  case nn::Rounding::SumsElements:
    return sumsInWide(op);
  case nn::Rounding::StaysWide:
    return true;
  }
  return true;
}

/// A sum takes what there is.
bool TypeChoice::sumsInWide(Operation *op) const {
  return llvm::all_of(
      floatsOf(op), [&](Value x) { return isWide(x) && !sumsWithWeights(x); });
}

bool TypeChoice::roundsInWide(Operation *op) const {
  return origins_.of(op->getResult(0)) != Origin::Activation || isBetween(op) ||
         isJoin(op) || finishesSum(op);
}

bool TypeChoice::isJoin(Operation *op) const {
  return addsOperands(op) && streamsOf(op, origins_).size() > 1;
}

bool TypeChoice::isBetween(Operation *op) const {
  SmallVector<Value> floats = floatsOf(op);
  if (llvm::all_of(floats, [&](Value x) { return isExact(x); })) {
    return true;
  }
  Value result = op->getResult(0);
  bool followsSmall = llvm::any_of(floats, [&](Value x) {
    return origins_.of(x) == Origin::Activation && isExact(x) &&
           elementsOf(x) != elementsOf(result);
  });
  return streamsOf(op, origins_).size() <= 1 &&
         ((allWantWide(result) && !finishesActivation(op)) ||
          (followsSmall && anyWantsWide(result)));
}

bool TypeChoice::finishesActivation(Operation *op) const {
  return finishesSum(op) && sumsWithWeights(streamsOf(op, origins_)[0]);
}

/// Whether `op` does something to a sum that nobody else wants.
bool TypeChoice::finishesSum(Operation *op) const {
  SmallVector<Value> streams = streamsOf(op, origins_);
  return streams.size() == 1 && isWide(streams[0]) && streams[0].hasOneUse();
}

/// Nothing is lost by moving narrow elements and widening them behind that.
bool TypeChoice::movesInWide(Operation *op) const {
  Value result = op->getResult(0);
  bool isThere =
      origins_.isStatic(result) || llvm::any_of(floatsOf(op), [&](Value x) {
        return !origins_.isStatic(x) && (isWide(x) || isExact(x));
      });
  return isThere &&
         (allWantWide(result) || (isExact(result) && anyWantsWide(result)));
}
