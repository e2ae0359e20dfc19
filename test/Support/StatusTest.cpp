//===- StatusTest.cpp -----------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Status.h"

#include <gtest/gtest.h>

#include <memory>

using namespace divisi;

static Expected<std::unique_ptr<int>> half(int value) {
  if (value % 2) {
    return Status(ExitCode::Invalid, "got an odd value");
  }
  return std::make_unique<int>(value / 2);
}

TEST(Status, DefaultIsSuccess) {
  EXPECT_TRUE(Status().isOk());
  EXPECT_FALSE(Status(ExitCode::File, "gone").isOk());
}

TEST(Status, MessageIsAllItsPartsAfterTheContext) {
  Status status = makeError(ExitCode::Invalid, "got ", 3, " of ", "fc1");
  EXPECT_EQ(status.code(), ExitCode::Invalid);
  EXPECT_EQ(status.in("entry 'f'").message(), "entry 'f': got 3 of fc1");
  EXPECT_EQ(status.in("entry 'f'").code(), ExitCode::Invalid);
  EXPECT_TRUE(Status().in("entry 'f'").isOk());
}

TEST(Expected, HoldsAValueThatOnlyMoves) {
  auto result = half(6);
  ASSERT_TRUE(result);
  EXPECT_EQ(**result, 3);
}

TEST(Expected, CarriesCodeAndMessage) {
  auto result = half(7);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.status().code(), ExitCode::Invalid);
  EXPECT_EQ(result.status().message(), "got an odd value");
}

TEST(ExitCode, NumbersAreThoseOfTheManual) {
  EXPECT_EQ(static_cast<int>(ExitCode::Usage), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::Unsupported), 5);
  EXPECT_EQ(static_cast<int>(ExitCode::Version), 10);
}
