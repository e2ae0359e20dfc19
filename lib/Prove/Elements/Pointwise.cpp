//===- Pointwise.cpp - Elements of pointwise operators --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/CaseSplits.h"
#include "lib/Prove/Elements/ScalarFunctions.h"
#include "lib/Prove/Elements/SymbolicEvaluator.h"

#include <algorithm>

using namespace divisi::rewrite;

bool divisi::rewrite::isFloat(const std::string &type) {
  return type.starts_with("f") || type.starts_with("bf");
}

//===----------------------------------------------------------------------===//
// Elements at one place
//===----------------------------------------------------------------------===//

Sum SymbolicEvaluator::splat(const SymbolicCall &call) {
  return real(std::get<Expr>(attribute(call, "element")));
}

std::string SymbolicEvaluator::typeOf(size_t value) const {
  return value < rule_.variables.size() ? rule_.elements[value]
                                        : call(value).element;
}

/// What is made of sums and products, in which booleans may stand.
std::optional<Sum> SymbolicEvaluator::ring(const SymbolicCall &call,
                                           const std::string &from,
                                           const std::vector<Sum> &x) {
  const std::string &op = call.op;
  bool isReal = isFloat(from) && isFloat(call.element);
  if (op == "cast" && (from == call.element || from == "bool")) {
    return x[0];
  }
  if (op == "select") {
    auto larger = choiceOfLarger(call.element, x[0], x[1], x[2]);
    return larger ? *larger : x[2] + x[0] * (x[1] - x[2]);
  }
  if (!isReal && (from != call.element || from == "bool")) {
    return std::nullopt;
  }
  if (op == "add") {
    return x[0] + x[1];
  }
  if (op == "sub") {
    return x[0] - x[1];
  }
  if (op == "mul") {
    return x[0] * x[1];
  }
  if (op == "neg") {
    return Sum() - x[0];
  }
  return std::nullopt;
}

/// Booleans of booleans.
std::optional<Sum> SymbolicEvaluator::boolean(const SymbolicCall &call,
                                              const std::string &from,
                                              const std::vector<Sum> &x) {
  if (from != "bool" || call.element != "bool") {
    return std::nullopt;
  }
  const std::string &op = call.op;
  Sum one(Fraction{1, 1});
  if (op == "not") {
    return one - x[0];
  }
  if (op == "and") {
    return x[0] * x[1];
  }
  if (op == "or") {
    return x[0] + x[1] - x[0] * x[1];
  }
  Sum differ =
      x.size() == 2 ? x[0] + x[1] - Sum(Fraction{2, 1}) * x[0] * x[1] : Sum();
  if (op == "xor") {
    return differ;
  }
  if (op != "compare") {
    return std::nullopt;
  }
  const std::string &predicate =
      std::get<std::string>(attribute(call, "predicate"));
  Sum less = (one - x[0]) * x[1], more = x[0] * (one - x[1]);
  return predicate == "ne"   ? differ
         : predicate == "eq" ? one - differ
         : predicate == "lt" ? less
         : predicate == "gt" ? more
         : predicate == "le" ? one - more
                             : one - less;
}

/// What is made of indices alone, each counted few times: so that it does not
/// wrap, 64 bits have room for that, and 32 bits for one less another.
static std::optional<Polynomial> placesOf(const std::string &type,
                                          const Sum &sum) {
  const int64_t most = type == "i64" ? 1 << 16 : 1;
  if (type != "i64" && (type != "i32" || sum.terms.size() > 2)) {
    return std::nullopt;
  }
  Polynomial result;
  int64_t signs = 0;
  for (const auto &[key, term] : sum.terms) {
    const auto &[monomial, coefficient] = term;
    const std::vector<FactorRef> &factors = monomial.factors;
    signs += coefficient.above < 0 ? -1 : 1;
    bool isPlace =
        monomial.binders.empty() && factors.size() <= 1 &&
        coefficient.below == 1 && std::abs(coefficient.above) <= most &&
        (factors.empty() || factors[0]->kind == Factor::Kind::Integer);
    if (!isPlace) {
      return std::nullopt;
    }
    Polynomial place =
        factors.empty() ? Polynomial(1) : factors[0]->integers[0];
    result = result + Polynomial(coefficient.above) * place;
  }
  bool isRoom = type == "i64" || std::abs(signs) <= 1;
  return isRoom ? std::optional(std::move(result)) : std::nullopt;
}

