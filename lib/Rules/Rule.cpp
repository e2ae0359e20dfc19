//===- Rule.cpp - A substitution rule as plain data -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/Rule.h"

#include <algorithm>

using namespace divisi::rewrite;

const Variable *Rule::findVariable(const std::string &variable) const {
  auto found = std::find_if(
      variables.begin(), variables.end(),
      [&](const Variable &candidate) { return candidate.name == variable; });
  return found == variables.end() ? nullptr : &*found;
}

bool divisi::rewrite::isReal(const Expr &expr,
                             const std::vector<std::string> &reals) {
  return expr.kind == Expr::Kind::Real ||
         (expr.kind == Expr::Kind::Name &&
          std::find(reals.begin(), reals.end(), expr.name) != reals.end()) ||
         std::any_of(
             expr.operands.begin(), expr.operands.end(),
             [&](const Expr &operand) { return isReal(operand, reals); });
}

bool Rule::isOfShapes(const Condition &condition) const {
  auto isShape = [&](const Expr &expr) {
    return expr.kind == Expr::Kind::Name &&
           std::find(shapes.begin(), shapes.end(), expr.name) != shapes.end();
  };
  return condition.relation == Relation::Broadcasts &&
         isShape(condition.left) && isShape(condition.right);
}

std::vector<Rule> divisi::rewrite::withOperators(const Rule &rule) {
  std::vector<Rule> rules{rule};
  rules.front().operators.clear();
  for (const OperatorChoice &choice : rule.operators) {
    std::vector<Rule> more;
    for (const Rule &each : rules) {
      for (const std::string &name : choice.operators) {
        more.push_back(each);
        for (Graph *side : {&more.back().source, &more.back().target}) {
          for (Node &node : side->nodes) {
            node.op = node.op == choice.name ? name : node.op;
          }
        }
      }
    }
    rules = std::move(more);
  }
  return rules;
}

const char *divisi::rewrite::spell(VariableKind kind) {
  static constexpr const char *words[] = {"activation", "weight", "constant"};
  return words[static_cast<size_t>(kind)];
}

const char *divisi::rewrite::spell(Relation relation) {
  static constexpr const char *words[] = {
      "==", "!=", "<", "<=", ">", ">=", "divides", "broadcasts"};
  return words[static_cast<size_t>(relation)];
}

const char *divisi::rewrite::spell(NumericClass numericClass) {
  static constexpr const char *words[] = {"bit-exact", "reassociates",
                                          "changes-range", "discontinuous"};
  return words[static_cast<size_t>(numericClass)];
}
