//===- FusionTest.cpp - What one kernel can do ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/Fusion.h"
#include "test/Cost/Nests.h"

#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::test;

static LoopNest transpose() {
  LoopNest nest = elementwise({4, 6});
  std::swap(nest.operands[0].dims[0], nest.operands[0].dims[1]);
  nest.operands[0].shape = {6, 4};
  return nest;
}

/// A sum over the columns.
static LoopNest reduce() {
  LoopNest nest;
  LoopId m = nest.add("m", 4), n = nest.add("n", 6, LoopKind::Reduction);
  nest.operands = {{{DimMap::loop(m), DimMap::loop(n)}, {4, 6}}};
  nest.results = {{{DimMap::loop(m)}, {4}}};
  return nest;
}

/// The columns take turns: softmax.
static LoopNest exchange() {
  LoopNest nest = elementwise({4, 6});
  nest.loops[1].kind = LoopKind::Exchange;
  return nest;
}

/// Of rows of 6 each after the first.
static LoopNest slice() {
  LoopNest nest = elementwise({4, 5});
  nest.operands[0].dims[1] = DimMap::window(LoopId{1}, 1, -1, 0);
  nest.operands[0].shape = {4, 6};
  return nest;
}

/// [24] to [4, 6].
static LoopNest reshape() {
  LoopNest nest = elementwise({4, 6});
  nest.operands[0] = {{DimMap::product({LoopId{0}, LoopId{1}})}, {24}};
  return nest;
}

TEST(FusionTest, AnElementwiseOperatorGoesOnFromWhateverMakesElements) {
  LoopNest next = elementwise({4, 6}, 2);
  for (const LoopNest &producer :
       {elementwise({4, 6}), product(4, 6, 3), exchange(), reshape()}) {
    EXPECT_TRUE(fuses(producer, 0, next, 0));
    EXPECT_TRUE(fuses(producer, 0, next, 1));
  }
  EXPECT_TRUE(fuses(convolution(4, 6, 3, 5), 0, elementwise({5, 4, 6}), 0));
  EXPECT_TRUE(fuses(reduce(), 0, elementwise({4}), 0));
}

TEST(FusionTest, ABroadcastOperandIsUsedManyTimes) {
  LoopNest bias = elementwise({4, 6}, 2);
  bias.operands[1] = {{DimMap::loop(LoopId{1})}, {6}};
  EXPECT_TRUE(fuses(product(4, 6, 3), 0, bias, 0));
  EXPECT_FALSE(fuses(elementwise({6}), 0, bias, 1));
  bias.operands[1] = {{DimMap::none(), DimMap::loop(LoopId{1})}, {1, 6}};
  EXPECT_FALSE(fuses(elementwise({1, 6}), 0, bias, 1));
}

TEST(FusionTest, WhatUsesElementsElsewhereIsNotFused) {
  LoopNest before = elementwise({6, 4});
  EXPECT_FALSE(fuses(before, 0, transpose(), 0));
  LoopNest rows = elementwise({4, 6});
  EXPECT_FALSE(fuses(rows, 0, reduce(), 0));
  EXPECT_FALSE(fuses(rows, 0, exchange(), 0));
  EXPECT_FALSE(fuses(rows, 0, slice(), 0));
  EXPECT_FALSE(fuses(rows, 0, product(4, 3, 6), 0));
  EXPECT_FALSE(fuses(elementwise({24}), 0, reshape(), 0));
  EXPECT_FALSE(fuses(elementwise({5, 4, 6}), 0, convolution(4, 6, 5, 3), 0));
  // A square one has equal shapes.
  LoopNest square = elementwise({4, 4});
  std::swap(square.operands[0].dims[0], square.operands[0].dims[1]);
  EXPECT_FALSE(fuses(elementwise({4, 4}), 0, square, 0));
}

// Loops of one iteration need stand nowhere, and dimensions of one index need
// none.
TEST(FusionTest, WhatHasOneIndexDoesNotCount) {
  LoopNest ones = elementwise({1, 6});
  ones.operands[0].dims[0] = DimMap::none();
  EXPECT_TRUE(fuses(elementwise({1, 6}), 0, ones, 0));
  EXPECT_TRUE(fuses(elementwise({}), 0, elementwise({}), 0));
}

TEST(FusionTest, ShapesAreTheSame) {
  EXPECT_FALSE(fuses(elementwise({6}), 0, elementwise({1, 6}), 0));
}

// Windows of a result meet: an element has several makers.
TEST(FusionTest, EachElementIsMadeInOnePlace) {
  LoopNest scattered = elementwise({4, 6});
  scattered.results[0].dims[1] = DimMap::window(LoopId{1}, 1, 0, 1);
  EXPECT_FALSE(fuses(scattered, 0, elementwise({4, 6}), 0));
}
