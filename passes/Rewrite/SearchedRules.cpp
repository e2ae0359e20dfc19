//===- SearchedRules.cpp - The rules among which searches choose ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Rewrite/SearchedRules.h"

#include "divisi/Rewrite/Apply.h"
#include "divisi/Rules/Shipped.h"

using namespace divisi;

std::optional<rewrite::NumericClass>
divisi::parseSearchedClass(llvm::StringRef name) {
  for (auto each :
       {rewrite::NumericClass::BitExact, rewrite::NumericClass::Reassociates}) {
    if (name == rewrite::spell(each)) {
      return each;
    }
  }
  return std::nullopt;
}

Expected<ChosenRules> divisi::provedRules() {
  auto axioms = rewrite::shippedAxioms();
  if (!axioms) {
    return axioms.status();
  }
  auto proved = rewrite::provedRules(*axioms);
  if (!proved) {
    return proved.status();
  }
  return ChosenRules{std::move(*axioms), std::move(*proved)};
}

Expected<ChosenRules> divisi::searchedRules(llvm::StringRef numericClass,
                                            const SharedRules &own) {
  std::optional<rewrite::NumericClass> most = parseSearchedClass(numericClass);
  if (!most) {
    return makeError(ExitCode::Usage, "'", numericClass.str(),
                     "' is no class of rules: bit-exact or reassociates");
  }
  Expected<ChosenRules> chosen = provedRules();
  if (!chosen) {
    return chosen;
  }
  std::vector<rewrite::ProvedRule> &rules = chosen->rules;
  if (own) {
    rules.insert(rules.begin(), own->begin(), own->end());
  }
  rules = rewrite::rulesForSearch(rules, *most);
  return chosen;
}
