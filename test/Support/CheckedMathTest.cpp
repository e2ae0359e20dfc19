//===- CheckedMathTest.cpp ------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/CheckedMath.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

using namespace divisi;

static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(CheckedMath, AddHoldsUpToTheLimitAndNoFurther) {
  EXPECT_EQ(checkedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(checkedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(checkedAdd(kMin, -1), std::nullopt);
  EXPECT_EQ(checkedAdd(kMax, kMin), -1);
}

TEST(CheckedMath, MulHoldsUpToTheLimitAndNoFurther) {
  EXPECT_EQ(checkedMul(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(checkedMul(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checkedMul(int64_t{1} << 32, -(int64_t{1} << 31)), kMin);
  EXPECT_EQ(checkedMul(kMin, -1), std::nullopt);
}

TEST(CheckedMath, ProductOfNothingIsOne) { EXPECT_EQ(checkedProduct({}), 1); }

TEST(CheckedMath, ProductReportsOverflow) {
  std::vector<int64_t> huge = {int64_t{1} << 40, 3, int64_t{1} << 40};
  EXPECT_EQ(checkedProduct(huge), std::nullopt);
}

// An overflow that a later factor would wrap back into range stays one.
TEST(CheckedMath, ProductRemembersAnEarlierOverflow) {
  std::vector<int64_t> wraps = {int64_t{1} << 62, 4, 1};
  EXPECT_EQ(checkedProduct(wraps), std::nullopt);
}

TEST(CheckedMath, ZeroAnywhereMakesTheProductZero) {
  std::vector<int64_t> last = {int64_t{1} << 62, 4, 0};
  std::vector<int64_t> first = {0, int64_t{1} << 62, 4};
  EXPECT_EQ(checkedProduct(last), 0);
  EXPECT_EQ(checkedProduct(first), 0);
}

TEST(CheckedMath, BytesOfNarrowElementsAreShared) {
  EXPECT_EQ(checkedBytes(std::vector<int64_t>{3}, 4), 2);
  EXPECT_EQ(checkedBytes(std::vector<int64_t>{2, 8}, 4), 8);
  EXPECT_EQ(checkedBytes(std::vector<int64_t>{}, 1), 1);
  EXPECT_EQ(checkedBytes(std::vector<int64_t>{3, 5}, 32), 60);
  EXPECT_EQ(checkedBytes(std::vector<int64_t>{}, 64), 8);
}

TEST(CheckedMath, BytesThatDoNotFitAreNone) {
  int64_t half = int64_t{1} << 62;
  EXPECT_EQ(checkedBytes(std::vector<int64_t>{half}, 8), half);
  EXPECT_EQ(checkedBytes(std::vector<int64_t>{half}, 4), half / 2);
  EXPECT_EQ(checkedBytes(std::vector<int64_t>{half}, 16), std::nullopt);
  EXPECT_EQ(checkedBytes(std::vector<int64_t>{half, 4, 0}, 16), 0);
  EXPECT_EQ(checkedBytes(std::vector<int64_t>{0, -1}, 16), std::nullopt);
}
