//===- ProblemIOTest.cpp ------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/ProblemIO.h"

#include <gtest/gtest.h>

using namespace divisi::search;

TEST(ProblemIO, ReadsTheExampleOfTheContest) {
  std::string error;
  auto problem = readProblemFile(DATA_DIR "/example.json", error);
  ASSERT_TRUE(problem) << error;
  EXPECT_EQ(problem->name, "example");
  ASSERT_EQ(problem->nodes.size(), 5u);
  EXPECT_EQ(problem->nodes[2].costs, (std::vector<int64_t>{25, 45, 35}));
  EXPECT_EQ(problem->nodes[2].live, (Lifetime{50, 120}));
  ASSERT_EQ(problem->edges.size(), 5u);
  EXPECT_EQ(problem->matrices[problem->edges[2].costs].at(1, 0), 20);
  EXPECT_EQ(problem->usageLimit, 50);
}

TEST(ProblemIO, ReadsGzip) {
  std::string error;
  auto problem =
      readProblemFile(DATA_DIR "/asplos-2025-iopddl-G.json.gz", error);
  ASSERT_TRUE(problem) << error;
  EXPECT_EQ(problem->nodes.size(), 816u);
}

// Names and the memory of edges are ours; the contest's files have neither.
TEST(ProblemIO, WhatIsWrittenReadsBackEqual) {
  Problem problem;
  problem.name = "a \"name\" with \\";
  problem.nodes = {{"w", {"r", "s"}, {1, -2}, {8, 4}, {0, 10}},
                   {"mm", {"x"}, {kInfeasible}, {6}, {4, 6}}};
  problem.matrices = {{2, 1, {3, 4}}, {2, 1, {0, 9}}};
  problem.edges = {{0, 1, 0, {}, {}}, {0, 1, 0, 1, {5, 6}}};
  problem.usageLimit = 12;
  std::string text = writeProblem(problem), error;
  auto read = readProblem(text, error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(read->name, problem.name);
  EXPECT_EQ(read->nodes[0].strategies, problem.nodes[0].strategies);
  EXPECT_EQ(read->nodes[1].name, "mm");
  EXPECT_EQ(read->matrices, problem.matrices);
  EXPECT_EQ(read->edges[0].usages, std::nullopt);
  EXPECT_EQ(read->edges[1].usages, 1u);
  EXPECT_EQ(read->edges[1].live, (Lifetime{5, 6}));
  EXPECT_EQ(writeProblem(*read), text);
}

static std::string errorOf(std::string_view json) {
  std::string error;
  EXPECT_FALSE(readProblem(json, error));
  return error;
}

TEST(ProblemIO, HostileTextsAreErrors) {
  EXPECT_EQ(errorOf("{}"), "line 1: expected a key \"problem\"");
  EXPECT_EQ(errorOf("{\"problem\":\n 3}"), "line 2: expected '{'");
  EXPECT_EQ(errorOf("{\"problem\": {}} x"),
            "line 1: expected the end of the text");
  EXPECT_EQ(errorOf("{\"problem\": {\"nodes\": {\"costs\": [[1.5]]}}}"),
            "line 1: expected an integer of 64 bits");
  EXPECT_EQ(errorOf("{\"problem\": {\"nodes\": {\"costs\": [[1]]}}}"),
            "nodes.intervals has 0 entries, expected 1");
  EXPECT_EQ(errorOf("{\"problem\": {\"edges\": {\"nodes\": [[0, 1]], "
                    "\"costs\": [[1]]}}}"),
            "edge 0 joins nodes 0 and 1, of 0");
  EXPECT_EQ(errorOf("{\"x\": " + std::string(100000, '[')),
            "line 1: values are nested too deeply");
  EXPECT_EQ(errorOf("{\"problem\": {\"name\": \"\\u0041\"}}"),
            "line 1: this escape in a string is not supported");
  std::string error;
  EXPECT_FALSE(readProblemFile("/nonexistent/file", error));
  EXPECT_EQ(error, "cannot open '/nonexistent/file'");
}
