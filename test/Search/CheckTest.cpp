//===- CheckTest.cpp - The checker on certificates written by hand --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Certificates small enough to be computed by hand; every comment does so.
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Problem.h"

#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::search;

static constexpr int64_t kNo = kInfeasible;

static Deduction drop(uint32_t v, uint32_t state, uint32_t w) {
  return {Deduction::Kind::Drop, v, w, state};
}

static Deduction follow(uint32_t v, uint32_t w) {
  return {Deduction::Kind::Follow, v, w, 0};
}

static BoundNode bounding(std::vector<int64_t> potentials,
                          std::vector<MemoryPrice> prices = {}) {
  BoundNode node;
  node.bounds = true;
  node.potentials = std::move(potentials);
  node.prices = std::move(prices);
  return node;
}

static BoundNode child(int32_t parent, uint32_t variable,
                       std::vector<uint32_t> kept, BoundNode node = {}) {
  node.parent = parent;
  node.variable = variable;
  node.kept = std::move(kept);
  return node;
}

/// What is proved, as text: a number, "infinite" or what is wrong.
static std::string proved(const Problem &problem,
                          const Certificate &certificate) {
  Expected<std::optional<Wide>> bound = provedBound(problem, certificate);
  if (!bound) {
    EXPECT_EQ(bound.status().code(), ExitCode::Invalid);
    return bound.status().message();
  }
  return *bound ? toString(**bound) : "infinite";
}

/// a -> b. The costs of both together are 7, 1 / 5, 7.
static Problem chain() {
  Problem problem;
  problem.nodes = {{"a", {}, {0, 3}, {1, 1}, {0, 1}},
                   {"b", {}, {2, 0}, {1, 1}, {0, 1}}};
  problem.matrices = {{2, 2, {5, 1, 0, 4}}};
  problem.edges = {{0, 1, 0, {}, {}}};
  return problem;
}

// Without potentials the least costs add up: 0 + 0 + 0. With q(a, 0) = 1:
// min(0 + 1, 3) + 0 + min(5 - 1, 1 - 1, 0, 4) = 1.
TEST(Check, PotentialsMoveCostFromAPairToItsEnds) {
  Problem problem = chain();
  Certificate certificate;
  certificate.tree = {bounding({0, 0, 0, 0})};
  EXPECT_EQ(proved(problem, certificate), "0");
  certificate.tree = {bounding({1, 0, 0, 0})};
  EXPECT_EQ(proved(problem, certificate), "1");
  Solution solution = evaluate(problem, {0, 1});
  solution.certificate = certificate;
  solution.lowerBound = 1;
  EXPECT_EQ(check(problem, solution), std::nullopt);
  solution.lowerBound = 0;
  EXPECT_EQ(check(problem, solution),
            "the certificate proves a lower bound of 1, not 0");
  solution.certificate = {};
  EXPECT_EQ(check(problem, solution), std::nullopt);
  solution.lowerBound = 1;
  EXPECT_EQ(check(problem, solution),
            "the lower bound 1 has no certificate, and is above the sum of "
            "least costs, 0");
}

// q(a, 0) = 1/2 gives 1/2 + 0 + 0, and q(a, 0) = -7/2 gives -7/2 + 0 + 0.
TEST(Check, BoundsAreRoundedUp) {
  Problem problem = chain();
  Certificate certificate;
  certificate.priceBits = certificate.potentialBits = 1;
  certificate.tree = {bounding({1, 0, 0, 0})};
  EXPECT_EQ(proved(problem, certificate), "1");
  certificate.tree = {bounding({-7, 0, 0, 0})};
  EXPECT_EQ(proved(problem, certificate), "-3");
  certificate.priceBits = 0;
  certificate.potentialBits = -1; // q(a, 0) = 2: min(2, 3) + 0 + (1 - 2).
  certificate.tree = {bounding({1, 0, 0, 0})};
  EXPECT_EQ(proved(problem, certificate), "1");
}

