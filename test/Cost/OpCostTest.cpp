//===- OpCostTest.cpp -----------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/OpCost.h"
#include "test/Cost/Nests.h"

#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::test;

/// One teraflop and one gigabyte a second, launches of 10 ns.
static DeviceKind device() {
  return {.name = "test",
          .peaks = {.f32 = 1e12},
          .efficiency = 1,
          .memoryBytesPerSecond = 1e9,
          .memoryBytes = 1,
          .launchNanoseconds = 10};
}

static const Grid kGrid({{"x", 2}, {"y", 3}});
static const OpProfile kWidths = {{32, 32}, {32}, Precision::F32, {}};

TEST(OpCost, BytesAreThoseOfTheLargestBoxes) {
  LoopNest nest = product(64, 16, 32);
  Split split = Split::replicated(nest);
  EXPECT_EQ(movedBytes(nest, kGrid, split, kWidths),
            4 * (64 * 32 + 32 * 16 + 64 * 16));
  split.loopAxes[0] = {AxisId{1}}; // 64 rows over 3: 22, 22, 20
  EXPECT_EQ(movedBytes(nest, kGrid, split, kWidths),
            4 * (22 * 32 + 32 * 16 + 22 * 16));
}

TEST(OpCost, TimeIsTheLongerOfArithmeticAndMemory) {
  LoopNest nest = product(64, 16, 32);
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

TEST(OpCost, KindsTakeTheTimeOfTheirOwnShards) {
  // 64 rows at 3:1 are 48 on the fast device and 16 on the slow one.
  Cluster cluster;
  cluster.devices = {{1, device()}, {1, device()}};
  cluster.devices[0].kind.peaks.f32 = 4e9;
  cluster.devices[1].kind.peaks.f32 = 1e9;
  cluster.devices[1].kind.launchNanoseconds = 5;
  LoopNest nest = product(64, 16, 32);
  Split split = Split::replicated(nest);
  split.loopAxes[0] = {AxisId{0}};
  auto price = [&](const Grid &grid, llvm::ArrayRef<int64_t> devices) {
    return opNanoseconds(nest, grid, split, kWidths,
                         GridPace(cluster, grid, devices));
  };
  int64_t row = 2 * 32 * 16; // Nanoseconds at 1 GFLOP/s.
  Grid even({{"x", 2}}), weighted({{"x", 2, {3, 1}}});
  EXPECT_EQ(price(even, {}), 10 + 32 * row);
  EXPECT_EQ(price(weighted, {}), 5 + 16 * row);
  EXPECT_EQ(price(weighted, {1, 0}), 5 + 48 * row);
  // Bytes are the kind's own, too.
  cluster.devices[1].kind.memoryBytesPerSecond = 1e8;
  EXPECT_EQ(price(weighted, {}), 5 + 10 * 4 * (16 * 32 + 32 * 16 + 16 * 16));
  // What all do, the slowest does.
  split.loopAxes[0] = {};
  EXPECT_EQ(price(weighted, {}), 5 + 10 * 4 * (64 * 32 + 32 * 16 + 64 * 16));
}

TEST(OpCost, ProductsTakeWholeTilesAndWaves) {
  DeviceKind gpu = device();
  gpu.memoryBytesPerSecond = 1e15;
  gpu.multiprocessors = 4;
  gpu.tileEdge = 128;
  LoopNest nest = product(64, 16, 32);
  // One tile on one of four multiprocessors.
  EXPECT_EQ(opNanoseconds(nest, kGrid, Split::replicated(nest), kWidths, gpu),
            10 + (4 * 2 * 128 * 128 * 32 + 999) / 1000);
}

// Operands of 2048 and 512 elements, a result of 1024.
TEST(OpCost, WhatIsFusedDoesNotCrossMemory) {
  LoopNest nest = product(64, 16, 32);
  Split split = Split::replicated(nest);
  auto bytes = [&](const FusedEnds &fused) {
    return movedBytes(nest, kGrid, split, kWidths, fused);
  };
  EXPECT_EQ(bytes({}), 4 * (2048 + 512 + 1024));
  EXPECT_EQ(bytes({.results = {0}}), 4 * (2048 + 512));
  EXPECT_EQ(bytes({.operands = {1}}), 4 * (2048 + 1024));
  EXPECT_EQ(bytes({.operands = {0}, .results = {0}}), 4 * 512);
  // Who is fused into another is not launched.
  auto time = [&](const FusedEnds &fused) {
    return opNanoseconds(nest, kGrid, split, kWidths, device(), fused);
  };
  EXPECT_EQ(time({.results = {0}}), 10 + 4 * (2048 + 512));
  EXPECT_EQ(time({.operands = {1}}), 4 * (2048 + 1024));
  split.loopAxes[0] = {AxisId{0}};
  EXPECT_EQ(time({.operands = {0}, .results = {0}}), 4 * 512);
}

// 1024 elements in, 1024 out, 1024 of another operand; a byte takes 1 ns, 1000
// FLOPs too.
TEST(OpCost, WhatIsNotFusedTakesMore) {
  LoopNest nest = elementwise({32, 32}, 2);
  Split split = Split::replicated(nest);
  FusedEnds both = {{0}, {0}}, operand = {{0}, {}}, result = {{}, {0}};
  auto timeWith = [&](const FusedEnds &fused) {
    return opTime(nest, kGrid, split, kWidths, device(), both).with(fused);
  };
  auto roofline = [&](const FusedEnds &fused) {
    return opNanoseconds(nest, kGrid, split, kWidths, device(), fused);
  };
  EXPECT_EQ(timeWith(both), 4096);
  EXPECT_EQ(timeWith(operand), 2 * 4096);
  EXPECT_EQ(timeWith(result), 10 + 2 * 4096);
  EXPECT_EQ(timeWith({}), 10 + 3 * 4096);
  for (int64_t flops : {1, 5000, 9000, 20000}) {
    nest.flopsPerPoint = flops;
    EXPECT_EQ(timeWith(both), roofline(both));
    EXPECT_EQ(timeWith(operand), roofline(operand));
    EXPECT_EQ(timeWith({}), roofline({}));
    EXPECT_GE(timeWith(result), roofline(result));
  }
  // Without such ends there are no parts.
  OpTime plain = opTime(nest, kGrid, split, kWidths, device(), {});
  EXPECT_EQ(plain.operand + plain.result, 0);
}

/// y[i, j] = x[i * stride + 8, j * stride + 16], of 64 x 96 elements.
static LoopNest sliceOf(int64_t rows, int64_t columns, int64_t stride) {
  LoopNest nest;
  LoopId i = nest.add("i", rows), j = nest.add("j", columns);
  nest.operands = {
      {{DimMap::window(i, stride, -8, 0), DimMap::window(j, stride, -16, 0)},
       {64, 96}}};
  nest.results = {{{DimMap::loop(i), DimMap::loop(j)}, {rows, columns}}};
  return nest;
}

TEST(OpCost, ASliceReadsWhatItKeeps) {
  OpProfile copies;
  copies.operands = {32};
  copies.results = {32};
  auto bytes = [&](const LoopNest &nest) {
    return movedBytes(nest, kGrid, Split::replicated(nest), copies);
  };
  EXPECT_EQ(bytes(sliceOf(4, 8, 1)), 4 * (4 * 8 + 4 * 8));
  EXPECT_EQ(bytes(sliceOf(64, 96, 1)), 4 * 2 * 64 * 96);
  // Every other row; of these all that lies between the columns.
  EXPECT_EQ(bytes(sliceOf(4, 8, 2)), 4 * (4 * 15 + 4 * 8));
  EXPECT_EQ(bytes(sliceOf(4, 8, -2)), 4 * (4 * 15 + 4 * 8));
  // Windows that overlap read no more than there is, and those apart their own.
  LoopNest windows = sliceOf(8, 96, 1);
  windows.operands[0].dims[0] = DimMap::window(LoopId{0}, 4, 0, 2);
  EXPECT_EQ(bytes(windows), 4 * (24 * 96 + 8 * 96));
  windows.operands[0].dims[0] = DimMap::window(LoopId{0}, 4, 0, 1000);
  EXPECT_EQ(bytes(windows), 4 * (64 * 96 + 8 * 96));
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
  // As many rows, whether or not they are written.
  EXPECT_EQ(movedBytes(nest, kGrid, Split::replicated(nest),
                       {{32, 64}, {32}, Precision::F32, {}}, {.results = {0}}),
            4 * 32 + 8 * 4);
}
