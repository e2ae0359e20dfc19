//===- Maxima.cpp - Maxima and folds of terms -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/Algebra.h"
#include "lib/Prove/Elements/BoundIndices.h"

#include <algorithm>
#include <cmath>

using namespace divisi::rewrite;

Sum divisi::rewrite::commonTerms(const std::vector<Sum> &sums) {
  Sum common = sums[0];
  std::erase_if(common.terms, [&](const auto &term) {
    return !std::all_of(sums.begin(), sums.end(), [&](const Sum &sum) {
      auto found = sum.terms.find(term.first);
      return found != sum.terms.end() &&
             found->second.second == term.second.second;
    });
  });
  return common;
}

std::vector<Sum> divisi::rewrite::largestOperands(const Sum &sum) {
  for (const auto &[key, term] : sum.terms) {
    const auto &[monomial, coefficient] = term;
    bool isLargest = monomial.binders.empty() && monomial.factors.size() == 1 &&
                     coefficient == Fraction{1, 1} &&
                     monomial.factors[0]->isFunction("max");
    if (!isLargest) {
      continue;
    }
    Sum rest = sum - Sum(monomial.factors[0]);
    std::vector<Sum> operands = monomial.factors[0]->operands;
    for (Sum &operand : operands) {
      operand = operand + rest;
    }
    return operands;
  }
  return {sum};
}

/// Whether it is minus infinity, of which no number is the larger.
static bool isLeast(const Sum &sum) {
  static const std::string least = numberOf(-INFINITY).key();
  return sum.key() == least;
}

static void dropLeast(std::vector<Sum> &operands) {
  if (!std::all_of(operands.begin(), operands.end(), isLeast)) {
    std::erase_if(operands, isLeast);
  }
}

