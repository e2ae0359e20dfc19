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
static std::optional<std::pair<Value, double>> unscaled(Value value) {
  auto times = [&](Value x, Value by, bool divides) {
    std::optional<double> number = numberOf(by);
    double factor = !number ? NAN : divides ? 1 / *number : *number;
    return x.getType() == value.getType() && std::isfinite(factor)
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

/// The softmax that `weights` are, with 0 in place of the NaN of rows that
/// attend nothing if that is said; null for all else.
static nn::SoftmaxOp softmaxOf(Value weights, WrittenAttention &written) {
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
  return clears ? inner.getDefiningOp<nn::SoftmaxOp>() : nullptr;
}

/// Follows what softmax is of to the products, and notes what it meets; null if
/// it meets anything else.
static nn::MatmulOp productsOf(Value scores, WrittenAttention &written) {
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
  if (written.scale != 1 || written.allowed) {
    return nullptr; // what is added before would be scaled, or chosen from
  }
  if (auto add = scores.getDefiningOp<nn::AddOp>()) {
    for (auto [x, other] : {std::pair(add.getLhs(), add.getRhs()),
                            std::pair(add.getRhs(), add.getLhs())}) {
      WrittenAttention tried = written;
      tried.added.push_back(other);
      nn::MatmulOp product =
          x.getType() == scores.getType() ? productsOf(x, tried) : nullptr;
      if (product) {
        written = tried;
        return product;
      }
    }
    return nullptr;
  }
  auto select = scores.getDefiningOp<nn::SelectOp>();
  if (!select || !written.added.empty() ||
      select.getX().getType() != scores.getType() ||
      numberOf(select.getY()) != -std::numeric_limits<double>::infinity()) {
    return nullptr;
  }
  written.allowed = select.getCondition();
  return productsOf(select.getX(), written);
}

/// Names the dimensions of both products as the first does; features, which it
/// has not, get letters above all others.
static void nameDimensions(nn::MatmulOp first, nn::MatmulOp second,
                           bool isLeft, WrittenAttention &written) {
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
  written.y = {second.getResult(), rename(b.result)};
}

std::optional<WrittenAttention>
divisi::matchAttention(nn::MatmulOp second, bool isLeft) {
  WrittenAttention written;
  Value weights = isLeft ? second.getA() : second.getB();
  nn::SoftmaxOp softmax = softmaxOf(weights, written);
  if (!softmax || softmax.getLog() ||
      softmax.getAxis() != typeOf(weights).getRank() - 1) {
    return std::nullopt;
  }
  nn::MatmulOp first = productsOf(softmax.getX(), written);
  if (!first || typeOf(first.getA()).getElementType() !=
                    typeOf(second.getResult()).getElementType() ||
      typeOf(first.getResult()).getElementType() !=
          typeOf(second.getResult()).getElementType()) {
    return std::nullopt; // it is meant to be rounded in between
  }
  nameDimensions(first, second, isLeft, written);
  for (Lettered *factor : {&written.q, &written.k}) {
    while (auto inner = unscaled(factor->value)) {
      factor->value = inner->first;
      written.scale *= inner->second;
    }
  }
  return std::isfinite(written.scale) ? std::optional(written) : std::nullopt;
}
