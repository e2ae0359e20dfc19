//===- MoreMemoryTest.cpp - Several resources, several intervals ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What PropertyTest and CheckRandomTest say of random problems, they say of
// these too; here are the files, and what solvers tell of a limit that binds.
//
//===----------------------------------------------------------------------===//

#include "CaseCount.h"
#include "RandomProblems.h"

#include "divisi/Search/ProblemIO.h"
#include "divisi/Search/SolutionIO.h"
#include "divisi/Search/Solvers.h"

#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::search;
using testing::HasSubstr;

/// Two nodes that use 4 or 1 of one memory, and 1 or 4 of another; the first
/// is live again together with the second.
static Problem twoGroups() {
  Problem problem;
  for (int64_t i = 0; i != 2; ++i) {
    problem.nodes.push_back({.costs = {1, 3},
                             .usages = {4, 1},
                             .live = {3 * i, 3 * i + 2},
                             .moreUsages = {{1, 4}}});
  }
  problem.nodes[0].moreLives = {{4, 6}};
  problem.matrices = {{2, 2, {0, 5, 5, 0}}, {2, 2, {1, 0, 0, 2}}};
  problem.edges = {{0, 1, 0, 1, {0, 1}, {{4, 5}}, {std::nullopt}}};
  problem.usageLimit = 100;
  problem.resource = "a100";
  problem.moreResources = {{"v100", 100}};
  return problem;
}

TEST(MoreMemory, CountsEachResourceInEachInterval) {
  Problem problem = twoGroups();
  Solution solution = evaluate(problem, {0, 1});
  EXPECT_EQ(solution.peakOf(0), (Peak{5, 4}));
  EXPECT_EQ(solution.peakOf(1), (Peak{5, 4}));
  EXPECT_EQ(check(problem, solution), std::nullopt);
  problem.moreResources[0].limit = 4;
  EXPECT_EQ(check(problem, solution),
            "at time 4 the usage of resource 1 ('v100') is 5, above the limit "
            "of 4");
}

TEST(MoreMemory, TheLimitOfEachResourceBinds) {
  Problem problem = twoGroups();
  EXPECT_EQ(solveAuto(problem).solution.cost, 2);
  problem.usageLimit = 6; // {0, 0} uses 9 of the first at time 4.
  Outcome outcome = solveAuto(problem);
  EXPECT_EQ(outcome.solution.cost, 6);
  EXPECT_EQ(outcome.solution.lowerBound, 6);
  problem.moreResources[0].limit = 6; // And {1, 1} 8 of the second.
  outcome = solveAuto(problem);
  EXPECT_EQ(outcome.solution.cost, 9);
  EXPECT_EQ(check(problem, outcome.solution), std::nullopt);
}

TEST(MoreMemory, SaysWhichResourceBinds) {
  Problem problem = twoGroups();
  problem.moreResources[0].limit = 1;
  Outcome outcome = solveAuto(problem);
  ASSERT_EQ(outcome.verdict, Verdict::Infeasible);
  EXPECT_EQ(outcome.resource, 1u);
  EXPECT_EQ(outcome.limitAtLeast, 2);
  EXPECT_EQ(outcome.limitEnough, 2);
  EXPECT_EQ(outcome.message,
            "at time 4 at least 2 bytes of resource 1 ('v100') are in use, 1 "
            "more than the limit of 1");
  // Each could be kept alone.
  problem.usageLimit = 4;
  problem.moreResources[0].limit = 4;
  outcome = solveAuto(problem);
  ASSERT_EQ(outcome.verdict, Verdict::Infeasible);
  EXPECT_EQ(outcome.message,
            "no assignment is within the limits of all resources together");
  outcome = solveExact(problem);
  ASSERT_EQ(outcome.verdict, Verdict::Infeasible);
  EXPECT_EQ(outcome.message,
            "no assignment is within the limits of all resources: at time 4 as "
            "few as 5 bytes of resource 0 ('a100') are in use, 1 more than its "
            "limit");
}

TEST(MoreMemory, FilesReadBackEqual) {
  CaseCount cases("files of problems with more memory");
  for (uint64_t seed = 0; seed != 400; ++seed, ++cases) {
    Problem problem = withMoreMemory(limitedProblem(seed, 100), seed);
    auto read = readProblem(writeProblem(problem));
    ASSERT_TRUE(read) << read.status().message();
    // Equal matrices have become one: what they say is compared.
    EXPECT_EQ(writeProblem(*read), writeProblem(problem));
    EXPECT_EQ(validate(*read), std::nullopt);
    SolutionFile file;
    file.solution = evaluate(
        problem, std::vector<uint32_t>(problem.nodes.size(), uint32_t(0)));
    BoundNode &root = file.solution.certificate.tree.emplace_back();
    root.prices = {{3, 4, 0}, {1, 2, problem.numResources() - 1}};
    auto solution = readSolution(writeSolution(file));
    ASSERT_TRUE(solution) << solution.status().message();
    EXPECT_EQ(solution->solution.morePeaks, file.solution.morePeaks);
    EXPECT_EQ(solution->solution.certificate, file.solution.certificate);
  }
}

