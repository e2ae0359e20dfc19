//===- StepsTest.cpp - What single steps may do ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shorthand.h"

#include "divisi/Layout/Steps.h"

#include "gmock/gmock.h"

using namespace divisi;
using namespace divisi::test;
using testing::HasSubstr;

static std::string stepError(StepKind kind, llvm::StringRef axes,
                             llvm::StringRef from, llvm::StringRef to) {
  Grid g = grid("(x=2, y=2)");
  llvm::SmallVector<AxisId> ids;
  for (char axis : axes) {
    ids.push_back(*g.find(llvm::StringRef(&axis, 1)));
  }
  return verifyStep(g, {8, 8}, kind, ids, layout(from, g), layout(to, g))
      .value_or("none");
}

TEST(VerifyStepTest, SaysWhatAStepMayDo) {
  using K = StepKind;
  EXPECT_EQ(stepError(K::AllGather, "y", "[x.y, *]", "[x, *]"), "none");
  EXPECT_THAT(stepError(K::AllGather, "x", "[x.y, *]", "[y, *]"),
              HasSubstr("all_gather cannot go from [x.y, *] to [y, *]"));
  EXPECT_THAT(stepError(K::AllGather, "x", "[x.y, *]", "[x, *]"),
              HasSubstr("is over the axes {y}, got {x}"));
  EXPECT_THAT(stepError(K::AllGather, "xy", "[y.x, *]", "[*, *]"),
              HasSubstr("is over the axes {y, x}, got {x, y}"));
  // Shards that overlap are not gathered, but exchanged.
  EXPECT_THAT(stepError(K::AllGather, "x", "[x{0:5, 3:8}, *]", "[*, *]"),
              HasSubstr("whose shards are consecutive"));
  EXPECT_EQ(stepError(K::Exchange, "x", "[x{0:5, 3:8}, *]", "[*, *]"), "none");
  EXPECT_THAT(stepError(K::Exchange, "x", "[x{0:3, 5:8}, *]", "[*, *]"),
              HasSubstr("the owners along the source's axes"));
  EXPECT_THAT(stepError(K::Slice, "x", "[x, *]", "[*, *]"),
              HasSubstr("to hold its part of the result already"));
  EXPECT_EQ(stepError(K::AllToAll, "y", "[x.y, *]", "[x, y]"), "none");
  EXPECT_THAT(stepError(K::AllToAll, "x", "[x.y, *]", "[y, x]"),
              HasSubstr("the innermost axes of one dimension"));
  EXPECT_THAT(
      stepError(K::AllReduce, "x", "[*, *] partial sum {x, y}", "[*, *]"),
      HasSubstr("over the axes {x, y}, got {x}"));
  EXPECT_THAT(stepError(K::AllReduce, "x", "[*, *] partial sum {x}", "[y, *]"),
              HasSubstr("become replicated, and no other"));
  // The trap of the lost all-reduce.
  EXPECT_THAT(
      stepError(K::ReduceScatter, "x", "[*, *] partial sum {x, y}", "[x, *]"),
      HasSubstr("to become the innermost ones of one dimension"));
  EXPECT_THAT(stepError(K::ReduceScatter, "x", "[*, *] partial sum {x}",
                        "[x{0:5, 3:8}, *]"),
              HasSubstr("reduce_scatter cannot go"));
  EXPECT_EQ(stepError(K::Mask, "x", "[*, *]", "[*, *] partial sum {x}"),
            "none");
  EXPECT_THAT(stepError(K::Mask, "x", "[*, *]", "[*, *] partial max {x}"),
              HasSubstr("replicated axes to become partial sum"));
  EXPECT_THAT(stepError(K::Mask, "x", "[x, *]", "[*, *] partial sum {x}"),
              HasSubstr("mask cannot go"));
  EXPECT_THAT(stepError(K::Exchange, "x", "[x, *] partial sum {y}",
                        "[*, *] partial max {y}"),
              HasSubstr("exchange cannot go"));
  EXPECT_THAT(stepError(K::Slice, "", "[x{0:9, 0:8}, *]", "[*, *]"),
              HasSubstr("in the source, bounds 0:9"));
  EXPECT_THAT(stepError(K::Slice, "", "[*, *]", "[x{0:9, 0:8}, *]"),
              HasSubstr("in the result, bounds 0:9"));
}
