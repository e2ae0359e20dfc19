//===- ProofRecord.h - The record of proofs ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler applies rules without proving them again. The record lists what
// was proved, with a hash of the text of each rule and of all axioms:
//
//   axioms 5f0c...
//   merge-matmuls-of-one-input 9a31... at all ranks
//   softmax-of-parts 77b0... at p=0,q=1 p=1,q=1
//
// A record does not fit rules or axioms that have changed since.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_PROOFRECORD_H
#define DIVISI_RULES_PROOFRECORD_H

#include "divisi/Rules/Assignment.h"
#include "divisi/Rules/Rule.h"
#include "divisi/Rules/Verdict.h"
#include "divisi/Support/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace divisi::rewrite {

/// A rule that may be applied, and where.
struct ProvedRule {
  Rule rule;                ///< As it was proved.
  std::vector<Ranks> ranks; ///< Of its shapes: at these it is proved.
  std::string file = {};    ///< Of a user; empty: it is one of Divisi.
};

/// The record of those of `rules` that `verdicts`, one for each, say are proved
/// from `axioms`.
std::string printRecord(const std::vector<Rule> &rules,
                        const std::vector<Verdict> &verdicts,
                        const std::vector<Rule> &axioms);

/// Those of `rules` that the record says are proved, in their order. Fails with
/// Invalid if it is not about these texts, or cannot be read.
Expected<std::vector<ProvedRule>> readRecord(std::string_view record,
                                             const std::vector<Rule> &rules,
                                             const std::vector<Rule> &axioms);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_PROOFRECORD_H
