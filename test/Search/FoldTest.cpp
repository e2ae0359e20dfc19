//===- FoldTest.cpp - Nodes that are alike, solved together first ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"
#include "CaseCount.h"

#include "lib/Search/Fold/FoldedSearch.h"
#include "test/Sample.h"

#include <gtest/gtest.h>

using namespace divisi::search;

/// Ties nodes of equally many strategies to each other, at random: nothing says
/// that they are alike.
static Ties randomTies(const Problem &problem, Dice &dice) {
  Ties ties;
  for (uint32_t i = 0; i != problem.nodes.size(); ++i) {
    ties.leader.push_back(i);
    for (uint32_t j = 0; j != i && !dice.oneIn(3); ++j) {
      if (ties.leader[j] == j &&
          problem.nodes[j].costs.size() == problem.nodes[i].costs.size()) {
        ties.leader[i] = j;
      }
    }
  }
  return ties;
}

/// Of few blocks, some of whose costs and usages differ; with a limit, and ties
/// that are right or random.
static Blocks unevenBlocks(uint64_t seed) {
  Dice dice(seed);
  Blocks blocks = blocksOf(2 + dice.below(2u), 1 + dice.below(2u), 2, seed);
  Problem &problem = blocks.problem;
  for (Node &node : problem.nodes) {
    if (dice.oneIn(4)) {
      node.costs[dice.below(2)] += dice.below(90);
      node.usages[dice.below(2)] += dice.below(90);
    }
  }
  if (dice.oneIn(2)) {
    problem = withMoreMemory(std::move(problem), seed);
  }
  LimitKind kind = kLimitKinds[dice.below(std::size(kLimitKinds))];
  problem.usageLimit = limitOf(kind, bruteForce(problem), dice);
  if (dice.oneIn(3)) {
    blocks.ties = randomTies(problem, dice);
  }
  return blocks;
}

static Options briefly(Ties ties = {}) {
  Options options;
  options.work = 3'000'000;
  options.ties = std::move(ties);
  return options;
}

// Whatever is tied to whatever: answers, bounds and verdicts stay true.
TEST(Fold, AnyTiesAreAHintAlone) {
  CaseCount cases("problems with random ties");
  unsigned folded = 0, solved = 0;
  const uint64_t all = divisi::test::sampleSize<uint64_t>(1200, 60);
  for (uint64_t seed = 0; seed != all; ++seed, ++cases) {
    Dice dice(seed);
    auto [problem, ties] = unevenBlocks(seed);
    if (seed % 2 == 0) {
      problem = limitedProblem(seed, 400, seed % 3 == 0);
      ties = randomTies(problem, dice);
    }
    Reference reference = bruteForce(problem);
    Options options = briefly(ties);
    ASSERT_EQ(validate(problem, options.ties), std::nullopt) << seed;
    Reduction reduction = reduce(problem);
    if (!reduction.emptied) {
      ReducedGraph reduced = buildReducedGraph(problem, reduction);
      if (!reduced.overfull) {
        std::vector<uint32_t> classes =
            classesOf(options.ties, reduction, reduced);
        folded +=
            !classes.empty() && std::ranges::max(classes) + 1 != classes.size();
      }
    }
    Outcome outcome = solveAuto(problem, options);
    ASSERT_NE(outcome.verdict, Verdict::NotFound) << seed;
    ASSERT_EQ(outcome.verdict == Verdict::Solved, reference.optimum.has_value())
        << seed;
    if (!reference.optimum) {
      continue;
    }
    ++solved;
    ASSERT_EQ(check(problem, outcome.solution), std::nullopt) << seed;
    ASSERT_GE(outcome.solution.cost, *reference.optimum) << seed;
    ASSERT_LE(outcome.solution.lowerBound, *reference.optimum) << seed;
    if (outcome.stopped == Stopped::Finished &&
        outcome.solution.lowerBound == outcome.solution.cost) {
      ASSERT_EQ(outcome.solution.cost, *reference.optimum) << seed;
    }
    options.threads = 2;
    Outcome again = solveAuto(problem, options);
    ASSERT_EQ(again.solution.assignment, outcome.solution.assignment) << seed;
    ASSERT_EQ(again.solution.certificate, outcome.solution.certificate) << seed;
  }
  EXPECT_GT(folded, all / 6);
  EXPECT_GT(solved, all / 2);
}

// An assignment in which a class agrees costs and uses the same, folded.
TEST(Fold, CostsAndUsesWhatTheWholeDoes) {
  CaseCount cases("folded assignments");
  for (uint64_t seed = 0; seed != 600; ++seed) {
    Problem problem = limitedProblem(seed, 2000, true);
    Reduction reduction = reduce(problem);
    if (reduction.emptied) {
      continue;
    }
    ReducedGraph reduced = buildReducedGraph(problem, reduction);
    if (reduced.overfull) {
      continue;
    }
    if (std::ranges::any_of(problem.nodes, [](const Node &node) {
          return node.costs[0] < kInfeasible &&
                 std::abs(node.costs[0]) > 1'000'000;
        })) {
      continue; // Sums of doubles would differ in their last digits.
    }
    Dice dice(seed);
    const CostGraph &whole = reduced.graph();
    Fold fold(whole, classesOf(randomTies(problem, dice), reduction, reduced));
    for (int i = 0; i != 10; ++i, ++cases) {
      Assignment assignment;
      for (const Variable &variable : fold.graph().variables) {
        assignment.push_back(dice.below(uint32_t(variable.costs.size())));
      }
      Value folded = valueOf(fold.graph(), assignment);
      Assignment unfolded = fold.unfold(assignment);
      Value value = valueOf(whole, unfolded);
      ASSERT_EQ(folded.cost >= kForbidden, value.cost >= kForbidden) << seed;
      if (value.cost < kForbidden) {
        ASSERT_DOUBLE_EQ(folded.cost, value.cost) << seed;
      }
      ASSERT_DOUBLE_EQ(folded.excess, value.excess) << seed;
    }
  }
}