/// A boolean of numbers. Of floats the order of their difference is known, of
/// integers, which wrap, nothing but that one is less.
Sum SymbolicEvaluator::compare(const SymbolicCall &call,
                               const std::string &from,
                               const std::vector<Sum> &x) {
  const std::string &predicate =
      std::get<std::string>(attribute(call, "predicate"));
  bool isTurned = predicate == "gt" || predicate == "le";
  const Sum &left = x[isTurned ? 1 : 0], &right = x[isTurned ? 0 : 1];
  Sum one(Fraction{1, 1});
  // left < right; le and ge are that of the other side not holding.
  auto less = [&](const Sum &small, const Sum &large) {
    if (isFloat(from)) {
      return isAbove(large - small);
    }
    if (auto places = placesOf(from, large - small)) {
      return isKnown(*places - Polynomial(1)) ? one : Sum();
    }
    Factor factor;
    factor.name = typedName("less", from);
    factor.operands = {small, large};
    factor.isBoolean = true;
    return small.key() == large.key() ? Sum()
                                      : Sum(makeFactor(std::move(factor)));
  };
  if (predicate == "lt" || predicate == "gt") {
    return less(left, right);
  }
  if (predicate == "le" || predicate == "ge") {
    return one - less(left, right);
  }
  Sum equal = (one - less(x[0], x[1])) * (one - less(x[1], x[0]));
  return predicate == "eq" ? equal : one - equal;
}

/// Codes of numbers, or numbers of codes, with one scale and zero point each.
static Sum quantized(const std::string &op, const std::string &from,
                     const std::string &to, const std::vector<Sum> &x) {
  if (op == "quantize") {
    std::vector<Sum> operands = {x[0] * inverse(x[1])};
    operands.insert(operands.end(), x.begin() + 2, x.end());
    return functionOf(typedName(op, from) + " to " + to, std::move(operands));
  }
  Sum zero = x.size() == 3 ? castOf(from, to, x[2]) : Sum();
  return (castOf(from, to, x[0]) - zero) * x[1];
}

bool SymbolicEvaluator::isScaledAlone(const SymbolicCall &call) {
  return (call.op == "quantize" || call.op == "dequantize") &&
         integer(std::get<Expr>(attribute(call, "block"))).number() == 1;
}

/// A function of which all operands are known in each case.
Sum SymbolicEvaluator::function(const SymbolicCall &call,
                                const std::string &from,
                                const std::vector<Sum> &x) {
  const std::string &op = call.op;
  bool isReal = isFloat(from) && isFloat(call.element);
  if (op == "compare") {
    return compare(call, from, x);
  }
  if (isReal && op == "div") {
    return x[0] * inverse(x[1]);
  }
  if (isReal && op == "log") {
    return logarithm(x[0]);
  }
  if (isReal && op == "max") {
    return largest({x[0], x[1]});
  }
  if (isReal && op == "min") {
    return Sum() - largest({Sum() - x[0], Sum() - x[1]});
  }
  if (isReal && op == "abs") {
    return largest({x[0], Sum() - x[0]});
  }
  if (isReal && x.size() == 1) {
    if (auto made = realFunction(op, from, x[0])) {
      return *made;
    }
  }
  if (op == "quantize" || op == "dequantize") {
    return quantized(op, from, call.element, x);
  }
  if (op == "cast" && call.attributes.empty()) {
    return castOf(from, call.element, x[0]);
  }
  auto absolute = op == "abs" ? absoluteOf(from, x[0]) : std::nullopt;
  if (absolute) {
    return *absolute;
  }
  if (op == "max" || op == "min") {
    return commutative(typedName(op, from), x, true);
  }
  if (op == "and" || op == "or" || op == "xor" || op == "not") {
    if (auto made = bitsOf(op, from, x)) {
      return *made;
    }
  }
  Factor factor;
  factor.name = nameOf(call);
  factor.operands = x;
  factor.isBoolean = call.element == "bool";
  return Sum(makeFactor(std::move(factor)));
}

