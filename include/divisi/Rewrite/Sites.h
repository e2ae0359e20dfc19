//===- Sites.h - Where rules may be applied ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a search asks: all places where rules may be applied, whatever their
// targets take there, and the program in which one of them has been.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_REWRITE_SITES_H
#define DIVISI_REWRITE_SITES_H

#include "divisi/Rules/ProofRecord.h"
#include "divisi/Support/Status.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>
#include <vector>

namespace divisi::nn {
class KnownValues;
} // namespace divisi::nn

namespace divisi::rewrite {

/// A place in a function, which means the same place in copies of it.
struct RuleSite {
  size_t rule = 0;   ///< Which of the rules.
  size_t root = 0;   ///< The operator that is its source's first sink.
  size_t number = 0; ///< Which of its places that end there.
};

/// Finds places of some rules.
class SiteFinder {
public:
  /// Rules without choices of operators. Operators of axioms that say so
  /// commute. Both outlive this.
  SiteFinder(const std::vector<ProvedRule> &rules,
             const std::vector<Rule> &axioms);
  ~SiteFinder();

  /// All places in `function` where a rule may be applied, in the order of
  /// the function and of the rules. A match that differs from another only by
  /// the order of operands that commute is a place of its own.
  std::vector<RuleSite> find(mlir::func::FuncOp function,
                             const nn::KnownValues &known);

  /// Applies a rule at one of the places that find() gives of `function`.
  /// Returns where the results of its target are. Fails with Invalid where it
  /// has no such place.
  Expected<std::vector<mlir::Location>> apply(mlir::func::FuncOp function,
                                              const nn::KnownValues &known,
                                              RuleSite site);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace divisi::rewrite

#endif // DIVISI_REWRITE_SITES_H
