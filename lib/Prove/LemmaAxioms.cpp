//===- LemmaAxioms.cpp - Rules that proofs of others use ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/LemmaAxioms.h"

using namespace divisi::rewrite;

static std::set<std::string> lemmasOf(const std::vector<Rule> &rules) {
  std::set<std::string> names;
  for (const Rule &rule : rules) {
    names.insert(rule.lemmas.begin(), rule.lemmas.end());
  }
  return names;
}

LemmaAxioms::LemmaAxioms(const std::vector<Rule> &rules) {
  std::set<std::string> names = lemmasOf(rules);
  for (const Rule &rule : rules) {
    if (!names.contains(rule.name)) {
      continue;
    }
    if (rule.numericClass == NumericClass::BitExact) {
      exact_.insert(rule.name);
    }
    Rule &lemma = all_[rule.name] = rule;
    lemma.isAxiom = lemma.isForward = true;
    lemma.numericClass.reset();
  }
}

std::vector<Rule> LemmaAxioms::of(const std::vector<Rule> &rules) const {
  std::vector<Rule> result;
  for (const std::string &name : lemmasOf(rules)) {
    if (auto found = all_.find(name); found != all_.end()) {
      result.push_back(found->second);
    }
  }
  return result;
}

/// Why a lemma is none; empty if it is one.
static std::string whyNot(const Verdict &lemma) {
  if (lemma.status != RuleStatus::Proved) {
    return "is not proved";
  }
  return lemma.where.empty()
             ? ""
             : "is proved only where " + lemma.where + "; say that in it, too";
}

void divisi::rewrite::refuseWithoutLemmas(const std::vector<Rule> &rules,
                                          std::vector<Verdict> &verdicts,
                                          size_t number) {
  for (const std::string &name : rules[number].lemmas) {
    auto found = std::ranges::find(rules, name, &Rule::name);
    std::string why = found == rules.end()
                          ? "is not proved"
                          : whyNot(verdicts[size_t(found - rules.begin())]);
    if (!why.empty() && !verdicts[number].refusal) {
      verdicts[number].status = RuleStatus::Refused;
      verdicts[number].refusal =
          Refusal{Gate::Proof, "its lemma '" + name + "' " + why};
    }
  }
}
