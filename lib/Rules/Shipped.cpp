//===- Shipped.cpp - Rules and axioms shipped with Divisi -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/Shipped.h"

#include "divisi/Rules/RuleText.h"

using namespace divisi;
using namespace divisi::rewrite;

/// Of the files whose path begins with `folder` and has no other one.
static Expected<std::vector<Rule>> parseFolder(std::string_view folder) {
  std::vector<Rule> all;
  for (const RuleFile &file : shippedFiles()) {
    if (file.path.substr(0, file.path.rfind('/') + 1) != folder) {
      continue;
    }
    auto rules = parseRules(file.text, std::string(file.path));
    if (!rules) {
      return rules;
    }
    for (Rule &rule : *rules) {
      all.push_back(std::move(rule));
    }
  }
  return all;
}

Expected<std::vector<Rule>> divisi::rewrite::shippedRules() {
  return parseFolder("rules/");
}

Expected<std::vector<Rule>> divisi::rewrite::shippedAxioms() {
  return parseFolder("rules/axioms/");
}

Expected<std::vector<ProvedRule>> divisi::rewrite::provedRules() {
  auto axioms = shippedAxioms();
  return axioms ? provedRules(*axioms) : axioms.status();
}

Expected<std::vector<ProvedRule>>
divisi::rewrite::provedRules(const std::vector<Rule> &axioms) {
  auto rules = shippedRules();
  return rules ? readRecord(shippedRecord(), *rules, axioms) : rules.status();
}
