//===- MessagesTest.cpp - What is said of wrong grids, layouts, loops -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shorthand.h"

#include "gmock/gmock.h"

using namespace divisi;
using namespace divisi::test;
using testing::HasSubstr;

/// What `verifyNest` says of 8x6x4 "mk,kn->mn" after `change`.
static std::string nestError(llvm::function_ref<void(LoopNest &)> change) {
  LoopNest nest = matmul(8, 6, 4);
  change(nest);
  return verifyNest(nest).value_or("none");
}

TEST(LoopMessagesTest, WrongNests) {
  auto dim = [](LoopNest &nest, size_t d) -> DimMap & {
    return nest.operands[0].dims[d];
  };
  EXPECT_EQ(nestError([&](LoopNest &nest) { dim(nest, 0).loops = {{7}}; }),
            "dimension 0 of operand 0 mentions loop number 7, but there are 3");
  EXPECT_EQ(nestError([&](LoopNest &nest) {
              nest.loops[0].extent = nest.loops[2].extent = int64_t(1) << 40;
              dim(nest, 0).loops = {{0}, {2}};
            }),
            "dimension 0 of operand 0 has loops whose product overflows");
  EXPECT_EQ(nestError([](LoopNest &nest) { nest.operands[0].shape[0] = 9; }),
            "dimension 0 of operand 0 has loops of 8 iterations, expected its "
            "extent 9");
  EXPECT_EQ(nestError([&](LoopNest &nest) {
              dim(nest, 0) = DimMap::window({0}, 1, 0, 0);
              dim(nest, 0).loops = {{0}, {1}};
            }),
            "dimension 0 of operand 0 is a window or table of 2 loops, "
            "expected 1");
  EXPECT_EQ(nestError([&](LoopNest &nest) {
              dim(nest, 0) = DimMap::window({0}, 0, 0, 0);
            }),
            "dimension 0 of operand 0 is a window with stride 0 or a negative "
            "reach");
  EXPECT_EQ(nestError([&](LoopNest &nest) {
              dim(nest, 0) = DimMap::tabulated({0}, {{0, 1}});
            }),
            "dimension 0 of operand 0 has a table of 1 rows, expected 8 as its "
            "loop has");
  EXPECT_EQ(nestError([](LoopNest &nest) { nest.operands[0].shape = {8}; }),
            "operand 0 has 2 dimensions mapped, expected 1");
  EXPECT_EQ(nestError([&](LoopNest &nest) {
              dim(nest, 1).loops = {{0}};
              nest.operands[0].shape[1] = 8;
            }),
            "operand 0 mentions the loop 'm' twice");
  EXPECT_EQ(nestError([](LoopNest &nest) { nest.loops[1].name = "m"; }),
            "two loops are called 'm'");
  EXPECT_EQ(nestError([](LoopNest &nest) { nest.loops[1].extent = -1; }),
            "the loop 'n' has a negative extent");
  EXPECT_EQ(nestError([](LoopNest &nest) {
              nest.results[0].dims.pop_back();
              nest.results[0].shape.pop_back();
            }),
            "result 0 lacks the parallel loop 'n'");
  for (const llvm::SmallVector<unsigned, 2> &set :
       {llvm::SmallVector<unsigned, 2>{}, {1, 0}, {2}}) {
    EXPECT_EQ(nestError([&](LoopNest &nest) {
                nest.linear[0].assign(set.begin(), set.end());
              }),
              "a linear set is empty, not ascending, or names an operand that "
              "does not exist");
  }
}

/// What `verifySplit` says of a split of `nest` on (x=2, y=2), of k by x, after
/// `change`.
static std::string splitError(const LoopNest &nest,
                              llvm::function_ref<void(Split &)> change) {
  Grid g = grid("(x=2, y=2)");
  Split s = Split::replicated(nest);
  change(s);
  return verifySplit(nest, g, s).value_or("none");
}

TEST(LoopMessagesTest, WrongSplits) {
  LoopNest nest = matmul(8, 6, 4);
  AxisId x{0}, y{1};
  EXPECT_EQ(splitError(nest, [](Split &s) { s.loopAxes.pop_back(); }),
            "the split has 2 loops, expected 3");
  EXPECT_EQ(splitError(nest, [](Split &s) { s.loopAxes[0] = {AxisId{5}}; }),
            "the split uses axis number 5 of a grid with 2 axes");
  EXPECT_EQ(
      splitError(nest, [&](Split &s) { s.loopAxes[0] = s.loopAxes[1] = {x}; }),
      "the axis 'x' is used twice; it splits one loop or carries a "
      "partial sum");
  EXPECT_EQ(splitError(nest,
                       [&](Split &s) {
                         s.carryAxes = {x};
                         s.carrySet = 3;
                       }),
            "a partial sum is carried in linear set 3, but the operator has 2");
  LoopNest mixed = matmul(8, 6, 4);
  mixed.add("top", 5, LoopKind::Reduction, ReduceKind::Max);
  mixed.add("own", 5, LoopKind::Whole);
  EXPECT_EQ(splitError(mixed, [&](Split &s) { s.loopAxes[4] = {x}; }),
            "the loop 'own' is of kind whole and is never split");
  EXPECT_EQ(splitError(mixed,
                       [&](Split &s) {
                         s.loopAxes[2] = {x};
                         s.loopAxes[3] = {y};
                       }),
            "the results would be partial in two ways, sum and, by the loop "
            "'top', max");
  LoopNest flat =
      oneToOne({{"b", 3}, {"s", 5}}, {DimMap::product({{0}, {1}})}, {15});
  EXPECT_EQ(splitError(flat, [&](Split &s) { s.loopAxes[1] = {x}; }),
            "the loop 's' is split, but 'b', a more major factor of the same "
            "dimension, has shards of 3 iterations, expected 1; split that "
            "first");
}

