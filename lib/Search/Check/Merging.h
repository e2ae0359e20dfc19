//===- Merging.h - Replays the deductions of a certificate ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replays the deductions of a certificate (divisi/Search/Certificate.h) and
// believes none of them: each is looked up in the problem's own matrices before
// it is taken. Internal to the checker.
//
// Members are a union-find forest. A node that follows another keeps a map from
// the states of the one it follows to its own, and maps are composed when a
// path is compressed:
//
//   c follows b: {b0 -> c2, b1 -> c0}      c follows a: {a0 -> c0, a3 -> c2}
//   b follows a: {a0 -> b1, a3 -> b0}  =>  b follows a: {a0 -> b1, a3 -> b0}
//
// so that a deduction costs what its own edges hold, however many nodes decide
// together by then.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_CHECK_MERGING_H
#define DIVISI_LIB_SEARCH_CHECK_MERGING_H

#include "divisi/Search/Problem.h"

#include <span>

namespace divisi::search {

/// The variables of a problem while deductions merge and shrink them.
class Merging {
public:
  /// Every node for itself, with all its strategies. Refers to `problem`, which
  /// must be valid.
  explicit Merging(const Problem &problem);

  /// Takes `deduction` if the problem justifies it. Else says why not; what is
  /// left then is of no use.
  std::optional<std::string> take(const Deduction &deduction);

  /// The variable that `node` is a member of.
  uint32_t variableOf(uint32_t node);

  /// What `node` takes when its variable is in `state`, one that it still has.
  uint32_t strategy(uint32_t node, uint32_t state);

  /// The states that a variable still has, ascending.
  std::span<const uint32_t> states(uint32_t variable) const {
    return states_[variable];
  }

  /// What it was made for.
  const Problem &problem() const { return problem_; }

private:
  /// An edge between two variables, the first of which holds the end `from` if
  /// `forward`.
  struct Bridge {
    uint32_t edge;
    bool forward;
  };

  std::optional<std::string> checkVariable(uint32_t variable);
  std::optional<std::string> drop(const Deduction &deduction);
  std::optional<std::string> follow(uint32_t leader, uint32_t follower);
  void findBridges(uint32_t first, uint32_t second);
  bool goTogether(uint32_t state, uint32_t otherState);
  void unite(uint32_t leader, uint32_t follower,
             std::vector<uint32_t> partners);

  const Problem &problem_;
  std::vector<uint32_t> parent_; ///< Of each node; a variable is its own.
  /// From states of the parent to own states; empty for a variable.
  std::vector<std::vector<uint32_t>> map_;
  std::vector<std::vector<uint32_t>> states_; ///< Of each variable.
  /// For each state of a variable: a member's cost or an edge inside makes it
  /// infeasible.
  std::vector<std::vector<bool>> infeasible_;
  /// For each variable, edges that leave it, and some that no longer do.
  std::vector<std::vector<uint32_t>> incident_;
  /// The bridges from `bridgesOf_.first` to `.second`, kept because many Drops
  /// in a row speak of the same two.
  std::vector<Bridge> bridges_;
  std::optional<std::pair<uint32_t, uint32_t>> bridgesOf_;
  std::vector<uint32_t> path_; ///< Scratch of variableOf.
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_CHECK_MERGING_H
