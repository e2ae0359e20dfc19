//===- ProblemIOTest.cpp - Reading and writing planning problems ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProblemTexts.h"

#include "divisi/Search/ProblemIO.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <random>

using namespace divisi::search;

TEST(ProblemIO, ReadsTheExampleOfTheContest) {
  auto problem = readProblemFile(DATA_DIR "/example.json");
  ASSERT_TRUE(problem) << problem.status().message();
  EXPECT_EQ(problem->name, "example");
  ASSERT_EQ(problem->nodes.size(), 5u);
  EXPECT_EQ(problem->nodes[2].costs, (std::vector<int64_t>{25, 45, 35}));
  EXPECT_EQ(problem->nodes[2].live, (Lifetime{50, 120}));
  ASSERT_EQ(problem->edges.size(), 5u);
  EXPECT_EQ(problem->matrices[problem->edges[2].costs].at(1, 0), 20);
  EXPECT_EQ(problem->usageLimit, 50);
}

TEST(ProblemIO, ReadsGzip) {
  auto problem = readProblemFile(DATA_DIR "/asplos-2025-iopddl-G.json.gz");
  ASSERT_TRUE(problem) << problem.status().message();
  EXPECT_EQ(problem->nodes.size(), 816u);
  EXPECT_EQ(validate(*problem), std::nullopt);
}

// As `cat a.gz b.gz` makes them.
TEST(ProblemIO, ReadsGzipOfSeveralMembers) {
  std::string members =
      gzip(kBase.substr(0, 50)) + gzip("") + gzip(kBase.substr(50));
  auto problem = readProblem(members), plain = readProblem(kBase);
  ASSERT_TRUE(problem) << problem.status().message();
  EXPECT_EQ(*problem, *plain);
}

TEST(ProblemIO, ReadsWhatIsNeitherRegularNorKnowsItsSize) {
  FILE *pipe = popen("cat " DATA_DIR "/example.json", "r");
  ASSERT_TRUE(pipe);
  auto problem = readProblemFile("/dev/fd/" + std::to_string(fileno(pipe)));
  pclose(pipe);
  ASSERT_TRUE(problem) << problem.status().message();
  EXPECT_EQ(*problem, *readProblemFile(DATA_DIR "/example.json"));
}

// Edges may come first, as in the contest's files, and lists may be wide apart.
TEST(ProblemIO, OrderAndSpaceDoNotMatter) {
  auto problem =
      readProblem("\r\n\t {\"problem\":{\"usage_limit\":9,\"edges\":{"
                  "\"costs\":[[7 ,\n8\t]\n],\"nodes\":[[0,1]]},"
                  "\"nodes\":{\"usages\":[[4,5],[6]],\"costs\":"
                  "[[1,2],[3]],\"intervals\":[[0,2],[1,3]]},"
                  "\"n\\u0061me\":\"p\"}} \n");
  ASSERT_TRUE(problem) << problem.status().message();
  EXPECT_EQ(*problem, *readProblem(kBase));
}

TEST(ProblemIO, KeepsEqualMatricesOnce) {
  auto problem = readProblem(
      R"({"problem": {"nodes": {"intervals": [[0, 1], [0, 1], [0, 1]],
          "costs": [[0, 0], [0, 0], [0, 0, 0, 0]],
          "usages": [[0, 0], [0, 0], [0, 0, 0, 0]]},
         "edges": {"nodes": [[0, 1], [1, 0], [0, 0], [2, 0], [2, 1]],
          "costs": [[1, 2, 3, 4], [1, 2.0, 30e-1, 4], [1, 2, 3, 5],
                    [0, 0, 0, 0, 0, 0, 0, 0], [ 0, 0, 0, 0, 0, 0, 0, 0]],
          "usages": [[1, 2, 3, 4], [], [], [], [0, 0, 0, 0, 0, 0, 0, 0]],
          "intervals": [[0, 1], [0, 0], [0, 0], [0, 0], [3, 3]]}}})");
  ASSERT_TRUE(problem) << problem.status().message();
  std::vector<uint32_t> costs;
  for (const Edge &edge : problem->edges) {
    costs.push_back(edge.costs);
  }
  EXPECT_EQ(costs, (std::vector<uint32_t>{0, 0, 1, 2, 2}));
  EXPECT_EQ(problem->edges[0].usages, 0u);
  EXPECT_EQ(problem->edges[1].usages, std::nullopt);
  EXPECT_EQ(problem->edges[4].usages, 2u);
  EXPECT_EQ(problem->matrices.size(), 3u);
}

// Eight zeros are 2 x 4 or 4 x 2.
TEST(ProblemIO, EqualEntriesOfAnotherShapeAreAnotherMatrix) {
  auto problem = readProblem(
      R"({"problem": {"nodes": {"intervals": [[0, 1], [0, 1]],
          "costs": [[0, 0], [0, 0, 0, 0]], "usages": [[0, 0], [0, 0, 0, 0]]},
         "edges": {"nodes": [[0, 1], [1, 0], [1, 0]],
          "costs": [[0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0],
                    [0, 0, 0, 0, 0, 0, 0, 0]]}}})");
  ASSERT_TRUE(problem) << problem.status().message();
  EXPECT_EQ(problem->matrices,
            (std::vector<Matrix>{{2, 4, std::vector<int64_t>(8)},
                                 {4, 2, std::vector<int64_t>(8)}}));
  EXPECT_EQ(problem->edges[2].costs, 1u);
}

