//===- UnitsTest.cpp ------------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Units.h"

#include <gtest/gtest.h>

using namespace divisi;

TEST(Units, SizesArePowersOf1024) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1536), "1.5 KiB");
  EXPECT_EQ(formatBytes(double(int64_t(78) * 1000 * 1000 * 1000)), "72.6 GiB");
}

TEST(Units, TimesHaveTheUnitThatFits) {
  EXPECT_EQ(formatTime(0), "0.0 us");
  EXPECT_EQ(formatTime(14000), "14.0 us");
  EXPECT_EQ(formatTime(3200000), "3.20 ms");
  EXPECT_EQ(formatTime(1500000000), "1.50 s");
  EXPECT_EQ(formatTime(-3200000), "-3.20 ms");
}

TEST(Units, RatesHaveNoExponents) {
  EXPECT_EQ(formatAmount(6.7e13, "FLOP/s"), "67 TFLOP/s");
  EXPECT_EQ(formatAmount(3.7e11, "B/s"), "370 GB/s");
  EXPECT_EQ(formatAmount(1.979e15, "FLOP/s"), "1.979 PFLOP/s");
  EXPECT_EQ(formatAmount(12, "steps"), "12 steps");
  EXPECT_EQ(formatAmount(2000, ""), "2 K");
  EXPECT_EQ(formatAmount(12, ""), "12");
}
