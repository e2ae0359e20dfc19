//===- WrittenAttention.cpp - Attention as exporters write it -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Import/WrittenAttention.h"
#include "passes/Import/Codes.h"

#include "dialects/NN/Functions.h"
#include "dialects/NN/Labels.h"

#include <cmath>
#include <limits>

using namespace divisi;
using namespace mlir;

/// The x of x·c or x/c, which has the type of `value`, and c or 1/c.
static std::optional<std::pair<Value, ExactNumber>> unscaled(Value value) {
  auto times = [&](Value x, Value by, bool divides) {
    ExactNumber number(numberOf(by).value_or(NAN));
    ExactNumber factor = divides ? number.inverse() : number;
    return x.getType() == value.getType() && std::isfinite(factor.number)
               ? std::optional(std::pair(x, factor))
               : std::nullopt;
  };
  if (auto mul = value.getDefiningOp<nn::MulOp>()) {
    auto left = times(mul.getLhs(), mul.getRhs(), false);
    return left ? left : times(mul.getRhs(), mul.getLhs(), false);
  }
  auto div = value.getDefiningOp<nn::DivOp>();
  return div ? times(div.getLhs(), div.getRhs(), true) : std::nullopt;
}

/// The float that `value` is a cast of, which nobody else wants; null if it is
/// none.
static Value castFrom(Value value) {
  auto cast = value.hasOneUse() ? value.getDefiningOp<nn::CastOp>() : nullptr;
  return cast && isa<FloatType>(typeOf(value).getElementType()) &&
                 isa<FloatType>(typeOf(cast.getX()).getElementType())
             ? cast.getX()
             : Value();
}

/// What `value` is cast from, and notes the types on the way.
static Value beforeCasts(Value value, WrittenAttention &written) {
  written.types.insert(typeOf(value).getElementType());
  while (Value inner = castFrom(value)) {
    value = inner;
    written.types.insert(typeOf(value).getElementType());
  }
  return value;
}

/// The softmax that `weights` are, with 0 in place of the NaN of rows that
/// attend nothing if that is said; null for all else.
static nn::SoftmaxOp softmaxOf(Value weights, WrittenAttention &written) {
  weights = beforeCasts(weights, written);
  auto select = weights.getDefiningOp<nn::SelectOp>();
  if (!weights.hasOneUse() || !select) {
    return weights.hasOneUse() ? weights.getDefiningOp<nn::SoftmaxOp>()
                               : nullptr;
  }
  auto test = select.getCondition().getDefiningOp<nn::IsNanOp>();
  Value inner = select.getY();
  bool clears = test && test.getX() == inner && test->hasOneUse() &&
                numberOf(select.getX()) == 0.0 &&
                inner.getType() == weights.getType() && inner.hasNUses(2);
  written.makesNan = false;
  if (auto cast = clears ? inner.getDefiningOp<nn::CastOp>() : nullptr) {
    inner = beforeCasts(cast.getX(), written);
    clears = inner.hasOneUse();
  }
  return clears ? inner.getDefiningOp<nn::SoftmaxOp>() : nullptr;
}

/// Whether `number` in place of a product says that it is not attended: added
/// to any product it is that number still.
static bool isMask(std::optional<double> number, Value products) {
  constexpr double lowest = -1e30;
  Type element = typeOf(products).getElementType();
  return number && (*number == -std::numeric_limits<double>::infinity() ||
                    (*number <= lowest && !element.isF16()));
}

/// Products that booleans choose, and the mask that they are then; nothing for
/// all other choices.
static std::optional<std::pair<Value, WrittenMask>>
chosen(nn::SelectOp select) {
  for (bool isTurned : {false, true}) {
    Value products = isTurned ? select.getY() : select.getX();
    std::optional<double> other =
        numberOf(isTurned ? select.getX() : select.getY());
    if (isMask(other, products)) {
      return std::pair(
          products,
          WrittenMask{
              MaskKind::Chosen, select.getCondition(), {}, *other, isTurned});
    }
  }
  return std::nullopt;
}