// More texts of the same length than the reader remembers at once.
TEST(ProblemIO, MatricesOfEqualLengthStayApart) {
  std::string ends, costs;
  for (int i = 100; i != 300; ++i) {
    ends += (i == 100 ? "[0, 1]" : ", [0, 1]");
    costs += (i == 100 ? "[7, " : ", [7, ") + std::to_string(i) + "]";
  }
  std::string text = with("[0, 1]]", ends + "]");
  text.replace(text.find("[7, 8]"), 6, costs);
  auto problem = readProblem(text);
  ASSERT_TRUE(problem) << problem.status().message();
  for (int i = 100; i != 300; ++i) {
    uint32_t index = problem->edges[size_t(i - 100)].costs;
    EXPECT_EQ(problem->matrices[index].at(1, 0), i);
  }
}

// Every count of digits, both signs, and what a float may write of an integer.
TEST(ProblemIO, ReadsIntegersExactly) {
  std::vector<std::pair<std::string, int64_t>> cases = {
      {"1e18", kInfeasible},
      {"1000000000000000000", kInfeasible},
      {"2.50e1", 25},
      {"-120.0", -120},
      {"9007199254740993.0", 9007199254740993},
      {"9223372036854775.807E+3", INT64_MAX},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"50000e-4", 5},
      {"0.000000000000000000001e21", 1},
      {"-0", 0},
      {"0.0", 0},
  };
  int64_t value = 0;
  for (int digit = 1; digit != 19; ++digit) {
    value = value * 10 + digit % 10;
    cases.emplace_back(std::to_string(value), value);
    cases.emplace_back(std::to_string(-value), -value);
  }
  for (const auto &[text, expected] : cases) {
    for (std::string_view end : {"}", " }", "\n}", "\t}", "\r}", ",\"x\":0}"}) {
      auto problem = readProblem(with("9}", text + std::string(end)));
      ASSERT_TRUE(problem) << problem.status().message();
      EXPECT_EQ(problem->usageLimit, expected) << text << end;
    }
  }
}

// Names and the memory of edges are ours; the contest's files have neither.
TEST(ProblemIO, WhatIsWrittenReadsBackEqual) {
  Problem problem;
  problem.name = "a \"name\" with \\, \n, \x01 and π";
  problem.nodes = {{"w", {"r", "s"}, {1, -2}, {8, 4}, {0, 10}},
                   {"mm", {}, {kInfeasible}, {INT64_MAX}, {4, 4}},
                   {"", {"x"}, {1 - kInfeasible}, {0}, {0, INT64_MAX}}};
  problem.matrices = {{2, 1, {3, 4}}, {2, 1, {0, 9}}};
  problem.edges = {{0, 1, 0, {}, {}}, {0, 2, 0, 1, {5, 6}}};
  problem.usageLimit = 12;
  ASSERT_EQ(validate(problem), std::nullopt);
  auto read = readProblem(writeProblem(problem));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(*read, problem);
}

TEST(ProblemIO, UnknownKeysAreSkipped) {
  std::string deep = std::string(62, '[') + "1" + std::string(62, ']');
  auto problem = readProblem(
      with("\"name\"", "\"x\": [true, false, null, -1.5e3, \"\\u0041\", {}, "
                       "{\"a\": {\"b\": []}}, " +
                           deep + "], \"name\""));
  ASSERT_TRUE(problem) << problem.status().message();
  EXPECT_EQ(*problem, *readProblem(kBase));
}

// A sample of what `make fuzz` does at length.
TEST(ProblemIO, DamagedTextsAreErrorsOrOtherProblems) {
  constexpr std::string_view tokens[] = {
      "[",    "]",    "{",   "}",  ",",         ":",
      "\"",   "\\",   "0",   "-1", "1e18",      "[]",
      "[1]",  "null", "2.5", " ",  "\"costs\"", "9223372036854775807",
      "\xc3", ""};
  std::mt19937 random(1);
  auto below = [&](size_t n) { return random() % n; };
  int accepted = 0;
  for (int round = 0; round != 3000; ++round) {
    std::string text(kBase);
    for (size_t changes = 1 + below(3); changes != 0; --changes) {
      text.replace(below(text.size()), below(4),
                   tokens[below(std::size(tokens))]);
    }
    auto problem = readProblem(text);
    if (!problem) {
      EXPECT_FALSE(problem.status().message().empty());
      continue;
    }
    ++accepted;
    EXPECT_EQ(validate(*problem), std::nullopt) << text;
    auto again = readProblem(writeProblem(*problem));
    ASSERT_TRUE(again) << again.status().message();
    EXPECT_EQ(*again, *problem) << text;
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 2000);
}
