//===- Check.h - Checking rules by all gates --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PROVE_CHECK_H
#define DIVISI_PROVE_CHECK_H

#include "divisi/Prove/ChildProver.h"
#include "divisi/Prove/Trial.h"
#include "divisi/Rules/Rule.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// Passes rules through all gates, in their order; `done` gets each verdict as
/// soon as it is known. Axioms of `rules` are tried at all small sizes.
void checkRules(const std::vector<Rule> &rules, const std::vector<Rule> &axioms,
                const ProofLimits &limits,
                const std::function<void(const Verdict &)> &done);

/// What has to be proved for `rule`: at all ranks, types and operators.
Obligations obligationsOf(const Rule &rule, Instantiator &instantiator);

/// `axioms` at all ranks, operators, and those types that `rules` name.
std::vector<SymbolicRule> symbolicAxioms(const std::vector<Rule> &axioms,
                                         const std::vector<Rule> &rules,
                                         Instantiator &instantiator);

/// The same of those of `axioms` that are definitions.
std::vector<SymbolicRule> symbolicDefinitions(std::vector<Rule> axioms,
                                              const std::vector<Rule> &rules,
                                              Instantiator &instantiator);

/// Proves each of `rules`, of which `obligations` say what has to be, as
/// `limits` say; gives the results to `done`, in order. The caller has no other
/// threads.
void proveRules(const std::vector<Rule> &rules,
                const std::vector<Obligations> &obligations,
                const std::vector<Rule> &axioms, const ProofLimits &limits,
                Instantiator &instantiator,
                const std::function<void(const ProofResult &)> &done);

/// Those of `axioms`, one for each operator that they are about, whose
/// operators stand in `rules` or are brought in by others of them: no others
/// can be used in a proof of those.
std::vector<Rule> axiomsWithin(const std::vector<Rule> &axioms,
                               const std::vector<Rule> &rules);

/// Those of `axioms` that can be used in a proof of `rules`, in their order:
/// those about functions that stand there, or that up to `steps` such axioms,
/// one behind the other, bring in.
std::vector<SymbolicRule> usableAxioms(const std::vector<SymbolicRule> &axioms,
                                       const std::vector<Obligations> &rules,
                                       size_t steps = kAllSteps);

} // namespace divisi::rewrite

#endif // DIVISI_PROVE_CHECK_H
