//===- Bits.cpp - Elements of floats, bit by bit --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where bits count, an operator on floats is a function of the bits of its
// operands. Two elements are the same bits if they are the same functions of
// the same elements, but for the laws below, which hold for all floats: zeros
// of both signs, infinities and NaN, of which there is one.
//
//===----------------------------------------------------------------------===//

#include "divisi/Prove/ElementProver.h"
#include "lib/Prove/Elements/CaseSplits.h"
#include "lib/Prove/Elements/ScalarFunctions.h"
#include "lib/Prove/Elements/SymbolicEvaluator.h"

#include <algorithm>
#include <cmath>

using namespace divisi::rewrite;

static const std::string &lowZero() {
  static const std::string name = "real -0";
  return name;
}

static bool isLowZero(const Sum &x) {
  FactorRef factor = x.factor();
  return factor && factor->isFunction(lowZero());
}

/// With the other sign, as zeros have one.
static Sum negated(const Sum &x) {
  if (x.terms.empty()) {
    return functionOf(lowZero(), {});
  }
  return isLowZero(x) ? Sum() : Sum() - x;
}

/// Whether its sign is written in front of it.
static bool isNegative(const Sum &x) {
  return x.terms.size() == 1 && x.terms.begin()->second.second.above < 0;
}

/// A number that is a power of two, or 0.
static Fraction powerOf(const Sum &x) {
  std::optional<Fraction> number = x.number();
  auto isPower = [](int64_t of) { return of > 0 && (of & (of - 1)) == 0; };
  return number && isPower(number->above) && isPower(number->below)
             ? *number
             : Fraction();
}

std::string SymbolicEvaluator::bitsName(const std::string &op,
                                        const std::string &type) const {
  return "=" + context_.within + typedName(op, type);
}

static Sum commutativeOfTwo(const std::string &name, const Sum &one,
                            const Sum &other) {
  return Sum(makeFactor(
      {.name = name, .operands = {one, other}, .isCommutative = true}));
}

/// Sums, products and quotients: signs go through products, and a division by a
/// power of two is a product.
std::optional<Sum> SymbolicEvaluator::bitsOfProduct(const std::string &op,
                                                    const std::string &from,
                                                    const std::vector<Sum> &x) {
  if (op == "sub") {
    return bitsOfProduct("add", from, {x[0], negated(x[1])});
  }
  if (op == "add") {
    if (isLowZero(x[0]) || isLowZero(x[1])) {
      return x[isLowZero(x[0]) ? 1 : 0];
    }
    if (x[0].key() == x[1].key()) {
      return bitsOfProduct("mul", from, {x[0], Sum(Fraction{2, 1})});
    }
    return commutativeOfTwo(bitsName(op, from), x[0], x[1]);
  }
  if (op != "mul" && op != "div") {
    return std::nullopt;
  }
  for (size_t i : {0, 1}) {
    if (isNegative(x[i])) {
      std::vector<Sum> positive = x;
      positive[i] = negated(x[i]);
      return negated(*bitsOfProduct(op, from, positive));
    }
  }
  if (op == "div") {
    if (Fraction power = powerOf(x[1]); power.above != 0) {
      Sum inverted(Fraction::of(power.below, power.above));
      return bitsOfProduct("mul", from, {x[0], inverted});
    }
    return functionOf(bitsName(op, from), x);
  }
  for (size_t i : {0, 1}) {
    if (x[i].number() == Fraction{1, 1}) {
      return x[1 - i];
    }
  }
  return commutativeOfTwo(bitsName(op, from), x[0], x[1]);
}

/// Nothing is less than NaN, or at least it: le is no negation.
Sum SymbolicEvaluator::bitsOfComparison(const SymbolicCall &call,
                                        const std::string &from,
                                        const std::vector<Sum> &x) {
  const std::string &predicate =
      std::get<std::string>(attribute(call, "predicate"));
  std::vector<Sum> sides = x;
  for (Sum &side : sides) {
    side = isLowZero(side) ? Sum() : side;
  }
  Sum one(Fraction{1, 1});
  Factor factor;
  factor.isBoolean = true;
  if (predicate == "eq" || predicate == "ne") {
    factor.name = bitsName("equal", from);
    factor.isCommutative = true;
    factor.operands = std::move(sides);
    Sum equal(makeFactor(std::move(factor)));
    return predicate == "eq" ? equal : one - equal;
  }
  bool isTurned = predicate == "gt" || predicate == "ge";
  bool isStrict = predicate == "lt" || predicate == "gt";
  if (isTurned) {
    std::swap(sides[0], sides[1]);
  }
  auto left = sides[0].number(), right = sides[1].number();
  if (left && right) {
    __int128 small = __int128(left->above) * right->below,
             large = __int128(right->above) * left->below;
    return (isStrict ? small < large : small <= large) ? one : Sum();
  }
  if (isStrict && sides[0].key() == sides[1].key()) {
    return Sum();
  }
  factor.name = bitsName(isStrict ? "less" : "at most", from);
  factor.operands = std::move(sides);
  return Sum(makeFactor(std::move(factor)));
}