/// What reading says of twoGroups() with `from` replaced by `to`.
static std::string readError(const std::string &from, const std::string &to) {
  std::string text = writeProblem(twoGroups());
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << text;
  text.replace(at, from.size(), to);
  auto read = readProblem(text);
  return read ? "none" : read.status().message();
}

TEST(MoreMemory, FilesThatDoNotFit) {
  EXPECT_EQ(readError("5", "5"), "none");
  const std::string usages = "[[[1, 4]], [[1, 4]]]";
  EXPECT_THAT(readError(usages, "[[[1, 4]]]"),
              HasSubstr("nodes.more_usages: this list has 1 entries; expected "
                        "2"));
  EXPECT_THAT(readError(usages, "[[[1]], [[1, 4]]]"),
              HasSubstr("nodes.more_usages[0]: node 0 has 1 usages; expected "
                        "2, one a strategy, or none"));
  EXPECT_THAT(readError(usages, "[[[1, 4], [1, 1]], []]"),
              HasSubstr("nodes.more_usages[0]: this list has 2 entries; "
                        "expected at most 1, one for each of "
                        "\"more_resources\""));
  EXPECT_THAT(readError(usages, "[[[1, -4]], []]"),
              HasSubstr("a usage of -4; expected none below zero"));
  EXPECT_THAT(readError("[[[4, 6]], []]", "[[[1, 6]], []]"),
              HasSubstr("nodes.more_intervals[0]: an interval begins at 1, "
                        "before the one ahead of it ends at 2"));
  EXPECT_THAT(readError("[[[4, 6]], []]", "[[[7, 6]], []]"),
              HasSubstr("this interval ends at 6, before it begins at 7"));
  EXPECT_THAT(readError("[[4, 5]]", "[[4, 5, 6]]"),
              HasSubstr("expected two numbers, got a third"));
  EXPECT_THAT(readError("\"usages\": [[1, 0, 0, 2]]", "\"other\": []"),
              HasSubstr("edges have \"usages\" or \"intervals\" alone"));
  EXPECT_THAT(
      readError("\"usages\": [[1, 0, 0, 2]],\n      \"intervals\": [[0, 1]],",
                ""),
      HasSubstr("edges have \"more_usages\" or \"more_intervals\" without "
                "\"usages\" and \"intervals\""));
}

template <typename Change> static std::string problemError(Change change) {
  Problem problem = twoGroups();
  change(problem);
  return validate(problem).value_or("none");
}

TEST(MoreMemory, ProblemsThatDoNotFit) {
  EXPECT_EQ(problemError([](Problem &) {}), "none");
  EXPECT_EQ(
      problemError([](Problem &p) { p.nodes[1].moreUsages.push_back({}); }),
      "node 1 uses memory of resource 2, of 2");
  EXPECT_EQ(problemError([](Problem &p) { p.nodes[1].moreUsages[0] = {1}; }),
            "node 1 has 2 costs but 1 usages of resource 1 ('v100')");
  EXPECT_EQ(problemError([](Problem &p) { p.nodes[0].moreLives[0].begin = 1; }),
            "node 0 lives again from 1, before it ends at 2");
  EXPECT_EQ(problemError([](Problem &p) { p.edges[0].moreUsages = {7}; }),
            "edge 0 usage refers to matrix 7, of 2");
  Problem problem = twoGroups();
  Solution solution = evaluate(problem, {0, 0});
  solution.morePeaks.clear();
  EXPECT_EQ(check(problem, solution),
            "it has peaks of 1 resources, expected 2");
  solution = evaluate(problem, {0, 0});
  solution.certificate.tree.resize(1);
  BoundNode &root = solution.certificate.tree[0];
  root.bounds = true;
  root.potentials = {0, 0, 0, 0};
  root.prices = {{0, 1, 2}};
  EXPECT_THAT(*check(problem, solution),
              HasSubstr("it has a price of resource 2, of 2"));
  root.prices = {{0, 1, 0}};
  problem.usageLimit.reset();
  EXPECT_THAT(*check(problem, solution),
              HasSubstr("it has prices of memory of resource 0 ('a100'), but "
                        "the problem has no limit of that"));
}
