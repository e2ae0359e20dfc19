//===- Polynomial.cpp - Integers of indices and sizes ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/Polynomial.h"

#include "lib/Prove/Elements/Terms.h"

#include <algorithm>

using namespace divisi::rewrite;

bool ProductLess::operator()(const Product &left, const Product &right) const {
  if (left.size() != right.size()) {
    return left.size() < right.size();
  }
  for (size_t i = 0; i != left.size(); ++i) {
    if (int order = left[i]->key.compare(right[i]->key)) {
      return order < 0;
    }
  }
  return false;
}

static bool comesFirst(const AtomRef &left, const AtomRef &right) {
  return left->key < right->key;
}

static int64_t sumOf(int64_t left, int64_t right) {
  int64_t result = 0;
  if (__builtin_add_overflow(left, right, &result)) {
    throw GivenUp();
  }
  return result;
}

static int64_t productOf(int64_t left, int64_t right) {
  int64_t result = 0;
  if (__builtin_mul_overflow(left, right, &result)) {
    throw GivenUp();
  }
  return result;
}

Polynomial::Polynomial(int64_t number) { add({}, number); }

Polynomial::Polynomial(AtomRef atom) { add({std::move(atom)}, 1); }

void Polynomial::add(Product product, int64_t coefficient) {
  std::sort(product.begin(), product.end(), comesFirst);
  auto found = terms_.emplace(std::move(product), 0).first;
  found->second = sumOf(found->second, coefficient);
  if (found->second == 0) {
    terms_.erase(found);
  }
}

std::optional<int64_t> Polynomial::number() const {
  if (terms_.empty()) {
    return 0;
  }
  bool isNumber = terms_.size() == 1 && terms_.begin()->first.empty();
  return isNumber ? std::optional(terms_.begin()->second) : std::nullopt;
}

AtomRef Polynomial::atom() const {
  bool isAtom = terms_.size() == 1 && terms_.begin()->first.size() == 1 &&
                terms_.begin()->second == 1;
  return isAtom ? terms_.begin()->first[0] : nullptr;
}

std::string Polynomial::key() const {
  std::string text;
  for (const auto &[product, coefficient] : terms_) {
    text += (text.empty() ? "" : "+") + std::to_string(coefficient);
    for (const AtomRef &atom : product) {
      text += "*" + atom->key;
    }
  }
  return text.empty() ? "0" : text;
}

static bool mentionsIn(const Atom &inside, const Atom &atom) {
  return inside.key == atom.key ||
         std::any_of(inside.operands.begin(), inside.operands.end(),
                     [&](const Polynomial &operand) {
                       return operand.mentions(atom);
                     }) ||
         (inside.element && inside.element->mentions(atom));
}

bool Polynomial::mentions(const Atom &atom) const {
  return std::any_of(terms_.begin(), terms_.end(), [&](const auto &term) {
    return std::any_of(
        term.first.begin(), term.first.end(),
        [&](const AtomRef &each) { return mentionsIn(*each, atom); });
  });
}

std::optional<Polynomial> Polynomial::coefficientOf(const Atom &atom) const {
  Polynomial result;
  for (const auto &[product, coefficient] : terms_) {
    Product rest;
    size_t count = 0;
    for (const AtomRef &each : product) {
      if (each->key == atom.key) {
        ++count;
      } else if (mentionsIn(*each, atom)) {
        return std::nullopt;
      } else {
        rest.push_back(each);
      }
    }
    if (count > 1) {
      return std::nullopt;
    }
    if (count == 1) {
      result.add(std::move(rest), coefficient);
    }
  }
  return result;
}

static Polynomial atomWith(const AtomRef &atom,
                           const std::map<std::string, Polynomial> &values) {
  if (auto found = values.find(atom->key); found != values.end()) {
    return found->second;
  }
  switch (atom->kind) {
  case Atom::Kind::Quotient:
    return quotientOf(atom->operands[0].with(values),
                      atom->operands[1].with(values));
  case Atom::Kind::Remainder:
    return remainderOf(atom->operands[0].with(values),
                       atom->operands[1].with(values));
  case Atom::Kind::Element:
    return Polynomial(elementAtom(atom->element->with(values)));
  default:
    return Polynomial(atom);
  }
}

Polynomial
Polynomial::with(const std::map<std::string, Polynomial> &values) const {
  Polynomial result;
  for (const auto &[product, coefficient] : terms_) {
    Polynomial term(coefficient);
    for (const AtomRef &atom : product) {
      term = term * atomWith(atom, values);
    }
    result = result + term;
  }
  return result;
}

Polynomial divisi::rewrite::operator+(const Polynomial &left,
                                      const Polynomial &right) {
  Polynomial result = left;
  for (const auto &[product, coefficient] : right.terms()) {
    result.add(product, coefficient);
  }
  return result;
}

