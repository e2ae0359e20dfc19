//===- Passes.h - Substitution rules on nn ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_REWRITE_PASSES_H
#define DIVISI_PASSES_REWRITE_PASSES_H

#include "dialects/NN/NN.h"
#include "divisi/Cluster/Cluster.h"
#include "divisi/Rules/Rule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace divisi::rewrite {
struct ProvedRule;
} // namespace divisi::rewrite

namespace divisi {

/// Rules of a user's own, one for each choice of operators; null: none.
using SharedRules = std::shared_ptr<const std::vector<rewrite::ProvedRule>>;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Rewrite/Passes.h.inc"

/// The rules that every compilation applies, behind a user's own. What becomes
/// of these is noted on the module.
std::unique_ptr<mlir::Pass> createApplyRulesForAll(SharedRules own);

/// What the stage Rewrite does beyond what Import has recognised.
enum class RewriteMode : uint8_t {
  Off,    ///< Nothing.
  Greedy, ///< Applies rules wherever they take less.
  Search, ///< Searches for the cheapest program on one device.
  Joint,  ///< Plans what searches find, and takes the cheapest plan.
};

/// `off`, `greedy`, `search` or `joint`; nothing for another name.
std::optional<RewriteMode> parseRewriteMode(llvm::StringRef name);
/// A class that a search may be held to: `bit-exact` or `reassociates`;
/// nothing for another name.
std::optional<rewrite::NumericClass> parseSearchedClass(llvm::StringRef name);

/// Options of the stage.
struct RewriteOptions {
  RewriteMode mode = RewriteMode::Off; ///< What is done.
  /// How a search may change numbers, at most.
  rewrite::NumericClass most = rewrite::NumericClass::Reassociates;
  int64_t programs = 20000; ///< That a search makes, at most.
  /// Asked now and then whether to end with what was found; may be empty.
  std::function<bool()> isOver;
};

/// The search of `search-rules` with a user's own rules, too, priced on devices
/// of `kind`. What was applied is noted on the module.
std::unique_ptr<mlir::Pass> createSearchRules(const RewriteOptions &options,
                                              const DeviceKind &kind,
                                              SharedRules own);

/// The stage Rewrite, on devices of `kind`, with a user's `own` rules. Joint is
/// as Search here: who plans compares.
void buildRewritePipeline(mlir::OpPassManager &manager,
                          const RewriteOptions &options, const DeviceKind &kind,
                          const SharedRules &own);

/// Lets divisi-opt know the stage as `divisi-rewrite`.
void registerRewritePipeline();

} // namespace divisi

#endif // DIVISI_PASSES_REWRITE_PASSES_H
