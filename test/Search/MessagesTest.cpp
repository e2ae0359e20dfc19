//===- MessagesTest.cpp - Bounds and messages on hand-written graphs ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Search/Dual/Messages.h"
#include "lib/Search/Dual/Potentials.h"

#include "CaseCount.h"
#include "SmallGraphs.h"

#include <gmock/gmock.h>

#include <random>

using namespace divisi::search;
using testing::ElementsAre;

TEST(Table, FindsRowsAndColumnsThatRepeat) {
  CostGraph graph =
      makePair({0, 0, 0}, {}, {{1, 2, 1}, {3, 4, 3}, {1, 2, 1}}, {0, 0, 0});
  const Table &table = *graph.pairs[0].table;
  EXPECT_EQ(table.distinctRows, 2u);
  EXPECT_EQ(table.distinctColumns, 2u);
  EXPECT_THAT(table.rowClass, ElementsAre(0, 1, 0));
  EXPECT_THAT(table.columnClass, ElementsAre(0, 1, 0));
  EXPECT_EQ(graph.numEntries(), 4 + 6);
}

TEST(Table, HasNoClassesWhereAllDiffer) {
  CostGraph graph = makePair({0, 0}, {}, {{1, 2}, {3, 4}}, {0, 0});
  EXPECT_TRUE(graph.pairs[0].table->rowClass.empty());
  EXPECT_TRUE(graph.pairs[0].table->columnClass.empty());
}

/// Joins two variables by a random table, of which rows and columns repeat.
static void joinAtRandom(CostGraph &graph, uint32_t first, uint32_t second,
                         std::mt19937 &random) {
  auto below = [&](unsigned bound) { return unsigned(random() % bound); };
  std::vector<std::vector<double>> costs(graph.numStates(first));
  for (unsigned i = 0; i != costs.size(); ++i) {
    for (unsigned j = 0; j != graph.numStates(second); ++j) {
      costs[i].push_back(below(30));
    }
    if (i != 0 && below(2)) {
      costs[i] = costs[below(i)];
    }
  }
  for (std::vector<double> &row : costs) {
    row.back() = row.front();
  }
  join(graph, first, second, costs);
}

static CostGraph randomVariables(std::mt19937 &random) {
  CostGraph graph;
  for (unsigned v = 0; v != 6; ++v) {
    std::vector<double> costs(2 + random() % 4);
    for (double &cost : costs) {
      cost = double(random() % 20);
    }
    graph.variables.push_back(makeVariable(costs));
  }
  return graph;
}

/// On trees message passing is exact: bound and rounding must be the optimum.
static CostGraph randomChain(unsigned seed) {
  std::mt19937 random(seed);
  CostGraph graph = randomVariables(random);
  for (uint32_t v = 1; v != graph.variables.size(); ++v) {
    joinAtRandom(graph, v - 1, v, random);
  }
  graph.index();
  return graph;
}

/// Two rows of three.
static CostGraph randomGrid(unsigned seed) {
  std::mt19937 random(seed);
  CostGraph graph = randomVariables(random);
  static constexpr std::pair<uint32_t, uint32_t> kEdges[] = {
      {0, 1}, {0, 3}, {1, 2}, {1, 4}, {2, 5}, {3, 4}, {4, 5}};
  for (auto [first, second] : kEdges) {
    joinAtRandom(graph, first, second, random);
  }
  graph.index();
  return graph;
}

static double leastCost(const CostGraph &graph) {
  Assignment assignment(graph.variables.size(), 0);
  double least = kTop;
  for (size_t v = 0; v != assignment.size();) {
    least = std::min(least, costOf(graph, assignment));
    v = 0;
    while (v != assignment.size() &&
           ++assignment[v] == graph.numStates(uint32_t(v))) {
      assignment[v++] = 0;
    }
  }
  return least;
}

TEST(Messages, AreExactOnChainsWhoseTablesRepeat) {
  CaseCount cases("chains solved by messages");
  for (unsigned seed = 0; seed != 100; ++seed, ++cases) {
    CostGraph graph = randomChain(seed);
    Messages messages(graph);
    Assignment taken;
    double bound = 0;
    for (int i = 0; i != 3; ++i) {
      messages.forward(taken);
      bound = messages.backward(taken);
    }
    EXPECT_NEAR(bound, leastCost(graph), 1e-3) << "seed " << seed;
    EXPECT_NEAR(costOf(graph, taken), leastCost(graph), 1e-3)
        << "seed " << seed;
  }
}

/// What save() leaves out, the next forward pass makes anew.
TEST(Messages, GoOnFromWhatWasSaved) {
  CaseCount cases("grids saved and loaded");
  for (unsigned seed = 0; seed != 20; ++seed, ++cases) {
    CostGraph graph = randomGrid(seed);
    Messages messages(graph), others(graph);
    Assignment taken, also;
    messages.forward(taken);
    messages.backward(taken);
    std::vector<float> saved;
    messages.save(saved);
    others.load(saved);
    messages.forward(taken);
    others.forward(also);
    EXPECT_EQ(taken, also) << "seed " << seed;
    EXPECT_EQ(messages.backward(taken), others.backward(also))
        << "seed " << seed;
    EXPECT_EQ(taken, also) << "seed " << seed;
  }
}

TEST(Potentials, ProveTheOptimumOfChains) {
  CaseCount cases("chains bounded by potentials");
  for (unsigned seed = 0; seed != 20; ++seed, ++cases) {
    CostGraph graph = randomChain(seed);
    Lagrangian dual(graph);
    for (int i = 0; i != 3; ++i) {
      dual.step(kTop);
    }
    EXPECT_NEAR(boundOf(graph, dual.best()), leastCost(graph), 1e-9)
        << "seed " << seed;
  }
}

TEST(Potentials, ProveNoMoreThanTheOptimumOfGrids) {
  CaseCount cases("grids bounded by potentials");
  for (unsigned seed = 0; seed != 20; ++seed, ++cases) {
    CostGraph graph = randomGrid(seed);
    Lagrangian dual(graph);
    for (int i = 0; i != 10; ++i) {
      dual.step(kTop);
    }
    double bound = boundOf(graph, dual.best());
    EXPECT_LE(bound, leastCost(graph) + 1e-9) << "seed " << seed;
    EXPECT_GE(bound, dual.best().bound - 1e-3) << "seed " << seed;
  }
}