Polynomial divisi::rewrite::operator-(const Polynomial &left,
                                      const Polynomial &right) {
  return left + Polynomial(-1) * right;
}

Polynomial divisi::rewrite::operator*(const Polynomial &left,
                                      const Polynomial &right) {
  Polynomial result;
  for (const auto &[one, its] : left.terms()) {
    for (const auto &[other, others] : right.terms()) {
      Product both = one;
      both.insert(both.end(), other.begin(), other.end());
      result.add(std::move(both), productOf(its, others));
    }
  }
  return result;
}

/// What `product` is without the atoms of `divisor`, if they all are in it.
static std::optional<Product> without(const Product &product,
                                      const Product &divisor) {
  if (!std::includes(product.begin(), product.end(), divisor.begin(),
                     divisor.end(), comesFirst)) {
    return std::nullopt;
  }
  Product rest;
  std::set_difference(product.begin(), product.end(), divisor.begin(),
                      divisor.end(), std::back_inserter(rest), comesFirst);
  return rest;
}

Division divisi::rewrite::divide(const Polynomial &left,
                                 const Polynomial &right) {
  Division result;
  Polynomial rest = left;
  const auto &[leading, its] = *right.terms().rbegin();
  while (!rest.terms().empty()) {
    auto [product, coefficient] = *rest.terms().rbegin();
    std::optional<Product> factor = without(product, leading);
    Polynomial part;
    if (factor && coefficient % its == 0) {
      part.add(*factor, coefficient / its);
      result.quotient = result.quotient + part;
      rest = rest - part * right;
    } else {
      part.add(product, coefficient);
      result.remainder = result.remainder + part;
      rest = rest - part;
    }
  }
  return result;
}

std::optional<Polynomial>
divisi::rewrite::divideExactly(const Polynomial &left,
                               const Polynomial &right) {
  if (right.terms().empty()) {
    return std::nullopt;
  }
  Division division = divide(left, right);
  return division.remainder.terms().empty()
             ? std::optional(std::move(division.quotient))
             : std::nullopt;
}

AtomRef divisi::rewrite::sizeAtom(const std::string &name, bool isPositive) {
  Atom atom;
  atom.key = name;
  atom.isPositive = isPositive;
  return std::make_shared<Atom>(std::move(atom));
}

AtomRef divisi::rewrite::indexAtom(const std::string &name) {
  Atom atom;
  atom.kind = Atom::Kind::Index;
  atom.key = "@" + name;
  return std::make_shared<Atom>(std::move(atom));
}

static Polynomial partOf(Atom::Kind kind, const Polynomial &left,
                         const Polynomial &right) {
  Atom atom;
  atom.kind = kind;
  atom.key = "(" + left.key() + (kind == Atom::Kind::Quotient ? "/" : "%") +
             right.key() + ")";
  atom.operands = {left, right};
  return Polynomial(std::make_shared<Atom>(std::move(atom)));
}

/// By a positive number, of which all but a number are multiples: the rest is
/// from 0 to below it.
static std::optional<Division> divideMultiples(const Polynomial &left,
                                               const Polynomial &right) {
  std::optional<int64_t> by = right.number();
  if (!by || *by <= 0) {
    return std::nullopt;
  }
  Division division;
  for (const auto &[product, coefficient] : left.terms()) {
    int64_t rest = (coefficient % *by + *by) % *by;
    if (!product.empty() && rest != 0) {
      return std::nullopt;
    }
    division.quotient.add(product, (coefficient - rest) / *by);
    division.remainder.add(product, rest);
  }
  return division;
}

Polynomial divisi::rewrite::quotientOf(const Polynomial &left,
                                       const Polynomial &right) {
  if (auto division = divideMultiples(left, right)) {
    return division->quotient;
  }
  auto exact = divideExactly(left, right);
  return exact ? *exact : partOf(Atom::Kind::Quotient, left, right);
}

Polynomial divisi::rewrite::remainderOf(const Polynomial &left,
                                        const Polynomial &right) {
  if (auto division = divideMultiples(left, right)) {
    return division->remainder;
  }
  return divideExactly(left, right)
             ? Polynomial(0)
             : partOf(Atom::Kind::Remainder, left, right);
}

void divisi::rewrite::addAtoms(const Polynomial &polynomial,
                               std::map<std::string, AtomRef> &atoms) {
  for (const auto &[product, coefficient] : polynomial.terms()) {
    for (const AtomRef &atom : product) {
      atoms.emplace(atom->key, atom);
      for (const Polynomial &operand : atom->operands) {
        addAtoms(operand, atoms);
      }
    }
  }
}
