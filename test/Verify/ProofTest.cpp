//===- ProofTest.cpp - Boxes, moves and operators, one by one -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/SPMD/LayoutSyntax.h"
#include "divisi/Layout/Parse.h"
#include "lib/Verify/Boxes.h"
#include "lib/Verify/Moves.h"
#include "lib/Verify/Operators.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <iostream>
#include <random>

using namespace divisi;
using namespace divisi::verify;
using testing::HasSubstr;

/// As written, not canonical.
static Layout layoutOf(const Grid &grid, llvm::StringRef text) {
  return llvm::cantFail(parseLayout(text, grid));
}

static std::string orNothing(const Complaint &complaint) {
  return complaint.value_or("nothing");
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

// The two readings of a layout are made apart, and must agree.
TEST(Boxes, AgreeWithLayoutsOfAnyForm) {
  std::mt19937 random(1);
  size_t cases = 0;
  for (int round = 0; round < 2000; ++round) {
    Grid grid({{"x", int64_t(1 + random() % 4)},
               {"y", int64_t(1 + random() % 4)},
               {"z", int64_t(1 + random() % 3)}});
    llvm::SmallVector<int64_t, 4> shape = {int64_t(random() % 12),
                                           int64_t(random() % 7)};
    Layout layout = Layout::replicated(2);
    for (uint32_t axis = 0; axis < 3; ++axis) {
      if (size_t dim = random() % 3; dim < 2) {
        layout.dims[dim].axes.push_back(AxisId{axis});
      }
    }
    ASSERT_EQ(orNothing(verifyForm(grid, shape, layout)), "nothing");
    for (int64_t p = 0; p < grid.numPositions(); ++p) {
      Coordinates at(grid.coordinates(p));
      auto box = layout.box(grid, shape, p);
      for (size_t d = 0; d < 2; ++d) {
        Interval held = heldOf(grid, shape[d], layout.dims[d], at);
        ASSERT_TRUE(same(held, box[d])) << layout.str(grid);
        ++cases;
      }
    }
    EXPECT_EQ(largestBox(grid, shape, layout), layout.localShape(grid, shape));
  }
  std::cout << cases << " intervals compared\n";
  EXPECT_GT(cases, 10000u);
}

TEST(Boxes, HoldTogether) {
  EXPECT_TRUE(hold({{4, 6}, {0, 5}}, {0, 6}));
  EXPECT_FALSE(hold({{0, 2}, {3, 6}}, {0, 6}));
  EXPECT_FALSE(hold({{2, 2}}, {2, 3}));
  EXPECT_TRUE(hold({}, {3, 3}));
}

TEST(Boxes, MalformedLayouts) {
  Grid grid({{"x", 2}, {"y", 2}});
  Layout layout = layoutOf(grid, "[x, *]");
  layout.dims[1].axes = {AxisId{0}};
  EXPECT_EQ(orNothing(verifyForm(grid, {4, 4}, layout)),
            "the axis x occurs twice");
  EXPECT_EQ(orNothing(verifyForm(grid, {4}, layout)),
            "has a layout of 2 dimensions for a tensor of 1");
  layout.dims[1].axes = {AxisId{7}};
  EXPECT_EQ(orNothing(verifyForm(grid, {4, 4}, layout)),
            "is split over an axis that the grid lacks");
  layout = layoutOf(grid, "[x, *]");
  layout.partialAxes = {AxisId{0}};
  EXPECT_EQ(orNothing(verifyForm(grid, {4, 4}, layout)),
            "the axis x occurs twice");
  layout = layoutOf(grid, "[x, *]");
  layout.dims[0].bounds = {{0, 4}};
  EXPECT_EQ(orNothing(verifyForm(grid, {4, 4}, layout)),
            "has 1 bounds for 2 shards");
  layout.dims[0].bounds = {{0, 4}, {3, 5}};
  EXPECT_EQ(orNothing(verifyForm(grid, {4, 4}, layout)),
            "the bounds 3:5 leave the tensor");
  layout.dims[0].bounds = {{0, 2}, {3, 4}};
  EXPECT_EQ(orNothing(verifyAllHeld(grid, {4, 4}, layout)),
            "no position holds all of dimension 0, 0:4");
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

namespace {

struct MoveCase {
  const char *kind, *axes, *from, *to;
  const char *complaint; ///< A part of it; "nothing" if the move is right.
};

} // namespace

// On (x=2, y=3) of a tensor 6x6.
static const MoveCase kMoves[] = {
    {"slice", "x", "[*, *]", "[x, *]", "nothing"},
    {"slice", "x", "[y, *]", "[x, *]", "do not hold"},
    {"slice", "x", "[*, *]", "[x, *] partial sum {y}",
     "does not leave the tensor partial over the axes"},
    {"mask", "x", "[y, *]", "[y, *] partial sum {x}", "nothing"},
    {"mask", "x", "[x, *]", "[x, *] partial sum {y}",
     "masks along x, along which its operand is not replicated"},
    {"mask", "y", "[*, *] partial max {x}", "[*, *] partial max {x, y}",
     "masks by zeros what is not partial by a sum"},
    {"mask", "x", "[y, *]", "[*, *] partial sum {x}",
     "dimension 0 at y=0 is 0:6, expected 0:2"},
    {"all_gather", "x", "[x, *]", "[*, *]", "nothing"},
    {"all_gather", "y", "[x, *]", "[*, *]",
     "dimension 0 at x=0 becomes 0:6, which the positions that take part do "
     "not hold"},
    {"all_gather", "x", "[x, *] partial sum {y}", "[*, *]",
     "does not leave the tensor partial over the axes"},
    {"all_gather", "x", "[*, *] partial sum {x}", "[*, *] partial sum {x}",
     "moves boxes along x, over which they are partial"},
    {"all_gather", "x", "[x, *] partial sum {y}", "[*, *] partial max {y}",
     "changes the kind of reduction by which the tensor is partial"},
    {"all_to_all", "x", "[x, *]", "[*, x]", "nothing"},
    {"all_to_all", "x, x", "[x, *]", "[*, x]", "names the axis x twice"},
    {"exchange", "x", "[x, *]", "[x{0:4, 2:6}, *]", "nothing"},
    {"exchange", "y", "[x, *]", "[x{0:4, 2:6}, *]", "do not hold"},
    {"all_reduce", "x", "[y, *] partial sum {x}", "[y, *]", "nothing"},
    {"all_reduce", "y", "[*, *] partial sum {x}", "[*, *] partial sum {x}",
     "combines along y, over which its operand is not partial"},
    {"all_reduce", "x", "[*, *] partial sum {x, y}", "[*, *]",
     "does not leave the tensor partial over the axes"},
    {"all_reduce", "x", "[y, *] partial sum {x}", "[*, *]",
     "dimension 0 at y=0 is 0:6, expected 0:2"},
    {"reduce_scatter", "x", "[*, *] partial sum {x}", "[x, *]", "nothing"},
    {"reduce_scatter", "x", "[y, *] partial sum {x}", "[x, *]", "do not hold"},
};

TEST(Moves, AreRightOrSaidToBeWrong) {
  Grid grid({{"x", 2}, {"y", 3}});
  for (const MoveCase &move : kMoves) {
    SCOPED_TRACE(std::string(move.kind) + " " + move.axes + ": " + move.from +
                 " to " + move.to);
    Axes axes;
    for (char name : std::string(move.axes)) {
      if (name == 'x' || name == 'y') {
        axes.push_back(*grid.find(std::string(1, name)));
      }
    }
    Complaint complaint =
        verifyMove(grid, {6, 6}, *parseStepKind(move.kind), axes,
                   layoutOf(grid, move.from), layoutOf(grid, move.to));
    EXPECT_THAT(orNothing(complaint), HasSubstr(move.complaint));
  }
}

TEST(Moves, BetweenGrids) {
  Grid from({{"x", 2}}), to({{"z", 3}});
  auto between = [&](const char *source, const char *target) {
    return orNothing(verifyMoveBetween({6}, from, layoutOf(from, source), to,
                                       layoutOf(to, target)));
  };
  EXPECT_EQ(between("[x]", "[z]"), "nothing");
  EXPECT_EQ(between("[x{0:3, 4:6}]", "[z]"),
            "dimension 0 at z=1 becomes 2:4, which no position holds");
  EXPECT_EQ(between("[*] partial sum {x}", "[z]"),
            "moves partial values; combine them first");
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// mk,kn->mn with m=4, k=6, n=2; linear in either operand.
static LoopNest matmul() {
  LoopNest nest;
  LoopId m = nest.add("m", 4), n = nest.add("n", 2);
  LoopId k = nest.add("k", 6, LoopKind::Reduction);
  nest.operands = {{{DimMap::loop(m), DimMap::loop(k)}, {4, 6}},
                   {{DimMap::loop(k), DimMap::loop(n)}, {6, 2}}};
  nest.results = {{{DimMap::loop(m), DimMap::loop(n)}, {4, 2}}};
  nest.linear = {{0}, {1}};
  return nest;
}

namespace {

struct OperatorCase {
  const char *split, *lhs, *rhs, *result, *complaint;
};

} // namespace

static const OperatorCase kMatmuls[] = {
    {"m@x, n@y", "[x, *]", "[*, y]", "[x, y]", "nothing"},
    {"k@x", "[*, x]", "[x, *]", "[*, *] partial sum {x}", "nothing"},
    {"m@y, carry sum@x", "[y, *] partial sum {x}", "[*, *]",
     "[y, *] partial sum {x}", "nothing"},
    {"m@x", "[*, *]", "[*, *]", "[x, *]",
     "operand 0: dimension 0 at x=0 is 0:4, but the iterations there touch "
     "0:2"},
    {"m@x", "[x, *]", "[*, *]", "[*, *]",
     "result 0: dimension 0 at x=0 is 0:4, but the iterations there make 0:2"},
    {"k@x", "[*, x]", "[*, *]", "[*, *] partial sum {x}",
     "operand 1: dimension 0 at x=0 is 0:6, but the iterations there touch "
     "0:3"},
    {"k@x", "[*, x]", "[x, *]", "[*, *]",
     "result 0: is partial over {}, but the split leaves summands over {x}"},
    {"k@x", "[*, x]", "[x, *]", "[*, *] partial max {x}",
     "is partial by another kind of reduction than the one that is split"},
    {"m@x", "[x, *]", "[*, *] partial sum {y}", "[x, *]",
     "operand 1: is partial over {y}, but the split carries a sum through it "
     "over {}"},
};

static Work workOf(const Grid &grid, const LoopNest &nest,
                   llvm::StringRef text) {
  Split split;
  std::optional<spmd::NamedSplit> named = spmd::readSplit(text);
  EXPECT_EQ(named.value().resolve(nest, grid, split), std::nullopt);
  Work work;
  for (const auto &axes : split.loopAxes) {
    work.loopAxes.push_back(Axes(axes.begin(), axes.end()));
  }
  work.carryAxes.assign(split.carryAxes.begin(), split.carryAxes.end());
  work.carrySet = split.carrySet;
  return work;
}

TEST(Operators, AreRightOrSaidToBeWrong) {
  Grid grid({{"x", 2}, {"y", 2}});
  LoopNest nest = matmul();
  for (const OperatorCase &test : kMatmuls) {
    SCOPED_TRACE(test.split);
    Layout lhs = layoutOf(grid, test.lhs), rhs = layoutOf(grid, test.rhs);
    Layout result = layoutOf(grid, test.result);
    Complaint complaint = verifyOperator(
        nest, grid, workOf(grid, nest, test.split), {&lhs, &rhs}, {&result});
    EXPECT_THAT(orNothing(complaint), HasSubstr(test.complaint));
  }
}

// What LoopNest can say and no operator of today would let through.
TEST(Operators, LoopsThatNobodyMaySplit) {
  Grid grid({{"x", 2}, {"y", 2}});
  Layout whole = layoutOf(grid, "[*, *]");
  auto complaintOf = [&](const LoopNest &nest, llvm::StringRef split) {
    return orNothing(verifyOperator(nest, grid, workOf(grid, nest, split),
                                    {&whole, &whole}, {&whole}));
  };
  LoopNest nest = matmul();
  nest.loops[2].kind = LoopKind::Exchange;
  EXPECT_EQ(complaintOf(nest, "k@x"), "its loop k cannot be split");
  nest = matmul();
  nest.loops[2].kind = LoopKind::Parallel;
  EXPECT_EQ(complaintOf(nest, "k@x"), "no box says how its loop k is split");
  nest = matmul();
  Work work = workOf(grid, nest, "m@x");
  work.loopAxes[1] = work.loopAxes[0];
  EXPECT_EQ(
      orNothing(verifyOperator(nest, grid, work, {&whole, &whole}, {&whole})),
      "its split uses the axis x twice");
  work.loopAxes[1].clear();
  work.carryAxes = {AxisId{1}};
  work.carrySet = 2;
  EXPECT_EQ(
      orNothing(verifyOperator(nest, grid, work, {&whole, &whole}, {&whole})),
      "it carries a sum through operands in which it is not linear");
  nest = matmul();
  nest.operands[0].dims.pop_back();
  nest.operands[0].shape.pop_back();
  EXPECT_EQ(complaintOf(nest, ""),
            "operand 0: has the wrong number of dimensions");
}

// A bound without an axis: no grid matters.
TEST(Operators, WrongEverywhere) {
  Grid grid({{"x", 2}});
  LoopNest nest = matmul();
  Layout lhs = layoutOf(grid, "[*, *]"), whole = lhs;
  lhs.dims[0].bounds = {{0, 2}};
  EXPECT_EQ(orNothing(verifyOperator(nest, grid, workOf(grid, nest, ""),
                                     {&lhs, &whole}, {&whole})),
            "operand 0: dimension 0 at every position is 0:2, but the "
            "iterations there touch 0:4");
}

TEST(Operators, TwoKindsOfReduction) {
  Grid grid({{"x", 2}, {"y", 2}});
  LoopNest nest;
  LoopId a = nest.add("a", 4, LoopKind::Reduction, ReduceKind::Sum);
  LoopId b = nest.add("b", 4, LoopKind::Reduction, ReduceKind::Max);
  nest.operands = {{{DimMap::loop(a), DimMap::loop(b)}, {4, 4}}};
  nest.results = {{{}, {}}};
  Layout operand = layoutOf(grid, "[x, y]");
  Layout result = layoutOf(grid, "[] partial sum {x, y}");
  EXPECT_EQ(orNothing(verifyOperator(nest, grid, workOf(grid, nest, "a@x, b@y"),
                                     {&operand}, {&result})),
            "result 0: would be partial by two kinds of reduction");
}

// (a b) with the minor loop split and the major one not: every second index.
TEST(Operators, ProductsSplitInTheMiddle) {
  Grid grid({{"x", 2}});
  LoopNest nest;
  LoopId a = nest.add("a", 2), b = nest.add("b", 4);
  nest.operands = {{{DimMap::product({a, b})}, {8}}};
  nest.results = {{{DimMap::loop(a), DimMap::loop(b)}, {2, 4}}};
  Layout operand = layoutOf(grid, "[x]"), result = layoutOf(grid, "[*, x]");
  EXPECT_EQ(orNothing(verifyOperator(nest, grid, workOf(grid, nest, "b@x"),
                                     {&operand}, {&result})),
            "operand 0: dimension 0 at x=0: the iterations there do not touch "
            "a single interval");
  operand = layoutOf(grid, "[x]");
  result = layoutOf(grid, "[x, *]");
  EXPECT_EQ(orNothing(verifyOperator(nest, grid, workOf(grid, nest, "a@x"),
                                     {&operand}, {&result})),
            "nothing");
}
