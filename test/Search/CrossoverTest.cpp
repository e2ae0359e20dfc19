//===- CrossoverTest.cpp - Tests of crossing assignments ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Search/Neighbourhoods/Crossover.h"

#include "CaseCount.h"
#include "SmallGraphs.h"

#include <gtest/gtest.h>

#include <random>

namespace divisi::search {
namespace {

/// Layers that are dear, or cheap and large; every change of way costs 3.
CostGraph makeChain(uint32_t layers, double capacity) {
  CostGraph graph;
  for (uint32_t v = 0; v != layers; ++v) {
    graph.variables.push_back(makeVariable({10, 4}, {0, 1}));
  }
  for (uint32_t v = 0; v + 1 < layers; ++v) {
    join(graph, v, v + 1, {{0, 3}, {3, 0}});
  }
  graph.capacity = {capacity};
  graph.index();
  return graph;
}

TEST(Crossover, FillsMemoryWithOneBorder) {
  CostGraph graph = makeChain(96, 61);
  Crossover crossover(graph);
  Incumbent best;
  crossover.allow(1'000'000'000);
  crossover.add(Assignment(96, 0), best);
  EXPECT_EQ(best.cost, 960);
  EXPECT_GT(crossover.add(Assignment(96, 1), best), 0);
  EXPECT_EQ(best.cost, 61 * 4 + 35 * 10 + 3);
  EXPECT_TRUE(valueOf(graph, best.assignment).feasible());
}

TEST(Crossover, SpendsNoMoreThanItMay) {
  CostGraph graph = makeChain(96, 61);
  Crossover crossover(graph);
  Incumbent best;
  crossover.add(Assignment(96, 0), best);
  crossover.add(Assignment(96, 1), best);
  EXPECT_EQ(best.cost, 960);
}

TEST(Crossover, TakesAParentThatFitsItself) {
  CostGraph graph = makeChain(4, 9);
  Crossover crossover(graph);
  Incumbent best;
  crossover.add(Assignment(4, 1), best);
  EXPECT_EQ(best.cost, 16);
  EXPECT_EQ(best.assignment, Assignment(4, 1));
}

TEST(Crossover, DoesNotBelieveForbiddenBorders) {
  CostGraph graph = makeChain(8, 5);
  graph.pairs.clear();
  for (uint32_t v = 0; v != 7; ++v) {
    // Only between 2 and 3 may it change.
    double border = v == 2 ? 1 : kTop;
    join(graph, v, v + 1, {{0, border}, {border, 0}});
  }
  graph.index();
  Crossover crossover(graph);
  Incumbent best;
  crossover.allow(1'000'000'000);
  crossover.add(Assignment(8, 0), best);
  crossover.add(Assignment(8, 1), best);
  EXPECT_EQ(best.assignment, (Assignment{0, 0, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(best.cost, 3 * 10 + 5 * 4 + 1);
}

// Whatever it says costs what it says, fits, and is no dearer than before.
TEST(Crossover, TellsTheTruthOfRandomGraphs) {
  CaseCount improved("assignments that crossing has improved");
  for (unsigned seed = 0; seed != 400; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](unsigned bound) { return random() % bound; };
    CostGraph graph;
    uint32_t count = 3 + below(12);
    for (uint32_t v = 0; v != count; ++v) {
      std::vector<double> costs, usages;
      for (int s = 0; s != 3; ++s) {
        costs.push_back(below(20));
        usages.push_back(below(9));
      }
      graph.variables.push_back(makeVariable(costs, usages));
    }
    for (uint32_t v = 0; v + 1 < count; ++v) {
      std::vector<std::vector<double>> costs(3);
      for (int s = 0; s != 9; ++s) {
        costs[s / 3].push_back(below(9) == 0 ? kTop : below(8));
      }
      join(graph, v, v + 1, costs);
    }
    graph.capacity = {double(3 * count)};
    graph.index();
    Crossover crossover(graph);
    Incumbent best, parents;
    crossover.allow(1'000'000'000);
    for (int i = 0; i != 12; ++i) {
      Assignment parent;
      for (uint32_t v = 0; v != count; ++v) {
        parent.push_back(uint32_t(below(3)));
      }
      Value value = valueOf(graph, parent);
      if (value.feasible() && value.cost < parents.cost) {
        parents = {parent, value.cost};
      }
      double before = best.cost;
      crossover.add(parent, best);
      ASSERT_LE(best.cost, before) << seed;
      ASSERT_LE(best.cost, parents.cost) << seed;
      if (best.exists()) {
        Value found = valueOf(graph, best.assignment);
        ASSERT_TRUE(found.feasible()) << seed;
        ASSERT_EQ(found.cost, best.cost) << seed;
      }
    }
    if (best.cost < parents.cost) {
      ++improved;
    }
  }
}

} // namespace
} // namespace divisi::search
