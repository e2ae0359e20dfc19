//===- Monomials.cpp - Products of terms ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/BoundIndices.h"

#include <algorithm>

using namespace divisi::rewrite;

std::string Monomial::key() const {
  std::string text = keyOf(binders);
  for (const FactorRef &factor : factors) {
    text += "*" + factor->key;
  }
  return text;
}

bool Monomial::mentions(const Atom &atom) const {
  return std::any_of(
      factors.begin(), factors.end(),
      [&](const FactorRef &factor) { return factor->mentions(atom); });
}

Monomial divisi::rewrite::apart(const Monomial &monomial) {
  Monomial result;
  Values values;
  for (const Binder &binder : monomial.binders) {
    AtomRef index = freshIndex();
    values.emplace(binder.index->key, Polynomial(index));
    result.binders.push_back({index, binder.extent});
  }
  for (const FactorRef &factor : monomial.factors) {
    result.factors.push_back(values.empty() ? factor
                                            : factorWith(*factor, values));
  }
  return result;
}

void divisi::rewrite::sortFactors(std::vector<FactorRef> &factors) {
  std::sort(factors.begin(), factors.end(),
            [](const FactorRef &left, const FactorRef &right) {
              return left->key < right->key;
            });
}

/// Factors that are one when multiplied: exponentials of what is the same but
/// for a number, what only holds, and what is above 0 and its inverse. False
/// where nothing changed.
static bool joinTwo(std::vector<FactorRef> &factors) {
  for (size_t i = 0; i != factors.size(); ++i) {
    for (size_t j = 0; j != factors.size(); ++j) {
      if (i == j) {
        continue;
      }
      const Factor &one = *factors[i], &other = *factors[j];
      Sum joined;
      bool isJoined = false;
      if (one.isFunction("exp") && other.isFunction("exp")) {
        isJoined = one.operands[0].terms.size() == 1 &&
                   other.operands[0].terms.size() == 1 &&
                   one.operands[0].terms.begin()->first ==
                       other.operands[0].terms.begin()->first;
        joined = isJoined ? one.operands[0] + other.operands[0] : Sum();
      } else if (one.isBoolean && one.key == other.key) {
        factors.erase(factors.begin() + ptrdiff_t(j));
        return true;
      } else if (other.isFunction("inverse")) {
        isJoined = other.operands[0].key() == Sum(factors[i]).key() &&
                   isPositive(other.operands[0]);
      }
      if (isJoined) {
        factors.erase(factors.begin() + ptrdiff_t(std::max(i, j)));
        factors.erase(factors.begin() + ptrdiff_t(std::min(i, j)));
        if (!joined.terms.empty()) {
          factors.push_back(makeFactor({.name = "exp", .operands = {joined}}));
        }
        return true;
      }
    }
  }
  return false;
}

static bool forAllIntegers(const Sum &sum,
                           const std::function<bool(const Polynomial &)> &has);

static bool forAllIntegers(const Polynomial &integer,
                           const std::function<bool(const Polynomial &)> &has) {
  for (const auto &[product, coefficient] : integer.terms()) {
    for (const AtomRef &atom : product) {
      if (atom->element && !forAllIntegers(*atom->element, has)) {
        return false;
      }
      for (const Polynomial &operand : atom->operands) {
        if (!forAllIntegers(operand, has)) {
          return false;
        }
      }
    }
  }
  return has(integer);
}

static bool forAllIntegers(const Factor &factor,
                           const std::function<bool(const Polynomial &)> &has) {
  return std::all_of(factor.integers.begin(), factor.integers.end(),
                     [&](const Polynomial &each) {
                       return forAllIntegers(each, has);
                     }) &&
         std::all_of(factor.binders.begin(), factor.binders.end(),
                     [&](const Binder &each) {
                       return forAllIntegers(each.extent, has);
                     }) &&
         std::all_of(
             factor.operands.begin(), factor.operands.end(),
             [&](const Sum &each) { return forAllIntegers(each, has); });
}

static bool forAllIntegers(const Sum &sum,
                           const std::function<bool(const Polynomial &)> &has) {
  for (const auto &[key, term] : sum.terms) {
    for (const Binder &binder : term.first.binders) {
      if (!forAllIntegers(binder.extent, has)) {
        return false;
      }
    }
    for (const FactorRef &factor : term.first.factors) {
      if (!forAllIntegers(*factor, has)) {
        return false;
      }
    }
  }
  return true;
}

