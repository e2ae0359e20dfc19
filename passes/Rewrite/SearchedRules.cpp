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

Expected<SearchedRules> divisi::searchedRules(llvm::StringRef numericClass,
                                              const SharedRules &own) {
  std::optional<rewrite::NumericClass> most = parseSearchedClass(numericClass);
  if (!most) {
    return makeError(ExitCode::Usage, "'", numericClass.str(),
                     "' is no class of rules: bit-exact or reassociates");
  }
  auto axioms = rewrite::shippedAxioms();
  if (!axioms) {
    return axioms.status();
  }
  auto proved = rewrite::provedRules(*axioms);
  if (!proved) {
    return proved.status();
  }
  if (own) {
    proved->insert(proved->begin(), own->begin(), own->end());
  }
  return SearchedRules{std::move(*axioms),
                       rewrite::rulesForSearch(*proved, *most)};
}
