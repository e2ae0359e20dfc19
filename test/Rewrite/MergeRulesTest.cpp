//===- MergeRulesTest.cpp - Rules about two operators, for more -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/MergeRules.h"

#include "divisi/Prove/Check.h"
#include "divisi/Rules/RuleText.h"
#include "divisi/Rules/Shipped.h"
#include "test/Rules/ParsedRules.h"

#include "gtest/gtest.h"

#include <sstream>

using namespace divisi;
using namespace divisi::rewrite;

static const Rule &named(const std::vector<Rule> &rules,
                         const std::string &name) {
  return *std::find_if(rules.begin(), rules.end(),
                       [&](const Rule &rule) { return rule.name == name; });
}

// Whoever proves the rule about two need not prove the others; here they are.
TEST(MergeRulesTest, WhatFollowsForMoreIsProved) {
  auto rules = shippedRules();
  auto axioms = shippedAxioms();
  ASSERT_TRUE(rules && axioms);
  std::vector<std::string> merging;
  std::vector<Rule> more;
  for (const Rule &rule : *rules) {
    if (mergesTwo(rule)) {
      merging.push_back(rule.name);
      for (size_t count : {2, 3, 4}) {
        auto merged = mergeOf(rule, count);
        ASSERT_TRUE(merged) << rule.name;
        more.push_back(parsed(printRule(*merged))[0]);
      }
    }
  }
  EXPECT_EQ(merging,
            (std::vector<std::string>{
                "merge-matmuls-of-one-input", "stack-matmuls-of-one-input",
                "merge-matmuls-by-rows-of-weights",
                "stack-matmuls-by-rows-of-weights", "merge-parallel-convs"}));
  size_t proved = 0;
  ProofLimits limits;
  limits.byElements = true;
  checkRules(more, *axioms, limits, [&](const Verdict &verdict) {
    EXPECT_EQ(verdict.status, RuleStatus::Proved)
        << verdict.rule << ": " << verdict.open
        << (verdict.refusal ? verdict.refusal->reason : "");
    ++proved;
  });
  EXPECT_EQ(proved, more.size());
}

TEST(MergeRulesTest, WhatIsJoinedIsAsManyAndLast) {
  auto rules = shippedRules();
  ASSERT_TRUE(rules);
  auto merged = mergeOf(named(*rules, "merge-matmuls-of-one-input"), 3);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->name, "merge-matmuls-of-one-input-3");
  std::ostringstream names;
  for (const Variable &variable : merged->variables) {
    names << variable.name << " ";
  }
  EXPECT_EQ(names.str(), "x v_1 v_2 v_3 ");
  const Graph &target = merged->target;
  EXPECT_EQ(target.nodes[0].op, "concat");
  EXPECT_EQ(target.nodes[0].operands,
            (std::vector<std::string>{"v_1", "v_2", "v_3"}));
  EXPECT_EQ(target.results.size(), 3u);
  const auto &starts = std::get<Items>(target.nodes[4].attributes[0].second);
  EXPECT_EQ(printExpr(starts[2].value), "a_1 + a_2");
}

static std::string joining(const std::string &where, const std::string &source,
                           const std::string &target) {
  return "rule r {\n  summary \"s\"\n  size m, k, a, c\n"
         "  activation x: float[m, k]\n  weight v: float[k, a]\n"
         "  weight w: float[k, c]\n" +
         where + "  source {\n" + source +
         "    return s, t\n  }\n  target {\n" + target +
         "    return s, t\n  }\n  class reassociates\n}\n";
}

TEST(MergeRulesTest, OtherRulesMergeNothing) {
  const std::string source = "    s = matmul(x, v) {labels = \"mk,kn->mn\"}\n"
                             "    t = matmul(x, w) {labels = \"mk,kn->mn\"}\n",
                    target =
                        "    j = concat(v, w) {axis = 1}\n"
                        "    z = matmul(x, j) {labels = \"mk,kn->mn\"}\n"
                        "    s = slice(z) {starts = [0, 0], limits = [m, a], "
                        "steps = [1, 1]}\n"
                        "    t = slice(z) {starts = [0, a], limits = [m, a + "
                        "c], steps = [1, 1]}\n";
  EXPECT_TRUE(mergeOf(parsed(joining("", source, target))[0], 3));
  // Of two, and no condition on what is joined.
  EXPECT_FALSE(mergeOf(parsed(joining("", source, target))[0], 1));
  EXPECT_FALSE(
      mergeOf(parsed(joining("  where a <= 64\n", source, target))[0], 3));
  // Nothing is concatenated.
  const std::string apart = "    t = matmul(x, w) {labels = \"mk,kn->mn\"}\n"
                            "    u = neg(x)\n    y = neg(u)\n"
                            "    s = matmul(y, v) {labels = \"mk,kn->mn\"}\n";
  EXPECT_FALSE(mergeOf(parsed(joining("", source, apart))[0], 3));
  auto rules = shippedRules();
  ASSERT_TRUE(rules);
  EXPECT_FALSE(mergesTwo(named(*rules, "relu-of-relu")));
  EXPECT_FALSE(mergesTwo(named(*rules, "parts-of-joined")));
  EXPECT_FALSE(mergesTwo(named(*rules, "merge-three-matmuls-of-one-input")));
}
