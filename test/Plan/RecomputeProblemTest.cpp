//===- RecomputeProblemTest.cpp -------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/RecomputeProblem.h"
#include "Checkmate.h"
#include "test/Sample.h"

#include "divisi/Search/Solvers.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace divisi;
using namespace divisi::plan;

/// A forward pass of `count` operators, and one gradient operator for each, in
/// reverse: it takes the gradients of the users, and its operands or its
/// result.
static CheckmateGraph draw(unsigned count, std::mt19937 &random) {
  auto below = [&](unsigned n) { return unsigned(random() % n); };
  CheckmateGraph graph;
  graph.forward = count;
  std::vector<std::vector<unsigned>> users(count);
  for (unsigned node = 0; node != count; ++node) {
    std::vector<unsigned> operands;
    if (node > 0) {
      operands.push_back(node - 1);
      if (node > 2 && below(3) == 0) {
        operands.push_back(below(node - 1));
      }
    }
    for (unsigned operand : operands) {
      users[operand].push_back(node);
    }
    graph.operands.push_back(operands);
    graph.costs.push_back(1 + below(9));
    graph.bytes.push_back(1 + below(9));
  }
  for (unsigned i = 0; i != count; ++i) {
    unsigned node = count - 1 - i;
    std::vector<unsigned> operands;
    for (unsigned user : users[node]) {
      operands.push_back(2 * count - 1 - user); // its gradient
    }
    if (below(2) == 0 || graph.operands[node].empty()) {
      operands.push_back(node);
    }
    if (below(3) != 0) {
      for (unsigned operand : graph.operands[node]) {
        operands.push_back(operand);
      }
    }
    llvm::sort(operands);
    operands.erase(std::unique(operands.begin(), operands.end()),
                   operands.end());
    graph.operands.push_back(operands);
    graph.costs.push_back(1 + below(9));
    graph.bytes.push_back(1 + below(9));
  }
  return graph;
}

/// The same program, as a plan would say it.
static RecomputeInput inputOf(const CheckmateGraph &graph) {
  RecomputeInput input;
  auto size = unsigned(graph.costs.size());
  std::vector<unsigned> lastForward(graph.forward), last(size);
  for (unsigned node = 0; node != size; ++node) {
    last[node] = node;
    for (unsigned operand : graph.operands[node]) {
      last[operand] = node;
    }
  }
  std::vector<unsigned> first(graph.forward, size), end(graph.forward, 0);
  for (unsigned node = 0; node != graph.forward; ++node) {
    ForwardValue &value = input.values.emplace_back();
    value.bytes = graph.bytes[node];
    value.cost = graph.costs[node];
    for (unsigned operand : graph.operands[node]) {
      value.operands.push_back(operand);
      lastForward[operand] = node;
    }
    lastForward[node] = node;
  }
  for (unsigned time = 0; time != graph.forward; ++time) {
    input.values[time].held = lastForward[time] + 1;
    int64_t base = 0;
    for (unsigned node = 0; node <= time; ++node) {
      base += lastForward[node] >= time ? graph.bytes[node] : 0;
    }
    input.forwardBases.push_back(base);
  }
  for (unsigned node = graph.forward; node != size; ++node) {
    unsigned stage = node - graph.forward;
    RecomputeStage &made = input.stages.emplace_back();
    for (unsigned other = graph.forward; other != node; ++other) {
      made.base += last[other] >= node ? graph.bytes[other] : 0;
    }
    BackwardStep &step = made.steps.emplace_back();
    step.base = made.base + graph.bytes[node];
    for (unsigned operand : graph.operands[node]) {
      if (operand < graph.forward) {
        step.uses.push_back(operand);
        first[operand] = std::min(first[operand], stage);
        end[operand] = stage + 1;
      }
    }
  }
  for (unsigned node = graph.forward; node-- != 0;) {
    if (end[node] == 0) {
      continue;
    }
    input.values[node].firstStage = first[node];
    input.values[node].endStage = end[node];
    for (unsigned operand : graph.operands[node]) {
      first[operand] = std::min(first[operand], first[node]);
      end[operand] = std::max(end[operand], end[node]);
    }
  }
  return input;
}

static int64_t sum(const std::vector<int64_t> &numbers) {
  int64_t sum = 0;
  for (int64_t number : numbers) {
    sum += number;
  }
  return sum;
}

/// What is computed again, by our problem; checked and proved.
static std::optional<int64_t> solve(RecomputeInput input, int64_t limit) {
  input.limit = limit;
  RecomputeProblem made = makeRecomputeProblem(input);
  EXPECT_FALSE(search::validate(made.problem));
  search::Outcome outcome = search::solveAuto(made.problem);
  if (outcome.verdict != search::Verdict::Solved) {
    EXPECT_EQ(outcome.verdict, search::Verdict::Infeasible);
    return std::nullopt;
  }
  EXPECT_EQ(search::check(made.problem, outcome.solution), std::nullopt);
  EXPECT_EQ(outcome.solution.cost, outcome.solution.lowerBound);
  return int64_t(outcome.solution.cost);
}

/// In the declared space the least cost is that of Checkmate's program, from
/// no limit to limits that nothing meets.
TEST(RecomputeProblem, IsAsCheapAsCheckmates) {
  int tight = 0;
  for (int round = 0; round < test::sampleSize(120, 12); ++round) {
    std::mt19937 random{uint32_t(round)};
    // Of 30 nodes, HiGHS takes a minute.
    unsigned most = test::isSweep() && round % 40 == 0 ? 15 : 7;
    CheckmateGraph graph = draw(3 + unsigned(random() % (most - 2)), random);
    RecomputeInput input = inputOf(graph);
    int64_t bytes = sum(graph.bytes);
    int64_t once = sum(graph.costs);
    for (int64_t percent : {30, 40, 50, 65}) {
      int64_t limit = bytes * percent / 100;
      std::optional<int64_t> ours = solve(input, limit);
      std::optional<int64_t> theirs = solveCheckmate(graph, limit, false);
      ASSERT_EQ(ours.has_value(), theirs.has_value()) << round << " " << limit;
      if (ours) {
        EXPECT_EQ(once + *ours, *theirs) << round << " " << limit;
        tight += *ours > 0;
      }
    }
  }
  EXPECT_GT(tight, 5);
}

/// Nothing is computed again where memory is not short, and everything that may
/// be where it is asked for.
TEST(RecomputeProblem, KeepsOrDropsAllAsAsked) {
  std::mt19937 random{7};
  CheckmateGraph graph = draw(6, random);
  RecomputeInput input = inputOf(graph);
  EXPECT_EQ(solve(input, sum(graph.bytes)), 0);
  input.dropsAll = true;
  EXPECT_GT(solve(input, sum(graph.bytes) * 2).value_or(0), 0);
}
