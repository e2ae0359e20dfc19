//===- RuleText.h - Rules as text -------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_RULETEXT_H
#define DIVISI_RULES_RULETEXT_H

#include "divisi/Rules/Rule.h"
#include "divisi/Support/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace divisi::rewrite {

/// The rules and axioms of a text, in its order. Every name in them is declared
/// and every declaration is used. Fails with Invalid and a message that begins
/// with `file`, line and column.
Expected<std::vector<Rule>> parseRules(std::string_view text,
                                       const std::string &file);

/// The same of a file; `-` is standard input. Fails with File too.
Expected<std::vector<Rule>> readRuleFile(const std::string &path);

/// The one way to write a rule: what it gives is read as the same rule, and a
/// text that it gave is given again.
std::string printRule(const Rule &rule);
/// The same of several, with a line between them.
std::string printRules(const std::vector<Rule> &rules);

/// An expression as printRule has it, with the fewest parentheses.
std::string printExpr(const Expr &expr);
/// The value of an attribute as printRule has it; reals read back exactly.
std::string printValue(const Value &value);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_RULETEXT_H
