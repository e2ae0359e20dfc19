//===- StepCostTest.cpp - Prices of transfers between grids ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/StepCost.h"
#include "test/Cost/Links.h"
#include "test/Layout/Shorthand.h"

#include "gtest/gtest.h"

using namespace divisi;
using namespace divisi::test;

TEST(TransferTest, PricesHaveTheirClosedForms) {
  Grid one = grid("()"), two = grid("(x=2)"), four = grid("(x=4)");
  GridLinks links = uniformLinks(four);
  Reach reach = links.reach({AxisId{0}});
  auto price = [&](const Grid &fromGrid, llvm::StringRef from,
                   const Grid &toGrid, llvm::StringRef to) {
    return transferNanoseconds({1024}, 32, fromGrid, layout(from, fromGrid),
                               toGrid, layout(to, toGrid), reach,
                               links.levels());
  };
  EXPECT_EQ(price(one, "[*]", one, "[*]"), 1000 + 4096);
  EXPECT_EQ(price(two, "[x]", two, "[x]"), 1000 + 2048);
  // Two owners for one receiver.
  EXPECT_EQ(price(two, "[x]", one, "[*]"), 2000 + 4096);
  EXPECT_EQ(price(four, "[x]", two, "[x]"), 2000 + 2048);
  // One sender for four receivers sends it four times.
  EXPECT_EQ(price(one, "[*]", four, "[*]"), 1000 + 4 * 4096);
  EXPECT_EQ(price(four, "[*]", four, "[*]"), 1000 + 4096);
}
