//===- NeededOrderTest.cpp - Tests of the order between queues ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Memory/NeededOrder.h"

#include "gtest/gtest.h"

#include <iostream>
#include <random>

using namespace divisi;

namespace {

struct Instruction {
  size_t queue;
  std::vector<size_t> given, needed;
  std::vector<ByteAccess> accesses;
};

} // namespace

using Program = std::vector<Instruction>;

static bool meet(const Instruction &a, const Instruction &b) {
  for (const ByteAccess &x : a.accesses) {
    for (const ByteAccess &y : b.accesses) {
      if (x.begin < y.end && y.begin < x.end && (x.writes || y.writes)) {
        return true;
      }
    }
  }
  return false;
}

/// Whether all pairs that meet are ordered, by the closure of all edges but
/// edge number `without`.
static bool isOrdered(const Program &program, size_t without) {
  size_t edges = 0;
  std::vector<std::vector<bool>> before(
      program.size(), std::vector<bool>(program.size(), false));
  for (size_t i = 0; i < program.size(); ++i) {
    auto join = [&](size_t earlier) {
      before[i][earlier] = true;
      for (size_t j = 0; j < earlier; ++j) {
        before[i][j] = before[i][j] || before[earlier][j];
      }
    };
    for (size_t j = 0; j < i; ++j) {
      if (program[j].queue == program[i].queue) {
        join(j);
      }
    }
    for (size_t j : program[i].given) {
      join(j);
    }
    for (size_t j : program[i].needed) {
      if (edges++ != without) {
        join(j);
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (!before[i][j] && meet(program[i], program[j])) {
        return false;
      }
    }
  }
  return true;
}

static Program randomProgram(std::mt19937 &random) {
  Program program(1 + random() % 30);
  size_t queues = 1 + random() % 4;
  NeededOrder order;
  for (size_t i = 0; i < program.size(); ++i) {
    Instruction &next = program[i];
    next.queue = random() % queues;
    for (size_t count = random() % 4; count > 0; --count) {
      int64_t begin = random() % 12;
      next.accesses.push_back(
          {begin, begin + 1 + int64_t(random() % 5), random() % 3 == 0});
    }
    if (i > 0 && random() % 4 == 0) {
      next.given.push_back(random() % i);
    }
    next.needed = order.add(next.queue, next.given, next.accesses);
  }
  return program;
}

// Each edge is needed, and no other: by the closure of all pairs.
TEST(NeededOrder, OrdersAllThatMeetAndNothingElse) {
  std::mt19937 random(1);
  size_t edges = 0;
  for (int round = 0; round < 3000; ++round) {
    Program program = randomProgram(random);
    size_t needed = 0;
    for (const Instruction &instruction : program) {
      needed += instruction.needed.size();
    }
    EXPECT_TRUE(isOrdered(program, SIZE_MAX));
    for (size_t edge = 0; edge < needed; ++edge) {
      EXPECT_FALSE(isOrdered(program, edge));
    }
    edges += needed;
  }
  std::cout << "3000 programs, " << edges << " edges, each needed\n";
  EXPECT_GT(edges, 1000u);
}
