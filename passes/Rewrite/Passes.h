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
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
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

} // namespace divisi

#endif // DIVISI_PASSES_REWRITE_PASSES_H
