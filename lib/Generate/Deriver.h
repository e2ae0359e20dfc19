//===- Deriver.h - Equations that follow by rewriting -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nearly all equations follow from earlier ones, by a few steps of rewriting at
// the last operator: its operands are classes of graphs, which hold all known
// ways to write them. The deriver finds such derivations in microseconds; the
// prover is asked about the rest.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_DERIVER_H
#define DIVISI_LIB_GENERATE_DERIVER_H

#include "lib/Generate/Generalizer.h"

#include <array>
#include <functional>
#include <set>
#include <vector>

namespace divisi::rewrite {

/// Equations that may be used, and what follows.
class Deriver {
public:
  /// Of graphs of `universe`, which outlives this.
  explicit Deriver(Universe &universe) : universe_(universe) {}

  /// Uses `equation` from now on, in both directions.
  void use(const Equation &equation);
  /// Of `term` it is not known that it has the result of its class.
  void leaveOpen(const Term &term) { open_.insert(term); }
  /// Whether `term` becomes a graph that was enumerated before it, or `first`
  /// of its class.
  bool derives(const Term &term, const Term &first);

private:
  /// Graphs for the leaves of an equation; kNone: not yet.
  using Binding = std::array<uint32_t, Generalizer::kMostLeaves>;
  /// One direction.
  struct Way {
    Equation equation;
    bool isReversed = false;
    Binding constants{}; ///< The leaves that are bound from the start.
    const Sketch &from() const {
      return isReversed ? equation.target : equation.source;
    }
    const Sketch &to() const {
      return isReversed ? equation.source : equation.target;
    }
    const Step &lastStep() const {
      return from().steps[from().result - equation.leaves.size()];
    }
  };
  /// Those of the same last operators: the one, and one for each operand that
  /// is no leaf.
  struct Ways {
    std::array<uint64_t, 2> needs{}; ///< A mask for each operand.
    std::vector<Way> ways;
  };
  /// One match that is looked for: what is bound, and what is next.
  struct Search {
    const Way &way;
    Binding binding;
    size_t found = 0;
  };
  using Next = std::function<void()>;

  void match(Search &search, size_t value, uint32_t graph,
             const Next &next) const;
  void matchStep(Search &search, const Step &step, uint32_t a, uint32_t b,
                 const Next &next) const;
  Term onRepresentatives(Term term) const;
  uint32_t instantiate(const Way &way, size_t value,
                       const Binding &binding) const;
  void addResult(const Way &way, const Binding &binding,
                 std::vector<Term> &results) const;
  std::vector<Term> rewrite(const Term &term) const;
  void addWay(const Equation &equation, bool isReversed);

  Universe &universe_;
  std::vector<std::vector<Ways>> ways_; ///< By the last operator of from().
  std::set<Term> open_;
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_DERIVER_H
