//===- LayerGroupsTest.cpp ------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/LayerGroups.h"
#include "Layouts.h"
#include "lib/Report/NumberedNames.h"

#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::test;
using testing::ElementsAre;

static ReportRow row(std::string layer, std::string op,
                     std::string operands = "[x, *]", int64_t time = 10) {
  ReportRow row;
  row.entry = "forward";
  row.layer = std::move(layer);
  row.op = std::move(op);
  row.operands =
      layouts(operands, Grid({{"x", 2}, {"x0", 2}, {"x1", 2}, {"x2", 2}}));
  row.results = layouts("[x, *]");
  row.nanoseconds = time;
  return row;
}

/// `label: blocks x rows` of every group.
static std::vector<std::string> groupsOf(const std::vector<ReportRow> &rows) {
  std::vector<std::string> texts;
  for (const EntryGroups &entry : groupLayers(rows)) {
    for (const LayerGroup &group : entry.groups) {
      texts.push_back(group.label + ": " + std::to_string(group.blocks.size()) +
                      " x " + std::to_string(group.blocks.front().size()));
    }
  }
  return texts;
}

TEST(LayerGroups, HeadingsEndWithTheLastNumberedModule) {
  EXPECT_EQ(headingOf("transformer.h.3.attn.c_attn"), "transformer.h.3");
  EXPECT_EQ(headingOf("transformer.h.3"), "transformer.h.3");
  EXPECT_EQ(headingOf("features.denseblock1.denselayer2.conv1"),
            "features.denseblock1.denselayer2");
  EXPECT_EQ(headingOf("features.norm0"), "features");
  EXPECT_EQ(headingOf("blocks.1.experts.5.up"), "blocks.1.experts.5");
  EXPECT_EQ(headingOf("lm_head"), "lm_head");
  EXPECT_EQ(headingOf(""), "");
}

TEST(LayerGroups, NumbersThatDifferBecomeRanges) {
  EXPECT_EQ(nameAll({"h.0", "h.1", "h.2", "h.10"}), "h.0-2,10");
  EXPECT_EQ(nameAll({"h.9", "h.10"}), "h.9,10");
  EXPECT_EQ(nameAll({"h.4"}), "h.4");
  EXPECT_EQ(nameAll({"b.0.e.0", "b.0.e.1", "b.1.e.0", "b.1.e.1"}),
            "b.0,1.e.0,1");
  EXPECT_EQ(nameAll({"b1.l1", "b1.l2", "b1.l3", "b2.l1"}), "b1.l1-3, b2.l1");
  EXPECT_EQ(nameAll({"head"}), "head");
  EXPECT_EQ(nameAll({"n_1", "n_3", "n_5", "n_7", "n_9", "n_11", "n_13", "n_15",
                     "n_17"}),
            "n_1,3,5,7,...,17");
  EXPECT_EQ(withoutNumbers("b1.l20.conv"), "b#.l#.conv");
}

TEST(LayerGroups, LayersWhoseNamesAndCostsDifferInNumbersAreOne) {
  std::vector<ReportRow> rows;
  for (int block = 1; block <= 2; ++block) {
    std::string name = "f.block" + std::to_string(block);
    for (int layer = 1; layer <= 3; ++layer) {
      std::string scope = name + ".layer" + std::to_string(layer);
      rows.push_back(row(scope + ".conv1", "nn.conv", "[x]", 10 * layer));
      // A concatenation of ever more parts.
      std::string parts = "[x]";
      for (int i = 0; i < layer; ++i) {
        parts += ", [x]";
      }
      rows.push_back(row(scope + ".cat", "nn.concat", parts));
    }
    rows.push_back(row("f.transition" + std::to_string(block) + ".conv",
                       "nn.conv", "[*]"));
  }
  EXPECT_THAT(groupsOf(rows), ElementsAre("f.block1,2.layer1-3: 6 x 2",
                                          "f.transition1,2: 2 x 1"));
  EXPECT_EQ(groupLayers(rows)[0].groups[0].nanoseconds(), 2 * (60 + 30));
}

