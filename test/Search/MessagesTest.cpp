//===- MessagesTest.cpp -------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Search/Messages.h"

#include "SmallModels.h"

#include <gmock/gmock.h>

#include <random>

using namespace divisi::search;
using testing::ElementsAre;

TEST(Table, FindsRowsAndColumnsThatRepeat) {
  Model model =
      makePair({0, 0, 0}, {}, {{1, 2, 1}, {3, 4, 3}, {1, 2, 1}}, {0, 0, 0});
  const Table &table = *model.pairs[0].table;
  EXPECT_EQ(table.distinctRows, 2u);
  EXPECT_EQ(table.distinctColumns, 2u);
  EXPECT_THAT(table.rowClass, ElementsAre(0, 1, 0));
  EXPECT_THAT(table.columnClass, ElementsAre(0, 1, 0));
  EXPECT_EQ(model.numEntries(), 4 + 6);
}

TEST(Table, HasNoClassesWhereAllDiffer) {
  Model model = makePair({0, 0}, {}, {{1, 2}, {3, 4}}, {0, 0});
  EXPECT_TRUE(model.pairs[0].table->rowClass.empty());
  EXPECT_TRUE(model.pairs[0].table->columnClass.empty());
}

/// A chain, of whose tables rows and columns repeat. On trees message passing
/// is exact: bound and rounding must be the optimum.
static Model randomChain(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](unsigned bound) { return unsigned(random() % bound); };
  Model model;
  for (unsigned v = 0; v != 6; ++v) {
    std::vector<double> costs(2 + below(4));
    for (double &cost : costs) {
      cost = below(20);
    }
    model.variables.push_back(makeVariable(costs));
    if (v == 0) {
      continue;
    }
    unsigned rows = model.numStates(v - 1), columns = model.numStates(v);
    std::vector<std::vector<double>> costsOfPair(rows);
    for (unsigned i = 0; i != rows; ++i) {
      for (unsigned j = 0; j != columns; ++j) {
        costsOfPair[i].push_back(below(30));
      }
      if (i != 0 && below(2)) {
        costsOfPair[i] = costsOfPair[below(i)];
      }
    }
    for (std::vector<double> &row : costsOfPair) {
      row.back() = row.front();
    }
    join(model, v - 1, v, costsOfPair);
  }
  model.index();
  return model;
}

static double leastCost(const Model &model) {
  Assignment assignment(model.variables.size(), 0);
  double least = kTop;
  for (size_t v = 0; v != assignment.size();) {
    least = std::min(least, costOf(model, assignment));
    v = 0;
    while (v != assignment.size() &&
           ++assignment[v] == model.numStates(uint32_t(v))) {
      assignment[v++] = 0;
    }
  }
  return least;
}

TEST(Messages, AreExactOnChainsWhoseTablesRepeat) {
  for (unsigned seed = 0; seed != 100; ++seed) {
    Model model = randomChain(seed);
    Messages messages(model);
    Assignment taken;
    double bound = 0;
    for (int i = 0; i != 3; ++i) {
      messages.forward(taken);
      bound = messages.backward(taken);
    }
    EXPECT_NEAR(bound, leastCost(model), 1e-3) << "seed " << seed;
    EXPECT_NEAR(costOf(model, taken), leastCost(model), 1e-3)
        << "seed " << seed;
  }
}
