//===- Algebra.cpp - Functions and folds of terms -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of functions of real numbers: of sums and products all that
// makes them a commutative ring, of quotients, exponentials, logarithms and
// maxima what is below.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/Algebra.h"

#include <algorithm>
#include <cmath>

using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// What floats have exactly is a fraction, all else is a name.
Sum divisi::rewrite::numberOf(double value) {
  constexpr int64_t most = 1 << 12;
  double scaled = value * double(most);
  if (std::abs(scaled) < 1e12 && scaled == std::floor(scaled)) {
    return Sum(Fraction::of(int64_t(scaled), most));
  }
  if (value == -INFINITY) {
    return Sum() - numberOf(INFINITY);
  }
  char text[32];
  snprintf(text, sizeof(text), "%.17g", value);
  return realOf(text, value > 0 && std::isfinite(value));
}

Sum divisi::rewrite::numberOf(const Polynomial &integer) {
  Sum result;
  for (const auto &[product, coefficient] : integer.terms()) {
    Monomial monomial;
    for (const AtomRef &atom : product) {
      monomial.factors.push_back(makeFactor(
          {.kind = Factor::Kind::Integer, .integers = {Polynomial(atom)}}));
    }
    result.add(std::move(monomial), {coefficient, 1});
  }
  return result;
}

Sum divisi::rewrite::realOf(const std::string &name, bool isPositive) {
  Factor factor;
  factor.name = "real " + name;
  factor.isPositive = isPositive;
  return Sum(makeFactor(std::move(factor)));
}

Sum divisi::rewrite::elementOf(const std::string &variable,
                               std::vector<Polynomial> index, bool isBoolean) {
  return Sum(makeFactor({.kind = Factor::Kind::Element,
                         .name = variable,
                         .integers = std::move(index),
                         .isBoolean = isBoolean}));
}

AtomRef divisi::rewrite::elementAtom(Sum element) {
  Atom atom;
  atom.kind = Atom::Kind::Element;
  atom.key = "{" + element.key() + "}";
  atom.element = std::make_shared<Sum>(std::move(element));
  return std::make_shared<Atom>(std::move(atom));
}

/// What both have is outside of what is chosen.
Sum divisi::rewrite::choose(const Polynomial &condition, const Sum &first,
                            const Sum &second) {
  if (first.key() == second.key()) {
    return first;
  }
  auto holds = [](const Polynomial &that) {
    return Sum(makeFactor({.kind = Factor::Kind::Holds, .integers = {that}}));
  };
  Sum common = commonTerms({first, second});
  Sum one = first - common, other = second - common;
  Polynomial opposite = Polynomial(-1) - condition;
  // Of a condition and its opposite one is used, where both would be.
  if (one.terms.empty()) {
    return common + holds(opposite) * other;
  }
  if (other.terms.empty()) {
    return common + holds(condition) * one;
  }
  bool isTurned = condition.terms().rbegin()->second < 0;
  return isTurned ? common + one + holds(opposite) * (other - one)
                  : common + other + holds(condition) * (one - other);
}

//===----------------------------------------------------------------------===//
// What is above zero
//===----------------------------------------------------------------------===//

bool divisi::rewrite::isPositive(const Factor &factor) {
  switch (factor.kind) {
  case Factor::Kind::Integer:
    return factor.integers[0].atom()->isPositive;
  case Factor::Kind::Function:
    return factor.isPositive;
  default:
    return false;
  }
}

bool divisi::rewrite::isPositive(const Polynomial &extent) {
  return !extent.terms().empty() &&
         std::all_of(extent.terms().begin(), extent.terms().end(),
                     [](const auto &term) {
                       return term.second > 0 &&
                              std::all_of(term.first.begin(), term.first.end(),
                                          [](const AtomRef &atom) {
                                            return atom->isPositive;
                                          });
                     });
}

/// Whether it is 0 or more, or even more.
static bool isSigned(const Monomial &monomial, bool isMore) {
  for (size_t i = 0; i != monomial.factors.size(); ++i) {
    if (isPositive(*monomial.factors[i])) {
      continue;
    }
    bool isSquare = i + 1 != monomial.factors.size() &&
                    monomial.factors[i]->key == monomial.factors[i + 1]->key;
    if (!isSquare || isMore) {
      return false;
    }
    ++i;
  }
  return !isMore ||
         std::all_of(
             monomial.binders.begin(), monomial.binders.end(),
             [](const Binder &binder) { return isPositive(binder.extent); });
}