Sum SymbolicEvaluator::elementwise(const SymbolicCall &call,
                                   const Index &index) {
  std::vector<Sum> x = operands(call, index);
  std::string from =
      call.operands.empty() ? call.element : typeOf(call.operands[0]);
  if (auto made = ring(call, from, x)) {
    return *made;
  }
  if (auto made = boolean(call, from, x)) {
    return *made;
  }
  return byCases(x, [&](const std::vector<Sum> &each) {
    return function(call, from, each);
  });
}

//===----------------------------------------------------------------------===//
// What axioms define
//===----------------------------------------------------------------------===//

/// Gives names their values, and then asks whether expressions have theirs.
bool SymbolicEvaluator::bind(
    const std::vector<std::pair<Expr, Polynomial>> &values,
    const SymbolicRule &definition, Bound &bound) {
  for (const auto &[expr, value] : values) {
    if (expr.kind == Expr::Kind::Name) {
      bound.symbols.emplace(expr.name, value);
    }
  }
  for (const auto *names : {&definition.sizes, &definition.ints}) {
    for (const std::string &name : *names) {
      if (!bound.symbols.count(name)) {
        return false;
      }
    }
  }
  SymbolicEvaluator of(definition, definition.source, bound.symbols,
                       bound.reals, context_);
  return std::all_of(values.begin(), values.end(), [&](const auto &each) {
    return of.integer(each.first) == each.second;
  });
}

std::optional<SymbolicEvaluator::Bound>
SymbolicEvaluator::bindDefinition(const SymbolicCall &call,
                                  const SymbolicRule &definition) {
  const SymbolicCall &defined = definition.source.calls.back();
  Bound bound;
  bound.operands.resize(definition.variables.size());
  std::vector<std::pair<Expr, Polynomial>> values;
  for (size_t i = 0; i != call.integers.size(); ++i) {
    values.emplace_back(defined.integers[i], integer(call.integers[i]));
  }
  auto bindReal = [&](const Expr &expr, const Sum &value) {
    if (expr.kind == Expr::Kind::Name) {
      return bound.reals.emplace(expr.name, value).first->second.key() ==
             value.key();
    }
    return expr.kind == Expr::Kind::Real &&
           numberOf(expr.real).key() == value.key();
  };
  for (size_t i = 0; i != call.reals.size(); ++i) {
    if (!bindReal(defined.reals[i], real(call.reals[i]))) {
      return std::nullopt;
    }
  }
  for (size_t i = 0; i != call.operands.size(); ++i) {
    size_t own = call.operands[i], its = defined.operands[i];
    if (its >= definition.variables.size()) {
      const SymbolicCall &number =
          definition.source.calls[its - definition.variables.size()];
      bool isNumber = own >= rule_.variables.size() &&
                      this->call(own).op.empty() && number.op.empty();
      if (!isNumber || !bindReal(std::get<Expr>(attribute(number, "element")),
                                 splat(this->call(own)))) {
        return std::nullopt;
      }
      continue;
    }
    Index extents = shape(own);
    for (size_t dim = 0; dim != extents.size(); ++dim) {
      values.emplace_back(*definition.variables[its][dim], extents[dim]);
    }
    bound.operands[its] = [this, own](const Index &at) {
      return this->at(own, at);
    };
  }
  return bind(values, definition, bound) ? std::optional(std::move(bound))
                                         : std::nullopt;
}

/// What an axiom says that the operator is, if one does.
std::optional<Sum> SymbolicEvaluator::define(const SymbolicCall &call,
                                             const Index &index) {
  auto [first, last] = context_.definitions.equal_range(call.function);
  for (; first != last; ++first) {
    const SymbolicRule &definition = *first->second;
    if (std::optional<Bound> bound = bindDefinition(call, definition)) {
      context_.used.insert(definition.name);
      SymbolicEvaluator defined(definition, definition.target, bound->symbols,
                                bound->reals, context_);
      defined.variables_ = &bound->operands;
      return defined.at(definition.target.results[0], index);
    }
  }
  return std::nullopt;
}
