//===- Saturation.h - Applies rules to an e-graph ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies all rules wherever they match, round by round, until nothing is new
// or a limit is met. A rule that matches too often in one round pauses for some
// (the back-off of egg, Willsey et al., POPL 2021).
//
// A rule that merges two operators of one input is applied to as many as there
// are at once (MergeRules.h): of eight products there are 255 sets to merge,
// and one that matters.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_OPTIMIZE_SATURATION_H
#define DIVISI_LIB_OPTIMIZE_SATURATION_H

#include "divisi/Optimize/EqualitySaturation.h"
#include "lib/Optimize/NaryForms.h"

#include <set>

namespace divisi::optimize {

/// Applies the rules of a finder to one e-graph.
class Saturation {
public:
  /// All outlive this. `rules` are those of `sites`.
  Saturation(EGraph &graph, rewrite::SiteFinder &sites,
             const std::vector<rewrite::ProvedRule> &rules,
             SaturationLimits limits);

  /// Whether nothing is left to be applied. Fails where a rule makes what its
  /// operators forbid, which no proved rule does.
  Expected<bool> run();

private:
  /// A rule where it is to be applied.
  struct Pending {
    size_t rule = 0;
    rewrite::ClassSite site;
    /// Of a rule that merges two: what it says of as many as there are.
    std::optional<rewrite::Rule> merged;
  };
  /// How often a rule may match.
  struct BackOff {
    size_t most = 0; ///< In one round.
    int until = 0;   ///< The round from which on it is applied.
    int pauses = 0;  ///< That it has had.
  };

  bool find(size_t rule, int round);
  void findMerges(size_t rule);
  std::vector<mlir::Operation *> partnersOf(size_t rule,
                                            mlir::Operation *first);
  void addMerge(size_t rule, const std::vector<mlir::Operation *> &group);
  bool isNew(size_t rule, llvm::ArrayRef<mlir::Operation *> nodes,
             llvm::ArrayRef<mlir::Value> variables);
  Status apply(const Pending &pending);

  EGraph &graph_;
  rewrite::SiteFinder &sites_;
  const std::vector<rewrite::ProvedRule> &rules_;
  const SaturationLimits limits_;
  NaryForms forms_;
  std::set<size_t> merges_;    ///< Rules that merge two.
  std::vector<size_t> others_; ///< All others but those of more.
  std::vector<BackOff> backOff_;
  std::set<std::vector<const void *>> seen_; ///< Matches, each once.
  std::vector<Pending> pending_;
};

} // namespace divisi::optimize

#endif // DIVISI_LIB_OPTIMIZE_SATURATION_H
