//===- ElementProverTest.cpp - What elements prove, and must not ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows from elements is all that is shipped of some kinds, and nothing
// that is false. What they are: OperatorDefinitionsTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "test/Rules/ParsedRules.h"

#include "divisi/Prove/Check.h"
#include "divisi/Prove/ElementProver.h"
#include "divisi/Rules/Shipped.h"

#include "test/Sample.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace divisi;
using namespace divisi::rewrite;

static std::vector<SymbolicRule> definitionsFor(const std::vector<Rule> &rules,
                                                Instantiator &instantiator) {
  auto axioms = shippedAxioms();
  EXPECT_TRUE(axioms) << axioms.status().message();
  std::erase_if(*axioms, [](const Rule &axiom) { return !axiom.isDefinition; });
  EXPECT_GE(axioms->size(), 22u);
  return symbolicAxioms(*axioms, rules, instantiator);
}

static bool isProved(const Rule &rule, const std::vector<SymbolicRule> &axioms,
                     Instantiator &instantiator) {
  Obligations obligations = obligationsOf(rule, instantiator);
  return !obligations.empty() &&
         std::all_of(obligations.begin(), obligations.end(),
                     [&](const SymbolicRule &each) {
                       return proveByElements(each, axioms).isProved;
                     });
}

TEST(ElementProverTest, ElementsProveNothingFalse) {
  std::vector<Rule> rules = parsedFile(DIVISI_FALSE_RULES);
  ASSERT_GT(rules.size(), 50u);
  // What is only not bit-exact is true.
  std::erase_if(rules, [](const Rule &rule) {
    return !rule.comments.empty() &&
           rule.comments.front() == "refused by its floats";
  });
  rules = test::sampleOf(rules, "false rules");
  Instantiator instantiator;
  auto axioms = definitionsFor(rules, instantiator);
  for (const Rule &rule : rules) {
    for (const SymbolicRule &each : obligationsOf(rule, instantiator)) {
      EXPECT_FALSE(proveByElements(each, axioms).isProved)
          << rule.name << " " << each.place;
    }
  }
}

TEST(ElementProverTest, ElementsProveMostOfWhatIsShipped) {
  auto rules = shippedRules();
  ASSERT_TRUE(rules) << rules.status().message();
  *rules = test::sampleOf(*rules, "shipped rules", 30);
  Instantiator instantiator;
  auto axioms = definitionsFor(*rules, instantiator);
  size_t proved = 0;
  for (const Rule &rule : *rules) {
    proved += isProved(rule, axioms, instantiator);
  }
  EXPECT_GE(proved * 10, rules->size() * 6) << proved;
}

TEST(ElementProverTest, ElementsProveWhatFollowsFromThem) {
  std::vector<Rule> rules = parsedFile(DIVISI_TRUE_RULES);
  ASSERT_GT(rules.size(), 14u);
  Instantiator instantiator;
  auto axioms = definitionsFor(rules, instantiator);
  for (const Rule &rule : rules) {
    EXPECT_FALSE(tryRule(rule, instantiator).refusal) << rule.name;
    EXPECT_TRUE(isProved(rule, axioms, instantiator)) << rule.name;
  }
}
