//===- SearchedRules.h - The rules among which searches choose --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_REWRITE_SEARCHEDRULES_H
#define DIVISI_PASSES_REWRITE_SEARCHEDRULES_H

#include "divisi/Rules/ProofRecord.h"
#include "divisi/Support/Status.h"
#include "passes/Rewrite/Passes.h"

#include <vector>

namespace divisi {

/// Rules, and what they were proved from.
struct ChosenRules {
  std::vector<rewrite::Rule> axioms;      ///< That proofs may use.
  std::vector<rewrite::ProvedRule> rules; ///< Those that a pass may use.
};

/// All rules of Divisi that are proved.
Expected<ChosenRules> provedRules();

/// Those of `own`, if there are any, and behind them those of Divisi, without
/// choices of operators, up to the class of that name. Fails with Usage if a
/// search cannot be held to it.
Expected<ChosenRules> searchedRules(llvm::StringRef numericClass,
                                    const SharedRules &own);

} // namespace divisi

#endif // DIVISI_PASSES_REWRITE_SEARCHEDRULES_H
