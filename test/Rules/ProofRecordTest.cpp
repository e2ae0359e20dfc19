//===- ProofRecordTest.cpp - What has been proved, to be kept -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParsedRules.h"

#include "divisi/Rules/Shipped.h"

#include "gtest/gtest.h"

using namespace divisi;
using namespace divisi::rewrite;

/// A rule with two shapes, called `name`.
static std::string ruleText(const std::string &name) {
  return "rule " + name +
         " { summary \"\" shape p, q activation x: float[p..., q...]\n"
         "source { a = neg(x) b = neg(a) return b } target { return x }\n"
         "class bit-exact }\n";
}

static std::vector<Verdict> proved(const std::vector<Rule> &rules,
                                   std::vector<Ranks> ranks) {
  std::vector<Verdict> verdicts(rules.size());
  for (Verdict &verdict : verdicts) {
    verdict.ranks = ranks;
  }
  return verdicts;
}

TEST(ProofRecordTest, KeepsRulesAndRanks) {
  std::vector<Rule> rules = parsed(ruleText("r") + ruleText("s"));
  std::vector<Ranks> some = {{{"p", 0}, {"q", 1}}, {{"p", 2}, {"q", 0}}};
  std::vector<Verdict> verdicts = proved(rules, allRanks(rules[0]));
  verdicts[1].ranks = some;
  std::string text = printRecord(rules, verdicts, {});
  EXPECT_NE(text.find(" at all ranks\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" at p=0,q=1 p=2,q=0\n"), std::string::npos) << text;
  auto read = readRecord(text, rules, {});
  ASSERT_TRUE(read) << read.status().message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].ranks, allRanks(rules[0]));
  EXPECT_EQ((*read)[1].ranks, some);
  EXPECT_EQ(printRecord(rules, verdicts, {}), text);
}

TEST(ProofRecordTest, LeavesOutWhatIsNotProved) {
  std::vector<Rule> rules = parsed(ruleText("r") + ruleText("s"));
  std::vector<Verdict> verdicts = proved(rules, allRanks(rules[0]));
  verdicts[0].status = RuleStatus::Tested;
  auto read = readRecord(printRecord(rules, verdicts, {}), rules, {});
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0].rule.name, "s");
}

static std::string failure(const std::string &text,
                           const std::vector<Rule> &rules,
                           const std::vector<Rule> &axioms) {
  auto read = readRecord(text, rules, axioms);
  return read ? "no failure" : read.status().message();
}

TEST(ProofRecordTest, RefusesOtherTexts) {
  std::vector<Rule> rules = parsed(ruleText("r"));
  std::string text = printRecord(rules, proved(rules, {}), {});
  std::string again = "; write it again with divisi prove --record";
  std::vector<Rule> changed = rules;
  changed[0].summary = "another";
  EXPECT_EQ(failure(text, changed, {}),
            "the record of proofs is not of the rule 'r' as it is now" + again);
  EXPECT_EQ(failure(text, rules, rules),
            "the record of proofs is not of these axioms" + again);
  EXPECT_EQ(failure(text, {}, {}), "the record of proofs is not of these "
                                   "rules: there is no 'r'" +
                                       again);
  EXPECT_EQ(failure("", rules, {}),
            "the record of proofs is not of these axioms" + again);
}

TEST(ProofRecordTest, IsOfTheRulesOfDivisi) {
  auto rules = provedRules();
  ASSERT_TRUE(rules) << rules.status().message();
  EXPECT_GE(rules->size(), 20u);
}
