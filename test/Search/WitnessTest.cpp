//===- WitnessTest.cpp - What may be pruned, and what may not -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaseCount.h"
#include "RandomProblems.h"

#include "divisi/Search/Solvers.h"
#include "divisi/Search/Witness.h"

#include <gmock/gmock.h>

using namespace divisi::search;

static constexpr uint64_t kSeeds = 900;

/// Small, with more memory at times, and with a copy of a strategy of a node,
/// which costs and uses a little more or not.
static Problem withCopies(uint64_t seed) {
  Problem problem = limitedProblem(seed, 60, seed % 3 == 0);
  Dice dice(seed + 5);
  uint32_t v = uint32_t(dice.below(problem.nodes.size()));
  Node &node = problem.nodes[v];
  auto copied = uint32_t(dice.below(node.costs.size()));
  auto more = [&](std::vector<int64_t> &list) {
    if (!list.empty()) {
      list.push_back(list[copied] + int64_t(dice.below(2)));
    }
  };
  more(node.costs);
  more(node.usages);
  std::ranges::for_each(node.moreUsages, more);
  for (Edge &edge : problem.edges) {
    auto copy = [&](uint32_t index) {
      Matrix old = problem.matrices[index], wide;
      auto extended = [&](uint32_t end, uint32_t count) {
        return count + uint32_t(end == v);
      };
      wide.rows = extended(edge.from, old.rows);
      wide.columns = extended(edge.to, old.columns);
      for (uint32_t s = 0; s != wide.rows; ++s) {
        for (uint32_t t = 0; t != wide.columns; ++t) {
          bool isCopy = s == old.rows || t == old.columns;
          wide.entries.push_back(old.at(s == old.rows ? copied : s,
                                        t == old.columns ? copied : t) +
                                 (isCopy && dice.oneIn(4)));
        }
      }
      problem.matrices.push_back(std::move(wide));
      return uint32_t(problem.matrices.size() - 1);
    };
    if (edge.from != v && edge.to != v) {
      continue;
    }
    edge.costs = copy(edge.costs);
    if (edge.usages) {
      edge.usages = copy(*edge.usages);
    }
    for (std::optional<uint32_t> &matrix : edge.moreUsages) {
      if (matrix) {
        matrix = copy(*matrix);
      }
    }
  }
  return problem;
}

TEST(Witness, WhatIsPrunedCostsNothing) {
  CaseCount cases("problems pruned");
  uint64_t pruned = 0;
  for (uint64_t seed = 0; seed != kSeeds; ++seed, ++cases) {
    Problem problem = withCopies(seed);
    ASSERT_EQ(validate(problem), std::nullopt) << seed;
    Pruned small = pruneDominated(problem);
    ASSERT_EQ(validate(small.problem), std::nullopt) << seed;
    ASSERT_EQ(checkWitnesses(problem, small.witnesses), std::nullopt) << seed;
    pruned += small.witnesses.size();
    Reference all = bruteForce(problem), left = bruteForce(small.problem);
    ASSERT_EQ(all.optimum, left.optimum) << seed;
    ASSERT_EQ(all.leastPeak, left.leastPeak) << seed;
    if (left.optimum) {
      std::vector<uint32_t> lifted;
      for (size_t v = 0; v != left.assignment.size(); ++v) {
        lifted.push_back(small.kept[v][left.assignment[v]]);
      }
      ASSERT_EQ(check(problem, evaluate(problem, lifted)), std::nullopt);
      ASSERT_EQ(costOf(problem, lifted), all.optimum);
    }
  }
  EXPECT_GT(pruned, kSeeds / 2);
}

/// Whether `by` is as good as `pruned` in every assignment: the definition,
/// tried out.
static bool replaces(const Problem &problem, Witness witness) {
  std::vector<uint32_t> chosen(problem.nodes.size(), 0);
  for (size_t v = 0;;) {
    if (chosen[witness.node] == witness.pruned) {
      std::vector<uint32_t> other = chosen;
      other[witness.node] = witness.by;
      auto cost = costOf(problem, chosen), less = costOf(problem, other);
      if (cost && (!less || *less > *cost)) {
        return false;
      }
      for (uint32_t r = 0; cost && r != problem.numResources(); ++r) {
        if (peakOf(problem, other, r) > peakOf(problem, chosen, r)) {
          return false;
        }
      }
    }
    for (v = 0; v != chosen.size(); ++v) {
      if (++chosen[v] != problem.nodes[v].costs.size()) {
        break;
      }
      chosen[v] = 0;
    }
    if (v == chosen.size()) {
      return true;
    }
  }
}

