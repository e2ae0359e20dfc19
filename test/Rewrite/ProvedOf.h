//===- ProvedOf.h - What axioms prove, past all other gates -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_REWRITE_PROVEDOF_H
#define DIVISI_TEST_REWRITE_PROVEDOF_H

#include "divisi/Rewrite/Check.h"

namespace divisi::rewrite {

/// The names of those of `rules` of which some instance is proved.
inline std::vector<std::string> provedOf(const std::vector<Rule> &rules,
                                         const std::vector<Rule> &axioms) {
  Instantiator instantiator;
  std::vector<Obligations> obligations;
  for (const Rule &rule : rules) {
    obligations.push_back(obligationsOf(rule, instantiator));
  }
  Prover prover;
  for (const SymbolicRule &axiom :
       usableAxioms(symbolicAxioms(axioms, rules, instantiator),
                    obligations)) {
    prover.assume(axiom);
  }
  std::vector<std::string> names;
  for (const Obligations &each : obligations) {
    for (const SymbolicRule &rule : each) {
      if (prover.prove(rule).isProved) {
        names.push_back(rule.name + " (" + rule.place + ")");
      }
    }
  }
  return names;
}

} // namespace divisi::rewrite

#endif // DIVISI_TEST_REWRITE_PROVEDOF_H
