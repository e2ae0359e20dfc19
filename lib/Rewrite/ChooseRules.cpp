//===- ChooseRules.cpp - The rules to apply -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/Apply.h"
#include "divisi/Rules/Effort.h"

#include "llvm/ADT/STLExtras.h"

using namespace divisi;
using namespace divisi::rewrite;

/// Whether the target takes less somewhere: at some sizes that are tried.
static bool canTakeLess(const ProvedRule &proved, Instantiator &instantiator) {
  bool isLess = false;
  forEfforts(proved, instantiator,
             [&](const Effort &source, const Effort &target) {
               isLess = target < source;
               return !isLess;
             });
  return isLess;
}

/// The rule once for each choice of its operators.
static std::vector<ProvedRule> onePerChoice(const ProvedRule &proved) {
  std::vector<ProvedRule> result;
  for (Rule &rule : divisi::rewrite::withOperators(proved.rule)) {
    result.push_back({std::move(rule), proved.ranks, proved.file});
  }
  return result;
}

std::vector<ProvedRule>
divisi::rewrite::rulesForSearch(const std::vector<ProvedRule> &rules,
                                NumericClass most) {
  std::vector<ProvedRule> chosen;
  for (const ProvedRule &proved : rules) {
    if (proved.rule.numericClass && *proved.rule.numericClass <= most) {
      llvm::append_range(chosen, onePerChoice(proved));
    }
  }
  return chosen;
}

std::vector<ProvedRule>
divisi::rewrite::rulesForAll(const std::vector<ProvedRule> &rules) {
  std::vector<ProvedRule> chosen;
  for (const ProvedRule &proved : rules) {
    if (proved.rule.isAlways) {
      llvm::append_range(chosen, onePerChoice(proved));
    }
  }
  return chosen;
}

Expected<std::vector<ProvedRule>>
divisi::rewrite::chooseRules(const std::vector<ProvedRule> &rules,
                             const std::vector<std::string> &names) {
  Instantiator instantiator;
  std::vector<ProvedRule> chosen;
  auto add = [&](const ProvedRule &proved) {
    std::vector<ProvedRule> each = onePerChoice(proved);
    bool isUseful = canTakeLess(each.front(), instantiator);
    if (isUseful) {
      chosen.insert(chosen.end(), each.begin(), each.end());
    }
    return isUseful;
  };
  if (names.empty()) {
    llvm::for_each(rules, add);
    return chosen;
  }
  for (const std::string &name : names) {
    auto found = llvm::find_if(rules, [&](const ProvedRule &proved) {
      return proved.rule.name == name;
    });
    if (found == rules.end()) {
      return Status(
          ExitCode::Usage,
          "'" + name +
              "' is not a proved rule; docs/rules.md lists those that are");
    }
    if (!add(*found)) {
      return Status(ExitCode::Usage, "the rule '" + name +
                                         "' would loop: at no sizes that were "
                                         "tried its target takes less than "
                                         "its source");
    }
  }
  return chosen;
}
