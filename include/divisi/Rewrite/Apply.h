//===- Apply.h - Matching and applying rules --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule is applied to a block of `nn` operators where its source matches, its
// conditions hold, and
//
// - the values that it calls weights or constants are such;
// - the target takes less effort in every run than those operators of the
// source
//   that nobody else reads, or the same effort with fewer operators in total.
//   So applying rules ends: the effort of all operators only falls, and where
//   it stays the same, their number falls.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_REWRITE_APPLY_H
#define DIVISI_REWRITE_APPLY_H

#include "divisi/Rules/Instance.h"
#include "divisi/Rules/ProofRecord.h"
#include "divisi/Support/Status.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace divisi::nn {
class KnownValues;
} // namespace divisi::nn

namespace divisi::rewrite {

/// A place where the source of a rule stands.
struct Place {
  const ProvedRule &proved; ///< The rule.
  mlir::Location location;  ///< Of the source's first result.
  std::string declined;     ///< Why it was left; empty if it was not.
  std::vector<mlir::Location> results; ///< Of the target's, where it was not.
};

/// Which rules of `rules` to apply: those of these names, in that order, or,
/// without names, all by which something can take less. Fails with Usage for a
/// name that is not there, and for a rule that would loop: at no sizes that are
/// tried its target takes less than its source.
Expected<std::vector<ProvedRule>>
chooseRules(const std::vector<ProvedRule> &rules,
            const std::vector<std::string> &names);

/// All of `rules` that change numbers at most as `most` says, one for each
/// choice of operators: for a search, which decides what takes less.
std::vector<ProvedRule> rulesForSearch(const std::vector<ProvedRule> &rules,
                                       NumericClass most);

/// Those of `rules` that every compilation applies.
std::vector<ProvedRule> rulesForAll(const std::vector<ProvedRule> &rules);

/// Applies rules to a function until none can be.
class RuleApplier {
public:
  /// Operators of axioms that say so commute. All outlive this.
  RuleApplier(const std::vector<ProvedRule> &rules,
              const std::vector<Rule> &axioms, const nn::KnownValues &known);
  ~RuleApplier();

  /// Applies all rules, in their order, and tells of each place where one was
  /// applied, then of those that are left; returns how many were applied.
  int64_t run(mlir::func::FuncOp function,
              const std::function<void(const Place &)> &tell);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace divisi::rewrite

#endif // DIVISI_REWRITE_APPLY_H
