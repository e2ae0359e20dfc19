//===- ProvedRanks.h - At which ranks a rule is proved ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_PROVEDRANKS_H
#define DIVISI_LIB_PROVE_PROVEDRANKS_H

#include "divisi/Prove/ChildProver.h"

namespace divisi::rewrite {

/// Those ranks at which there is an obligation for each choice of operators and
/// types.
std::vector<Ranks> ranksToProve(const Rule &rule,
                                const Obligations &obligations);

/// Those of `ranks` at which all obligations are proved.
std::vector<Ranks> provedRanks(const std::vector<Ranks> &ranks,
                               const Obligations &obligations,
                               const ProofResult &proof);

/// Some ranks of a rule's shapes, as conditions where one says that:
/// `rank(p) <= 2`, or `rank(p) == 0, rank(q) == 1; rank(p) == 1, rank(q) == 1`.
std::string describeRanks(const std::vector<Ranks> &ranks);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_PROVEDRANKS_H
