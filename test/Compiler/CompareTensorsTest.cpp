//===- CompareTensorsTest.cpp - Tests of how tensors are compared ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/CompareTensors.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace divisi;
using testing::ElementsAre;

static rt::HostTensor floats(const std::vector<float> &values) {
  return rt::HostTensor::ofFloats({static_cast<int64_t>(values.size())},
                                  values);
}

static Comparison compare(const std::vector<float> &got,
                          const std::vector<float> &expected,
                          const Tolerance &tolerance = {}) {
  return compareTensors(floats(got), floats(expected), tolerance);
}

TEST(CompareTensorsTest, theDefaultGrowsWithTheTensorAndTheElement) {
  // 1e-4 of 1000, and 1e-3 of the element.
  Comparison inside = compare({0.0999f, 1001.0f}, {0, 1000});
  EXPECT_TRUE(inside.equal);
  EXPECT_EQ(inside.message, "");
  EXPECT_NEAR(inside.error, 0.0999, 1e-6);
  EXPECT_NEAR(inside.allowed, 0.1, 1e-6);
  EXPECT_FALSE(compare({0.1001f, 1000}, {0, 1000}).equal);
  EXPECT_FALSE(compare({0, 1001.2f}, {0, 1000}).equal);
  // An infinity says nothing about how large elements are.
  EXPECT_FALSE(compare({0.5f, INFINITY}, {0, INFINITY}).equal);
}

TEST(CompareTensorsTest, eitherPartCanBeChosen) {
  Tolerance absolute{0.5, 0};
  EXPECT_TRUE(compare({1.5f, 100}, {1, 100}, absolute).equal);
  EXPECT_FALSE(compare({1.6f, 100}, {1, 100}, absolute).equal);
  Tolerance relative{0.0, 0.1};
  EXPECT_TRUE(compare({1.09f, 100}, {1, 100}, relative).equal);
  EXPECT_FALSE(compare({1.2f, 100}, {1, 100}, relative).equal);
  EXPECT_FALSE(compare({1e-20f}, {0}, relative).equal);
  // Of --rtol alone the rest stays.
  EXPECT_NEAR(compare({0}, {1000}, Tolerance{std::nullopt, 0}).allowed, 0.1,
              1e-9);
}

TEST(CompareTensorsTest, bitsMayHaveToBeTheSame) {
  Tolerance exact;
  exact.isExact = true;
  EXPECT_TRUE(
      compare({1, NAN, INFINITY, -0.0f}, {1, NAN, INFINITY, -0.0f}, exact)
          .equal);
  EXPECT_FALSE(compare({std::nextafter(1.0f, 2.0f)}, {1}, exact).equal);
  EXPECT_FALSE(compare({0.0f}, {-0.0f}, exact).equal);
  EXPECT_FALSE(compare({INFINITY}, {-INFINITY}, exact).equal);
  EXPECT_FALSE(compare({NAN}, {1}, exact).equal);
  EXPECT_TRUE(compare({0.0f}, {-0.0f}).equal);
}

TEST(CompareTensorsTest, whatWasComputedInFewerBitsMayLieFurtherApart) {
  Tolerance bf16;
  bf16.computedIn = rt::DType::BF16;
  Comparison inside = compare({1040, 15.9f}, {1000, 0}, bf16);
  EXPECT_TRUE(inside.equal);
  EXPECT_EQ(inside.toleranceOf, rt::DType::BF16);
  EXPECT_FALSE(compare({1040, 16.1f}, {1000, 0}, bf16).equal);
  EXPECT_FALSE(compare({1040, 0}, {1000, 0}).equal);
  // More bits make nothing more exact than its type.
  Tolerance f64;
  f64.computedIn = rt::DType::F64;
  Comparison own = compare({1000.5f}, {1000}, f64);
  EXPECT_TRUE(own.equal);
  EXPECT_EQ(own.toleranceOf, std::nullopt);
  // What was asked for holds whatever it was computed in.
  bf16.relative = 0;
  bf16.absolute = 1;
  EXPECT_FALSE(compare({1002}, {1000}, bf16).equal);
}

