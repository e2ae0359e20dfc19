//===- ReduceTest.cpp - Tests of boxes and of combining -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/device/Reduce.h"
#include "divisi/runtime/device/Device.h"
#include "divisi/runtime/kernels/Element.h"
#include "test/runtime/device/BoxValues.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace divisi;
using namespace divisi::rt;

TEST(BoxTest, aPieceIsAsFewRunsAsPossible) {
  struct Case {
    Box piece, source, result;
    int64_t runs;
  };
  Box whole = Box::whole({4, 6});
  for (const Case &c : {Case{whole, whole, whole, 1},
                        Case{{{1, 0}, {3, 6}}, whole, {{1, 0}, {3, 6}}, 1},
                        Case{{{1, 2}, {3, 4}}, whole, {{1, 2}, {3, 4}}, 2},
                        Case{{{1, 2}, {2, 4}}, whole, {{0, 2}, {2, 4}}, 1},
                        Case{{{0, 2}, {0, 4}}, whole, whole, 0}}) {
    BoxCopy copy(4, c.piece, c.source, c.result);
    int64_t runs = 0;
    copy.forEachRun([&](int64_t, int64_t, int64_t) { ++runs; });
    EXPECT_EQ(runs, c.runs);
    EXPECT_EQ(copy.bytes(), c.piece.count() * 4);
  }
}

TEST(BoxTest, subtractLeavesDisjointRest) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    Dims dims = {1 + below(random, 4), 1 + below(random, 4),
                 1 + below(random, 4)};
    Box box = randomBox(random, dims), cut = randomBox(random, dims);
    std::vector<Box> rest;
    subtract(box, cut, rest);
    forEachIndex(Box::whole(dims), [&](const Dims &index) {
      int64_t times = 0;
      for (const Box &piece : rest) {
        times += holds(piece, index);
      }
      EXPECT_EQ(times, holds(box, index) && !holds(cut, index));
    });
  }
}

TEST(ReduceTest, everyKindOfEveryTypeThatHasIt) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  auto combineTwo = [](DType type, ReduceKind kind, auto a, auto b) {
    const std::array<const std::byte *, 2> sources = {
        reinterpret_cast<std::byte *>(&a), reinterpret_cast<std::byte *>(&b)};
    auto result = a;
    findCombine(type, kind)(sources, 0, reinterpret_cast<std::byte *>(&result),
                            0, 1);
    return result;
  };
  EXPECT_EQ(combineTwo(DType::F32, ReduceKind::Sum, 1.5f, 2.f), 3.5f);
  EXPECT_EQ(combineTwo(DType::F32, ReduceKind::Prod, 1.5f, 2.f), 3.f);
  EXPECT_EQ(combineTwo(DType::F32, ReduceKind::Max, 1.5f, 2.f), 2.f);
  EXPECT_EQ(combineTwo(DType::F32, ReduceKind::Min, 1.5f, 2.f), 1.5f);
  EXPECT_TRUE(std::isnan(combineTwo(DType::F32, ReduceKind::Max, nan, 2.f)));
  EXPECT_TRUE(std::isnan(combineTwo(DType::F32, ReduceKind::Min, 2.f, nan)));
  EXPECT_EQ(combineTwo(DType::I8, ReduceKind::Sum, int8_t(127), int8_t(1)),
            -128);
  EXPECT_EQ(combineTwo(DType::I64, ReduceKind::Max, int64_t(-5), int64_t(-9)),
            -5);
  EXPECT_EQ(combineTwo(DType::U16, ReduceKind::Prod, uint16_t(65535),
                       uint16_t(65535)),
            1);
  EXPECT_EQ(combineTwo(DType::I32, ReduceKind::And, 6, 3), 2);
  EXPECT_EQ(combineTwo(DType::Bool, ReduceKind::Or, uint8_t(0), uint8_t(1)), 1);
  EXPECT_EQ(combineTwo(DType::Bool, ReduceKind::And, uint8_t(0), uint8_t(1)),
            0);
  EXPECT_EQ(findCombine(DType::Bool, ReduceKind::Sum), nullptr);
  EXPECT_EQ(findCombine(DType::F32, ReduceKind::And), nullptr);
  EXPECT_EQ(findCombine(DType::BF16, ReduceKind::And), nullptr);
  FieldElement half = 0.5, third = FieldElement(1) / 3;
  EXPECT_EQ(combineTwo(DType::Field, ReduceKind::Sum, half, half), 1);
  EXPECT_EQ(combineTwo(DType::Field, ReduceKind::Prod, third, third) * 9, 1);
  EXPECT_EQ(combineTwo(DType::Field, ReduceKind::Max, FieldElement(-5),
                       FieldElement(3)),
            3);
  EXPECT_EQ(combineTwo(DType::Field, ReduceKind::Min, FieldElement(-5),
                       FieldElement(3)),
            -5);
  EXPECT_EQ(findCombine(DType::Field, ReduceKind::And), nullptr);
  // What is stored only is in one part, and zeros are in the others.
  for (DType type : {DType::I2, DType::U4, DType::F4E2M1, DType::F8E4M3FN,
                     DType::F8E5M2FNUZ, DType::F8E8M0}) {
    EXPECT_EQ(combineTwo(type, ReduceKind::Or, uint8_t(0), uint8_t(0xfe)),
              0xfe);
    EXPECT_EQ(findCombine(type, ReduceKind::Sum), nullptr);
  }
}

TEST(ReduceTest, theNeutralElementChangesNothing) {
  std::shared_ptr<Device> host = makeHostDevice();
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max,
                          ReduceKind::Min, ReduceKind::And, ReduceKind::Or}) {
    EXPECT_EQ(parseReduceKind(stringify(kind)), kind);
    for (int32_t value : {-7, 0, 1, 123456789}) {
      int32_t neutral = 0, result = 0;
      EXPECT_TRUE(host->fill(nullptr, DType::I32, kind, &neutral, 1).isOk());
      const std::array<const std::byte *, 2> sources = {
          reinterpret_cast<std::byte *>(&neutral),
          reinterpret_cast<std::byte *>(&value)};
      findCombine(DType::I32, kind)(
          sources, 0, reinterpret_cast<std::byte *>(&result), 0, 1);
      EXPECT_EQ(result, value) << stringify(kind);
    }
  }
}