// Without a limit copies are alike to the dual, so what the folded problem
// proves is proved of the whole at once.
TEST(Fold, SolvesBlocksAsOne) {
  CaseCount cases("problems of blocks");
  for (uint32_t count : {4u, 8u, 24u}) {
    for (uint64_t seed = 0; seed != 8; ++seed, ++cases) {
      auto [problem, ties] = blocksOf(count, 4, 5, seed);
      Outcome free = solveAuto(problem), tied;
      Options options;
      options.ties = ties;
      tied = solveAuto(problem, options);
      ASSERT_EQ(check(problem, tied.solution), std::nullopt);
      EXPECT_EQ(free.solution.cost, tied.solution.cost) << count << " " << seed;
      EXPECT_EQ(tied.solution.lowerBound, tied.solution.cost);
      EXPECT_EQ(tied.stopped, Stopped::Finished);
    }
  }
}

// A limit that copies share is used up only if they differ.
TEST(Fold, GoesOnWhereCopiesHaveToDiffer) {
  CaseCount cases("problems of blocks with a limit");
  uint64_t seeds = divisi::test::sampleSize<uint64_t>(3);
  for (uint32_t count : {4u, 8u}) {
    for (uint64_t seed = 0; seed != seeds; ++seed, ++cases) {
      auto [problem, ties] = blocksOf(count, 3, 3, seed);
      problem.usageLimit = int64_t(solveAuto(problem).solution.peak) * 8 / 10;
      Outcome free = solveAuto(problem);
      Options options;
      options.ties = ties;
      Outcome tied = solveAuto(problem, options);
      ASSERT_EQ(check(problem, tied.solution), std::nullopt);
      EXPECT_EQ(free.solution.cost, tied.solution.cost) << count << " " << seed;
      EXPECT_EQ(free.stopped, Stopped::Finished);
      EXPECT_EQ(tied.stopped, Stopped::Finished);
    }
  }
}

// A certificate of a folded dual is one of the whole: one whose potentials were
// divided by another number, or taken for one copy more, proves no more.
TEST(Fold, NoOtherMultiplicityProvesMore) {
  CaseCount cases("mutated certificates of folded problems");
  unsigned refused = 0;
  for (uint64_t seed = 0; seed != 16; ++seed) {
    auto [problem, ties] = blocksOf(5, 3, 3, seed);
    if (seed % 2 == 1) {
      problem.usageLimit = int64_t(solveAuto(problem).solution.peak) * 9 / 10;
    }
    Options options;
    options.ties = ties;
    Outcome outcome = solveAuto(problem, options);
    ASSERT_EQ(outcome.verdict, Verdict::Solved);
    Dice dice(seed);
    for (int tries = 0; tries != 80; ++tries, ++cases) {
      Solution wrong = outcome.solution;
      BoundNode &node =
          wrong.certificate.tree[dice.below(wrong.certificate.tree.size())];
      if (node.potentials.empty()) {
        continue;
      }
      size_t begin = dice.below(node.potentials.size());
      size_t end = begin + 1 + dice.below(node.potentials.size() - begin);
      auto factor = int64_t(2 + dice.below(5));
      for (size_t i = begin; i != end; ++i) {
        node.potentials[i] = node.potentials[i] * factor / (factor - 1);
      }
      auto proved = provedBound(problem, wrong.certificate);
      ASSERT_TRUE(proved && *proved) << seed;
      ASSERT_LE(**proved, outcome.solution.cost) << seed;
      bool changed = **proved != wrong.lowerBound;
      refused += changed;
      ASSERT_EQ(check(problem, wrong).has_value(), changed) << seed;
    }
  }
  EXPECT_GT(refused, 200u);
}

TEST(Fold, TiesThatDoNotFit) {
  Problem problem = blocksOf(2, 1, 2, 1).problem;
  problem.nodes[3] = {.costs = {1}, .usages = {1}, .live = {}};
  problem.edges.clear();
  auto wrong = [&](std::vector<uint32_t> leader) {
    return validate(problem, Ties{std::move(leader)}).value_or("none");
  };
  EXPECT_EQ(wrong({}), "none");
  EXPECT_EQ(wrong({0, 1, 0, 3}), "none");
  EXPECT_EQ(wrong({0}), "ties are of 1 nodes, expected 4");
  EXPECT_EQ(wrong({0, 1, 7, 3}), "node 2 is tied to node 7, of 4");
  EXPECT_EQ(wrong({0, 0, 1, 3}),
            "node 2 is tied to node 1, which is tied to another itself, node "
            "0");
  EXPECT_EQ(wrong({0, 1, 0, 1}),
            "node 3 is tied to node 1, but has 1 strategies where that has 2");
  Options options;
  options.ties.leader = {0};
  Outcome outcome = solveAuto(problem, options);
  EXPECT_EQ(outcome.verdict, Verdict::NotFound);
  EXPECT_EQ(outcome.message, "ties are of 1 nodes, expected 4");
}