TEST(LayerGroups, AnotherSplitOrLayoutIsAnotherGroup) {
  std::vector<ReportRow> rows = {row("h.0.a", "nn.add"), row("h.1.a", "nn.add"),
                                 row("h.2.a", "nn.add"),
                                 row("h.3.a", "nn.add")};
  rows[1].split.loops = {{"m", {"x"}}};
  rows[3].operands = layouts("[*, x]");
  EXPECT_THAT(groupsOf(rows),
              ElementsAre("h.0,2: 2 x 1", "h.1: 1 x 1", "h.3: 1 x 1"));
}

// Axis names end in numbers, too: those are no numbers of a layer.
TEST(LayerGroups, WhatIsFusedIsAnotherGroup) {
  std::vector<ReportRow> rows = {row("h.0.fc", "nn.relu"),
                                 row("h.1.fc", "nn.relu")};
  EXPECT_THAT(groupsOf(rows), ElementsAre("h.0,1: 2 x 1"));
  rows[0].isFused = true;
  EXPECT_THAT(groupsOf(rows), ElementsAre("h.0: 1 x 1", "h.1: 1 x 1"));
}

TEST(LayerGroups, BoundsMayDifferAndAxesMayNot) {
  std::vector<ReportRow> rows = {row("h.0.a", "nn.conv", "[x0{0:5, 4:9}]"),
                                 row("h.1.a", "nn.conv", "[x0{0:9, 8:17}]"),
                                 row("h.2.a", "nn.conv", "[x1]"),
                                 row("h.3.a", "nn.conv", "[x2]")};
  EXPECT_THAT(groupsOf(rows),
              ElementsAre("h.0,1: 2 x 1", "h.2: 1 x 1", "h.3: 1 x 1"));
}

TEST(LayerGroups, WithoutModulesWhatRepeatsIsALayer) {
  std::vector<ReportRow> rows = {row("", "nn.pad")};
  for (int layer = 0; layer < 40; ++layer) {
    for (const char *op : {"nn.conv", "nn.add", "nn.relu", "nn.mul"}) {
      rows.push_back(row("", op));
      rows.back().node = "n_" + std::to_string(rows.size());
    }
  }
  rows.push_back(row("", "nn.softmax"));
  std::vector<EntryGroups> entries = groupLayers(rows);
  ASSERT_EQ(entries.size(), 1u);
  ASSERT_EQ(entries[0].groups.size(), 3u);
  EXPECT_EQ(entries[0].groups[1].blocks.size(), 40u);
  EXPECT_EQ(entries[0].groups[1].label.substr(0, 5), "n_2,6");
}

// The two halves are equal, too, but their layers say more.
TEST(LayerGroups, LayersWithinWhatRepeatsAreFound) {
  std::vector<ReportRow> rows;
  for (int half = 0; half < 2; ++half) {
    for (int layer = 0; layer < 4; ++layer) {
      for (const char *op : {"nn.conv", "nn.add", "nn.relu"}) {
        rows.push_back(row("", op));
      }
    }
    rows.push_back(row("", "nn.pool_max"));
  }
  std::vector<EntryGroups> entries = groupLayers(rows);
  ASSERT_EQ(entries[0].groups.size(), 2u);
  EXPECT_EQ(entries[0].groups[0].blocks.size(), 8u);
  EXPECT_EQ(entries[0].groups[1].blocks.size(), 2u);
}

TEST(LayerGroups, EntriesAreApart) {
  std::vector<ReportRow> rows = {row("h.0.a", "nn.add"),
                                 row("h.0.a", "nn.add")};
  rows[1].entry = "backward";
  EXPECT_EQ(groupLayers(rows).size(), 2u);
}

TEST(LayerGroups, EveryRowIsInOneGroup) {
  std::vector<ReportRow> rows;
  for (int i = 0; i < 200; ++i) {
    rows.push_back(row(i % 7 ? "h." + std::to_string(i % 5) + ".x" : "",
                       i % 3 ? "nn.add" : "nn.mul", "[x]", i));
  }
  int64_t sum = 0;
  size_t count = 0;
  std::vector<EntryGroups> entries = groupLayers(rows);
  for (const LayerGroup &group : entries[0].groups) {
    sum += group.nanoseconds();
    for (auto block : group.blocks) {
      EXPECT_EQ(block.size(), group.blocks.front().size());
      count += block.size();
    }
  }
  EXPECT_EQ(count, rows.size());
  EXPECT_EQ(sum, 199 * 200 / 2);
}
