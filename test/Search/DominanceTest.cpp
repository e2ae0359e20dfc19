//===- DominanceTest.cpp - Which states are dominated ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Search/Reduction/Dominance.h"

#include "SmallGraphs.h"

#include "divisi/Search/Solvers.h"

#include <gmock/gmock.h>

using namespace divisi::search;
using testing::ElementsAre;

namespace {
struct Left {
  std::vector<std::vector<uint32_t>> states;
  std::vector<Dominated> removed;
};
} // namespace

static Left removeFrom(const CostGraph &graph) {
  Domains domains(graph);
  Left left;
  left.removed = removeDominated(graph, domains);
  for (uint32_t v = 0; v != domains.size(); ++v) {
    left.states.emplace_back(domains[v].begin(), domains[v].end());
  }
  return left;
}

/// State 1 costs 5 more by itself, and saves 4 at most.
TEST(Dominance, RemovesWhatIsDearerWhateverTheNeighbourDoes) {
  Left left =
      removeFrom(makePair({0, 5}, {0, 0}, {{4, 9, 1}, {0, 8, 0}}, {0, 9, 0}));
  EXPECT_THAT(left.states[0], ElementsAre(0));
  ASSERT_FALSE(left.removed.empty());
  EXPECT_EQ(left.removed[0].by, 0u);
  EXPECT_THAT(left.removed[0].shifts, ElementsAre(-4));
}

/// As above, but state 1 can save 6.
TEST(Dominance, KeepsWhatPaysForSomeNeighbour) {
  Left left = removeFrom(makePair({0, 5}, {0, 0}, {{6, 1}, {0, 8}}, {0, 0}));
  EXPECT_THAT(left.states[0], ElementsAre(0, 1));
}

TEST(Dominance, KeepsWhatUsesLessMemory) {
  Left left = removeFrom(makePair({0, 5}, {3, 0}, {{4, 9}, {0, 8}}, {0, 9}));
  EXPECT_THAT(left.states[0], ElementsAre(0, 1));
}

/// Without state 1, state 1 of the neighbour would go with nothing.
TEST(Dominance, KeepsWhatFitsWhereNothingElseDoes) {
  Left left =
      removeFrom(makePair({0, 50}, {0, 0}, {{0, kTop}, {9, 9}}, {5, 0}));
  EXPECT_THAT(left.states[0], ElementsAre(0, 1));
}

TEST(Dominance, OfTwoThatAreAlikeTheFirstStays) {
  Left left = removeFrom(makePair({1, 1}, {2, 2}, {{3, 0}, {3, 0}}, {0, 3}));
  EXPECT_THAT(left.states[0], ElementsAre(0));
}

/// State 1 of the first pays only for state 1 of the second, which goes.
TEST(Dominance, OneThatGoesLetsOthersGo) {
  Left left = removeFrom(makePair({0, 1}, {0, 0}, {{0, 9}, {0, 0}}, {0, 20}));
  EXPECT_THAT(left.states[0], ElementsAre(0));
  EXPECT_THAT(left.states[1], ElementsAre(0));
  EXPECT_EQ(left.removed.size(), 2u);
}

/// A chain of five nodes, two of whose three strategies are dominated by
/// margins that differ from pair to pair: the bound must be the cost.
TEST(Dominance, CertificatesBoundWhatIsDominated) {
  Problem problem;
  problem.matrices.push_back({3, 3, {5, 7, 9, 11, 2, 14, 1, 16, 3}});
  for (unsigned i = 0; i != 5; ++i) {
    problem.nodes.push_back({.costs = {0, 20 + i, 15}, .usages = {0, 0, 0}});
    if (i != 0) {
      problem.edges.push_back({i - 1, i, 0, {}, {}});
    }
  }
  Outcome outcome = solveAuto(problem);
  EXPECT_EQ(outcome.solution.cost, 20);
  EXPECT_EQ(outcome.solution.lowerBound, 20);
  EXPECT_FALSE(check(problem, outcome.solution));
}
