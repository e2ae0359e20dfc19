//===- OpCostTest.cpp -----------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/OpCost.h"

#include <gtest/gtest.h>

using namespace divisi;

/// One teraflop and one gigabyte a second, launches of 10 ns.
static DeviceKind device() {
  return {.name = "test",
          .peaks = {.f32 = 1e12},
          .efficiency = 1,
          .memoryBytesPerSecond = 1e9,
          .memoryBytes = 1,
          .launchNanoseconds = 10};
}

/// "mk,kn->mn" of 64 x 32 x 16.
static LoopNest matmul() {
  LoopNest nest;
  LoopId m = nest.add("m", 64), n = nest.add("n", 16);
  LoopId k = nest.add("k", 32, LoopKind::Reduction);
  nest.operands = {{{DimMap::loop(m), DimMap::loop(k)}, {64, 32}},
                   {{DimMap::loop(k), DimMap::loop(n)}, {32, 16}}};
  nest.results = {{{DimMap::loop(m), DimMap::loop(n)}, {64, 16}}};
  nest.linear = {{0}, {1}};
  nest.flopsPerPoint = 2;
  return nest;
}

static const Grid kGrid({{"x", 2}, {"y", 3}});
static const OpProfile kWidths = {{32, 32}, {32}, Precision::F32, {}};

TEST(OpCost, BytesAreThoseOfTheLargestBoxes) {
  LoopNest nest = matmul();
  Split split = Split::replicated(nest);
  EXPECT_EQ(movedBytes(nest, kGrid, split, kWidths),
            4 * (64 * 32 + 32 * 16 + 64 * 16));
  split.loopAxes[0] = {AxisId{1}}; // 64 rows over 3: 22, 22, 20
  EXPECT_EQ(movedBytes(nest, kGrid, split, kWidths),
            4 * (22 * 32 + 32 * 16 + 22 * 16));
}

TEST(OpCost, TimeIsTheLongerOfArithmeticAndMemory) {
  LoopNest nest = matmul();
  Split split = Split::replicated(nest);
  int64_t bytes = movedBytes(nest, kGrid, split, kWidths);
  EXPECT_EQ(opNanoseconds(nest, kGrid, split, kWidths, device()), 10 + bytes);
  DeviceKind slow = device();
  slow.peaks.f32 = 1e9;
  EXPECT_EQ(opNanoseconds(nest, kGrid, split, kWidths, slow),
            10 + 2 * 64 * 32 * 16);
  split.loopAxes[2] = {AxisId{0}};
  EXPECT_EQ(opNanoseconds(nest, kGrid, split, kWidths, slow),
            10 + 64 * 32 * 16);
}

// Four rows of a table of a thousand: the rest is not read.
TEST(OpCost, OnlyTheChosenRowsOfATableAreRead) {
  LoopNest nest;
  LoopId b = nest.add("b", 4), e = nest.add("e", 8);
  LoopId v = nest.add("v", 1000, LoopKind::Indexed);
  nest.operands = {{{DimMap::loop(v), DimMap::loop(e)}, {1000, 8}},
                   {{DimMap::loop(b)}, {4}}};
  nest.results = {{{DimMap::loop(b), DimMap::loop(e)}, {4, 8}}};
  nest.linear = {{0}};
  EXPECT_EQ(movedBytes(nest, kGrid, Split::replicated(nest),
                       {{32, 64}, {32}, Precision::F32, {}}),
            4 * 32 + 8 * 4 + 4 * 32);
}