/// The same of products of which none is less than a number.
static std::optional<std::pair<Value, WrittenMask>> bounded(nn::MaxOp max) {
  for (auto [products, by] : {std::pair(max.getLhs(), max.getRhs()),
                              std::pair(max.getRhs(), max.getLhs())}) {
    if (std::optional<double> other = numberOf(by); isMask(other, products)) {
      return std::pair(products,
                       WrittenMask{MaskKind::Bounded, {}, {}, *other, false});
    }
  }
  return std::nullopt;
}

/// Whether `by` multiplies all products of a query by one number.
static bool isOfRows(Value by) {
  RankedTensorType type = typeOf(by);
  return type.getRank() == 0 || type.getShape().back() == 1;
}

static nn::MatmulOp productsOf(Value scores, WrittenAttention &written);

/// The products that `inner` is of if `written` fits, which then becomes what
/// is known of them.
static nn::MatmulOp tryProducts(Value inner, WrittenAttention fitting,
                                WrittenAttention &written) {
  nn::MatmulOp products = productsOf(inner, fitting);
  if (products) {
    written = fitting;
  }
  return products;
}

/// Products before a mask, with which all that is behind it is done as well. A
/// factor above 1 might make infinities.
static nn::MatmulOp maskedProducts(Operation *op, WrittenAttention &written) {
  double scale = written.scale.number;
  if (written.softcap != 0 || !written.rows.empty() || scale <= 0 ||
      scale > 1) {
    return nullptr;
  }
  auto withMask = [&](Value products, WrittenMask mask) -> nn::MatmulOp {
    WrittenAttention masked = written;
    masked.masks.push_back(mask);
    return products.getType() == op->getResult(0).getType()
               ? tryProducts(products, masked, written)
               : nullptr;
  };
  if (auto add = dyn_cast<nn::AddOp>(op)) {
    auto numbers = [&](Value value) {
      return WrittenMask{MaskKind::Added, value, written.scale, 0, false};
    };
    nn::MatmulOp left = withMask(add.getLhs(), numbers(add.getRhs()));
    return left ? left : withMask(add.getRhs(), numbers(add.getLhs()));
  }
  auto select = dyn_cast<nn::SelectOp>(op);
  auto choice = select ? chosen(select) : bounded(cast<nn::MaxOp>(op));
  if (!choice) {
    return nullptr;
  }
  choice->second.other *= scale;
  return withMask(choice->first, choice->second);
}

/// Products before tanh: all that is behind it is the cap.
static nn::MatmulOp cappedProducts(nn::TanhOp op, WrittenAttention &written) {
  double scale = written.scale.number;
  if (written.softcap != 0 || !written.rows.empty() || scale <= 0) {
    return nullptr;
  }
  WrittenAttention capped = written;
  capped.softcap = scale;
  return tryProducts(op.getX(), capped, written);
}

/// Products before what multiplies those of a query by one number.
static nn::MatmulOp rowProducts(nn::MulOp op, WrittenAttention &written) {
  for (auto [x, by] : {std::pair(op.getLhs(), op.getRhs()),
                       std::pair(op.getRhs(), op.getLhs())}) {
    WrittenAttention scaled = written;
    scaled.rows.push_back(by);
    nn::MatmulOp products = x.getType() == op.getType() && isOfRows(by)
                                ? tryProducts(x, scaled, written)
                                : nullptr;
    if (products) {
      return products;
    }
  }
  return nullptr;
}

/// Follows what softmax is of to the products, and notes what it meets; null if
/// it meets anything else.
static nn::MatmulOp productsOf(Value scores, WrittenAttention &written) {
  scores = beforeCasts(scores, written);
  if (!scores.hasOneUse()) {
    return nullptr;
  }
  if (auto product = scores.getDefiningOp<nn::MatmulOp>()) {
    return product;
  }
  if (auto inner = unscaled(scores)) {
    written.scale *= inner->second;
    return productsOf(inner->first, written);
  }
  if (auto tanh = scores.getDefiningOp<nn::TanhOp>()) {
    return cappedProducts(tanh, written);
  }
  if (auto mul = scores.getDefiningOp<nn::MulOp>()) {
    return rowProducts(mul, written);
  }
  Operation *op = scores.getDefiningOp();
  return isa_and_present<nn::AddOp, nn::SelectOp, nn::MaxOp>(op)
             ? maskedProducts(op, written)
             : nullptr;
}

