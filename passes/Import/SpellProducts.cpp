//===- SpellProducts.cpp - Products as rules have them --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Labels name dims in any order, and rules are about one: what both operands
// have, rows, what is summed over, and columns. So transposes stand again where
// canonicalization has put them into labels:
//
//   matmul(q, k) {"bshd,bthd->bhst"}  →
//       matmul(transpose(q), transpose(k)) {"bhsd,bhdt->bhst"}
//
// And masks get the dims of extent 1 again that broadcasting does without. What
// no rule has found a use for, canonicalization takes back. Numbers that are
// repeated are one number, for good, and tables of rotary embeddings are
// repeated last (SpellTables.h).
//
//===----------------------------------------------------------------------===//

#include "SpellTables.h"
#include "passes/Import/Passes.h"

#include "dialects/NN/Canonicalize.h"
#include "dialects/NN/Labels.h"

namespace divisi {
#define GEN_PASS_DEF_SPELLPRODUCTS
#include "passes/Import/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

/// The same product with labels as rules have them, and its operands in the
/// order in which its last dim is one of the second. Nothing where a dim of one
/// operand alone is summed over.
static std::optional<nn::Labels> spell(const nn::Labels &labels,
                                       bool &isExchanged) {
  auto isIn = [](const std::string &letters, char letter) {
    return letters.find(letter) != std::string::npos;
  };
  const std::string &result = labels.result;
  isExchanged = !result.empty() && !isIn(labels.b, result.back());
  const std::string &a = isExchanged ? labels.b : labels.a;
  const std::string &b = isExchanged ? labels.a : labels.b;
  std::string batch, rows, sums, columns;
  for (char letter : result) {
    std::string &group = !isIn(b, letter)   ? rows
                         : !isIn(a, letter) ? columns
                                            : batch;
    group += letter;
  }
  for (char letter : a) {
    sums += isIn(result, letter) ? "" : std::string(1, letter);
  }
  nn::Labels spelled{batch + rows + sums, batch + sums + columns,
                     batch + rows + columns};
  bool isProduct =
      spelled.a.size() == a.size() && spelled.b.size() == b.size() &&
      llvm::all_of(sums, [&](char letter) { return isIn(b, letter); });
  return isProduct ? std::optional(spelled) : std::nullopt;
}

/// The operand of `value` that one number multiplies or divides, if nothing
/// else needs the result; null for all else.
static OpOperand *scaledOperand(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_present<nn::MulOp, nn::DivOp>(op) || !op->hasOneUse() ||
      !nn::isPlain(op)) {
    return nullptr;
  }
  auto isNumber = [](Value operand) {
    return cast<RankedTensorType>(operand.getType()).getRank() == 0;
  };
  OpOperand &left = op->getOpOperand(0), &right = op->getOpOperand(1);
  bool isRight = isa<nn::MulOp>(op) && isNumber(left.get());
  bool isScaled = isRight ? !isNumber(right.get())
                          : isNumber(right.get()) && !isNumber(left.get());
  return !isScaled ? nullptr : isRight ? &right : &left;
}

/// The value whose dims are `from`, with those dims as `to` has them. Numbers
/// that scale it stand behind the transpose, next to the product.
static Value reordered(OpBuilder &builder, nn::MatmulOp op, Value value,
                       StringRef from, StringRef to) {
  if (from == to) {
    return value;
  }
  if (OpOperand *scaled = scaledOperand(value)) {
    Value inner = reordered(builder, op, scaled->get(), from, to);
    Operation *scale = builder.clone(*scaled->getOwner());
    scale->setOperand(scaled->getOperandNumber(), inner);
    scale->getResult(0).setType(inner.getType());
    return scale->getResult(0);
  }
  auto permutation = llvm::map_to_vector(
      to, [&](char letter) { return int64_t(from.find(letter)); });
  auto transpose =
      nn::TransposeOp::create(builder, op.getLoc(), value, permutation);
  transpose->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return transpose;
}

static void spellProduct(nn::MatmulOp op) {
  nn::Labels labels = *nn::Labels::parse(op.getLabels());
  bool isExchanged = false;
  std::optional<nn::Labels> spelled = spell(labels, isExchanged);
  if (!spelled || !nn::isPlain(op) ||
      (!isExchanged && spelled->str() == labels.str())) {
    return;
  }
  OpBuilder builder(op);
  Value a = isExchanged ? op.getB() : op.getA();
  Value b = isExchanged ? op.getA() : op.getB();
  a = reordered(builder, op, a, isExchanged ? labels.b : labels.a, spelled->a);
  b = reordered(builder, op, b, isExchanged ? labels.a : labels.b, spelled->b);
  SmallVector<int64_t> shape;
  for (char letter : spelled->result) {
    shape.push_back(
        op.getType().getDimSize(unsigned(labels.result.find(letter))));
  }
  auto product = nn::MatmulOp::create(
      builder, op.getLoc(),
      RankedTensorType::get(shape, op.getType().getElementType()), a, b,
      spelled->str());
  product->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.replaceAllUsesWith(
      reordered(builder, op, product, spelled->result, labels.result));
  op.erase();
}

/// Gives what is added, or chooses, as many dims as the result has.
static void spellMasks(Operation *op) {
  if (!isa_and_present<nn::AddOp, nn::SelectOp>(op) || !nn::isPlain(op)) {
    return;
  }
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    auto given = cast<RankedTensorType>(operand.get().getType());
    if (given.getRank() == type.getRank()) {
      spellMasks(operand.get().getDefiningOp());
    } else if (given.getRank() != 0) {
      SmallVector<int64_t> shape(type.getRank() - given.getRank(), 1);
      llvm::append_range(shape, given.getShape());
      auto reshape =
          nn::ReshapeOp::create(builder, op->getLoc(), operand.get(), shape);
      reshape->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      operand.set(reshape);
    }
  }
}

/// The number that all elements of a constant are, if it is one and has dims;
/// null for all else.
static Attribute repeatedNumber(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return elements && elements.isSplat() && elements.getType().getRank() != 0
             ? elements.getSplatValue<Attribute>()
             : nullptr;
}

/// One number is a scalar, where the others give the result its shape.
static void spellNumbers(Operation *op) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Attribute number = repeatedNumber(operand.get());
    if (!number) {
      continue;
    }
    Value repeated = operand.get();
    auto type = RankedTensorType::get(
        {}, cast<RankedTensorType>(repeated.getType()).getElementType());
    Value scalar = nn::ConstantOp::create(builder, repeated.getLoc(), type,
                                          DenseElementsAttr::get(type, number));
    operand.set(scalar);
    auto shape =
        nn::inferElementwise(op->getOperands(), result.getElementType(),
                             [&] { return op->emitOpError(); });
    if (failed(shape) || *shape != result) {
      operand.set(repeated);
      scalar.getDefiningOp()->erase();
    }
  }
}

namespace {

class SpellProductsPass
    : public divisi::impl::SpellProductsBase<SpellProductsPass> {
public:
  void runOnOperation() override {
    SmallVector<nn::MatmulOp> products;
    getOperation().walk([&](nn::MatmulOp op) { products.push_back(op); });
    llvm::for_each(products, spellProduct);
    getOperation().walk(
        [](nn::SoftmaxOp op) { spellMasks(op.getX().getDefiningOp()); });
    getOperation().walk([](Operation *op) {
      if (op->hasTrait<nn::Broadcasting>() && nn::isPlain(op)) {
        spellNumbers(op);
      }
    });
    spellTables(getOperation());
  }
};

} // namespace
