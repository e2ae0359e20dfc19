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

/// A boolean of numbers. Of floats the order of their difference is known, of
/// integers only where they do not wrap.
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
      auto whole = wholeOf(large - small);
      return !whole                            ? isAbove(large - small)
             : isKnown(*whole - Polynomial(1)) ? one
                                               : Sum();
    }
    return lessInteger(small, large, from);
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

/// Index i along an axis has the scale and zero point of its block.
std::vector<Sum> SymbolicEvaluator::scaledOperands(const SymbolicCall &call,
                                                   const Index &index) {
  Index wanted = shapeOf(call);
  Polynomial block = integer(std::get<Expr>(attribute(call, "block")));
  size_t axis = size_t(number(call, "axis"));
  std::vector<Sum> x;
  for (size_t i = 0; i != call.operands.size(); ++i) {
    Index place = index, extents = wanted;
    if (i != 0 && block.number() != 1 && !index.empty()) {
      const Polynomial own = shape(call.operands[i])[axis];
      if (own.number() != 1 && !facts_.isAtLeastZero(own - Polynomial(2))) {
        throw SplitExtent{own};
      }
      extents[axis] = own;
      place[axis] = divideIndex(index[axis], block).quotient;
    }
    x.push_back(
        at(call.operands[i], operandIndex(call.operands[i], place, extents)));
  }
  return x;
}

Sum SymbolicEvaluator::scaled(const SymbolicCall &call, const Index &index) {
  std::string from = typeOf(call.operands[0]);
  return pointwise(call, from, [&] { return scaledOperands(call, index); });
}

/// Bits that move to the left are a product, as long as some are left.
std::optional<Sum> SymbolicEvaluator::shiftOf(const SymbolicCall &call,
                                              const std::vector<Sum> &x) {
  auto places = x[1].number();
  auto range = integersOf(call.element);
  constexpr int64_t most = 62;
  if (!std::get<bool>(attribute(call, "left")) || !places || !range ||
      call.element == "int" || places->below != 1 || places->above < 0 ||
      places->above > most || range->second >> places->above == 0) {
    return std::nullopt;
  }
  return x[0] * Sum(Fraction{int64_t(1) << places->above, 1});
}

/// Whether the operator's result may be rounded where its operands are not.
static bool isRounding(const std::string &op) {
  static const std::set<std::string> exact = {
      "max", "min", "abs", "neg", "relu", "floor", "ceil", "round", "sign"};
  return !exact.contains(op);
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
  if (auto shifted = op == "shift" ? shiftOf(call, x) : std::nullopt) {
    return *shifted;
  }
  if (op == "cast" && call.attributes.empty()) {
    if (auto whole = unwrapped(x[0], from);
        whole && fits(*whole, call.element)) {
      return x[0];
    }
    return castOf(from, call.element, x[0]);
  }
  auto absolute = op == "abs" ? absoluteOf(from, x[0]) : std::nullopt;
  if (absolute) {
    return *absolute;
  }
  if (op == "max" || op == "min") {
    if (auto made = chosenInteger(op, from, x)) {
      return *made;
    }
    return commutative(typedName(op, from), x, true);
  }
  if (auto made = op == "mod" ? remainder(call, from, x) : std::nullopt) {
    return *made;
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
  std::string from =
      call.operands.empty() ? call.element : typeOf(call.operands[0]);
  return pointwise(call, from, [&] { return operands(call, index); });
}

Sum SymbolicEvaluator::pointwise(const SymbolicCall &call,
                                 const std::string &from,
                                 const Operands &operands) {
  bool areFloats = isFloat(from) || isFloat(call.element);
  if (context_.reading == Reading::Rounding && isTurning(call, from)) {
    return turning(call, from, operands);
  }
  std::vector<Sum> x = operands();
  bool isMoved =
      call.op == "select" ||
      (call.op == "cast" && (from == call.element || from == "bool"));
  if (context_.reading == Reading::Bits && areFloats && !isMoved) {
    return byCases(x, [&](const std::vector<Sum> &each) {
      return bits(call, from, each);
    });
  }
  context_.isRounded |=
      isFloat(call.element) && !isMoved && isRounding(call.op);
  if (auto made = areFloats ? beyondNumbers(call, x) : std::nullopt) {
    return *made;
  }
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
    bound.operands[its] = [this, own,
                           within = context_.within](const Index &at) {
      Scoped<std::string> outside(context_.within, within);
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
      // What it computes may round otherwise than what defines it.
      Scoped<std::string> within(context_.within,
                                 context_.within + call.op + " ");
      SymbolicEvaluator defined(definition, definition.target, bound->symbols,
                                bound->reals, context_);
      defined.variables_ = &bound->operands;
      return defined.at(definition.target.results[0], index);
    }
  }
  return std::nullopt;
}
