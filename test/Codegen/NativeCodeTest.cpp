//===- NativeCodeTest.cpp - Code of regions computes what they do ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions are drawn at random, with broadcasts, rows, types and boxes. Those of
// models are compared by compare-regions.
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/NativeCode.h"
#include "divisi/runtime/code/RowCode.h"
#include "test/Codegen/DrawnRegion.h"
#include "test/Codegen/RegionCheck.h"
#include "test/Sample.h"

#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::test;

TEST(NativeCode, ComputesWhatTheRegionDoes) {
  if (rt::hostLevel().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  int regions = 0, joined = 0, formatted = 0;
  RegionCheck check;
  unsigned most = sampleSize(600u, 60u);
  for (unsigned seed = 0; seed < most; ++seed) {
    DrawnRegion drawn(seed);
    if (!generatesCode(drawn.call(4).site())) {
      continue;
    }
    ++regions;
    for (int64_t extent : {3, 20, 33, 97, 300, 5000}) {
      RegionCall call = drawn.call(extent);
      std::mt19937 random(seed);
      std::string wrong =
          extent > 1000 ? check.compareTeams(call, random)
                        : check.compare(call, Numbers(extent % 3), random);
      ASSERT_EQ(wrong, "") << "seed " << seed;
      joined += call.region.parts[0].op == "nn.concat";
      formatted += !call.results[0].format.empty();
    }
  }
  std::printf(
      "counted: drawn regions: %d, %ld calls, %d of which join "
      "operands, %d with channels last; of %ld elements %ld undecided\n",
      regions, long(check.calls), joined, formatted,
      long(check.counts.elements), long(check.counts.undecided));
  EXPECT_GT(regions, int(most) * 7 / 10);
  EXPECT_GT(check.calls, int(most) * 12);
  EXPECT_LT(check.counts.undecided, check.counts.elements / 50);
  EXPECT_GT(joined, int(most) / 10);
  EXPECT_GT(formatted, int(most) / 10);
}

TEST(NativeCode, IsTheSameTwice) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    RegionCall call = DrawnRegion(seed).call(50);
    if (generatesCode(call.site())) {
      auto once = generateCode(call.site(), "x86-64-v3");
      auto twice = generateCode(call.site(), "x86-64-v3");
      ASSERT_TRUE(once && twice);
      EXPECT_EQ(*once, *twice);
    }
  }
}
