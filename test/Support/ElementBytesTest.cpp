//===- ElementBytesTest.cpp - What elements take in memory ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/ElementBytes.h"

#include <gtest/gtest.h>

#include <limits>

using namespace divisi;

TEST(ElementBytes, WhatIsNarrowerThanAByteHasOne) {
  EXPECT_EQ(storedBytes(3, 1), 3);
  EXPECT_EQ(storedBytes(3, 4), 3);
  EXPECT_EQ(storedBytes(0, 4), 0);
}

TEST(ElementBytes, ElementsTakeWholeBytes) {
  EXPECT_EQ(storedBytes(3, 8), 3);
  EXPECT_EQ(storedBytes(3, 16), 6);
  EXPECT_EQ(storedBytes(3, 19), 9);
  EXPECT_EQ(storedBytes(0, 64), 0);
}

TEST(ElementBytes, WhatAnInt64CannotHoldIsNothing) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(storedBytes(most, 8), most);
  EXPECT_EQ(storedBytes(most, 16), std::nullopt);
  EXPECT_EQ(storedBytes(most, 4), most);
}