TEST(LayoutMessagesTest, WrongGrids) {
  EXPECT_EQ(Grid({{"", 2}}).verify(), "axis 0 of the grid has no name");
  EXPECT_EQ(Grid({{"x", 2}, {"x", 3}}).verify(), "the grid has two axes 'x'");
  EXPECT_EQ(Grid({{"x", 0}}).verify(),
            "axis 'x' has size 0, expected at least 1");
  EXPECT_EQ(Grid({{"x", Grid::maxPositions}, {"y", 2}}).verify(),
            "the grid has more than " + std::to_string(Grid::maxPositions) +
                " positions");
  EXPECT_EQ(Grid({{"x", 3, {2, 1}}}).verify(),
            "axis 'x' has 2 weights, expected 3, one per position");
  EXPECT_EQ(Grid({{"x", 2, {2, 0}}}).verify(),
            "axis 'x' has the weight 0, expected 1 to 1024");
  EXPECT_EQ(Grid({{"x", 2, {1025, 1}}}).verify(),
            "axis 'x' has the weight 1025, expected 1 to 1024");
}

/// What `verify` says of a layout of [6, 4] on (x=2, y=2), split by x along its
/// first dimension, after `change`.
static std::string layoutError(llvm::function_ref<void(Layout &)> change) {
  Grid g = grid("(x=2, y=2)");
  Layout l = layout("[x, *]", g);
  change(l);
  return l.verify(g, {6, 4}).value_or("none");
}

TEST(LayoutMessagesTest, WrongLayouts) {
  EXPECT_EQ(layoutError([](Layout &l) { l.dims.pop_back(); }),
            "the layout has 1 dimensions, expected 2 as the tensor has");
  EXPECT_EQ(layoutError([](Layout &l) { l.dims[1].axes = {AxisId{4}}; }),
            "dimension 1 uses axis number 4 of a grid with 2 axes");
  EXPECT_EQ(layoutError([](Layout &l) { l.partialAxes = {AxisId{0}}; }),
            "the partial set uses the axis 'x' which is in use already; an "
            "axis splits one dimension or is partial");
  EXPECT_EQ(layoutError([](Layout &l) { l.dims[1].bounds = {{0, 4}}; }),
            "dimension 1 has bounds but no axis splits it");
  EXPECT_EQ(layoutError([](Layout &l) { l.dims[0].bounds = {{0, 6}}; }),
            "dimension 0 has 1 bounds, expected 2, one per position along its "
            "axes");
  EXPECT_EQ(layoutError([](Layout &l) { l.dims[0].bounds = {{0, 3}, {3, 7}}; }),
            "bounds 3:7 of dimension 0 are not an interval within 0:6");
}

template <typename T> static std::string errorOf(llvm::Expected<T> parsed) {
  return parsed ? "none" : llvm::toString(parsed.takeError());
}

TEST(ParseMessagesTest, WrongTexts) {
  Grid g = grid("(x=2, y=2)");
  EXPECT_THAT(errorOf(parseGrid("(=2)")),
              HasSubstr("expected the name of an axis at column 2 of '(=2)'"));
  EXPECT_THAT(errorOf(parseGrid("(x=)")),
              HasSubstr("expected the size of the axis"));
  EXPECT_THAT(errorOf(parseLayout("[x, x]", g)),
              HasSubstr("the axis 'x' is used twice, at column"));
  EXPECT_THAT(errorOf(parseLayout("[q]", g)),
              HasSubstr("the grid has no axis 'q', needed at column"));
  EXPECT_THAT(errorOf(parseLayout("[x{:2}]", g)),
              HasSubstr("expected the begin of an interval"));
  EXPECT_THAT(errorOf(parseLayout("[x{0:}]", g)),
              HasSubstr("expected the end of an interval"));
  EXPECT_THAT(errorOf(parseLayout("[*] partial {x}", g)),
              HasSubstr("expected how the partial values combine"));
  EXPECT_THAT(errorOf(parseLayout("[*] partial odd {x}", g)),
              HasSubstr("unknown kind 'odd', expected sum, prod, max, min, "
                        "and, or, at column"));
}
