//===- ExactProblem.h - The problem in 128-bit integers ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the exact solver works on: costs in 128-bit integers, one function per
// joined pair of nodes, and only strategies that can be part of an answer:
// infeasible ones are gone, and so are those that nothing at the other end of
// an edge goes with (arc consistency, A. Mackworth 1977).
//
// A variable is a node and keeps its number; its states are the strategies
// that are left, counted anew.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_EXACT_EXACTPROBLEM_H
#define DIVISI_LIB_SEARCH_EXACT_EXACTPROBLEM_H

#include "Elimination.h"
#include "lib/Search/Problem/MaximalTimes.h"

#include <map>

namespace divisi::search {

/// A problem with only those strategies that can be part of an answer.
struct ExactProblem {
  /// Of a valid problem.
  explicit ExactProblem(const Problem &problem);

  /// Who cannot take any strategy; then there is no answer, whatever the limit,
  /// and the rest is not filled in.
  std::optional<uint32_t> impossible;

  std::vector<std::vector<uint32_t>> strategies; ///< Per variable and state.
  std::vector<uint32_t> sizes;                   ///< Per variable: its states.
  /// One for each variable, then one for each of `pairs`.
  std::vector<Factor> costs;
  std::vector<std::pair<uint32_t, uint32_t>> pairs; ///< Of two with a choice.

  /// Something that uses memory: a variable, or an edge between two.
  struct Use {
    uint32_t u = 0, v = 0;       ///< Equal: a variable.
    std::vector<int64_t> usages; ///< By u's state, then v's.
    uint32_t factor = 0;         ///< Which of `costs` its price belongs to.
    TimeRange times;             ///< Indices into `times`.
  };
  std::vector<Use> uses;     ///< What of it takes memory.
  std::vector<Moment> times; ///< maximalTimes of the problem.
  std::vector<Wide> limits;  ///< At each of `times`.
  /// How far nothing at all is above the limits: usually far below. None if
  /// there is no limit.
  std::optional<Wide> idleExcess;

  /// Choices of the problem, from states.
  std::vector<uint32_t> assignment(std::span<const uint32_t> states) const;

private:
  void addUses(const Problem &problem,
               const std::map<std::pair<uint32_t, uint32_t>, uint32_t> &factor);
};

/// A price of memory at each of ExactProblem::times.
using Prices = std::vector<Wide>;

/// `scale` times the costs, or nothing where `scale` is 0, plus the price of
/// the memory. Infeasible entries stay infeasible.
std::vector<Factor> pricedFactors(const ExactProblem &exact, Wide scale,
                                  const Prices &prices);

/// The least usage at each time, given the states of some variables, and how
/// far it is above the limit.
class LeastUsage {
public:
  /// With no variable assigned. `exact` must outlive this.
  explicit LeastUsage(const ExactProblem &exact);

  /// Gives `variable` a state and returns the largest excess at any time that
  /// this could change.
  Wide assign(uint32_t variable, uint32_t state, Budget &budget);
  /// Takes a variable's state back.
  void release(uint32_t variable);
  /// How far the least usage is above the limit, at each of
  /// ExactProblem::times.
  std::span<const Wide> excess() const { return excess_; }
  /// At least ExactProblem::idleExcess, or 0 if there is no limit.
  Wide largest() const;

private:
  static constexpr uint32_t kNone = ~0u;
  int64_t least(size_t use) const;
  void set(uint32_t variable, uint32_t state);

  const ExactProblem &exact_;
  std::vector<uint32_t> states_;
  std::vector<std::vector<uint32_t>> usesOf_; ///< Per variable.
  /// Per use: the least for each state of u, for each of v, and of all.
  std::vector<std::vector<int64_t>> leastOfU_, leastOfV_;
  std::vector<int64_t> leastOfAll_;
  std::vector<Wide> excess_;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_EXACT_EXACTPROBLEM_H
