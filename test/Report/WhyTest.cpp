//===- WhyTest.cpp --------------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Report/Why.h"

#include "Layouts.h"
#include "lib/Report/WhyMatch.h"

#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::test;
using testing::HasSubstr;

TEST(WhyMatch, PatternsHaveRangesAndStars) {
  EXPECT_TRUE(matchesNumbered("h.0-3", "h.2"));
  EXPECT_TRUE(matchesNumbered("h.0-3,7.attn", "h.7.attn"));
  EXPECT_TRUE(matchesNumbered("b.0,1.e.0-7", "b.1.e.7"));
  EXPECT_TRUE(matchesNumbered("b1.l1-6, b2.l1-12", "b2.l9"));
  EXPECT_TRUE(matchesNumbered("h.*.attn", "h.12.attn"));
  EXPECT_TRUE(matchesNumbered("*c_attn*", "h.12.attn.c_attn.bias"));
  EXPECT_FALSE(matchesNumbered("h.0-3", "h.4"));
  EXPECT_FALSE(matchesNumbered("h.0-3", "h.1.attn"));
  EXPECT_FALSE(matchesNumbered("b1.l1-6, b2.l1-12", "b1.l9"));
  EXPECT_FALSE(matchesNumbered("h.*.attn", "h.12.mlp"));
}

static Report smallReport() {
  Report report;
  for (int i = 0; i < 3; ++i) {
    ReportRow row;
    row.entry = "forward";
    row.layer = "net.h." + std::to_string(i) + ".fc";
    row.node = "MatMul_" + std::to_string(i);
    row.op = "nn.matmul";
    report.rows.push_back(row);
  }
  report.rows.back().split.loops = {{"m", {"x"}}};
  report.globals.push_back({"net.h.0.fc.weight",
                            "parameter",
                            {2, 2},
                            "g",
                            layouts("[*, *]")[0],
                            ""});
  report.tensors.push_back(
      {"tokens", "input", {2, 2}, "g", layouts("[*, *]")[0], "forward"});
  return report;
}

/// How many rows and tensors `name` means, or the message.
static std::string meaning(const char *name) {
  Report report = smallReport();
  Expected<WhyMatch> match = matchName(report, name);
  if (!match) {
    EXPECT_EQ(match.status().code(), ExitCode::Usage);
    return match.status().message();
  }
  return std::to_string(llvm::count(match->rows, true)) + " rows, " +
         std::to_string(match->tensors.size()) + " tensors";
}

TEST(WhyMatch, NamesAreThoseOfTheTable) {
  EXPECT_EQ(meaning("nn.matmul"), "3 rows, 0 tensors");
  EXPECT_EQ(meaning("matmul"), "3 rows, 0 tensors");
  EXPECT_EQ(meaning("MatMul_1"), "1 rows, 0 tensors");
  EXPECT_EQ(meaning("net.h.0,1"), "2 rows, 0 tensors");
  EXPECT_EQ(meaning("net.h.2"), "1 rows, 0 tensors");
  EXPECT_EQ(meaning("net.h.1.fc"), "1 rows, 0 tensors");
  EXPECT_EQ(meaning("net.h.*.fc"), "3 rows, 0 tensors");
  EXPECT_EQ(meaning("net.h.0-2.fc"), "3 rows, 0 tensors");
  EXPECT_EQ(meaning("fc"), "3 rows, 0 tensors");
  EXPECT_EQ(meaning("@net.h.0.fc.weight"), "0 rows, 1 tensors");
  EXPECT_EQ(meaning("tokens"), "0 rows, 1 tensors");
  // The only name with that part.
  EXPECT_EQ(meaning("toke"), "0 rows, 1 tensors");
  EXPECT_EQ(meaning("weight"), "0 rows, 1 tensors");
}

TEST(WhyMatch, OtherNamesGetCandidates) {
  EXPECT_THAT(meaning("MatMul_7"),
              HasSubstr("nothing in the table is called 'MatMul_7': no "
                        "heading, operator, node or tensor; nearest are "
                        "MatMul_0, MatMul_1, MatMul_2"));
  EXPECT_THAT(meaning("atMul_"),
              HasSubstr("'atMul_' may be 3 things: MatMul_0, MatMul_1, "
                        "MatMul_2; give one of these, or a pattern with *"));
}

static WhyAnswer smallAnswer() {
  WhyAnswer answer;
  answer.name = "fc";
  WhyItem product, step;
  product.heading = "net.h.0";
  product.alike = 12;
  product.row = smallReport().rows.front();
  product.row.flops = 2e6;
  product.row.grid = "g";
  for (int i = 0; i < 20; ++i) {
    Alternative other;
    other.strategy = "m@x" + std::to_string(i);
    other.isChosen = i == 15;
    other.nanoseconds = 1000 * i;
    other.growth = 1000 * i;
    other.fits = i != 3;
    product.alternatives.push_back(other);
  }
  product.alternatives[1].growth.reset();
  product.alternatives[0].adaptedGrowth = -2000;
  step.row.op = "spmd.all_gather";
  step.row.bytes = 2048;
  answer.items = {product, step};
  answer.leftOut = 7;
  return answer;
}

TEST(Why, PrintsTheCheapestAndTheChosen) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printWhy(smallAnswer(), os);
  for (const char *part :
       {"growth: increase of the plan's cost with that strategy, all else "
        "unchanged;\nadapted:",
        "nn.matmul MatMul_0 of net.h.0.fc, entry @forward  (and 11 alike)\n",
        "2 MFLOP, done by 1.0 devices each\n", "  of 20 strategies\n",
        "           0    -2.0 us     0.0 us", "  cannot be ",
        "m@x3  (does not fit)\n", "  *   +15.0 us",
        "    and 11 more, of larger growth\n",
        "2.0 KiB to the busiest device; it follows from the layouts on either "
        "side\n",
        "\nand 7 more that take less time; name one of them\n"}) {
    EXPECT_THAT(text, HasSubstr(part)) << text;
  }
}

TEST(Why, JSONHasEveryAlternative) {
  llvm::json::Value value = toJSON(smallAnswer());
  const llvm::json::Array *items = value.getAsObject()->getArray("items");
  ASSERT_EQ(items->size(), 2u);
  const llvm::json::Object &item = *(*items)[0].getAsObject();
  EXPECT_EQ(item.getArray("alternatives")->size(), 20u);
  EXPECT_EQ(item.getInteger("alike"), 12);
  const llvm::json::Object &second =
      *(*item.getArray("alternatives"))[1].getAsObject();
  EXPECT_TRUE(second.get("growth")->getAsNull());
  EXPECT_EQ(value.getAsObject()->getInteger("left_out"), 7);
}
