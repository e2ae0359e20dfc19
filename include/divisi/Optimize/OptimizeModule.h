//===- OptimizeModule.h - Searches a whole module ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each entry of a module is cut into segments, which are searched one by one,
// those that are alike once; then again, cut elsewhere, until nothing becomes
// cheaper. Budgets are counted in programs that are made, so that a machine's
// speed decides nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_OPTIMIZE_OPTIMIZEMODULE_H
#define DIVISI_OPTIMIZE_OPTIMIZEMODULE_H

#include "divisi/Optimize/EqualitySaturation.h"
#include "divisi/Rules/ProofRecord.h"

#include <functional>
#include <string>
#include <vector>

namespace divisi::optimize {

/// How a module is searched.
struct OptimizeOptions {
  DeviceKind kind;             ///< What programs are priced for.
  SaturationLimits saturation; ///< Of the e-graph of one segment.
  SearchLimits limits;         ///< Of the search that goes on from there.
  /// Programs that are made in all. A search that has begun goes on to its own
  /// limit.
  int64_t programs = 20000;
  /// What a segment has to save to be rewritten, as a part of its time.
  double leastSaving = 0;
  /// Asked before each segment whether to leave the others as they are; may be
  /// empty.
  std::function<bool()> isOver;
};

/// What became of one rule.
struct RuleUse {
  std::string rule;               ///< Its name.
  int64_t times = 0;              ///< How often it was applied.
  std::vector<std::string> nodes; ///< Of the model, each once.
};

/// What became of a module.
struct OptimizeReport {
  Price before, after;        ///< Of all entries together.
  std::vector<RuleUse> rules; ///< By the first time that they were applied.
  int64_t segments = 0;       ///< That were searched; alike ones are one.
  int64_t programs = 0;       ///< That were made.
  bool isComplete = true;     ///< Whether no search met a limit.
};

/// Rewrites the entries of `module` by `rules`, which have no choices of
/// operators. What of it weights and constants alone make is left where it is.
Expected<OptimizeReport> optimizeModule(
    mlir::ModuleOp module, const std::vector<rewrite::ProvedRule> &rules,
    const std::vector<rewrite::Rule> &axioms, const OptimizeOptions &options);

} // namespace divisi::optimize

#endif // DIVISI_OPTIMIZE_OPTIMIZEMODULE_H
