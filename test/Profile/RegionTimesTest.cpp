//===- RegionTimesTest.cpp - Tests of the table of measured regions -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Profile/RegionTimes.h"

#include "divisi/Codegen/NativeCode.h"
#include "test/Codegen/DrawnRegion.h"

#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::test;

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
