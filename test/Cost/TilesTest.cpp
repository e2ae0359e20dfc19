//===- TilesTest.cpp - Whole tiles and waves ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/Tiles.h"
#include "test/Cost/Nests.h"

#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::test;

/// 6 tiles of 128 x 128 at a time.
static DeviceKind device() {
  return {.name = "test",
          .peaks = {.f32 = 1e12},
          .memoryBytesPerSecond = 1e12,
          .memoryBytes = 1,
          .multiprocessors = 6,
          .tileEdge = 128};
}

static double tiled(const LoopNest &nest, const DeviceKind &kind = device()) {
  return tiledFlops(nest, Grid(), Split::replicated(nest), kind);
}

static constexpr double kTile = 128 * 128 * 2; ///< Times the sum's products.

TEST(TilesTest, WholeWavesAreAsTheyWere) {
  EXPECT_EQ(tiled(product(256, 384, 64)), 256. * 384 * 64 * 2);
  EXPECT_EQ(tiled(product(512, 384, 64)), 512. * 384 * 64 * 2);
}

TEST(TilesTest, OneTileTooManyCostsAWave) {
  EXPECT_EQ(tiled(product(128, 768, 64)), 6 * kTile * 64);
  EXPECT_EQ(tiled(product(128, 769, 64)), 2 * 6 * kTile * 64);
  EXPECT_EQ(tiled(product(128, 2 * 768, 64)), 2 * 6 * kTile * 64);
}

TEST(TilesTest, HalfATileIsATile) {
  EXPECT_EQ(tiled(product(64, 768, 64)), tiled(product(128, 768, 64)));
  LoopNest nest = product(128, 768, 64);
  Grid grid({{"x", 2}});
  Split rows = Split::replicated(nest);
  rows.loopAxes[0] = {AxisId{0}};
  EXPECT_EQ(tiledFlops(nest, grid, rows, device()), tiled(nest));
  // Half of the columns are half of the tiles, half of the sum half of the
  // work.
  Split sum = Split::replicated(nest);
  sum.loopAxes[2] = {AxisId{0}};
  EXPECT_EQ(tiledFlops(nest, grid, sum, device()), tiled(nest) / 2);
}

// Of two tiles three multiprocessors each make a third of the sum, if a part
// has 512 products.
TEST(TilesTest, MultiprocessorsShareLongSums) {
  EXPECT_EQ(tiled(product(128, 256, 3000)), 6 * kTile * 1000);
  EXPECT_EQ(tiled(product(128, 256, 900)), 6 * kTile * 512);
  EXPECT_EQ(tiled(product(128, 256, 400)), 6 * kTile * 400);
  EXPECT_EQ(tiled(product(128, 512, 3000)), 6 * kTile * 3000);
}

TEST(TilesTest, ABatchHasTilesOfItsOwn) {
  LoopNest nest = product(64, 64, 32, /*batch=*/7);
  EXPECT_EQ(tiled(nest), 2 * 6 * kTile * 32);
}

// Positions are rows, the output's channels columns, channels and taps the sum.
TEST(TilesTest, ConvolutionsAreProducts) {
  LoopNest nest = convolution(28, 14, 16, 130);
  EXPECT_EQ(tiled(nest), 2 * 6 * kTile * 16 * 9);
  LoopNest depthwise = convolution(14, 14, 1, 1);
  EXPECT_EQ(tiled(depthwise), 2. * 14 * 14 * 9);
}

TEST(TilesTest, VectorsAndOtherOperatorsMakeNoTiles) {
  EXPECT_EQ(tiled(product(1, 1000, 64)), 1000. * 64 * 2);
  EXPECT_EQ(tiled(product(1000, 1, 64)), 1000. * 64 * 2);
  EXPECT_EQ(tiled(elementwise({100, 3})), 300);
  EXPECT_EQ(tiled(product(0, 16, 64)), 0);
  DeviceKind without = device();
  without.multiprocessors = without.tileEdge = 0;
  EXPECT_EQ(tiled(product(100, 3, 64), without), 100. * 3 * 64 * 2);
}

TEST(TilesTest, LargerProductsTakeNoLessAndNoneLessThanItsArithmetic) {
  const int64_t extents[] = {1, 2, 64, 127, 128, 129, 300, 768, 769, 2000};
  for (int64_t a : extents) {
    for (int64_t b : extents) {
      double before[3] = {};
      for (int64_t grown : extents) {
        LoopNest nests[] = {product(grown, a, b), product(a, grown, b),
                            product(a, b, grown)};
        for (auto [nest, last] : llvm::zip_equal(nests, before)) {
          double flops = tiled(nest);
          EXPECT_GE(flops, last) << a << " " << b << " " << grown;
          EXPECT_GE(flops, nest.flops());
          last = flops;
        }
      }
    }
  }
}
