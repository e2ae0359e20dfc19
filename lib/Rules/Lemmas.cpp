//===- Lemmas.cpp - Rules that proofs of others use -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/Lemmas.h"

#include <algorithm>
#include <set>

using namespace divisi;
using namespace divisi::rewrite;

/// Why `rule` cannot use `lemma`, which is null if there is none; empty if it
/// can.
static std::string whyNot(const Rule &rule, const Rule *lemma) {
  if (!lemma) {
    return "no rule of that name stands before it in this file";
  }
  if (lemma->isAxiom) {
    return "it is an axiom, which proofs use without being told to";
  }
  if (lemma->open) {
    return "it is marked open, so it is not proved";
  }
  if (rule.numericClass && *lemma->numericClass > *rule.numericClass) {
    return std::string("it is ") + spell(*lemma->numericClass) +
           ", and a rule that is " + spell(*rule.numericClass) +
           " does not follow from that";
  }
  return "";
}

Status divisi::rewrite::checkLemmas(const Rule &rule,
                                    std::span<const Rule> before,
                                    const std::string &file) {
  for (const std::string &name : rule.lemmas) {
    auto found = std::ranges::find(before, name, &Rule::name);
    std::string why = whyNot(rule, found == before.end() ? nullptr : &*found);
    if (!why.empty()) {
      return makeError(ExitCode::Invalid, file, ":", rule.at.line, ":",
                       rule.at.column, ": '", rule.name, "' has the lemma '",
                       name, "': ", why);
    }
  }
  return Status();
}

std::vector<Rule>
divisi::rewrite::withLemmas(const std::vector<Rule> &rules,
                            const std::function<bool(const Rule &)> &wanted) {
  std::set<std::string> needed;
  std::vector<Rule> result;
  // Lemmas stand before what they are for.
  for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
    if (wanted(*rule) || needed.contains(rule->name)) {
      needed.insert(rule->lemmas.begin(), rule->lemmas.end());
      result.push_back(*rule);
    }
  }
  std::ranges::reverse(result);
  return result;
}
