//===- ProverTest.cpp - What axioms prove, and what they must not ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules that are false, given to the prover past the gates that refuse them:
// what it proves is wrong. It is asked about all of them by `make prove`, about
// a share otherwise.
//
//===----------------------------------------------------------------------===//

#include "ProvedOf.h"
#include "test/Rules/ParsedRules.h"

#include "divisi/Prove/Check.h"
#include "divisi/Rules/Shipped.h"

#include "test/Sample.h"

#include "gtest/gtest.h"

#include <csignal>

using namespace divisi;
using namespace divisi::rewrite;

static std::vector<Rule> falseRules() { return parsedFile(DIVISI_FALSE_RULES); }

TEST(ProverTest, AxiomsProveNothingFalse) {
  auto axioms = shippedAxioms();
  ASSERT_TRUE(axioms) << axioms.status().message();
  std::vector<Rule> rules = falseRules();
  ASSERT_GT(rules.size(), 50u);
  // What is only not bit-exact is true.
  std::erase_if(rules, [](const Rule &rule) {
    return !rule.comments.empty() &&
           rule.comments.front() == "refused by its floats";
  });
  // Each takes seconds: `make prove` asks all.
  rules = test::sampleOf(test::sampleOf(rules, "false rules"), "of axioms", 2);
  Instantiator instantiator;
  EXPECT_EQ(provedOf(rules, symbolicAxioms(*axioms, rules, instantiator),
                     kAllSteps, kWorkForNo),
            std::vector<std::string>());
}

/// The obligations of a rule of Divisi, and the axioms for it.
struct Question {
  std::vector<SymbolicRule> axioms;
  Obligations obligations;

  UsableAxioms usable() const {
    return [this](size_t, size_t) { return axioms; };
  }
};

/// About a rule that is proved by axioms.
static const Question &factorSum() {
  static const Question question = [] {
    Question asked;
    auto rules = shippedRules();
    auto axioms = shippedAxioms();
    EXPECT_TRUE(rules && axioms);
    std::erase_if(*rules,
                  [](const Rule &rule) { return rule.name != "factor-sum"; });
    Instantiator instantiator;
    asked.obligations = obligationsOf(rules->at(0), instantiator);
    asked.axioms = usableAxioms(
        symbolicAxioms(axiomsWithin(*axioms, *rules), *rules, instantiator),
        {asked.obligations});
    return asked;
  }();
  return question;
}

TEST(ProverTest, TimeThatIsUpIsNoProof) {
  const Question &question = factorSum();
  ProofLimits limits;
  limits.seconds = 0;
  size_t count = 0;
  proveInChildren(question.axioms, question.usable(),
                  {question.obligations, question.obligations}, limits,
                  [&](const ProofResult &result) {
                    EXPECT_FALSE(result.isProved);
                    EXPECT_EQ(result.open,
                              "the prover was stopped, for it took too long");
                    ++count;
                  });
  EXPECT_EQ(count, 2u);
}

TEST(ProverTest, WorkThatIsUsedUpIsNoProof) {
  const Question &question = factorSum();
  ProofLimits limits;
  limits.work = 100;
  proveInChildren(
      question.axioms, question.usable(), {question.obligations}, limits,
      [&](const ProofResult &result) {
        EXPECT_FALSE(result.isProved);
        EXPECT_NE(
            result.open.find("the work that may be done for it was used up"),
            std::string::npos)
            << result.open;
      });
}

TEST(ProverTest, ProcessThatIsKilledIsNoProofOfItsRuleAlone) {
  const Question &question = factorSum();
  size_t count = test::isSweep() ? 5 : 3;
  std::vector<Obligations> many(count, question.obligations);
  auto usable = [&](size_t number, size_t) {
    if (number == count / 2) {
      raise(SIGKILL);
    }
    return question.axioms;
  };
  for (size_t jobs : {1, 3}) {
    if (jobs == 1 && !test::isSweep()) {
      continue;
    }
    ProofLimits limits;
    limits.jobs = jobs;
    std::string proved;
    proveInChildren(
        question.axioms, usable, many, limits, [&](const ProofResult &result) {
          proved += result.isProved ? '1' : '0';
          EXPECT_EQ(result.open, result.isProved ? ""
                                                 : "the prover's process has "
                                                   "ended");
        });
    std::string expected(count, '1');
    expected[count / 2] = '0';
    EXPECT_EQ(proved, expected);
  }
}

TEST(ProverTest, AxiomsDoNotMakeAllEqual) {
  if (!test::isSweep()) {
    GTEST_SKIP() << "it takes half a minute to assume all axioms at a rank";
  }
  auto axioms = shippedAxioms();
  ASSERT_TRUE(axioms);
  Instantiator instantiator;
  Prover prover(kWorkForNo);
  for (const SymbolicRule &axiom : symbolicAxioms(*axioms, {}, instantiator)) {
    prover.assume(axiom);
  }
  for (size_t rank = 0; rank != 5; ++rank) {
    EXPECT_FALSE(prover.proveAllEqual(rank).isProved) << rank;
  }
}