/// Three nodes at once, each cheap with 2 bytes or dear with 1; every two
/// dislike to agree. Within 4 bytes two must be dear, so two agree: the optimum
/// is 9.
static Problem triangle() {
  Problem problem;
  problem.nodes.assign(3, {"", {}, {0, 4}, {2, 1}, {0, 3}});
  problem.matrices = {{2, 2, {1, 0, 0, 1}}};
  problem.edges = {{0, 1, 0, {}, {}}, {1, 2, 0, {}, {}}, {2, 0, 0, {}, {}}};
  problem.usageLimit = 4;
  return problem;
}

// At a price of 4 both strategies cost 8: 3 * 8 - 4 * 4 = 8, whether the price
// is at one time or spread over two.
TEST(Check, PricesOfMemoryRaiseTheBound) {
  Problem problem = triangle();
  Certificate certificate;
  certificate.priceBits = 1;
  std::vector<int64_t> none(12, 0);
  certificate.tree = {bounding(none, {{1, 8}})};
  EXPECT_EQ(proved(problem, certificate), "8");
  certificate.tree = {bounding(none, {{0, 3}, {2, 5}})};
  EXPECT_EQ(proved(problem, certificate), "8");
  // Nothing lives at time 3: the price is only paid, -4 * 4.
  certificate.tree = {bounding(none, {{3, 8}})};
  EXPECT_EQ(proved(problem, certificate), "-16");
  problem.usageLimit.reset();
  EXPECT_EQ(proved(problem, certificate),
            "certificate: node 0 of the tree: it has prices of memory, but the "
            "problem has no limit");
}

// Free of memory, two of a triangle agree: the optimum is 1, and half of each
// state gets away with 0. With node 0 at 0, potentials move the 1 that node 1
// pays for 0 into (1, 2), and what is there to node 2: terms {0, 0} and {1, 1},
// and entries {{2, 0}, {0, 0}} of (1, 2). With node 0 at 1 the mirror image.
TEST(Check, TheLeastLeafCounts) {
  Problem problem = triangle();
  problem.nodes.assign(3, {"", {}, {0, 0}, {0, 0}, {0, 3}});
  BoundNode root = bounding(std::vector<int64_t>(12, 0));
  BoundNode zero =
      child(0, 0, {0}, bounding({0, 0, 1, 0, 0, 0, 1, 0, -1, 0, 0, 1}));
  BoundNode one =
      child(0, 0, {1}, bounding({0, 0, 0, 1, 0, 0, 0, 1, 0, -1, 1, 0}));
  Certificate certificate;
  certificate.tree = {root};
  EXPECT_EQ(proved(problem, certificate), "0");
  certificate.tree = {root, zero, one};
  EXPECT_EQ(proved(problem, certificate), "1");
  // A leaf without potentials has the value of the root.
  certificate.tree = {root, zero, child(0, 0, {1})};
  EXPECT_EQ(proved(problem, certificate), "0");
  certificate.tree = {child(-1, 0, {}), zero, one};
  EXPECT_EQ(proved(problem, certificate), "1");
  certificate.tree = {child(-1, 0, {}), zero, child(0, 0, {1})};
  EXPECT_EQ(proved(problem, certificate),
            "certificate: node 2 of the tree: it is a leaf, but neither it nor "
            "one above bounds");
}

/// a {0, 1}, b with three strategies of which a's admit one each, c that must
/// be b's mirror, and d that goes with everything.
static Problem followers() {
  Problem problem;
  problem.nodes = {{"a", {}, {0, 1}, {0, 0}, {0, 1}},
                   {"b", {}, {10, 20, 30}, {0, 0, 0}, {0, 1}},
                   {"c", {}, {100, 200, 300}, {0, 0, 0}, {0, 1}},
                   {"d", {}, {5, 0}, {0, 0}, {0, 1}}};
  problem.matrices = {{2, 3, {kNo, 2, kNo, 7, kNo, kNo}},
                      {3, 3, {kNo, kNo, 3, kNo, 4, kNo, 5, kNo, kNo}},
                      {2, 3, {0, 9, 9, 0, 9, 0}}};
  // The last leads from d to c: d's second strategy and c's third are free.
  problem.edges = {{0, 1, 0, {}, {}}, {1, 2, 1, {}, {}}, {3, 2, 2, {}, {}}};
  return problem;
}

