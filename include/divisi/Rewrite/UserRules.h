//===- UserRules.h - Rules of a user's own ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A user's rules are applied like those of Divisi once they are proved. The
// prover is a program of its own, which is asked about a rule once: its proof
// is kept in the user's cache, by the text of the rule, the axioms and the
// prover.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_REWRITE_USERRULES_H
#define DIVISI_REWRITE_USERRULES_H

#include "divisi/Rules/ProofRecord.h"
#include "divisi/Support/Status.h"

#include <string>
#include <vector>

namespace divisi::rewrite {

/// The rules of some files, all of them proved.
struct UserRules {
  /// Those by which something can take less, in the order of the files, one for
  /// each choice of operators.
  std::vector<ProvedRule> rules;
  std::vector<std::string> idle; ///< The names of the others.
  size_t proved = 0;             ///< How many were proved now.
};

/// The rules of the files `paths`; what the cache does not have is proved by
/// the program `prover`, which is divisi-rules. Fails with File for files that
/// cannot be read, the prover among them; with Invalid and Usage for what no
/// rule is; and with Differs for a rule that is not proved, saying why.
Expected<UserRules> proveUserRules(const std::vector<std::string> &paths,
                                   const std::string &prover);

} // namespace divisi::rewrite

#endif // DIVISI_REWRITE_USERRULES_H
