//===- RefusedProblemsTest.cpp - What is said of wrong problems and proofs ===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Problem.h"

#include <gmock/gmock.h>

using namespace divisi::search;
using testing::HasSubstr;

/// Two nodes of two strategies each, and an edge that uses memory.
static Problem twoNodes() {
  Problem problem;
  for (int64_t i = 0; i != 2; ++i) {
    problem.nodes.push_back({"", {}, {1, 3}, {4, 2}, {0, 2}});
  }
  problem.matrices = {{2, 2, {0, 5, 5, 0}}, {2, 2, {1, 1, 1, 1}}};
  problem.edges = {{0, 1, 0, 1, {0, 1}}};
  problem.usageLimit = 100;
  return problem;
}

template <typename Change> static std::string problemError(Change change) {
  Problem problem = twoNodes();
  change(problem);
  return validate(problem).value_or("none");
}

TEST(RefusedProblems, OfNodesAndEdges) {
  EXPECT_EQ(problemError([](Problem &) {}), "none");
  EXPECT_EQ(problemError([](Problem &p) { p.nodes[1].usages[0] = -1; }),
            "node 1 has a usage below zero");
  EXPECT_EQ(problemError([](Problem &p) { p.edges[0].costs = 7; }),
            "edge 0 refers to matrix 7, of 2");
  EXPECT_EQ(problemError([](Problem &p) { p.edges[0].to = 0; }),
            "edge 0 uses memory, but joins a node with itself");
  EXPECT_EQ(problemError([](Problem &p) { p.matrices[1].entries[2] = -1; }),
            "edge 0 has a usage below zero");
}

template <typename Change>
static std::string solutionError(Change change, Problem problem = twoNodes()) {
  Solution solution = evaluate(problem, {0, 0});
  change(solution);
  return check(problem, solution).value_or("none");
}

TEST(RefusedProblems, OfSolutions) {
  EXPECT_EQ(solutionError([](Solution &) {}), "none");
  EXPECT_EQ(solutionError([](Solution &s) { s.assignment.pop_back(); }),
            "the assignment has 1 entries, expected 2");
  Problem forbidden = twoNodes();
  forbidden.nodes[1].costs[0] = kInfeasible;
  EXPECT_EQ(solutionError([](Solution &) {}, forbidden),
            "node 1 takes an infeasible strategy");
  Problem wrong = twoNodes();
  Solution solution = evaluate(wrong, {0, 0});
  wrong.nodes[0].usages[0] = -1;
  EXPECT_THAT(check(wrong, solution).value_or("none"),
              HasSubstr("the problem is invalid: node 0 has a usage below"));
}

/// What is said of a certificate of one root that does not bound, after
/// `change`.
template <typename Change> static std::string certificateError(Change change) {
  return solutionError([&](Solution &solution) {
    solution.certificate.tree.resize(1);
    change(solution.certificate);
  });
}

TEST(RefusedProblems, OfCertificates) {
  EXPECT_THAT(certificateError([](Certificate &c) { c.priceBits = 99; }),
              HasSubstr("price bits 99 and potential bits 0 must be within -60 "
                        "and 60"));
  EXPECT_THAT(certificateError([](Certificate &c) { c.potentialBits = 4; }),
              HasSubstr("potential bits 4 are more than the price bits 0"));
  EXPECT_THAT(certificateError([](Certificate &c) { c.tree[0].parent = 0; }),
              HasSubstr("the first must be the root, not a child of node 0"));
  EXPECT_THAT(certificateError([](Certificate &c) { c.tree[0].kept = {0}; }),
              HasSubstr("the root has all states, it cannot keep some of "
                        "variable 0"));
  EXPECT_THAT(certificateError([](Certificate &c) {
                c.tree.push_back({.parent = 0, .variable = 0, .kept = {1, 1}});
              }),
              HasSubstr("the states that it keeps are not sorted, or one comes "
                        "twice"));
  EXPECT_THAT(certificateError([](Certificate &c) {
                c.tree[0].bounds = true;
                c.tree[0].potentials = {0, 0, 0, 0};
                c.tree[0].prices = {{3, 1}, {3, 1}};
              }),
              HasSubstr("the prices are not sorted by time, or time 3 comes "
                        "twice"));
  EXPECT_THAT(
      certificateError([](Certificate &c) { c.tree[0].potentials = {1}; }),
      HasSubstr("it has prices or potentials, or fixes, but does not "
                "bound"));
  EXPECT_THAT(certificateError([](Certificate &c) {
                c.tree.push_back({.parent = 0, .variable = 0, .kept = {0}});
                c.tree.push_back({.parent = 0, .variable = 1, .kept = {0}});
                for (size_t i : {1, 2}) {
                  c.tree[i].bounds = true;
                  c.tree[i].potentials = {0, 0, 0, 0};
                }
              }),
              HasSubstr("its children split it by variables 0 and 1"));
  auto bound = provedBound(twoNodes(), Certificate());
  EXPECT_EQ(bound.status().message(),
            "the certificate has no tree, so it proves nothing");
}
