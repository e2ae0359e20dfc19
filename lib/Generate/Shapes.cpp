//===- Shapes.cpp - Rules with fewer shapes -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Shapes.h"

#include "divisi/Rules/LinearFit.h"

#include <algorithm>

using namespace divisi::rewrite;

namespace {

/// Takes one shape out of a rule.
class ShapeMerger {
public:
  ShapeMerger(const std::string &first, const std::string &second)
      : first_(first), second_(second) {}

  std::optional<Rule> run(Rule rule) {
    for (Variable &variable : rule.variables) {
      takeFrom(variable.type.shape);
    }
    for (Graph *side : {&rule.source, &rule.target}) {
      for (Node &node : side->nodes) {
        takeFrom(node);
      }
    }
    std::erase(rule.shapes, second_);
    return isPossible_ ? std::optional(std::move(rule)) : std::nullopt;
  }

private:
  void takeFrom(Node &node) {
    if (node.type) {
      takeFrom(node.type->shape);
    }
    for (auto &[name, value] : node.attributes) {
      if (auto *items = std::get_if<Items>(&value)) {
        takeFrom(*items);
      } else if (auto *expr = std::get_if<Expr>(&value)) {
        *expr = without(*expr);
      } else if (auto *text = std::get_if<std::string>(&value)) {
        takeFrom(*text);
      }
    }
  }
  void takeFrom(Items &items) {
    for (size_t i = 0; i != items.size(); ++i) {
      bool isFollowed = i + 1 != items.size() && items[i + 1].shape == second_;
      if ((items[i].shape == first_) != isFollowed ||
          (i == 0 && items[i].shape == second_)) {
        isPossible_ = false;
      }
      items[i].value = without(items[i].value);
    }
    std::erase_if(items,
                  [&](const Item &item) { return item.shape == second_; });
  }
  void takeFrom(std::string &text) {
    std::string first = "{" + first_ + "}", second = "{" + second_ + "}";
    std::string both = first + second;
    size_t found = 0;
    for (size_t at; (at = text.find(both)) != std::string::npos; ++found) {
      text.replace(at, both.size(), "\n");
    }
    if (text.find(first) != std::string::npos ||
        text.find(second) != std::string::npos) {
      isPossible_ = false;
    }
    for (size_t at; (at = text.find('\n')) != std::string::npos;) {
      text.replace(at, 1, first);
    }
  }
  /// The rank of the second is part of that of the first.
  Expr without(const Expr &expr) const {
    if (expr.kind == Expr::Kind::Rank && expr.name == second_) {
      return numberExpr(0);
    }
    Expr result = expr;
    for (Expr &operand : result.operands) {
      operand = without(operand);
    }
    auto isZero = [](const Expr &each) {
      return each.kind == Expr::Kind::Number && each.value == 0;
    };
    if (result.kind == Expr::Kind::Add && isZero(result.operands[0])) {
      return Expr(result.operands[1]);
    }
    if (result.kind == Expr::Kind::Add && isZero(result.operands[1])) {
      return Expr(result.operands[0]);
    }
    return result;
  }

  const std::string &first_, &second_;
  bool isPossible_ = true;
};

} // namespace

std::optional<Rule> divisi::rewrite::withoutShape(const Rule &rule,
                                                  const std::string &first,
                                                  const std::string &second) {
  return first == second ? std::nullopt : ShapeMerger(first, second).run(rule);
}