/// Functions that do nothing when they are done twice, and signs that go
/// through them.
std::optional<Sum> SymbolicEvaluator::bitsOfOne(const std::string &op,
                                                const std::string &from,
                                                const Sum &x) {
  if (op == "ceil") {
    return negated(*bitsOfOne("floor", from, negated(x)));
  }
  bool isWhole = op == "floor" || op == "round";
  if (op == "round" && isNegative(x)) {
    return negated(*bitsOfOne(op, from, negated(x)));
  }
  if (op != "abs" && op != "relu" && !isWhole) {
    return std::nullopt;
  }
  FactorRef inner = (isWhole && isNegative(x) ? negated(x) : x).factor();
  bool isDone =
      inner && (isWhole ? inner->isFunction(bitsName("floor", from)) ||
                              inner->isFunction(bitsName("round", from))
                        : inner->isFunction(bitsName(op, from)));
  return isDone ? x : functionOf(bitsName(op, from), {x});
}

/// Signs, and what keeps zeros and order, go through casts of floats.
Sum SymbolicEvaluator::bitsOfCast(const std::string &from,
                                  const std::string &to, const Sum &x) {
  FactorRef inner = x.factor();
  if (isFloat(from) && isFloat(to) && isNegative(x)) {
    return negated(bitsOfCast(from, to, negated(x)));
  }
  if (isFloat(from) && isFloat(to) && inner &&
      inner->isFunction(bitsName("relu", from))) {
    return functionOf(bitsName("relu", to),
                      {bitsOfCast(from, to, inner->operands[0])});
  }
  return castOf(from, to, x);
}

Sum SymbolicEvaluator::bits(const SymbolicCall &call, const std::string &from,
                            const std::vector<Sum> &x) {
  const std::string &op = call.op;
  if (op == "compare") {
    return bitsOfComparison(call, from, x);
  }
  if (op == "cast" && call.attributes.empty()) {
    return bitsOfCast(from, call.element, x[0]);
  }
  if (op == "neg") {
    return negated(x[0]);
  }
  if (auto made = bitsOfProduct(op, from, x)) {
    return *made;
  }
  if (op == "abs" && (isNegative(x[0]) || isLowZero(x[0]))) {
    return bits(call, from, {negated(x[0])});
  }
  if (op == "max" || op == "min") {
    // What no number is beyond.
    static const Sum least = numberOf(-INFINITY), most = numberOf(INFINITY);
    const std::string end = (op == "max" ? least : most).key();
    for (size_t i : {0, 1}) {
      if (x[1 - i].key() == end || x[i].key() == x[1 - i].key()) {
        return x[i];
      }
    }
  }
  if (auto made = x.size() == 1 ? bitsOfOne(op, from, x[0]) : std::nullopt) {
    return *made;
  }
  Factor factor;
  factor.name = "=" + context_.within;
  // Indices that a scale belongs to are followed, and say no more.
  factor.name += op == "quantize" || op == "dequantize"
                     ? typedName(op, from) + " to " + call.element
                     : nameOf(call);
  factor.operands = x;
  factor.isBoolean = call.element == "bool";
  return Sum(makeFactor(std::move(factor)));
}

//===----------------------------------------------------------------------===//
// What rounding may turn over
//===----------------------------------------------------------------------===//

static bool isTurning(const SymbolicCall &call, const std::string &from) {
  const std::string &op = call.op;
  return isFloat(from) &&
         (!isFloat(call.element) || call.element.starts_with("f8") ||
          op == "floor" || op == "ceil" || op == "round" || op == "sign" ||
          op == "mod");
}

bool SymbolicEvaluator::isTurning(const SymbolicCall &call,
                                  const std::string &from) {
  return ::isTurning(call, from);
}

bool divisi::rewrite::isLeftToAxioms(const SymbolicRule &rule) {
  if (!rule.numericClass || rule.numericClass == NumericClass::Discontinuous) {
    return true;
  }
  size_t variables = rule.variables.size();
  auto turns = [&](const SymbolicGraph &side) {
    return std::any_of(
        side.calls.begin(), side.calls.end(), [&](const SymbolicCall &call) {
          return std::any_of(
              call.operands.begin(), call.operands.end(), [&](size_t operand) {
                return ::isTurning(
                    call, operand < variables
                              ? rule.elements[operand]
                              : side.calls[operand - variables].element);
              });
        });
  };
  return rule.numericClass != NumericClass::BitExact && !turns(rule.source) &&
         !turns(rule.target);
}