// a0 takes b1, c1: 0 + 20 + 200 + 2 + 4 = 226 with 5 + 9 or 0 + 9 for d: 235.
// a1 takes b0, c2: 1 + 10 + 300 + 7 + 3 = 321 with 0 + 0 for d: 321.
TEST(Check, FollowersActAsOneVariable) {
  Problem problem = followers();
  Certificate certificate;
  // The pair (0, 3) has entries a0: {9, 9}, a1: {9, 0}.
  certificate.tree = {bounding({0, 0, 0, 0})};
  for (auto deductions : {std::vector{follow(0, 1), follow(0, 2)},
                          std::vector{follow(1, 2), follow(0, 1)}}) {
    certificate.deductions = deductions;
    EXPECT_EQ(proved(problem, certificate), "226");
    certificate.tree = {bounding({9, 0, 0, 0})};
    EXPECT_EQ(proved(problem, certificate), "235");
    certificate.tree = {bounding({0, 0, 0, 0})};
  }
  certificate.deductions = {follow(2, 1), follow(1, 0)};
  EXPECT_EQ(proved(problem, certificate),
            "step 1 of the certificate: node 1 is no longer a variable, it "
            "follows variable 2");
  // c leads: c0 takes b2, whom no a goes with; c1 takes b1, a0; c2 b0, a1.
  certificate.deductions = {follow(2, 1), follow(2, 0)};
  certificate.tree = {bounding({9, 0, 0, 0})};
  EXPECT_EQ(proved(problem, certificate), "235");
}

