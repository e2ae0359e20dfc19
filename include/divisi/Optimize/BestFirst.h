//===- BestFirst.h - Searching programs, cheapest first ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TASO's search (Jia et al., SOSP 2019, algorithm 2): a queue of programs by
// price; the cheapest is taken out, and every rule is applied at every place of
// it. A program is kept if it takes less than `slack` times the cheapest that
// was found, so that a way to a cheaper program may lead over a dearer one.
// Each program is looked at once, whatever the order of its operators.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_OPTIMIZE_BESTFIRST_H
#define DIVISI_OPTIMIZE_BESTFIRST_H

#include "divisi/Optimize/ProgramPrice.h"
#include "divisi/Rewrite/Sites.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <vector>

namespace divisi::optimize {

/// What a search may do.
struct SearchLimits {
  int64_t programs = 500; ///< That are made, of one source.
  double slack = 1.05;    ///< At least 1.
};

/// An application of a rule on the way to a program.
struct RuleStep {
  size_t rule = 0;                     ///< Which of the rules.
  std::vector<mlir::Location> results; ///< Where its target's results are.
};

/// A program that a search has found.
struct FoundProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< With the source's function.
  Price price;                              ///< Of one run.
  std::vector<RuleStep> steps;              ///< From the source to it.
};

/// What came of a search.
struct SearchResult {
  FoundProgram best;       ///< The source where nothing is cheaper.
  Price before;            ///< Of the source.
  int64_t programs = 0;    ///< That were made.
  bool isComplete = false; ///< Whether no program is left to be looked at.
};

/// Searches from sources of one context, which are modules of one function.
class BestFirst {
public:
  /// With these rules, on a device of that kind.
  BestFirst(mlir::MLIRContext *context, rewrite::SiteFinder &sites,
            const DeviceKind &kind, SearchLimits limits);
  ~BestFirst();

  /// Of `source`, which stays as it is. Fails where a program breaks a rule of
  /// its operators, which no proved rule does.
  Expected<SearchResult> run(mlir::ModuleOp source);
  /// The same, but makes at most `programs`.
  Expected<SearchResult> run(mlir::ModuleOp source, int64_t programs);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace divisi::optimize

#endif // DIVISI_OPTIMIZE_BESTFIRST_H
