//===- Site.h - A place where a rule may be applied -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REWRITE_SITE_H
#define DIVISI_LIB_REWRITE_SITE_H

#include "dialects/NN/Known.h"
#include "divisi/Rules/Instance.h"
#include "divisi/Support/Status.h"
#include "lib/Rewrite/Binding.h"
#include "lib/Rewrite/SourceMatch.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace divisi::rewrite {

/// What the target is at a match, in a program or an e-graph. Fails, saying
/// why, where the rule may not be applied.
Expected<CallGraph> targetAt(const Rule &rule, const SourceMatch &match,
                             const Binding &binding,
                             const nn::KnownValues &known,
                             Instantiator &instantiator);

/// The values that are the results of the source.
std::vector<mlir::Value> sourceResults(const SourceMatch &match,
                                       const CallGraph &source);

/// A match of one rule, its binding, and what its target is there.
class Site {
public:
  /// All outlive this.
  Site(const Rule &rule, const SourceMatch &match, const Binding &binding,
       const nn::KnownValues &known);

  /// Fails, saying why, where the rule may not be applied; if `mustTakeLess`,
  /// also where the target does not take less.
  Status check(Instantiator &instantiator, bool mustTakeLess);
  /// Puts the target in the source's place; if `isNoted`, its locations name
  /// the rule behind those that the source's do.
  Status apply(bool isNoted);
  /// Where the results are.
  std::vector<mlir::Location> locations() const;

private:
  void findKept();
  bool isGone(mlir::Operation *op) const;
  Status checkEffort(const CallGraph &target,
                     const std::vector<bool> &known) const;
  mlir::Operation *findPlace() const;
  bool hoist(mlir::Value value, mlir::Operation *before) const;
  std::vector<std::string> chain() const;
  void keepScope(llvm::ArrayRef<mlir::Operation *> made) const;

  const Rule &rule_;
  const SourceMatch &match_;
  const Binding &binding_;
  const nn::KnownValues &known_;
  std::vector<mlir::Value> results_; ///< Of the source.
  std::vector<bool> kept_;           ///< Of its nodes: what others need.
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_REWRITE_SITE_H