/// Indices i and j that stand nowhere but in i * n + j, where n is the extent
/// of j, are one index. `factors` are all in which they may stand.
static bool joinBinders(std::vector<Binder> &binders,
                        std::vector<FactorRef> &factors) {
  for (size_t i = 0; i != binders.size(); ++i) {
    for (size_t j = 0; j != binders.size(); ++j) {
      if (i == j) {
        continue;
      }
      const Atom &major = *binders[i].index, &minor = *binders[j].index;
      const Polynomial extent = binders[j].extent;
      auto isJoint = [&](const Polynomial &integer) {
        std::optional<Polynomial> one = integer.coefficientOf(major),
                                  other = integer.coefficientOf(minor);
        return one && other && *one == *other * extent &&
               !one->mentions(minor) && !other->mentions(major);
      };
      bool isOne = std::all_of(factors.begin(), factors.end(),
                               [&](const FactorRef &factor) {
                                 return forAllIntegers(*factor, isJoint);
                               });
      if (!isOne) {
        continue;
      }
      AtomRef joined = freshIndex();
      Values values{{major.key, Polynomial(0)},
                    {minor.key, Polynomial(joined)}};
      for (FactorRef &factor : factors) {
        factor = factorWith(*factor, values);
      }
      Binder both{joined, binders[i].extent * extent};
      binders.erase(binders.begin() + ptrdiff_t(std::max(i, j)));
      binders.erase(binders.begin() + ptrdiff_t(std::min(i, j)));
      binders.push_back(std::move(both));
      return true;
    }
  }
  return false;
}

/// Takes an index out that no factor has, or that is 0 alone; the first as its
/// extent, that is left to multiply by.
static bool dropBinder(Monomial &monomial, std::optional<Polynomial> &times) {
  for (size_t i = 0; i != monomial.binders.size(); ++i) {
    Binder binder = monomial.binders[i];
    if (!monomial.mentions(*binder.index)) {
      monomial.binders.erase(monomial.binders.begin() + ptrdiff_t(i));
      times = binder.extent;
      return true;
    }
    if (binder.extent.number() == 1) {
      Values values{{binder.index->key, Polynomial(0)}};
      for (FactorRef &factor : monomial.factors) {
        factor = factorWith(*factor, values);
      }
      monomial.binders.erase(monomial.binders.begin() + ptrdiff_t(i));
      return true;
    }
  }
  return false;
}

/// Whether an index is taken away from something.
static bool isTakenAway(const Monomial &monomial, const Atom &index) {
  auto isKept = [&](const Polynomial &integer) {
    std::optional<Polynomial> slope = integer.coefficientOf(index);
    std::optional<int64_t> number = slope ? slope->number() : std::nullopt;
    return !number || *number >= 0;
  };
  return !std::all_of(monomial.factors.begin(), monomial.factors.end(),
                      [&](const FactorRef &factor) {
                        return factor->kind == Factor::Kind::Holds ||
                               forAllIntegers(*factor, isKept);
                      });
}

static Monomial nameInOrder(const Monomial &monomial);

/// Its indices with their own names, in the order of the least key; one that is
/// taken away from something may count down.
static Monomial nameBinders(const Monomial &monomial) {
  Monomial best = nameInOrder(monomial);
  for (const Binder &binder : monomial.binders) {
    if (!isTakenAway(monomial, *binder.index)) {
      continue;
    }
    Monomial turned = monomial;
    Values values{{binder.index->key,
                   binder.extent - Polynomial(1) - Polynomial(binder.index)}};
    for (FactorRef &factor : turned.factors) {
      factor = factorWith(*factor, values);
    }
    if (isTakenAway(turned, *binder.index)) {
      Monomial named = nameInOrder(turned);
      best = named.key() < best.key() ? named : best;
      continue;
    }
    return nameBinders(turned);
  }
  return best;
}

static Monomial nameInOrder(const Monomial &monomial) {
  int height = 0;
  for (const FactorRef &factor : monomial.factors) {
    height = std::max(height, factor->height);
  }
  if (monomial.binders.size() > kMostBinders) {
    throw GivenUp();
  }
  return leastNamed(
      monomial.binders.size(), height,
      usesOf(monomial.binders, monomial.factors, {}),
      [&](const std::vector<AtomRef> &names, const std::vector<size_t> &order) {
        Monomial named;
        named.binders = withNames(monomial.binders, names, order);
        Values values = namesOf(monomial.binders, names);
        for (const FactorRef &factor : monomial.factors) {
          named.factors.push_back(factorWith(*factor, values));
        }
        sortFactors(named.factors);
        return std::pair(named, named.key());
      });
}

/// Without conditions that are numbers; false if one does not hold.
static bool dropConditions(std::vector<FactorRef> &factors) {
  for (size_t i = 0; i != factors.size();) {
    std::optional<int64_t> number = factors[i]->kind == Factor::Kind::Holds
                                        ? factors[i]->integers[0].number()
                                        : std::nullopt;
    if (number && *number < 0) {
      return false;
    }
    if (number) {
      factors.erase(factors.begin() + ptrdiff_t(i));
    } else {
      ++i;
    }
  }
  return true;
}

bool divisi::rewrite::simplify(Monomial &monomial,
                               std::optional<Polynomial> &times) {
  if (!dropConditions(monomial.factors)) {
    return false;
  }
  sortFactors(monomial.factors);
  while (joinTwo(monomial.factors)) {
    sortFactors(monomial.factors);
  }
  if (monomial.binders.empty()) {
    return true;
  }
  monomial = apart(monomial);
  while (dropBinder(monomial, times)) {
    if (times) {
      return true;
    }
  }
  while (joinBinders(monomial.binders, monomial.factors)) {
  }
  if (!monomial.binders.empty()) {
    monomial = nameBinders(monomial);
  }
  sortFactors(monomial.factors);
  return true;
}
