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
#include "divisi/Codegen/RegionTimes.h"
#include "divisi/runtime/code/RowCode.h"
#include "test/Codegen/DrawnRegion.h"
#include "test/Codegen/RegionCheck.h"

#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::test;

TEST(NativeCode, ComputesWhatTheRegionDoes) {
  if (rt::hostLevel().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  int regions = 0, joined = 0, formatted = 0;
  RegionCheck check;
  const char *wanted = std::getenv("DIVISI_CASES_PER_OPERATOR");
  unsigned most = wanted ? 60 : 600;
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
  std::printf("counted: drawn regions: %d, %ld calls, %d of which join "
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

/// Whether all of it is in f32, but for what is true or false.
static bool isOfF32(const rt::CallSite &site) {
  auto isKnown = [](const rt::TensorInfo &info) {
    return info.type == rt::DType::F32 || info.type == rt::DType::Bool;
  };
  return std::ranges::all_of(site.operands, isKnown) &&
         std::ranges::all_of(site.results, isKnown) &&
         std::ranges::none_of(site.region->parts, [](const auto &part) {
           return part.op == "nn.cast" || part.op == "nn.concat" ||
                  part.op == "nn.quantize" || part.op == "nn.dequantize";
         });
}

TEST(RegionTimes, AreKnownOfAllThatCodeIsMadeOf) {
  int regions = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    RegionCall call = DrawnRegion(seed).call(40);
    if (!generatesCode(call.site()) || !isOfF32(call.site())) {
      continue;
    }
    ++regions;
    std::optional<RegionTimes> times = regionTimes(call.site());
    ASSERT_TRUE(times) << "seed " << seed;
    EXPECT_GT(times->code, 0);
    EXPECT_GT(times->parts, 0);
  }
  EXPECT_GT(regions, 50);
}

/// The times of one operator of f32.
static RegionTimes timesOf(std::string_view op, rt::Dims dims) {
  rt::Attributes attributes{{"axis", int64_t(dims.size()) - 1},
                            {"log", int64_t(0)}};
  rt::TensorInfo info = rt::TensorInfo::whole(rt::DType::F32, dims);
  rt::CallSite site{op, attributes, {&info, 1}, {&info, 1}};
  return *regionTimes(site);
}

TEST(RegionTimes, AreOfElementsInRows) {
  // Elements that nothing keeps apart are one row.
  RegionTimes once = timesOf("nn.exp", {300, 8});
  RegionTimes twice = timesOf("nn.exp", {600, 8});
  EXPECT_DOUBLE_EQ(twice.code, 2 * once.code);
  EXPECT_DOUBLE_EQ(twice.parts, 2 * once.parts);
  EXPECT_DOUBLE_EQ(timesOf("nn.exp", {2400}).code, once.code);
  // Short rows leave most of a vector empty.
  RegionTimes narrow = timesOf("nn.softmax", {300, 16});
  RegionTimes wide = timesOf("nn.softmax", {10, 480});
  EXPECT_GT(narrow.code, 2 * wide.code);
  EXPECT_LT(wide.code, wide.parts);
}