bool divisi::rewrite::isPositive(const Sum &sum) {
  bool hasMore = false;
  for (const auto &[key, term] : sum.terms) {
    if (term.second.above < 0 || !isSigned(term.first, false)) {
      return false;
    }
    hasMore |= isSigned(term.first, true);
  }
  return hasMore;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Sum divisi::rewrite::functionOf(const std::string &name,
                                std::vector<Sum> operands,
                                std::vector<Polynomial> integers) {
  return Sum(makeFactor({.name = name,
                         .integers = std::move(integers),
                         .operands = std::move(operands)}));
}

std::vector<Sum> divisi::rewrite::flatten(const std::string &name,
                                          const std::vector<Sum> &operands,
                                          bool isIdempotent) {
  std::vector<Sum> result;
  for (const Sum &operand : operands) {
    FactorRef factor = operand.factor();
    if (factor && factor->isFunction(name)) {
      result.insert(result.end(), factor->operands.begin(),
                    factor->operands.end());
    } else {
      result.push_back(operand);
    }
  }
  std::sort(result.begin(), result.end(),
            [](const Sum &left, const Sum &right) {
              return left.key() < right.key();
            });
  if (isIdempotent) {
    result.erase(std::unique(result.begin(), result.end(),
                             [](const Sum &left, const Sum &right) {
                               return left.key() == right.key();
                             }),
                 result.end());
  }
  return result;
}

Sum divisi::rewrite::commutative(const std::string &name,
                                 std::vector<Sum> operands, bool isIdempotent) {
  operands = flatten(name, operands, isIdempotent);
  if (operands.size() == 1) {
    return operands[0];
  }
  Factor factor;
  factor.name = name;
  factor.operands = std::move(operands);
  factor.isCommutative = true;
  return Sum(makeFactor(std::move(factor)));
}

bool divisi::rewrite::isBoundIn(const Factor &factor,
                                const Monomial &monomial) {
  return std::any_of(
      monomial.binders.begin(), monomial.binders.end(),
      [&](const Binder &binder) { return factor.mentions(*binder.index); });
}

FactorRef divisi::rewrite::booleanIn(const Sum &sum, const Atom *index) {
  for (const auto &[key, term] : sum.terms) {
    for (const FactorRef &factor : term.first.factors) {
      if (factor->isBoolean && !isBoundIn(*factor, term.first) &&
          !(index && factor->mentions(*index))) {
        return factor;
      }
    }
  }
  return nullptr;
}

Sum divisi::rewrite::where(const Sum &sum, const Factor &boolean, bool holds) {
  Sum result;
  for (const auto &[key, term] : sum.terms) {
    Monomial rest = term.first;
    size_t erased = std::erase_if(rest.factors, [&](const FactorRef &factor) {
      return factor->key == boolean.key;
    });
    if (erased == 0 || holds) {
      result.add(std::move(rest), term.second);
    }
  }
  return result;
}

std::vector<FactorRef>
divisi::rewrite::commonFactors(const std::vector<Sum> &sums, bool anySign) {
  std::optional<std::vector<FactorRef>> common;
  for (const Sum &sum : sums) {
    for (const auto &[key, term] : sum.terms) {
      const Monomial &monomial = term.first;
      auto isFree = [&](const FactorRef &factor) {
        return (anySign || isPositive(*factor)) &&
               !isBoundIn(*factor, monomial);
      };
      std::vector<FactorRef> own, both;
      std::copy_if(monomial.factors.begin(), monomial.factors.end(),
                   std::back_inserter(own), isFree);
      auto comesFirst = [](const FactorRef &left, const FactorRef &right) {
        return left->key < right->key;
      };
      if (common) {
        std::set_intersection(common->begin(), common->end(), own.begin(),
                              own.end(), std::back_inserter(both), comesFirst);
        common = both;
      } else {
        common = own;
      }
    }
  }
  return common.value_or(std::vector<FactorRef>());
}

Sum divisi::rewrite::withoutFactors(const Sum &sum,
                                    const std::vector<FactorRef> &factors) {
  Sum result;
  for (const auto &[key, term] : sum.terms) {
    Monomial rest = term.first;
    for (const FactorRef &factor : factors) {
      rest.factors.erase(std::find_if(
          rest.factors.begin(), rest.factors.end(),
          [&](const FactorRef &each) { return each->key == factor->key; }));
    }
    result.add(std::move(rest), term.second);
  }
  return result;
}

Fraction divisi::rewrite::commonCoefficient(const std::vector<Sum> &sums) {
  Fraction common;
  for (const Sum &sum : sums) {
    for (const auto &[key, term] : sum.terms) {
      Fraction own =
          Fraction::of(std::abs(term.second.above), term.second.below);
      // gcd(a/b, c/d) = gcd(a*d, c*b) / (b*d).
      __int128 one = __int128(common.above) * own.below;
      __int128 other = __int128(own.above) * common.below;
      if (common.above == 0) {
        common = own;
        continue;
      }
      __int128 below = __int128(common.below) * own.below;
      while (other != 0) {
        std::swap(one, other);
        other %= one;
      }
      if (one > INT64_MAX || below > INT64_MAX) {
        throw GivenUp();
      }
      common = Fraction::of(int64_t(one), int64_t(below));
    }
  }
  return common.above == 0 ? Fraction{1, 1} : common;
}

static Sum inverseOf(const Factor &factor, const FactorRef &itself) {
  if (factor.isFunction("inverse")) {
    return factor.operands[0];
  }
  if (factor.isFunction("exp")) {
    return exponential(Sum(Fraction{-1, 1}) * factor.operands[0]);
  }
  Factor result;
  result.name = "inverse";
  result.operands = {Sum(itself)};
  result.isPositive = isPositive(factor);
  return Sum(makeFactor(std::move(result)));
}

Sum divisi::rewrite::inverse(const Sum &sum) {
  if (sum.terms.empty()) {
    return functionOf("inverse", {sum});
  }
  std::vector<FactorRef> common = commonFactors({sum}, true);
  Fraction coefficient = commonCoefficient({sum});
  bool isAlone = sum.terms.size() == 1;
  if (isAlone) {
    coefficient = sum.terms.begin()->second.second;
  }
  Sum result(Fraction::of(coefficient.below, coefficient.above));
  for (const FactorRef &factor : common) {
    result = result * inverseOf(*factor, factor);
  }
  Sum rest = withoutFactors(sum, common) *
             Sum(Fraction::of(coefficient.below, coefficient.above));
  if (rest.number()) {
    return result;
  }
  Factor factor;
  factor.name = "inverse";
  factor.isPositive = isPositive(rest);
  factor.operands = {std::move(rest)};
  return result * Sum(makeFactor(std::move(factor)));
}

Sum divisi::rewrite::exponential(const Sum &sum) {
  Sum result(Fraction{1, 1});
  for (const auto &[key, term] : sum.terms) {
    // Numbers plus infinity are infinity.
    const std::vector<FactorRef> &factors = term.first.factors;
    if (factors.size() == 1 && factors[0]->isFunction("real inf") &&
        term.first.binders.empty()) {
      return term.second.above < 0 ? Sum()
                                   : functionOf("exp of infinity", {sum});
    }
  }
  for (const auto &[key, term] : sum.terms) {
    Sum alone(term.first, term.second);
    FactorRef inside = alone.factor(), below = (Sum() - alone).factor();
    auto isLogarithm = [](const FactorRef &factor) {
      return factor && factor->isFunction("log") &&
             isPositive(factor->operands[0]);
    };
    if (isLogarithm(inside) || isLogarithm(below)) {
      result =
          result * (inside ? inside->operands[0] : inverse(below->operands[0]));
      continue;
    }
    Factor factor;
    factor.name = "exp";
    factor.operands = {std::move(alone)};
    factor.isPositive = true;
    result = result * Sum(makeFactor(std::move(factor)));
  }
  return result;
}

Sum divisi::rewrite::logarithm(const Sum &sum) {
  if (!isPositive(sum)) {
    return functionOf("log", {sum});
  }
  std::vector<FactorRef> common = commonFactors({sum}, false);
  Sum rest = withoutFactors(sum, common), result;
  for (const FactorRef &factor : common) {
    if (factor->isFunction("exp")) {
      result = result + factor->operands[0];
    } else if (factor->isFunction("inverse")) {
      result = result - logarithm(factor->operands[0]);
    } else {
      result = result + functionOf("log", {Sum(factor)});
    }
  }
  return rest.number() == Fraction{1, 1} ? result
                                         : result + functionOf("log", {rest});
}

Sum divisi::rewrite::withoutPositive(const Sum &sum) {
  std::vector<FactorRef> factors = commonFactors({sum}, false);
  Fraction coefficient = commonCoefficient({sum});
  return withoutFactors(sum, factors) *
         Sum(Fraction::of(coefficient.below, coefficient.above));
}
