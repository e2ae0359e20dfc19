//===- Facts.cpp - Facts about integers, decided by Z3 --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/Facts.h"

#include <algorithm>

using namespace divisi::rewrite;

/// What Z3 may spend on one question, in its units: the same on each machine.
static constexpr unsigned kWork = 40000;

void Facts::push(const Polynomial &polynomial, Relation relation) {
  facts_.push_back({polynomial, relation, nullptr, {}});
}

void Facts::pushIndex(const AtomRef &index, const Polynomial &extent) {
  facts_.push_back({Polynomial(index), Relation::AtLeast, index, extent});
  push(extent - Polynomial(1) - Polynomial(index), Relation::AtLeast);
}

std::optional<Polynomial> Facts::extentOf(const Atom &index) const {
  for (const Fact &fact : facts_) {
    if (fact.index && fact.index->key == index.key) {
      return fact.extent;
    }
  }
  return std::nullopt;
}

void Facts::addRelated(std::map<std::string, AtomRef> &atoms) const {
  for (const Fact &fact : facts_) {
    std::map<std::string, AtomRef> own;
    addAtoms(fact.polynomial, own);
    if (std::ranges::any_of(own, [&](const auto &atom) {
          return atoms.contains(atom.first);
        })) {
      atoms.insert(own.begin(), own.end());
    }
  }
}

void Facts::popTo(size_t count) { facts_.resize(count); }

/// By the least and the most of indices that stand in no product with others,
/// and sizes that are 1 or more.
bool Facts::isBounded(const Polynomial &polynomial, int depth) const {
  constexpr int mostDepth = 8;
  for (const Fact &fact : facts_) {
    if (!fact.index || depth == mostDepth ||
        !polynomial.mentions(*fact.index)) {
      continue;
    }
    std::optional<Polynomial> slope = polynomial.coefficientOf(*fact.index);
    if (!slope) {
      continue;
    }
    Polynomial rest = polynomial - *slope * Polynomial(fact.index);
    if (isBounded(*slope, depth + 1)) {
      return isBounded(rest, depth + 1);
    }
    if (isBounded(Polynomial(0) - *slope, depth + 1)) {
      return isBounded(rest + *slope * (fact.extent - Polynomial(1)),
                       depth + 1);
    }
  }
  // Each size that is 1 or more is 1 and something.
  std::map<std::string, Polynomial> more;
  for (const auto &[product, coefficient] : polynomial.terms()) {
    for (const AtomRef &atom : product) {
      if (!atom->isPositive) {
        return false;
      }
      more.emplace(atom->key, Polynomial(atom) + Polynomial(1));
    }
  }
  Polynomial shifted = polynomial.with(more);
  return std::all_of(shifted.terms().begin(), shifted.terms().end(),
                     [](const auto &term) { return term.second >= 0; });
}

z3::expr Facts::encode(const Atom &atom, z3::expr_vector &sizes) {
  if (atom.kind == Atom::Kind::Quotient || atom.kind == Atom::Kind::Remainder) {
    z3::expr left = encode(atom.operands[0], sizes);
    z3::expr right = encode(atom.operands[1], sizes);
    // Of a divisor that is not positive nothing is known.
    return z3::ite(right > 0,
                   atom.kind == Atom::Kind::Quotient ? left / right
                                                     : z3::mod(left, right),
                   context_->int_const(atom.key.c_str()));
  }
  z3::expr name = context_->int_const(atom.key.c_str());
  if (atom.isPositive) {
    sizes.push_back(name >= 1);
  }
  return name;
}

z3::expr Facts::encode(const Polynomial &polynomial, z3::expr_vector &sizes) {
  z3::expr result = context_->int_val(0);
  for (const auto &[product, coefficient] : polynomial.terms()) {
    z3::expr term = context_->int_val(coefficient);
    for (const AtomRef &atom : product) {
      term = term * encode(*atom, sizes);
    }
    result = result + term;
  }
  return result;
}

/// By Z3: no integers meet the facts but not the question.
bool Facts::follows(const Polynomial &polynomial, Relation relation) {
  std::string key = polynomial.key() + "?" + std::to_string(int(relation));
  for (const Fact &fact : facts_) {
    key += ";" + fact.polynomial.key() + std::to_string(int(fact.relation));
  }
  if (auto found = known_.find(key); found != known_.end()) {
    return found->second;
  }
  if (!context_) {
    context_ = std::make_unique<z3::context>();
    solver_.emplace(*context_, z3::solver::simple());
    z3::params params(*context_);
    params.set("rlimit", kWork);
    params.set("model", false);
    solver_->set(params);
  }
  z3::solver &solver = *solver_;
  solver.push();
  z3::expr_vector sizes(*context_);
  auto formula = [&](const Polynomial &of, Relation is) {
    z3::expr value = encode(of, sizes);
    return is == Relation::AtLeast ? value >= 0
           : is == Relation::Equal ? value == 0
                                   : value != 0;
  };
  for (const Fact &fact : facts_) {
    solver.add(formula(fact.polynomial, fact.relation));
  }
  solver.add(!formula(polynomial, relation));
  for (const z3::expr &size : sizes) {
    solver.add(size);
  }
  bool isSo = solver.check() == z3::unsat;
  solver.pop();
  known_.emplace(std::move(key), isSo);
  return isSo;
}

bool Facts::isAtLeastZero(const Polynomial &polynomial) {
  if (auto number = polynomial.number()) {
    return *number >= 0;
  }
  return isBounded(polynomial, 0) || follows(polynomial, Relation::AtLeast);
}

bool Facts::isZero(const Polynomial &polynomial) {
  if (auto number = polynomial.number()) {
    return *number == 0;
  }
  return follows(polynomial, Relation::Equal);
}

bool Facts::areContradictory() {
  return follows(Polynomial(1), Relation::Equal);
}