/// Of numbers that are not rounded it is what it is of real ones; else a
/// function of their bits.
Sum SymbolicEvaluator::turning(const SymbolicCall &call,
                               const std::string &from,
                               const Operands &operands) {
  {
    Scoped<bool> rounded(context_.isRounded, false);
    std::vector<Sum> x = operands();
    if (!context_.isRounded) {
      return byCases(x, [&](const std::vector<Sum> &each) {
        return function(call, from, each);
      });
    }
  }
  Scoped<Reading> reading(context_.reading, Reading::Bits);
  return byCases(operands(), [&](const std::vector<Sum> &each) {
    return bits(call, from, each);
  });
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Whether it is a number of the float type, without rounding.
static bool isFloatNumber(double value, const std::string &type) {
  struct Format {
    int bits, least, most; ///< Of the significand; exponents.
  };
  static const std::map<std::string, Format> all = {{"bf16", {8, -126, 127}},
                                                    {"f16", {11, -14, 15}},
                                                    {"f32", {24, -126, 127}},
                                                    {"f64", {53, -1022, 1023}}};
  auto found = all.find(type);
  // Of a family, those of all of it.
  Format format = found == all.end() ? Format{8, -14, 15} : found->second;
  if (value == 0 || std::isinf(value) || std::isnan(value)) {
    return true;
  }
  int exponent = std::ilogb(value);
  double scaled = std::ldexp(value, format.bits - 1 - exponent);
  return exponent >= format.least && exponent <= format.most &&
         scaled == std::floor(scaled);
}

/// A tensor of equal elements: a number that its type has, or another that is
/// rounded, or fits in some other way.
Sum SymbolicEvaluator::splat(const SymbolicCall &call) {
  const Expr &expr = std::get<Expr>(attribute(call, "element"));
  const std::string &type = call.element;
  Sum value = real(expr);
  if (type == "bool" &&
      (value.terms.empty() || value.number() == Fraction{1, 1})) {
    return value;
  }
  if (!isFloat(type)) {
    // Integers come from floats of 53 bits.
    constexpr int64_t most = int64_t(1) << 53;
    auto integer = wholeOf(value);
    bool isExact =
        integer && fits(*integer, type) && isWithin(*integer, -most, most);
    return isExact ? value : functionOf("number as " + type, {value});
  }
  bool isLiteral =
      expr.kind == Expr::Kind::Real || expr.kind == Expr::Kind::Number;
  double number =
      expr.kind == Expr::Kind::Real ? expr.real : double(expr.value);
  bool isExact = isLiteral && isFloatNumber(number, type);
  context_.isRounded |= !isExact;
  if (context_.reading != Reading::Bits) {
    return value;
  }
  if (isExact && number == 0 && std::signbit(number)) {
    return functionOf(lowZero(), {});
  }
  return isExact ? value : functionOf("=number as " + type, {value});
}

/// Indices as numbers: floats round those that are too large for them, and
/// integers wrap.
Sum SymbolicEvaluator::iota(const SymbolicCall &call, const Index &index) {
  const std::string &type = call.element;
  Polynomial at = index[size_t(number(call, "axis"))];
  if (!isFloat(type)) {
    return fits(at, type) ? numberOf(at)
                          : functionOf("index as " + type, {numberOf(at)});
  }
  static const std::map<std::string, int> bits = {
      {"f16", 11}, {"f32", 24}, {"f64", 53}};
  auto found = bits.find(type);
  int64_t most = int64_t(1) << (found == bits.end() ? 8 : found->second);
  bool isExact = isWithin(at, 0, most);
  context_.isRounded |= !isExact;
  return isExact || context_.reading != Reading::Bits
             ? numberOf(at)
             : functionOf("=index as " + type, {numberOf(at)});
}

/// Whether infinity, or what is no number, stands in it.
static bool isBeyond(const Sum &sum) {
  for (const auto &[key, term] : sum.terms) {
    for (const FactorRef &factor : term.first.factors) {
      if (factor->isFunction("real inf") || factor->isFunction("real nan") ||
          factor->isFunction("real -nan")) {
        return true;
      }
    }
  }
  return false;
}

/// Sums, products and quotients of infinity, which does not cancel; nothing
/// where it is no operand, or added to numbers.
std::optional<Sum> SymbolicEvaluator::beyondNumbers(const SymbolicCall &call,
                                                    const std::vector<Sum> &x) {
  const std::string &op = call.op;
  bool isSum = op == "add" || op == "sub";
  if (!isSum && op != "mul" && op != "div") {
    return std::nullopt;
  }
  bool isOne = isBeyond(x[0]), isOther = isBeyond(x[1]);
  if (!(isSum ? isOne && isOther : isOne || isOther)) {
    return std::nullopt;
  }
  return byCases(x, [&](const std::vector<Sum> &each) {
    bool left = isBeyond(each[0]), right = isBeyond(each[1]);
    if (isSum ? left && right : left || right) {
      return functionOf(nameOf(call), each);
    }
    return isSum         ? op == "add" ? each[0] + each[1] : each[0] - each[1]
           : op == "mul" ? each[0] * each[1]
                         : each[0] * inverse(each[1]);
  });
}