TEST(CompareTensorsTest, theWorstIsThatFurthestBeyondItsTolerance) {
  // The error of 0.9 is larger, that of 0.2 less allowed.
  Comparison comparison =
      compare({1000.9f, 0.2f, 5}, {1000, 0, 5}, Tolerance{0.1, 1e-3});
  EXPECT_FALSE(comparison.equal);
  EXPECT_EQ(comparison.wrong, 1);
  EXPECT_THAT(comparison.worst, ElementsAre(1));
  EXPECT_EQ(comparison.message,
            "1 of 3 elements differ; at [1] got 0.2, expected 0");
}

TEST(CompareTensorsTest, whatIsNoNumberEqualsItselfAlone) {
  EXPECT_TRUE(compare({NAN, INFINITY}, {NAN, INFINITY}).equal);
  EXPECT_EQ(compare({NAN}, {NAN}).error, 0);
  for (float other : {1.0f, -INFINITY, NAN}) {
    EXPECT_FALSE(compare({other, 1}, {INFINITY, 1}).equal) << other;
    EXPECT_FALSE(compare({INFINITY, 1}, {other, 1}).equal) << other;
  }
  Comparison missing = compare({5, NAN}, {1, 1});
  EXPECT_THAT(missing.worst, ElementsAre(1));
  EXPECT_EQ(missing.message,
            "2 of 2 elements differ; at [1] got nan, expected 1");
}

TEST(CompareTensorsTest, integersAreExact) {
  int64_t large = int64_t(1) << 60;
  auto got = rt::HostTensor::ofInts({2, 2}, {1, 2, 3, large});
  auto expected = rt::HostTensor::ofInts({2, 2}, {1, 2, 3, large + 1});
  Comparison comparison = compareTensors(got, expected, Tolerance{10.0, 1});
  EXPECT_FALSE(comparison.equal);
  EXPECT_EQ(comparison.error, 1);
  EXPECT_EQ(comparison.allowed, 0);
  EXPECT_THAT(comparison.worst, ElementsAre(1, 1));
  EXPECT_TRUE(compareTensors(got, got).equal);
}

/// Also where a double would not tell two elements apart.
TEST(CompareTensorsTest, theFieldIsExact) {
  auto got = rt::HostTensor::zeros(rt::DType::Field, {2});
  auto expected = got->clone();
  got->as<uint64_t>()[1] = (uint64_t(1) << 60) - 1;
  expected->as<uint64_t>()[1] = (uint64_t(1) << 60) - 2;
  Comparison comparison = compareTensors(*got, *expected, Tolerance{10.0, 1});
  EXPECT_FALSE(comparison.equal);
  EXPECT_EQ(comparison.wrong, 1);
  EXPECT_TRUE(compareTensors(*got, *got).equal);
}

/// Two floats of eight bits may be neighbours, and no more.
TEST(CompareTensorsTest, neighboursOfEightBitsAgree) {
  for (rt::DType type :
       {rt::DType::F8E4M3FN, rt::DType::F8E5M2, rt::DType::F4E2M1}) {
    auto one = floats({1}).castTo(type), next = one->clone(),
         third = one->clone();
    next->data()[0] = std::byte(std::to_integer<int>(one->data()[0]) + 1);
    third->data()[0] = std::byte(std::to_integer<int>(one->data()[0]) + 2);
    EXPECT_TRUE(compareTensors(*next, *one).equal);
    EXPECT_FALSE(compareTensors(*third, *one).equal);
  }
}

TEST(CompareTensorsTest, shapesAndTypesCount) {
  Comparison comparison = compare({1, 2}, {1});
  EXPECT_FALSE(comparison.equal);
  EXPECT_EQ(comparison.message, "got f32[2], expected f32[1]");
  EXPECT_TRUE(compare({}, {}).equal);
  EXPECT_TRUE(compareTensors(rt::HostTensor::ofFloats({}, {1}),
                             rt::HostTensor::ofFloats({}, {1}))
                  .equal);
}