TEST(Check, StepsMustBeJustified) {
  Problem problem = followers();
  Certificate certificate;
  certificate.tree = {bounding({})};
  auto error = [&](std::vector<Deduction> deductions) {
    certificate.deductions = std::move(deductions);
    std::string text = proved(problem, certificate);
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(error({drop(4, 0, 4)}),
            "there is no variable 4; the problem has 4 nodes");
  EXPECT_EQ(error({drop(0, 0, 4)}),
            "there is no variable 4; the problem has 4 nodes");
  EXPECT_EQ(error({drop(1, 3, 0)}),
            "variable 1 cannot lose state 3, it does not have it");
  EXPECT_EQ(error({drop(1, 2, 0), drop(1, 2, 0)}),
            "variable 1 cannot lose state 2, it does not have it");
  EXPECT_EQ(error({drop(1, 2, 1)}),
            "variable 1 cannot lose state 2, which is feasible by itself");
  EXPECT_EQ(error({drop(1, 0, 0)}), "variable 1 cannot lose state 0, which "
                                    "goes with state 1 of variable 0");
  EXPECT_EQ(error({drop(1, 0, 3)}), "variable 1 cannot lose state 0, which "
                                    "goes with state 0 of variable 3");
  EXPECT_EQ(error({follow(3, 2)}),
            "variable 2 cannot follow variable 3: state 0 of variable 3 goes "
            "with its states 0 and 1");
  EXPECT_EQ(error({follow(3, 3)}),
            "variable 3 cannot follow variable 3, which is the same");
}

// b2 has no partner, then c0 has none, a step that only the first allows; after
// c follows b, an edge inside makes no state infeasible, but c's own cost does.
TEST(Check, DropsUseWhatEarlierStepsLeft) {
  Problem problem = followers();
  Certificate certificate;
  certificate.tree = {bounding({0, 0, 0, 0, 0, 0, 0, 0})};
  certificate.deductions = {drop(2, 0, 1)};
  EXPECT_NE(proved(problem, certificate).find("goes with state 2"),
            std::string::npos);
  certificate.deductions = {drop(1, 2, 0), drop(2, 0, 1)};
  // Pairs (0, 1), (1, 2), (2, 3) of two states each: 12 potentials.
  certificate.tree = {bounding(std::vector<int64_t>(12, 0))};
  EXPECT_EQ(proved(problem, certificate), "215"); // 0+10+200+0 +2 +3 +0.
  problem.nodes[2].costs[1] = kNo;
  certificate.deductions = {follow(1, 2), drop(1, 1, 1), drop(1, 2, 0)};
  // b is fixed at 0: 10 + 300 + 3, a1 1 + 7 (a0 is infeasible), d {5, 0}.
  certificate.tree = {bounding({})};
  EXPECT_EQ(proved(problem, certificate), "321");
}

TEST(Check, AnEdgeFromANodeToItselfCountsInItsState) {
  Problem problem;
  problem.nodes = {{"", {}, {1, 2, 3}, {0, 0, 0}, {0, 1}}};
  problem.matrices = {{3, 3, {kNo, 0, 0, 0, 5, 0, 0, 0, 6}}};
  problem.edges = {{0, 0, 0, {}, {}}};
  Certificate certificate;
  certificate.tree = {bounding({})};
  EXPECT_EQ(proved(problem, certificate), "7");
  certificate.deductions = {drop(0, 0, 0)};
  EXPECT_EQ(proved(problem, certificate), "7");
  certificate.deductions = {drop(0, 1, 0)};
  EXPECT_NE(proved(problem, certificate), "7");
}

// Four nodes of two strategies; edges x -> y use 3 bytes if both take 1. At a
// price of 2 that is 6, which an edge inside, to a fixed node and between two
// variables must all charge. All costs are -1 for strategy 1.
TEST(Check, MemoryOfEdgesIsPriced) {
  Problem problem;
  problem.nodes.assign(4, {"", {}, {0, -1}, {0, 0}, {0, 9}});
  problem.nodes[1].costs[0] = kNo; // Fixed at 1 by a drop: -1.
  problem.matrices = {
      {2, 2, {0, kNo, kNo, 0}}, {2, 2, {0, 0, 0, 0}}, {2, 2, {0, 0, 0, 3}}};
  problem.usageLimit = 5;
  Certificate certificate;
  certificate.deductions = {drop(1, 0, 1), follow(0, 3)};
  auto with = [&](std::vector<Edge> edges, size_t pairs, int64_t time) {
    problem.edges = {{0, 3, 0, {}, {}}};
    problem.edges.insert(problem.edges.end(), edges.begin(), edges.end());
    certificate.tree = {
        bounding(std::vector<int64_t>(4 * pairs, 0), {{time, 2}})};
    return proved(problem, certificate);
  };
  // -1 for node 1, -2 for nodes 0 and 3 together, -1 for node 2; less 2 * 5.
  EXPECT_EQ(with({}, 0, 4), "-14");
  // Inside: 0 and 3 at 1 cost -2 + 6, so they take 0.
  EXPECT_EQ(with({{3, 0, 1, 2, {4, 5}}}, 0, 4), "-12");
  EXPECT_EQ(with({{3, 0, 1, 2, {4, 5}}}, 0, 5), "-14");
  // To the fixed node, either way round.
  EXPECT_EQ(with({{1, 2, 1, 2, {4, 5}}}, 0, 4), "-13");
  EXPECT_EQ(with({{2, 1, 1, 2, {4, 5}}}, 0, 4), "-13");
  // Between two variables the least entry is still 0.
  EXPECT_EQ(with({{2, 3, 1, 2, {4, 5}}}, 1, 4), "-14");
  // Split down to both at 1, the entry is 6: -1 - 2 - 1 + 6 - 10.
  BoundNode root = certificate.tree[0];
  certificate.tree = {root, child(0, 0, {1}, root), child(1, 2, {1}, root),
                      child(1, 2, {0}, root), child(0, 0, {0}, root)};
  EXPECT_EQ(proved(problem, certificate), "-13"); // (1, 0): -1 - 2 - 10.
  // Only what is feasible has to be kept: now that is 1 and 1.
  problem.nodes[0].costs[0] = problem.nodes[2].costs[0] = kNo;
  certificate.tree[3].kept = certificate.tree[4].kept = {};
  EXPECT_EQ(proved(problem, certificate), "-8");
}

// The chain's four costs are 7, 1, 5, 7. A bound of 1 - 0 with q(a, 0) = 1 has
// terms a {1, 3}, b {2, 0}: 1 + 2 = 3 for a1 or b0.
TEST(Check, FixingRemovesWhatCannotBeatTheCutoff) {
  Problem problem = chain();
  Certificate certificate;
  certificate.tree = {bounding({1, 0, 0, 0})};
  certificate.tree[0].fixes = true;
  EXPECT_EQ(proved(problem, certificate),
            "certificate: node 0 of the tree: it fixes states, but the "
            "certificate has no cutoff");
  certificate.cutoff = 3;
  // A child need not keep what is lost, and then 0, 1 alone is left: 0+0+1.
  certificate.tree.push_back(child(0, 0, {0}, bounding({0, 0, 0, 0})));
  EXPECT_EQ(proved(problem, certificate), "1");
  certificate.cutoff = 4;
  EXPECT_EQ(proved(problem, certificate),
            "certificate: node 0 of the tree: none of its children keeps state "
            "1 of variable 0");
  // A cutoff at the optimum removes everything, and caps the bound.
  certificate.cutoff = 1;
  certificate.tree.pop_back();
  EXPECT_EQ(proved(problem, certificate), "1");
  certificate.cutoff = 0;
  EXPECT_EQ(proved(problem, certificate), "0");
}

TEST(Check, NothingLeftIsInfinite) {
  Problem problem = chain();
  Certificate certificate;
  certificate.tree = {bounding({0, 0, 0, 0})};
  problem.matrices[0].entries.assign(4, kNo);
  EXPECT_EQ(proved(problem, certificate), "infinite");
  certificate.cutoff = 12;
  EXPECT_EQ(proved(problem, certificate), "12");
  certificate.cutoff.reset();
  // a's states go one by one, and then b's have nobody to go with.
  certificate.deductions = {drop(0, 0, 1), drop(0, 1, 1), drop(1, 1, 0)};
  certificate.tree = {bounding({})}; // b is fixed, a has no state.
  EXPECT_EQ(proved(problem, certificate), "infinite");
  // One infinite leaf does not make the others so.
  problem = chain();
  problem.matrices[0].entries = {kNo, kNo, 0, 4};
  certificate.deductions = {};
  certificate.tree = {bounding({0, 0, 0, 0}),
                      child(0, 0, {0}, bounding({0, 0, 0, 0})),
                      child(0, 0, {1}, bounding({0, 0, 0, 0}))};
  EXPECT_EQ(proved(problem, certificate), "3");
}

// 2^31 * 2^(60 + 60) wraps to zero in 128 bits; 2^7 * 2^120 is the least number
// there is. Both would pass for something else.
TEST(Check, NumbersBeyond128BitsAreRefused) {
  Problem problem = chain();
  Certificate certificate;
  certificate.priceBits = 60;
  certificate.potentialBits = -60;
  std::string refused =
      "certificate: node 0 of the tree: its values need more than 128 bits; "
      "use fewer price bits, or smaller prices and potentials";
  for (int32_t potential : {INT32_MIN, INT32_MAX, -128, 128, 127, 33}) {
    certificate.tree = {bounding({potential, 0, 0, 0})};
    EXPECT_EQ(proved(problem, certificate), refused);
  }
  // A potential of 2^60: the other state of a and all of its entries win.
  certificate.tree = {bounding({1, 0, 0, 0})};
  EXPECT_EQ(proved(problem, certificate), toString(4 - (Wide(1) << 60)));
  problem.usageLimit = INT64_MAX;
  certificate.tree = {bounding({0, 0, 0, 0}, {{0, INT64_MAX}})};
  EXPECT_EQ(proved(problem, certificate), refused);
  // 200 nodes of 2^59 at 2^60 each.
  problem.usageLimit.reset();
  problem.edges.clear();
  problem.nodes.assign(200, {"", {}, {int64_t(1) << 59}, {0}, {0, 1}});
  certificate.tree = {bounding({})};
  EXPECT_EQ(proved(problem, certificate), refused);
  certificate.priceBits = 50;
  EXPECT_EQ(proved(problem, certificate), toString(Wide(200) << 59));
}