// Of all witnesses that could be written, those that are accepted are true.
TEST(Witness, NoFalseOneIsAccepted) {
  CaseCount cases("witnesses looked up");
  unsigned accepted = 0, refused = 0;
  for (uint64_t seed = 0; seed != kSeeds / 3; ++seed) {
    Problem problem = withCopies(seed);
    for (uint32_t v = 0; v != problem.nodes.size(); ++v) {
      auto count = uint32_t(problem.nodes[v].costs.size());
      for (uint32_t pruned = 0; pruned != count + 1; ++pruned) {
        for (uint32_t by = 0; by != count + 1; ++by, ++cases) {
          Witness witness{v, pruned, by};
          if (checkWitness(problem, witness)) {
            ++refused;
            continue;
          }
          ++accepted;
          ASSERT_TRUE(by != pruned && std::max(by, pruned) < count);
          ASSERT_TRUE(replaces(problem, witness))
              << seed << ": " << v << " " << pruned << " " << by;
        }
      }
    }
  }
  EXPECT_GT(accepted, 100u);
  EXPECT_GT(refused, 1000u);
}

// A witness that pruning wrote is refused once what it says is true no more.
TEST(Witness, EveryMutationThatMattersIsRefused) {
  CaseCount cases("mutations of pruned problems");
  unsigned wrong = 0;
  for (uint64_t seed = 0; seed != kSeeds; ++seed) {
    Problem problem = withCopies(seed);
    for (const Witness &witness : pruneDominated(problem).witnesses) {
      auto refuses = [&](auto change) {
        Problem other = problem;
        change(other);
        ++cases;
        ++wrong;
        EXPECT_TRUE(checkWitness(other, witness)) << seed;
      };
      int64_t cost = problem.nodes[witness.node].costs[witness.pruned];
      if (cost >= kInfeasible) {
        continue; // Anything replaces it.
      }
      refuses([&](Problem &p) {
        p.nodes[witness.node].costs[witness.by] = cost + 1;
      });
      refuses([&](Problem &p) {
        std::vector<int64_t> &usages = p.nodes[witness.node].usages;
        usages[witness.by] = usages[witness.pruned] + 1;
      });
      for (uint32_t e = 0; e != problem.edges.size(); ++e) {
        const Edge &edge = problem.edges[e];
        if (edge.from != witness.node || edge.to == witness.node) {
          continue;
        }
        int64_t entry = problem.matrices[edge.costs].at(witness.pruned, 0);
        if (entry >= kInfeasible) {
          continue;
        }
        refuses([&](Problem &p) {
          p.matrices.push_back(p.matrices[edge.costs]);
          Matrix &matrix = p.matrices.back();
          matrix.entries[size_t(witness.by) * matrix.columns] = entry + 1;
          p.edges[e].costs = uint32_t(p.matrices.size() - 1);
        });
      }
    }
  }
  EXPECT_GT(wrong, kSeeds);
}

TEST(Witness, SaysWhatIsWrong) {
  Problem problem;
  problem.nodes = {{.costs = {9, 5, 7}, .usages = {4, 8, 8}, .live = {0, 1}},
                   {.costs = {0, 0}, .usages = {0, 0}, .live = {0, 1}}};
  problem.matrices = {{3, 2, {0, 3, 1, 0, 1, 4}}, {3, 2, {0, 0, 0, 1, 0, 0}}};
  problem.edges = {{0, 1, 0, {}, {0, 1}}};
  EXPECT_EQ(checkWitness(problem, {0, 2, 1}), std::nullopt);
  EXPECT_EQ(pruneDominated(problem).witnesses,
            (std::vector<Witness>{{0, 2, 1}}));
  auto wrong = [&](Witness witness) {
    return checkWitness(problem, witness).value_or("none");
  };
  EXPECT_EQ(wrong({2, 0, 1}), "a witness is of node 2, of 2");
  EXPECT_EQ(wrong({0, 0, 3}), "a witness of node 0 speaks of strategy 3, of 3");
  EXPECT_EQ(wrong({0, 1, 1}),
            "strategy 1 of node 0 cannot replace 1: they are the same");
  EXPECT_EQ(wrong({0, 1, 2}), "strategy 2 of node 0 cannot replace 1: it costs "
                              "7, the one that it replaces 5");
  EXPECT_EQ(wrong({0, 0, 1}), "strategy 1 of node 0 cannot replace 0: it uses "
                              "8, the one that it replaces 4");
  problem.nodes[0].usages[0] = 8;
  EXPECT_EQ(wrong({0, 0, 1}),
            "strategy 1 of node 0 cannot replace 0: it costs 1 on edge 0 at "
            "state 0, the one that it replaces 0");
  problem.edges[0].usages = 1;
  EXPECT_EQ(wrong({0, 2, 1}),
            "strategy 1 of node 0 cannot replace 2: it uses 1 on edge 0 at "
            "state 1, the one that it replaces 0");
  std::vector<Witness> circle = {{1, 1, 0}, {1, 0, 1}};
  problem.edges.clear();
  EXPECT_EQ(checkWitnesses(problem, circle),
            "a witness of node 1 speaks of strategy 1, which is gone already");
}
