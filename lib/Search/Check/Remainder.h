//===- Remainder.h - What a certificate's tree is about ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The variables and pairs that remain after the deductions of a certificate,
// with costs summed once, since every node of the tree needs them. Memory is
// kept as it was given, by lifetime: only prices turn it into cost. Internal to
// the checker.
//
// Sums here need no overflow check: a problem has fewer than 2^33 terms of 64
// bits each.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_CHECK_REMAINDER_H
#define DIVISI_LIB_SEARCH_CHECK_REMAINDER_H

#include "CheckedWide.h"
#include "Merging.h"

namespace divisi::search {

/// The cost of an infeasible state or entry, and the minimum of nothing.
inline constexpr Wide kNever = CheckedWide::kInfinity;

/// Variables, pairs, costs and memory that the deductions left.
struct Remainder {
  /// States are numbered through all variables: a variable has those from
  /// `begin` to `end`.
  struct Variable {
    uint32_t number;     ///< That of the node it began as.
    uint32_t begin, end; ///< Its states.
    /// Whether it has one state.
    bool isFixed() const { return size() == 1; }
    /// How many states it has.
    uint32_t size() const { return end - begin; }
  };
  /// Two variables that are free and joined by edges, u < v.
  struct Pair {
    uint32_t u, v;         ///< Indices into `variables`.
    uint32_t block;        ///< Its entries; pairs of equal edges share theirs.
    size_t firstPotential; ///< Of u's; v's follow.
  };
  /// Memory that depends on the state of one variable.
  struct Use {
    uint32_t variable; ///< An index into `variables`.
    uint32_t resource; ///< Of the problem.
    Lifetime live;     ///< When it is used.
    size_t firstUsage; ///< One for each state.
  };
  /// Memory that depends on both states of a pair: what an edge uses.
  struct PairUse {
    uint32_t pair;     ///< An index into `pairs`.
    uint32_t edge;     ///< Of the problem.
    bool forward;      ///< Whether the edge leads from u to v.
    uint32_t resource; ///< Of the problem.
    uint32_t matrix;   ///< Of the problem: what it uses.
    Lifetime live;     ///< When it is used.
  };

  std::vector<Variable> variables; ///< By number, ascending.
  std::vector<uint32_t> states;    ///< As deductions call them: a strategy.
  std::vector<Wide> costs;         ///< Of each state.
  std::vector<Pair> pairs;         ///< Sorted by u, then v.
  /// Entries of pairs, row-major over u's states x v's.
  std::vector<std::vector<Wide>> blocks;
  std::vector<Use> uses;
  std::vector<int64_t> usages;
  std::vector<PairUse> pairUses; ///< Sorted by pair.
  size_t numPotentials = 0;

  /// The index of the variable of that number, or nothing.
  std::optional<uint32_t> find(uint32_t number) const;
  /// The states of a variable, ascending.
  std::span<const uint32_t> statesOf(const Variable &variable) const {
    return std::span(states).subspan(variable.begin, variable.size());
  }
};

/// What is left after all deductions that `merging` has taken.
Remainder buildRemainder(Merging &merging);

/// For each of `variable`'s states, the strategy that its member `node` takes.
std::vector<uint32_t> strategiesOf(Merging &merging, const Remainder &remainder,
                                   const Remainder::Variable &variable,
                                   uint32_t node);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_CHECK_REMAINDER_H
