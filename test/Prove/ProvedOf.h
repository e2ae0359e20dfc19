//===- ProvedOf.h - What axioms prove, past all other gates -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_PROVE_PROVEDOF_H
#define DIVISI_TEST_PROVE_PROVEDOF_H

#include "divisi/Prove/Check.h"

namespace divisi::rewrite {

/// Of Z3's work for a question whose answer has to be no, which takes all of
/// it: proofs that are found are found with far less.
inline constexpr unsigned kWorkForNo = kDefaultWork / 8;

/// The names of those of `rules` of which some instance is proved, each from
/// those of `axioms` that can be used for it within so many steps.
inline std::vector<std::string>
provedOf(const std::vector<Rule> &rules,
         const std::vector<SymbolicRule> &axioms, size_t steps, unsigned work) {
  Instantiator instantiator;
  std::vector<std::string> names;
  for (const Rule &rule : rules) {
    Obligations obligations = obligationsOf(rule, instantiator);
    Prover prover(work);
    for (const SymbolicRule &axiom :
         usableAxioms(axioms, {obligations}, steps)) {
      prover.assume(axiom);
    }
    for (const SymbolicRule &each : obligations) {
      if (prover.prove(each).isProved) {
        names.push_back(rule.name + " (" + each.place + ")");
      }
    }
  }
  return names;
}

} // namespace divisi::rewrite

#endif // DIVISI_TEST_PROVE_PROVEDOF_H