/// Names the dimensions of both products as the first does; features, which it
/// has not, get letters above all others.
static void nameDimensions(nn::MatmulOp first, nn::MatmulOp second, bool isLeft,
                           Value y, WrittenAttention &written) {
  nn::Labels a = *nn::Labels::parse(first.getLabels());
  nn::Labels b = *nn::Labels::parse(second.getLabels());
  const std::string &weights = isLeft ? b.a : b.b;
  auto rename = [&](const std::string &letters) {
    std::string renamed;
    for (char letter : letters) {
      size_t at = weights.find(letter);
      renamed += at == std::string::npos ? char(letter | 0x80) : a.result[at];
    }
    return renamed;
  };
  written.scores = a.result;
  bool isKeyLeft = StringRef(a.a).contains(a.result.back());
  written.q = {isKeyLeft ? first.getB() : first.getA(), isKeyLeft ? a.b : a.a};
  written.k = {isKeyLeft ? first.getA() : first.getB(), isKeyLeft ? a.a : a.b};
  written.v = {isLeft ? second.getB() : second.getA(),
               rename(isLeft ? b.b : b.a)};
  written.y = {y, rename(b.result)};
}

/// What `second` gives in the type of its factors: a product of narrow floats
/// is one of f32 sums, and a cast behind it. Null if it has none.
static Value inTypeOfFactors(nn::MatmulOp second) {
  Value y = second.getResult();
  Type element = typeOf(second.getA()).getElementType();
  if (typeOf(y).getElementType() == element) {
    return y;
  }
  auto cast = y.hasOneUse() ? dyn_cast<nn::CastOp>(*y.user_begin()) : nullptr;
  return cast && typeOf(cast).getElementType() == element ? cast.getResult()
                                                          : Value();
}

/// What has elements of `element` and is widened to `x`, which loses nothing;
/// null if that is no such cast.
static Value widenedFrom(Value x, Type element) {
  auto cast = x.getDefiningOp<nn::CastOp>();
  bool isWidened =
      cast && typeOf(cast.getX()).getElementType() == element &&
      element.getIntOrFloatBitWidth() < typeOf(x).getElementTypeBitWidth();
  return isWidened ? cast.getX() : Value();
}

/// What `x` is before it is multiplied by numbers, which go into the scale, and
/// before a narrow float was widened.
static Value factorOf(Value x, Type element, WrittenAttention &written) {
  while (true) {
    if (auto inner = unscaled(x)) {
      x = inner->first;
      written.scale *= inner->second;
      continue;
    }
    Value inner = widenedFrom(x, element);
    if (!inner) {
      return x;
    }
    x = inner;
  }
}

void divisi::takeFactors(WrittenAttention &written, Type element) {
  written.q.value = factorOf(written.q.value, element, written);
  written.k.value = factorOf(written.k.value, element, written);
}

/// Takes a mask in the type of `element`, which all tensors of an attention
/// have; false if it has numbers that this has not. `isAlone` says that it is
/// added as it is.
static bool narrowMask(WrittenMask &mask, FloatType element, bool isAlone) {
  if (mask.kind == MaskKind::Added) {
    if (Value inner = isAlone ? widenedFrom(mask.value, element) : Value()) {
      mask.value = inner;
    }
    return typeOf(mask.value).getElementType() == element;
  }
  double lowest =
      -APFloat::getLargest(element.getFloatSemantics()).convertToDouble();
  if (std::isfinite(mask.other) && mask.other < lowest) {
    mask.other = lowest; // beside it products count as little
    return !element.isF16();
  }
  return true;
}

/// The same of all masks.
static bool narrowMasks(WrittenAttention &written, FloatType element) {
  // Sums and multiples of masks would be rounded.
  bool isAlone = llvm::count_if(written.masks, [](const WrittenMask &mask) {
                   return mask.kind == MaskKind::Added;
                 }) == 1;
  return llvm::all_of(written.masks, [&](WrittenMask &mask) {
    return narrowMask(mask, element, isAlone && mask.times.number == 1);
  });
}

