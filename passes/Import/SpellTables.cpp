//===- SpellTables.cpp - Rotary tables as rules have them -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpellTables.h"

#include "dialects/NN/Canonicalize.h"
#include "dialects/NN/NN.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace divisi;
using namespace mlir;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Of a value with dims.
static int64_t lastExtent(Value value) {
  RankedTensorType type = typeOf(value);
  return type.getRank() == 0 ? 1 : type.getShape().back();
}

static bool isElementwise(Operation *op) {
  return op->hasTrait<nn::ElementwiseFactors>() && op->getNumOperands() > 0 &&
         op->getNumResults() == 1 && isPure(op) && nn::isPlain(op);
}

namespace {

/// Makes the halves of tensors whose last dim holds the same numbers twice.
class Halves {
public:
  /// They are made in front of `op`.
  explicit Halves(Operation *op) : builder_(op) {}

  /// t if `value` is made of [t|t] so that it is [u|u], and null else; nothing
  /// is made then.
  Value of(Value value) {
    return isRepeated(value, kMostOperators) ? make(value) : nullptr;
  }

private:
  /// Tables are made by fewer operators in a row.
  static constexpr int kMostOperators = 8;

  static bool isRepeated(Value value, int most);
  Value make(Value value);

  OpBuilder builder_;
};

} // namespace

/// Whether all of `value` is in the first half of its last dim, by at most
/// `most` operators.
bool Halves::isRepeated(Value value, int most) {
  Operation *op = value.getDefiningOp();
  if (!op || most == 0 || lastExtent(value) < 2) {
    return false;
  }
  if (auto concat = dyn_cast<nn::ConcatOp>(op)) {
    return nn::isPlain(op) && concat.getNumOperands() == 2 &&
           concat.getOperand(0) == concat.getOperand(1) &&
           int64_t(concat.getAxis()) == typeOf(value).getRank() - 1;
  }
  if (auto reshape = dyn_cast<nn::ReshapeOp>(op)) {
    return nn::isPlain(op) && lastExtent(reshape.getX()) == lastExtent(value) &&
           isRepeated(reshape.getX(), most - 1);
  }
  // Where all operands have one number, so has what they make.
  bool isAny = false;
  return isElementwise(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) {
                        bool isOne = lastExtent(operand) == 1;
                        isAny |= !isOne;
                        return isOne || isRepeated(operand, most - 1);
                      }) &&
         isAny;
}

/// Of a value that is repeated.
Value Halves::make(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa<nn::ConcatOp>(op)) {
    return op->getOperand(0);
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(lastExtent(operand) == 1 ? operand : make(operand));
  }
  Operation *half = builder_.clone(*op);
  half->setOperands(operands);
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape.back() /= 2;
  half->getResult(0).setType(typeOf(value).clone(shape));
  return half->getResult(0);
}

/// Whether rules know the form: [t|t], or its cosine or sine, with dims of
/// extent 1 more.
static bool isSpelled(Value value) {
  auto inside = [&](auto kind) {
    if (auto op = value.getDefiningOp<decltype(kind)>()) {
      value = op->getOperand(0);
    }
  };
  inside(nn::ReshapeOp());
  inside(nn::CosOp());
  inside(nn::SinOp());
  return value.getDefiningOp<nn::ConcatOp>() != nullptr;
}

static void spellTable(nn::MulOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value table = operand.get();
    Value half = isSpelled(table) ? nullptr : Halves(op).of(table);
    if (half) {
      OpBuilder builder(op);
      auto concat =
          nn::ConcatOp::create(builder, table.getLoc(), ValueRange{half, half},
                               uint64_t(typeOf(half).getRank() - 1));
      operand.set(concat);
    }
  }
}

/// Whether all numbers of the operand stay what they are.
static bool isWidening(nn::CastOp op) {
  auto from = dyn_cast<FloatType>(typeOf(op.getX()).getElementType());
  auto to = dyn_cast<FloatType>(op.getType().getElementType());
  return nn::isPlain(op) && from && to && from.getWidth() >= 16 &&
         from.getWidth() < to.getWidth();
}

/// The same as `value` of `wide`, a cast of what it moves and negates; null if
/// it does something else, or moves something else.
static Value moveWide(OpBuilder &builder, Value value, nn::CastOp wide) {
  Operation *op = value.getDefiningOp();
  if (value == wide.getX()) {
    return wide;
  }
  if (!isa_and_present<nn::ConcatOp, nn::SliceOp, nn::NegOp>(op) ||
      !nn::isPlain(op)) {
    return nullptr;
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value moved = moveWide(builder, operand, wide);
    if (!moved) {
      return nullptr;
    }
    operands.push_back(moved);
  }
  Operation *moved = builder.clone(*op);
  moved->setOperands(operands);
  moved->getResult(0).setType(
      typeOf(value).clone(wide.getType().getElementType()));
  return moved->getResult(0);
}

/// What [-x2|x1] is made of; null for all else.
static Value turnedValue(Value value) {
  auto concat = value.getDefiningOp<nn::ConcatOp>();
  auto neg = concat && concat.getNumOperands() == 2
                 ? concat.getOperand(0).getDefiningOp<nn::NegOp>()
                 : nullptr;
  auto slice = neg ? neg.getX().getDefiningOp<nn::SliceOp>() : nullptr;
  return slice ? slice.getX() : nullptr;
}

/// Turns the wide numbers that the other product takes, too.
static void spellTurned(nn::MulOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto narrow = operand.get().getDefiningOp<nn::CastOp>();
    Value turned =
        narrow && isWidening(narrow) ? turnedValue(narrow.getX()) : nullptr;
    if (!turned) {
      continue;
    }
    for (Operation *user : turned.getUsers()) {
      auto wide = dyn_cast<nn::CastOp>(user);
      if (wide &&
          wide.getType().getElementType() ==
              narrow.getType().getElementType() &&
          isWidening(wide) && user->getBlock() == op->getBlock() &&
          user->isBeforeInBlock(op)) {
        OpBuilder builder(op);
        if (Value moved = moveWide(builder, narrow.getX(), wide)) {
          operand.set(moved);
        }
        break;
      }
    }
  }
}

void divisi::spellTables(func::FuncOp function) {
  SmallVector<nn::MulOp> products;
  function.walk([&](nn::MulOp op) { products.push_back(op); });
  llvm::for_each(products, spellTable);
  llvm::for_each(products, spellTurned);
}
