//===- Terms.cpp - Elements of tensors as terms ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/BoundIndices.h"

#include <algorithm>

using namespace divisi::rewrite;

/// More are not looked at.
static constexpr size_t kMostTerms = 400;

//===----------------------------------------------------------------------===//
// Fractions
//===----------------------------------------------------------------------===//

static Fraction fractionOf(__int128 above, __int128 below) {
  if (below < 0) {
    above = -above;
    below = -below;
  }
  __int128 one = above < 0 ? -above : above, other = below;
  while (other != 0) {
    std::swap(one, other);
    other %= one;
  }
  above /= one;
  below /= one;
  if (above > INT64_MAX || above < -INT64_MAX || below > INT64_MAX) {
    throw GivenUp();
  }
  return {int64_t(above), int64_t(below)};
}

Fraction Fraction::of(int64_t above, int64_t below) {
  return fractionOf(above, below);
}

Fraction divisi::rewrite::operator+(Fraction left, Fraction right) {
  return fractionOf(__int128(left.above) * right.below +
                        __int128(right.above) * left.below,
                    __int128(left.below) * right.below);
}

Fraction divisi::rewrite::operator*(Fraction left, Fraction right) {
  return fractionOf(__int128(left.above) * right.above,
                    __int128(left.below) * right.below);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Sum::Sum(Fraction number) { add({}, number); }

Sum::Sum(FactorRef factor) { add({{}, {std::move(factor)}}, {1, 1}); }

Sum::Sum(Monomial monomial, Fraction coefficient) {
  add(std::move(monomial), coefficient);
}

void Sum::add(Monomial monomial, Fraction coefficient) {
  std::optional<Polynomial> times;
  if (coefficient.above == 0 || !simplify(monomial, times)) {
    return;
  }
  if (times) {
    Sum rest;
    rest.add(std::move(monomial), coefficient);
    *this = *this + numberOf(*times) * rest;
    return;
  }
  std::string key = monomial.key();
  auto found =
      terms.emplace(key, std::pair(std::move(monomial), Fraction())).first;
  found->second.second = found->second.second + coefficient;
  if (found->second.second.above == 0) {
    terms.erase(found);
  }
  if (terms.size() > kMostTerms) {
    throw GivenUp();
  }
}

std::string Sum::key() const {
  std::string text;
  for (const auto &[key, term] : terms) {
    text += (text.empty() ? "" : "+") + std::to_string(term.second.above) +
            (term.second.below == 1 ? ""
                                    : "/" + std::to_string(term.second.below)) +
            key;
  }
  return text.empty() ? "0" : text;
}

FactorRef Sum::factor() const {
  if (terms.size() != 1) {
    return nullptr;
  }
  const auto &[monomial, coefficient] = terms.begin()->second;
  bool isFactor = monomial.binders.empty() && monomial.factors.size() == 1 &&
                  coefficient == Fraction{1, 1};
  return isFactor ? monomial.factors[0] : nullptr;
}

std::optional<Fraction> Sum::number() const {
  if (terms.empty()) {
    return Fraction();
  }
  const auto &[monomial, coefficient] = terms.begin()->second;
  bool isNumber =
      terms.size() == 1 && monomial.binders.empty() && monomial.factors.empty();
  return isNumber ? std::optional(coefficient) : std::nullopt;
}

bool Sum::mentions(const Atom &atom) const {
  return std::any_of(terms.begin(), terms.end(), [&](const auto &term) {
    const Monomial &monomial = term.second.first;
    return monomial.mentions(atom) ||
           std::any_of(monomial.binders.begin(), monomial.binders.end(),
                       [&](const Binder &binder) {
                         return binder.extent.mentions(atom);
                       });
  });
}

Sum Sum::with(const Values &values) const {
  Sum result;
  for (const auto &[key, term] : terms) {
    Monomial monomial = term.first;
    // Integers that are numbers become sums, so they are multiplied in.
    Sum factors;
    for (Binder &binder : monomial.binders) {
      binder.extent = binder.extent.with(values);
    }
    std::vector<Polynomial> numbers;
    std::vector<FactorRef> kept;
    for (const FactorRef &factor : monomial.factors) {
      if (factor->kind == Factor::Kind::Integer) {
        numbers.push_back(factor->integers[0].with(values));
        continue;
      }
      kept.push_back(factorWith(*factor, values));
    }
    // A number that is no atom any more is a sum itself, of which each term
    // goes into the monomial before its indices are named.
    std::vector<std::pair<std::vector<FactorRef>, int64_t>> all{{kept, 1}};
    for (const Polynomial &number : numbers) {
      std::vector<std::pair<std::vector<FactorRef>, int64_t>> next;
      for (const auto &[some, times] : all) {
        for (const auto &[product, coefficient] : number.terms()) {
          auto more = some;
          for (const AtomRef &atom : product) {
            more.push_back(makeFactor({.kind = Factor::Kind::Integer,
                                       .integers = {Polynomial(atom)}}));
          }
          next.emplace_back(std::move(more), times * coefficient);
        }
      }
      all = std::move(next);
    }
    for (auto &[some, times] : all) {
      result.add({monomial.binders, std::move(some)},
                 term.second * Fraction{times, 1});
    }
  }
  return result;
}

Sum divisi::rewrite::operator+(const Sum &left, const Sum &right) {
  Sum result = left;
  for (const auto &[key, term] : right.terms) {
    auto found = result.terms.emplace(key, std::pair(term.first, Fraction()));
    Fraction &coefficient = found.first->second.second;
    coefficient = coefficient + term.second;
    if (coefficient.above == 0) {
      result.terms.erase(found.first);
    }
  }
  return result;
}

Sum divisi::rewrite::operator-(const Sum &left, const Sum &right) {
  return left + Sum(Fraction{-1, 1}) * right;
}

Sum divisi::rewrite::operator*(const Sum &left, const Sum &right) {
  Sum result;
  for (const auto &[one, its] : left.terms) {
    for (const auto &[other, others] : right.terms) {
      Monomial both = apart(its.first), more = apart(others.first);
      both.binders.insert(both.binders.end(), more.binders.begin(),
                          more.binders.end());
      both.factors.insert(both.factors.end(), more.factors.begin(),
                          more.factors.end());
      result.add(std::move(both), its.second * others.second);
    }
  }
  return result;
}