/// Takes factors, scales and masks in `element`; false if one operator with
/// tensors of that type, which sums in f32 where that is wider, would compute
/// less exactly than all that is between the products.
static bool narrow(WrittenAttention &written, FloatType element) {
  takeFactors(written, element);
  auto isOfElement = [&](Value x) {
    return typeOf(x).getElementType() == element;
  };
  bool isNarrow = element.isF16() || element.isBF16();
  return isOfElement(written.q.value) && isOfElement(written.k.value) &&
         isOfElement(written.v.value) &&
         llvm::all_of(written.types,
                      [&](Type type) {
                        return type == element || (isNarrow && type.isF32());
                      }) &&
         llvm::all_of(written.rows, isOfElement) &&
         narrowMasks(written, element);
}

std::optional<WrittenAttention> divisi::matchAttention(nn::MatmulOp second,
                                                       bool isLeft) {
  WrittenAttention written;
  Value weights = isLeft ? second.getA() : second.getB();
  Value y = inTypeOfFactors(second);
  nn::SoftmaxOp softmax = y ? softmaxOf(weights, written) : nullptr;
  if (!softmax || softmax.getLog() ||
      softmax.getAxis() != typeOf(weights).getRank() - 1) {
    return std::nullopt;
  }
  nn::MatmulOp first = productsOf(softmax.getX(), written);
  bool boundsProducts =
      !written.masks.empty() && written.masks.back().kind == MaskKind::Bounded;
  if (!first || boundsProducts) {
    return std::nullopt;
  }
  nameDimensions(first, second, isLeft, y, written);
  if (!narrow(written, cast<FloatType>(typeOf(y).getElementType()))) {
    return std::nullopt; // it is meant to be rounded in between
  }
  return std::isfinite(written.scale.number) ? std::optional(written)
                                             : std::nullopt;
}

/// A number as a constant; `exact` says what it is before it is rounded.
static Value constantOf(OpBuilder &builder, Location location,
                        const ExactNumber &number, FloatType element,
                        Replacement &replacement) {
  auto type = RankedTensorType::get({}, element);
  auto constant = nn::ConstantOp::create(
      builder, location, type,
      DenseElementsAttr::get(type,
                             builder.getFloatAttr(element, number.number)));
  replacement.exact[constant] = number;
  return constant;
}

/// The numbers that are added to products in place of `inner`, null for none,
/// and of a mask behind them.
static Value maskedBy(OpBuilder &builder, Location location, Value inner,
                      const WrittenMask &mask, FloatType element,
                      Replacement &replacement) {
  auto number = [&](const ExactNumber &value) {
    return constantOf(builder, location, value, element, replacement);
  };
  ExactNumber hidden(mask.other);
  switch (mask.kind) {
  case MaskKind::Added: {
    Value numbers = mask.times.number == 1
                        ? mask.value
                        : nn::MulOp::create(builder, location, mask.value,
                                            number(mask.times));
    return inner ? nn::AddOp::create(builder, location, inner, numbers)
                 : numbers;
  }
  case MaskKind::Chosen: {
    Value kept = inner ? inner : number(ExactNumber(0)), other = number(hidden);
    return nn::SelectOp::create(builder, location, mask.value,
                                mask.isTurned ? other : kept,
                                mask.isTurned ? kept : other);
  }
  case MaskKind::Bounded:
    return nn::MaxOp::create(builder, location, inner, number(hidden));
  }
  llvm_unreachable("a kind of mask that is not there");
}

Value divisi::joinMasks(OpBuilder &builder, Location location,
                        const WrittenAttention &written,
                        Replacement &replacement) {
  ArrayRef<WrittenMask> masks = written.masks;
  for (const WrittenMask &mask : masks) {
    if (mask.value) {
      replacement.masks[mask.value] = mask.isTurned;
    }
  }
  if (masks.size() == 1 && masks.front().kind == MaskKind::Chosen &&
      std::isinf(masks.front().other)) {
    Value allowed = masks.front().value;
    return masks.front().isTurned
               ? nn::NotOp::create(builder, location, allowed)
               : allowed;
  }
  auto element = cast<FloatType>(typeOf(written.q.value).getElementType());
  Value joined;
  for (const WrittenMask &mask : llvm::reverse(masks)) {
    joined = maskedBy(builder, location, joined, mask, element, replacement);
  }
  return joined;
}
