//===- ExpandShapes.cpp - Expressions at ranks ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Symbolic/ExpandShapes.h"

#include "divisi/Rules/LinearFit.h"
#include "divisi/Rules/RuleNames.h"
#include "divisi/Rules/RuleText.h"

using namespace divisi;
using namespace divisi::rewrite;

static Expr times(Expr left, Expr right) {
  Expr result;
  result.kind = Expr::Kind::Mul;
  result.operands = {std::move(left), std::move(right)};
  return result;
}

std::string divisi::rewrite::extentName(const std::string &shape, size_t dim) {
  return shape + "." + std::to_string(dim);
}

std::optional<Expr> divisi::rewrite::expandShapes(const Expr &expr,
                                                  const Ranks &ranks,
                                                  const std::string &index,
                                                  size_t at) {
  if (expr.kind == Expr::Kind::Rank) {
    return numberExpr(int64_t(ranks.at(expr.name)));
  }
  if (expr.kind == Expr::Kind::Count) {
    Expr product = numberExpr(1);
    for (size_t dim = 0; dim != ranks.at(expr.name); ++dim) {
      Expr extent = nameExpr(extentName(expr.name, dim));
      product = dim == 0 ? extent : times(std::move(product), extent);
    }
    return product;
  }
  if (expr.kind == Expr::Kind::Name && expr.name == index) {
    return numberExpr(int64_t(at));
  }
  Expr result = expr;
  if (expr.kind == Expr::Kind::Real) {
    return realExpr(expr.real);
  }
  for (Expr &operand : result.operands) {
    std::optional<Expr> written = expandShapes(operand, ranks, index, at);
    if (!written) {
      return std::nullopt;
    }
    operand = std::move(*written);
  }
  if (expr.kind == Expr::Kind::Extent) {
    std::optional<int64_t> dim = evaluate(result.operands[0], Assignment());
    if (!dim || *dim < 0 || *dim >= int64_t(ranks.at(expr.name))) {
      return std::nullopt;
    }
    return nameExpr(extentName(expr.name, size_t(*dim)));
  }
  return result;
}

std::optional<std::vector<Expr>>
divisi::rewrite::expandShapes(const Items &items, const Ranks &ranks) {
  std::vector<Expr> result;
  for (const Item &item : items) {
    size_t count = item.shape.empty() ? 1 : ranks.at(item.shape);
    for (size_t i = 0; i != count; ++i) {
      bool isSpread = !item.shape.empty() && item.index.empty();
      std::optional<Expr> value =
          isSpread ? nameExpr(extentName(item.shape, i))
                   : expandShapes(item.value, ranks, item.index, i);
      if (!value) {
        return std::nullopt;
      }
      result.push_back(std::move(*value));
    }
  }
  return result;
}