Sum divisi::rewrite::largest(std::vector<Sum> operands) {
  std::vector<Sum> all;
  for (const Sum &operand : operands) {
    std::vector<Sum> own = largestOperands(operand);
    all.insert(all.end(), own.begin(), own.end());
  }
  all = flatten("max", all, true);
  dropLeast(all);
  if (all.size() == 1) {
    return all[0];
  }
  Sum common = commonTerms(all);
  for (Sum &operand : all) {
    operand = operand - common;
  }
  // Of two, one is 0, and the other begins with what is not negative.
  if (all.size() == 2) {
    Sum difference = all[0] - all[1];
    bool isNegative = difference.terms.begin()->second.second.above < 0;
    common = common + all[isNegative ? 0 : 1];
    all = {isNegative ? all[1] - all[0] : difference, Sum()};
  }
  std::vector<FactorRef> factors = commonFactors(all, false);
  Fraction coefficient = commonCoefficient(all);
  Sum inverted(Fraction::of(coefficient.below, coefficient.above));
  for (Sum &operand : all) {
    operand = withoutFactors(operand, factors) * inverted;
  }
  return common + Sum(coefficient) * Sum({{}, factors}, {1, 1}) *
                      commutative("max", all, true);
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

Sum divisi::rewrite::sumOver(const Binder &binder, const Sum &body) {
  Sum result;
  for (const auto &[key, term] : body.terms) {
    // Its own indices may be named as this one will be.
    Monomial monomial = term.first;
    monomial.binders.push_back(binder);
    result.add(std::move(monomial), term.second);
  }
  return result;
}

/// A fold of a product that is one of its factors, each for itself.
static std::optional<Sum> foldFactors(const std::string &name,
                                      const Binder &binder, const Sum &body) {
  if ((name != "prod" && name != "and") || body.terms.size() != 1) {
    return std::nullopt;
  }
  const auto &[monomial, coefficient] = body.terms.begin()->second;
  const std::vector<FactorRef> &factors = monomial.factors;
  bool isAlone =
      factors.size() == 1 && !(name == "prod" && factors[0]->isFunction("exp"));
  if (!monomial.binders.empty() || coefficient != Fraction{1, 1} ||
      factors.empty() || isAlone) {
    return std::nullopt;
  }
  Sum product(Fraction{1, 1});
  for (const FactorRef &factor : factors) {
    bool isSum = name == "prod" && factor->isFunction("exp");
    product =
        product * (isSum ? exponential(sumOver(binder, factor->operands[0]))
                         : foldOver(name, binder, Sum(factor)));
  }
  return product;
}

/// The terms that do not depend on an index.
static Sum termsWithout(const Sum &sum, const Atom &index) {
  Sum result;
  for (const auto &[key, term] : sum.terms) {
    Sum alone(term.first, term.second);
    result = alone.mentions(index) ? result : result + alone;
  }
  return result;
}

/// The largest of what a choice leaves of a fold, as a fold of what it leaves
/// of each element: where it does not hold, all are minus infinity.
static std::optional<Factor> foldInside(const Sum &body) {
  FactorRef factor = body.factor();
  if (factor && factor->kind == Factor::Kind::Fold && factor->name == "max") {
    // A choice may have indices of those names inside.
    Factor opened = *factor;
    std::vector<AtomRef> names;
    for (Binder &binder : opened.binders) {
      names.push_back(freshIndex());
      binder.index = names.back();
    }
    opened.operands[0] =
        opened.operands[0].with(namesOf(factor->binders, names));
    return opened;
  }
  FactorRef boolean = booleanIn(body);
  if (!boolean) {
    return std::nullopt;
  }
  Sum holds = where(body, *boolean, true), fails = where(body, *boolean, false);
  bool isTurned = isLeast(holds);
  auto fold = isTurned || isLeast(fails) ? foldInside(isTurned ? fails : holds)
                                         : std::nullopt;
  if (fold) {
    Sum is(boolean), least = numberOf(-INFINITY), each = fold->operands[0];
    fold->operands[0] =
        isTurned ? each + is * (least - each) : least + is * (each - least);
  }
  return fold;
}

Sum divisi::rewrite::foldOver(const std::string &name, const Binder &binder,
                              const Sum &body, bool isThere) {
  if (name == "max" && isLeast(body)) {
    return body;
  }
  if (binder.extent.number() == 1) {
    return body.with({{binder.index->key, Polynomial(0)}});
  }
  // Of no elements it would be something else.
  isThere = isThere || isPositive(binder.extent);
  if (!body.mentions(*binder.index) && isThere && name != "prod") {
    return body;
  }
  // What does not depend on the index chooses outside.
  if (FactorRef boolean = booleanIn(body, binder.index.get())) {
    Sum is(boolean);
    Sum there = foldOver(name, binder, where(body, *boolean, true), isThere);
    Sum other = foldOver(name, binder, where(body, *boolean, false), isThere);
    return is * there + other - is * other;
  }
  if (auto product = foldFactors(name, binder, body)) {
    return *product;
  }
  auto foldEach = [&](std::vector<Sum> operands) {
    for (Sum &operand : operands) {
      operand = foldOver(name, binder, operand, isThere);
    }
    return operands;
  };
  Sum outside, inside = body;
  if (name == "max" && isThere) {
    std::vector<Sum> operands = largestOperands(body);
    if (operands.size() > 1) {
      return largest(foldEach(std::move(operands)));
    }
    outside = termsWithout(body, *binder.index);
    inside = body - outside;
  }
  FactorRef inner = inside.factor();
  if (inner && inner->isFunction(name)) {
    return outside + commutative(name, foldEach(inner->operands), true);
  }
  Factor fold;
  fold.kind = Factor::Kind::Fold;
  fold.name = name;
  fold.binders = {binder};
  fold.isBoolean = name == "and";
  std::optional<Factor> below;
  if (inner && inner->kind == Factor::Kind::Fold && inner->name == name) {
    below = *inner;
  } else if (name == "max") {
    below = foldInside(inside);
  }
  if (below) {
    // Its indices are named below this one.
    fold.binders.insert(fold.binders.end(), below->binders.begin(),
                        below->binders.end());
    inside = below->operands[0];
  }
  fold.operands = {std::move(inside)};
  return outside + Sum(makeFactor(std::move(fold)));
}

//===----------------------------------------------------------------------===//
// Equality
//===----------------------------------------------------------------------===//

/// What a term is divided by, that is more than a factor and above 0.
static FactorRef divisorIn(const Sum &sum) {
  for (const auto &[key, term] : sum.terms) {
    for (const FactorRef &factor : term.first.factors) {
      if (!isBoundIn(*factor, term.first) && factor->isFunction("inverse") &&
          isPositive(*factor)) {
        return factor;
      }
    }
  }
  return nullptr;
}

static size_t countOf(const Monomial &monomial, const std::string &key) {
  return size_t(std::count_if(
      monomial.factors.begin(), monomial.factors.end(),
      [&](const FactorRef &factor) { return factor->key == key; }));
}

/// Two sums of the same terms, of which one begins where the other ends, are
/// one. False where there are none.
static bool joinTwoSums(Sum &sum) {
  for (const auto &[key, term] : sum.terms) {
    for (const auto &[other, more] : sum.terms) {
      const auto &[first, coefficient] = term;
      const Monomial &second = more.first;
      if (key == other || first.binders.size() != 1 ||
          second.binders.size() != 1 || !(coefficient == more.second)) {
        continue;
      }
      const Binder &at = first.binders[0], &from = second.binders[0];
      AtomRef index = freshIndex();
      auto bodyOf = [&](const Monomial &of, const Polynomial &place) {
        return Sum({{}, of.factors}, {1, 1})
            .with({{of.binders[0].index->key, place}});
      };
      Sum body = bodyOf(first, Polynomial(index));
      if (body.key() != bodyOf(second, Polynomial(index) - at.extent).key()) {
        continue;
      }
      Sum joined = sumOver({index, at.extent + from.extent}, body);
      Sum rest = sum - Sum(first, coefficient) - Sum(second, coefficient);
      sum = rest + Sum(coefficient) * joined;
      return true;
    }
  }
  return false;
}

bool divisi::rewrite::areEqual(const Sum &left, const Sum &right) {
  Sum difference = left - right;
  constexpr int mostDivisors = 8;
  for (int i = 0; i != mostDivisors && !difference.terms.empty(); ++i) {
    FactorRef divisor = divisorIn(difference);
    if (!divisor) {
      break;
    }
    size_t most = 0;
    for (const auto &[key, term] : difference.terms) {
      most = std::max(most, countOf(term.first, divisor->key));
    }
    Sum multiplied;
    for (const auto &[key, term] : difference.terms) {
      size_t count = countOf(term.first, divisor->key);
      Sum product = withoutFactors(Sum(term.first, term.second),
                                   std::vector<FactorRef>(count, divisor));
      for (size_t j = count; j != most; ++j) {
        product = product * divisor->operands[0];
      }
      multiplied = multiplied + product;
    }
    difference = std::move(multiplied);
  }
  while (joinTwoSums(difference)) {
  }
  return difference.terms.empty();
}
