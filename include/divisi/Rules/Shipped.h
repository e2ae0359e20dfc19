//===- Shipped.h - Rules and axioms shipped with Divisi ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_SHIPPED_H
#define DIVISI_RULES_SHIPPED_H

#include "divisi/Rules/ProofRecord.h"
#include "divisi/Rules/Rule.h"
#include "divisi/Support/Status.h"

#include <string_view>
#include <vector>

namespace divisi::rewrite {

/// A file of rules/ as it was when this was built.
struct RuleFile {
  std::string_view path; ///< `rules/axioms/elementwise.rules`
  std::string_view text; ///< All of it.
};

/// All of them, by path.
std::vector<RuleFile> shippedFiles();

/// The rules of rules/, by file. Fails as parseRules does.
Expected<std::vector<Rule>> shippedRules();
/// The axioms of rules/axioms/, by file. Fails as parseRules does.
Expected<std::vector<Rule>> shippedAxioms();

/// rules/proofs.txt as it was when this was built.
std::string_view shippedRecord();

/// The rules of rules/ that are proved, and at which ranks. Fails with Invalid
/// where the record is not of these rules and axioms.
Expected<std::vector<ProvedRule>> provedRules();
/// The same where the axioms were read already.
Expected<std::vector<ProvedRule>> provedRules(const std::vector<Rule> &axioms);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_SHIPPED_H
