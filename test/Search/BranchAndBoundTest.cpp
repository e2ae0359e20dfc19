//===- BranchAndBoundTest.cpp - Where a node of the tree may be split -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Search/Branching/Branches.h"

#include "SmallGraphs.h"

#include "divisi/Search/Solvers.h"

#include <gmock/gmock.h>

using namespace divisi::search;
using testing::Contains;
using testing::Field;

/// Layers, of which the last is undecided, and a hub that wants them all alike.
static CostGraph layersAroundAHub(uint32_t layers) {
  CostGraph graph;
  graph.variables.push_back(makeVariable({0, 3}));
  for (uint32_t i = 1; i <= layers; ++i) {
    graph.variables.push_back(
        makeVariable({i == layers ? 10. : 0., 10}, {8, 0}));
    join(graph, 0, i, {{0, 5}, {5, 0}});
  }
  graph.capacity = {4. * layers};
  graph.index();
  return graph;
}

/// It uses no memory, so what varies in memory does not find it.
TEST(Branches, ListTheHubThatDecidesForOthers) {
  CostGraph graph = layersAroundAHub(12);
  Domains domains(graph);
  SubGraph sub = restrict(graph, domains);
  Branches branches(sub, {1.25});
  branches.add(Assignment(13, 0));
  branches.add(Assignment(13, 1));
  Messages messages(graph);
  Assignment taken;
  messages.backward(taken);
  EXPECT_THAT(branches.choose(messages),
              Contains(Field(&Branch::variable, 0u)));
}

TEST(Branches, ListSomethingWhereNothingWavers) {
  CostGraph graph = layersAroundAHub(3);
  SubGraph sub = restrict(graph, Domains(graph));
  Branches branches(sub, {0});
  branches.add(Assignment(4, 0));
  Messages messages(graph);
  EXPECT_EQ(branches.choose(messages).size(), 1u);
}

/// The same as a planning problem, whose limit lets half of the layers be in
/// the cheap state. The relaxation mixes both states of the hub and pays no
/// edge; with the hub fixed it is tight.
TEST(BranchAndBound, ProvesTheOptimumOfLayersAroundAHub) {
  constexpr uint32_t kLayers = 80;
  Problem problem;
  problem.matrices.push_back({2, 2, {0, 500, 500, 0}});
  problem.nodes.push_back({.costs = {0, 0}, .usages = {0, 0}, .live = {0, 1}});
  for (uint32_t i = 0; i != kLayers; ++i) {
    problem.nodes.push_back(
        {.costs = {0, 1000 + i}, .usages = {800, 0}, .live = {0, 1}});
    problem.edges.push_back({0, i + 1, 0, {}, {}});
  }
  problem.usageLimit = 800 * kLayers / 2;
  Outcome outcome = solveAuto(problem, {.work = 100'000'000});
  ASSERT_EQ(outcome.verdict, Verdict::Solved);
  EXPECT_EQ(outcome.stopped, Stopped::Finished);
  // The first 40 layers are in the dear state; they or the others pay an edge.
  EXPECT_EQ(outcome.solution.cost, 40 * 1000 + 40 * 39 / 2 + 40 * 500);
  EXPECT_EQ(outcome.solution.lowerBound, outcome.solution.cost);
  EXPECT_FALSE(check(problem, outcome.solution));
}
