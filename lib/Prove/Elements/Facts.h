//===- Facts.h - Facts about integers, decided by Z3 ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_ELEMENTS_FACTS_H
#define DIVISI_LIB_PROVE_ELEMENTS_FACTS_H

#include "lib/Prove/Elements/Polynomial.h"

#include "z3++.h"

namespace divisi::rewrite {

/// Inequalities of integers, and what follows from them: soon, by bounds of
/// single indices, or by Z3.
class Facts {
public:
  /// How a polynomial compares with 0.
  enum class Relation : uint8_t { AtLeast, Equal, Unequal };

  /// Believes one more, until it is popped.
  void push(const Polynomial &polynomial, Relation relation);
  /// Believes that an index is at least 0 and below an extent; two facts.
  void pushIndex(const AtomRef &index, const Polynomial &extent);
  /// The extent of an index that it knows.
  std::optional<Polynomial> extentOf(const Atom &index) const;
  /// Adds to `atoms`, by their keys, those of facts about one of them.
  void addRelated(std::map<std::string, AtomRef> &atoms) const;
  /// Forgets all but the first `count`.
  void popTo(size_t count);
  /// How many there are.
  size_t size() const { return facts_.size(); }

  /// Whether it is at least 0; false where that does not follow.
  bool isAtLeastZero(const Polynomial &polynomial);
  /// Whether it is 0.
  bool isZero(const Polynomial &polynomial);
  /// Whether no integers meet all facts; false where nothing is found out.
  bool areContradictory();

private:
  struct Fact {
    Polynomial polynomial;
    Relation relation;
    /// Of the first of pushIndex(), what it says.
    AtomRef index;
    Polynomial extent;
  };

  bool isBounded(const Polynomial &polynomial, int depth) const;
  bool follows(const Polynomial &polynomial, Relation relation);
  z3::expr encode(const Polynomial &polynomial, z3::expr_vector &sizes);
  z3::expr encode(const Atom &atom, z3::expr_vector &sizes);

  std::vector<Fact> facts_;
  /// Made when it is needed first, which costs more than most proofs.
  std::unique_ptr<z3::context> context_;
  std::optional<z3::solver> solver_;
  std::map<std::string, bool> known_; ///< By facts and question.
};

/// Forgets, when it ends, what was believed since it began.
class FactScope {
public:
  /// Of `facts`, which must outlive it.
  explicit FactScope(Facts &facts) : facts_(facts), count_(facts.size()) {}
  FactScope(const FactScope &) = delete;
  FactScope &operator=(const FactScope &) = delete;
  ~FactScope() { facts_.popTo(count_); }

private:
  Facts &facts_;
  size_t count_;
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_ELEMENTS_FACTS_H
