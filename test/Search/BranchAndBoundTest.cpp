//===- BranchAndBoundTest.cpp -------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Search/Branches.h"

#include "SmallModels.h"

#include "divisi/Search/Solvers.h"

#include <gmock/gmock.h>

using namespace divisi::search;
using testing::Contains;
using testing::Field;

/// Layers, of which the last is undecided, and a hub that wants them all alike.
static Model layersAroundAHub(uint32_t layers) {
  Model model;
  model.variables.push_back(makeVariable({0, 3}));
  for (uint32_t i = 1; i <= layers; ++i) {
    model.variables.push_back(
        makeVariable({i == layers ? 10. : 0., 10}, {8, 0}));
    join(model, 0, i, {{0, 5}, {5, 0}});
  }
  model.capacity = {4. * layers};
  model.index();
  return model;
}

/// It uses no memory, so what varies in memory does not find it.
TEST(Branches, ListTheHubThatDecidesForOthers) {
  Model model = layersAroundAHub(12);
  Domains domains(model);
  SubModel sub = restrict(model, domains);
  Branches branches(sub, {1.25});
  branches.add(Assignment(13, 0));
  branches.add(Assignment(13, 1));
  Messages messages(model);
  Assignment taken;
  messages.backward(taken);
  EXPECT_THAT(branches.choose(messages),
              Contains(Field(&Branch::variable, 0u)));
}

TEST(Branches, ListSomethingWhereNothingWavers) {
  Model model = layersAroundAHub(3);
  SubModel sub = restrict(model, Domains(model));
  Branches branches(sub, {0});
  branches.add(Assignment(4, 0));
  Messages messages(model);
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
  ASSERT_EQ(outcome.status, Status::Solved);
  EXPECT_EQ(outcome.stopped, Stopped::Finished);
  // The first 40 layers are in the dear state; they or the others pay an edge.
  EXPECT_EQ(outcome.solution.cost, 40 * 1000 + 40 * 39 / 2 + 40 * 500);
  EXPECT_EQ(outcome.solution.lowerBound, outcome.solution.cost);
  EXPECT_FALSE(check(problem, outcome.solution));
}
