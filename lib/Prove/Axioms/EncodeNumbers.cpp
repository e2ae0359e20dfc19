//===- EncodeNumbers.cpp - Arithmetic of rules for Z3 ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integers are those of Z3. Reals are a sort without any meaning: of them
// nothing is known but what is said.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Axioms/Encoder.h"

#include <algorithm>

using namespace divisi::rewrite;

z3::expr Encoder::integer(const Expr &expr, const Terms &terms) {
  switch (expr.kind) {
  case Expr::Kind::Number:
    return context_.int_val(expr.value);
  case Expr::Kind::Name:
    return terms.symbols.at(expr.name);
  default:
    break;
  }
  z3::expr left = integer(expr.operands[0], terms);
  z3::expr right = integer(expr.operands[1], terms);
  switch (expr.kind) {
  case Expr::Kind::Add:
    return left + right;
  case Expr::Kind::Sub:
    return left - right;
  case Expr::Kind::Mul:
    return left * right;
  default:
    // Of a divisor that is not positive nothing is known.
    return z3::ite(right > 0, left / right,
                   call(
                       "quotient",
                       [&] {
                         z3::expr_vector both(context_);
                         both.push_back(left);
                         both.push_back(right);
                         return both;
                       }(),
                       context_.int_sort()));
  }
}

bool Encoder::isReal(const Expr &expr, const Terms &terms) const {
  return expr.kind == Expr::Kind::Real ||
         (expr.kind == Expr::Kind::Name &&
          z3::eq(terms.symbols.at(expr.name).get_sort(), real_)) ||
         std::any_of(
             expr.operands.begin(), expr.operands.end(),
             [&](const Expr &operand) { return isReal(operand, terms); });
}

/// A real. Of what is made of reals nothing is known, either.
z3::expr Encoder::real(const Expr &expr, const Terms &terms) {
  if (expr.kind == Expr::Kind::Name) {
    return terms.symbols.at(expr.name);
  }
  if (expr.operands.empty()) {
    bool isInteger = expr.kind == Expr::Kind::Number;
    std::string name =
        isInteger ? std::to_string(expr.value) + ".0" : expr.name;
    return context_.constant(("real " + name).c_str(), real_);
  }
  z3::expr_vector operands(context_);
  for (const Expr &operand : expr.operands) {
    operands.push_back(real(operand, terms));
  }
  return call(expr.kind == Expr::Kind::Mul ? "reals *" : "reals /", operands,
              real_);
}

/// A real, or an integer that is compared with one.
z3::expr Encoder::number(const Expr &expr, const Terms &terms) {
  return isReal(expr, terms) ? real(expr, terms) : integer(expr, terms);
}

z3::expr Encoder::condition(const Condition &condition, const Terms &terms,
                            bool isKnown) {
  z3::expr_vector sides(context_);
  sides.push_back(number(condition.left, terms));
  sides.push_back(number(condition.right, terms));
  // Of reals nothing is known but what is said.
  if (z3::eq(sides[0].get_sort(), real_) ||
      z3::eq(sides[1].get_sort(), real_)) {
    return call(std::string("reals ") + spell(condition.relation), sides,
                context_.bool_sort());
  }
  const z3::expr left = sides[0], right = sides[1];
  switch (condition.relation) {
  case Relation::Eq:
    return left == right;
  case Relation::Ne:
    return left != right;
  case Relation::Lt:
    return left < right;
  case Relation::Le:
    return left <= right;
  case Relation::Gt:
    return left > right;
  case Relation::Ge:
    return left >= right;
  case Relation::Divides:
    return left > 0 && z3::mod(right, left) == 0;
  case Relation::Broadcasts: {
    // Known as such: two cases of each extent would be looked at one by one.
    z3::expr said = call("broadcasts", sides, context_.bool_sort());
    return isKnown ? said : said || left == 1 || left == right;
  }
  }
  return context_.bool_val(false);
}
