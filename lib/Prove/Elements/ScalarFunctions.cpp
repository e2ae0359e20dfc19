//===- ScalarFunctions.cpp - Functions of scalars -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/ScalarFunctions.h"

#include "lib/Prove/Elements/Algebra.h"

#include "divisi/runtime/kernels/ScalarFunctions.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace divisi;
using namespace divisi::rewrite;

static const Sum &one() {
  static const Sum number(Fraction{1, 1});
  return number;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// Whether the table of functions says so of the operator.
static bool hasTrait(const std::string &op, rt::ScalarTraits trait) {
  static const auto traits = [] {
    std::map<std::string, unsigned> all;
    for (const rt::ScalarFacts &facts : rt::scalarFacts) {
      if (!facts.op.empty() && facts.attribute.empty()) {
        all.emplace(facts.op.substr(3), facts.traits);
      }
    }
    return all;
  }();
  auto found = traits.find(op);
  return found != traits.end() && (found->second & trait) != 0;
}

std::string divisi::rewrite::typedName(const std::string &op,
                                       const std::string &from) {
  return op + " of " + from;
}

/// Whether it is an integer everywhere.
static bool isInteger(const Factor &factor) {
  const std::string &name = factor.name;
  size_t end = name.find(typedName("", ""));
  bool isRounded = (end != std::string::npos &&
                    hasTrait(name.substr(0, end), rt::Integral)) ||
                   name.starts_with(typedName("cast", "i")) ||
                   name.starts_with(typedName("cast", "u"));
  return factor.isBoolean || factor.kind == Factor::Kind::Integer ||
         (factor.kind == Factor::Kind::Function && isRounded);
}

static bool isInteger(const Sum &sum) {
  return std::all_of(sum.terms.begin(), sum.terms.end(), [](const auto &term) {
    const auto &[monomial, coefficient] = term.second;
    return coefficient.below == 1 &&
           std::all_of(
               monomial.factors.begin(), monomial.factors.end(),
               [](const FactorRef &factor) { return isInteger(*factor); });
  });
}

/// The square root of what is a square.
static std::optional<Sum> rootOf(const Sum &square) {
  if (square.terms.size() != 1) {
    return std::nullopt;
  }
  const auto &[monomial, coefficient] = square.terms.begin()->second;
  const std::vector<FactorRef> &factors = monomial.factors;
  auto above = int64_t(std::llround(std::sqrt(double(coefficient.above))));
  auto below = int64_t(std::llround(std::sqrt(double(coefficient.below))));
  if (!monomial.binders.empty() || factors.size() % 2 != 0 ||
      above * above != coefficient.above ||
      below * below != coefficient.below) {
    return std::nullopt;
  }
  Sum root(Fraction::of(above, below));
  for (size_t i = 0; i != factors.size(); i += 2) {
    if (factors[i]->key != factors[i + 1]->key) {
      return std::nullopt;
    }
    Sum factor(factors[i]);
    root = root * (isPositive(*factors[i]) || factors[i]->isBoolean
                       ? factor
                       : largest({factor, Sum() - factor}));
  }
  return root;
}

static Sum named(const std::string &op, const std::string &from, const Sum &x) {
  return functionOf(typedName(op, from), {x});
}

/// Of the largest of numbers, the largest of what is made of each.
template <typename Make>
static std::optional<Sum> ofEach(const Sum &x, const Make &make) {
  for (bool isLeast : {false, true}) {
    std::vector<Sum> operands = largestOperands(isLeast ? Sum() - x : x);
    if (operands.size() < 2) {
      continue;
    }
    for (Sum &operand : operands) {
      operand = isLeast ? Sum() - make(Sum() - operand) : make(operand);
    }
    Sum most = largest(std::move(operands));
    return isLeast ? Sum() - most : most;
  }
  return std::nullopt;
}

std::optional<Sum> divisi::rewrite::realFunction(const std::string &op,
                                                 const std::string &from,
                                                 const Sum &x) {
  if (op == "ceil") {
    return Sum() - *realFunction("floor", from, Sum() - x);
  }
  if ((op == "floor" || op == "round") && isInteger(x)) {
    return x;
  }
  bool isAscending = hasTrait(op, rt::Ascending);
  if (isAscending) {
    auto made = ofEach(x, [&](const Sum &operand) {
      return *realFunction(op, from, operand);
    });
    if (made) {
      return made;
    }
  }
  if (op == "exp") {
    return exponential(x);
  }
  if (auto root = op == "sqrt" ? rootOf(x) : std::nullopt) {
    return root;
  }
  Sum negative = Sum() - x;
  bool isTurned = negative.key() < x.key();
  if (hasTrait(op, rt::Odd)) {
    return x.terms.empty() ? Sum()
           : isTurned      ? Sum() - named(op, from, negative)
                           : named(op, from, x);
  }
  if (hasTrait(op, rt::Even)) {
    return named(op, from, isTurned ? negative : x);
  }
  return isAscending ? std::optional(named(op, from, x)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

namespace {

/// What numbers a type has.
struct Numbers {
  int bits = 0;          ///< Of an integer; of a float's significand.
  bool isFloat = false;  ///< Else an integer.
  bool isSigned = false; ///< Of an integer.
};

} // namespace

/// Of types that have all integers up to 2^bits; nothing for families.
static std::optional<Numbers> numbersOf(const std::string &type) {
  static const std::map<std::string, Numbers> all = {
      {"i4", {4, false, true}},    {"i8", {8, false, true}},
      {"i16", {16, false, true}},  {"i32", {32, false, true}},
      {"i64", {64, false, true}},  {"u4", {4, false, false}},
      {"u8", {8, false, false}},   {"u16", {16, false, false}},
      {"u32", {32, false, false}}, {"u64", {64, false, false}},
      {"bf16", {8, true, true}},   {"f16", {11, true, true}},
      {"f32", {24, true, true}},   {"f64", {53, true, true}}};
  auto found = all.find(type);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

/// Whether each number of the one is one of the other.
static bool isWithin(const std::string &from, const std::string &to) {
  auto a = numbersOf(from), b = numbersOf(to);
  if (!a || !b) {
    return false;
  }
  if (a->isFloat) {
    // bf16 has larger numbers than f16.
    return b->isFloat && a->bits <= b->bits && (from != "bf16" || to != "f16");
  }
  int needed = a->bits - (a->isSigned ? 1 : 0);
  return b->isFloat ? needed <= b->bits
                    : needed <= b->bits - (b->isSigned ? 1 : 0) &&
                          (b->isSigned || !a->isSigned);
}

std::optional<std::pair<int64_t, int64_t>>
divisi::rewrite::integersOf(const std::string &type) {
  if (type == "int") {
    return std::pair<int64_t, int64_t>(0, INT8_MAX);
  }
  auto numbers = numbersOf(type);
  if (!numbers || numbers->isFloat) {
    return std::nullopt;
  }
  // Where sums of few of them are still within 64 bits.
  int bits = std::min(numbers->bits - (numbers->isSigned ? 1 : 0), 62);
  auto most = int64_t((uint64_t(1) << bits) - 1);
  return std::pair(numbers->isSigned ? -most - 1 : 0, most);
}

/// What a cast is from and to: "cast of i8 to i32".
static std::optional<std::pair<std::string, std::string>>
castTypes(const Factor &factor) {
  std::string prefix = typedName("cast", "");
  size_t to = factor.name.find(" to ");
  if (factor.kind != Factor::Kind::Function ||
      !factor.name.starts_with(prefix) || to == std::string::npos) {
    return std::nullopt;
  }
  return std::pair(factor.name.substr(prefix.size(), to - prefix.size()),
                   factor.name.substr(to + 4));
}

std::optional<std::pair<int64_t, int64_t>>
divisi::rewrite::rangeOf(const Factor &factor) {
  if (factor.isBoolean) {
    return std::pair<int64_t, int64_t>(0, 1);
  }
  auto types = castTypes(factor);
  return types && isWithin(types->first, types->second)
             ? integersOf(types->first)
             : std::nullopt;
}

/// Whether a cast leaves the low bits of an integer, and nothing else.
static bool keepsLowBits(const std::string &from, const std::string &to) {
  auto a = numbersOf(from), b = numbersOf(to);
  return a && b && !a->isFloat && !b->isFloat && b->bits <= a->bits;
}

/// Low bits of sums and products are those of low bits; nothing where the terms
/// have indices.
static std::optional<Sum> castTerms(const std::string &from,
                                    const std::string &to, const Sum &x) {
  Sum result;
  for (const auto &[key, term] : x.terms) {
    const auto &[monomial, coefficient] = term;
    if (!monomial.binders.empty() || coefficient.below != 1) {
      return std::nullopt;
    }
    Sum product(coefficient);
    for (const FactorRef &factor : monomial.factors) {
      bool isSame = factor->isBoolean || factor->kind == Factor::Kind::Integer;
      Sum same(factor);
      product = product * (isSame ? same : castOf(from, to, same));
    }
    result = result + product;
  }
  return result;
}

Sum divisi::rewrite::castOf(const std::string &from, const std::string &to,
                            const Sum &x) {
  if (from == to) {
    return x;
  }
  auto number = x.number();
  if (number == Fraction{0, 1} || number == Fraction{1, 1}) {
    return x;
  }
  FactorRef inner = x.factor();
  auto types = inner ? castTypes(*inner) : std::nullopt;
  if (types && types->second == from) {
    const std::string &first = types->first;
    auto numbers = numbersOf(first), between = numbersOf(from),
         last = numbersOf(to);
    bool isInteger = numbers && !numbers->isFloat;
    // Floats saturate where integers wrap.
    bool isTaken = isInteger && between && between->isFloat && last &&
                   !last->isFloat && !isWithin(first, to);
    if ((isWithin(first, from) && !isTaken) ||
        (isInteger && keepsLowBits(from, to))) {
      return castOf(first, to, inner->operands[0]);
    }
  }
  if (!inner && keepsLowBits(from, to)) {
    if (auto made = castTerms(from, to, x)) {
      return *made;
    }
  }
  auto a = numbersOf(from), b = numbersOf(to);
  if (a && b && a->isFloat && b->isFloat) {
    auto made =
        ofEach(x, [&](const Sum &each) { return castOf(from, to, each); });
    if (made) {
      return *made;
    }
  }
  return functionOf(typedName("cast", from) + " to " + to, {x});
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

std::optional<Sum> divisi::rewrite::absoluteOf(const std::string &type,
                                               const Sum &x) {
  auto numbers = numbersOf(type);
  if (!numbers || numbers->isFloat || !numbers->isSigned) {
    return std::nullopt;
  }
  Sum negative = Sum() - x;
  return named("abs", type, negative.key() < x.key() ? negative : x);
}

std::optional<Sum> divisi::rewrite::choiceOfLarger(const std::string &type,
                                                   const Sum &condition,
                                                   const Sum &holds,
                                                   const Sum &otherwise) {
  for (bool isTurned : {false, true}) {
    FactorRef less = (isTurned ? one() - condition : condition).factor();
    if (!less || !less->isFunction(typedName("less", type))) {
      continue;
    }
    std::string small = less->operands[0].key(),
                large = less->operands[1].key();
    const Sum &taken = isTurned ? otherwise : holds;
    const Sum &left = isTurned ? holds : otherwise;
    for (bool isMost : {true, false}) {
      if (taken.key() == (isMost ? large : small) &&
          left.key() == (isMost ? small : large)) {
        return commutative(typedName(isMost ? "max" : "min", type),
                           {taken, left}, true);
      }
    }
  }
  return std::nullopt;
}
