//===- LayoutTest.cpp - Grids and layouts ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shorthand.h"

#include "gmock/gmock.h"

using namespace divisi;
using namespace divisi::test;
using testing::ElementsAre;
using testing::HasSubstr;

static std::string parseError(llvm::StringRef text, const Grid &grid) {
  llvm::Expected<Layout> layout = parseLayout(text, grid);
  return layout ? "none" : llvm::toString(layout.takeError());
}

TEST(GridTest, PositionsAreRowMajor) {
  Grid g = grid("(data=2, model=3)");
  EXPECT_EQ(g.numPositions(), 6);
  EXPECT_THAT(g.coordinates(4), ElementsAre(1, 1));
  AxisId data = *g.find("data"), model = *g.find("model");
  EXPECT_EQ(g.shardIndex(4, {data, model}), 4);
  EXPECT_EQ(g.shardIndex(4, {model, data}), 3);
  EXPECT_THAT(g.group(4, {model}), ElementsAre(3, 4, 5));
  EXPECT_THAT(g.group(4, {data}), ElementsAre(1, 4));
  EXPECT_THAT(g.group(4, {model, data}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_FALSE(g.find("pipe"));
}

TEST(GridTest, RefusesWhatIsNoGrid) {
  EXPECT_THAT(*Grid({{"", 2}}).verify(), HasSubstr("has no name"));
  EXPECT_THAT(*Grid({{"x", 2}, {"x", 3}}).verify(), HasSubstr("two axes 'x'"));
  EXPECT_THAT(*Grid({{"x", 0}}).verify(), HasSubstr("size 0"));
  EXPECT_THAT(*Grid({{"x", 1 << 15}, {"y", 4}}).verify(),
              HasSubstr("more than 65536 positions"));
  EXPECT_FALSE(Grid({{"x", 1 << 15}, {"y", 2}}).verify());
}

TEST(GridTest, WeightsHaveOneForm) {
  auto text = [](llvm::StringRef written) {
    std::string result;
    llvm::raw_string_ostream os(result);
    grid(written).print(os);
    return result;
  };
  EXPECT_EQ(text("(x=4:[3,3,1,1], y=2)"), "(x=4:[3,3,1,1], y=2)");
  EXPECT_EQ(text("(x = 2 : [ 6, 4 ])"), "(x=2:[3,2])");
  EXPECT_EQ(text("(x=2:[7,7], y=1:[5])"), "(x=2, y=1)");
  EXPECT_EQ(grid("(x=2:[6,4])"), grid("(x=2:[3,2])"));
  EXPECT_EQ(hash_value(grid("(x=2:[6,4])")), hash_value(grid("(x=2:[3,2])")));
  EXPECT_NE(grid("(x=2:[3,2])"), grid("(x=2:[2,3])"));
  EXPECT_NE(grid("(x=2:[3,2])"), grid("(x=2)"));
}

TEST(GridTest, ParserSaysWhatItExpectsOfWeights) {
  auto error = [](llvm::StringRef text) {
    llvm::Expected<Grid> g = parseGrid(text);
    return g ? "none" : llvm::toString(g.takeError());
  };
  EXPECT_THAT(error("(x=2:3)"), HasSubstr("expected '[' at column 6"));
  EXPECT_THAT(error("(x=2:[])"), HasSubstr("expected a weight at column 7"));
  EXPECT_THAT(error("(x=2:[1,2)"), HasSubstr("expected ']' at column 10"));
  EXPECT_THAT(error("(x=2:[1,0])"), HasSubstr("the weight 0"));
}

TEST(LayoutTest, WeightsSayWhereBoundsAre) {
  Grid g = grid("(x=4:[3,3,1,1], y=2, z=2:[1,2])");
  using I = Interval;
  AxisId x{0}, y{1}, z{2};
  EXPECT_THAT(nestedShards(g, 10, {x}),
              ElementsAre(I{0, 4}, I{4, 8}, I{8, 9}, I{9, 10}));
  EXPECT_THAT(nestedShards(g, 9, {y, z}),
              ElementsAre(I{0, 2}, I{2, 5}, I{5, 6}, I{6, 9}));
  EXPECT_THAT(nestedShards(g, 9, {z, y}),
              ElementsAre(I{0, 2}, I{2, 3}, I{3, 6}, I{6, 9}));
  // Some get nothing of little.
  EXPECT_THAT(nestedShards(g, 1, {x}),
              ElementsAre(I{0, 0}, I{0, 1}, I{1, 1}, I{1, 1}));
  EXPECT_EQ(nestedShards(g, INT64_MAX, {x}).back().end, INT64_MAX);
  Layout l = layout("[z.y]", g);
  EXPECT_THAT(l.localShape(g, {9}), ElementsAre(3));
  EXPECT_THAT(l.localShape(g, {9}, {z, {0, 1}}), ElementsAre(2));
  EXPECT_THAT(l.localShape(g, {9}, {x, {2, 3}}), ElementsAre(3));
  l = layout("[z{0:3, 3:9}]", g);
  l.canonicalize(g, {9});
  EXPECT_EQ(l.str(g), "[z]");
}

TEST(LayoutTest, ShardsByWeightAreOneAfterAnother) {
  Grid g = grid("(x=5:[7,1,1024,2,7], y=3:[2,5,1])");
  for (int64_t extent = 0; extent < 300; ++extent) {
    int64_t reached = 0;
    for (Interval shard : nestedShards(g, extent, {AxisId{0}, AxisId{1}})) {
      ASSERT_EQ(shard.begin, reached) << extent;
      ASSERT_GE(shard.end, shard.begin) << extent;
      reached = shard.end;
    }
    ASSERT_EQ(reached, extent);
  }
}

TEST(LayoutTest, DefaultBoundsAreNestedCeil) {
  Grid g = grid("(x=2, y=4)");
  using I = Interval;
  EXPECT_THAT(nestedShards(g, 10, {AxisId{0}, AxisId{1}}),
              ElementsAre(I{0, 2}, I{2, 4}, I{4, 5}, I{5, 5}, I{5, 7}, I{7, 9},
                          I{9, 10}, I{10, 10}));
  EXPECT_THAT(nestedShards(g, 7, {}), ElementsAre(I{0, 7}));
  EXPECT_THAT(nestedShards(g, 0, {AxisId{0}}), ElementsAre(I{0, 0}, I{0, 0}));
  // Extents near the end of int64_t don't overflow.
  EXPECT_EQ(nestedShards(g, INT64_MAX, {AxisId{1}}).back().end, INT64_MAX);
}

TEST(LayoutTest, BoxIsTheShardOfEveryDimension) {
  Grid g = grid("(x=2, y=3)");
  Layout l = layout("[y, *, x{0:5, 3:8}]", g);
  EXPECT_THAT(l.box(g, {7, 2, 8}, 5),
              ElementsAre(Interval{6, 7}, Interval{0, 2}, Interval{3, 8}));
  EXPECT_THAT(l.localShape(g, {7, 2, 8}), ElementsAre(3, 2, 5));
  EXPECT_THAT(l.usedAxes(), ElementsAre(AxisId{0}, AxisId{1}));
}

TEST(LayoutTest, RoundTripsThroughText) {
  Grid g = grid("(x=2, y=4, z=2, w=2)");
  for (llvm::StringRef text :
       {"[]", "[*]", "[x.y, *, z{0:5, 3:8}]", "[] partial max {x}",
        "[y.x] partial sum {z, w}"}) {
    EXPECT_EQ(layout(text, g).str(g), text);
  }
  EXPECT_EQ(layout(" [ x . y ,* ]  partial  and {w,z}", g).str(g),
            "[x.y, *] partial and {z, w}");
}

TEST(LayoutTest, ParserSaysWhatItExpected) {
  Grid g = grid("(x=2, y=4)");
  EXPECT_THAT(parseError("x]", g), HasSubstr("expected '[' at column 1"));
  EXPECT_THAT(parseError("[x", g), HasSubstr("expected ']' at column 3"));
  EXPECT_THAT(parseError("[q]", g), HasSubstr("no axis 'q'"));
  EXPECT_THAT(parseError("[x, x]", g), HasSubstr("'x' is used twice"));
  EXPECT_THAT(parseError("[,]", g), HasSubstr("the name of an axis"));
  EXPECT_THAT(parseError("[x{0}]", g), HasSubstr("expected ':'"));
  EXPECT_THAT(parseError("[x{a:1}]", g), HasSubstr("begin of an interval"));
  EXPECT_THAT(parseError("[x{0:99999999999999999999}]", g),
              HasSubstr("end of an interval"));
  EXPECT_THAT(parseError("[] partial {x}", g), HasSubstr("values combine"));
  EXPECT_THAT(parseError("[] partial avg {x}", g), HasSubstr("kind 'avg'"));
  EXPECT_THAT(parseError("[] x", g), HasSubstr("expected the end"));
}

TEST(LayoutTest, VerifiesAgainstShape) {
  Grid g = grid("(x=2, y=4)");
  auto error = [&](const Layout &l, llvm::ArrayRef<int64_t> shape) {
    return l.verify(g, shape).value_or("none");
  };
  EXPECT_THAT(error(layout("[x]", g), {4, 4}), HasSubstr("expected 2"));
  EXPECT_THAT(error(layout("[x{0:4, 2:9}]", g), {8}), HasSubstr("2:9"));
  EXPECT_THAT(error(layout("[x{0:4, 5:4}]", g), {8}), HasSubstr("5:4"));
  EXPECT_THAT(error(layout("[x{0:4}]", g), {8}), HasSubstr("expected 2"));
  EXPECT_EQ(error(layout("[x{0:3, 5:8}]", g), {8}), "none");

  Layout unknown = Layout::replicated(1);
  unknown.dims[0].axes = {AxisId{2}};
  EXPECT_THAT(error(unknown, {8}), HasSubstr("axis number 2"));
  Layout twice = Layout::replicated(1);
  twice.dims[0].axes = {AxisId{1}};
  twice.partialAxes = {AxisId{1}};
  EXPECT_THAT(error(twice, {8}), HasSubstr("'y' which is in use"));
  Layout noAxes = Layout::replicated(1);
  noAxes.dims[0].bounds = {{0, 8}};
  EXPECT_THAT(error(noAxes, {8}), HasSubstr("no axis splits it"));
}

TEST(LayoutTest, CoverageFindsWhatNobodyHolds) {
  Grid g = grid("(x=2, y=4)");
  auto error = [&](llvm::StringRef text, int64_t extent) {
    return layout(text, g).verifyCoverage(g, {extent}).value_or("none");
  };
  EXPECT_EQ(error("[x.y]", 8), "none");
  EXPECT_EQ(error("[x{4:8, 0:5}]", 8), "none");
  EXPECT_THAT(error("[x{0:3, 5:8}]", 8), HasSubstr("index 3"));
  EXPECT_THAT(error("[x{0:3, 2:7}]", 8), HasSubstr("index 7"));
}

TEST(LayoutTest, EqualLayoutsHaveOneCanonicalForm) {
  Grid g = grid("(one=1, x=2, y=4)");
  auto canonical = [&](llvm::StringRef text, int64_t extent) {
    Layout l = layout(text, g);
    l.canonicalize(g, {extent});
    return l.str(g);
  };
  EXPECT_EQ(canonical("[x{0:4, 4:8}]", 8), "[x]");
  EXPECT_EQ(canonical("[one.x]", 8), "[x]");
  EXPECT_EQ(canonical("[x{0:5, 3:8}] partial max {one}", 8), "[x{0:5, 3:8}]");
  EXPECT_EQ(canonical("[one{2:6}]", 8), "[*]");
  // Every shard is the whole dimension.
  EXPECT_EQ(canonical("[x{0:8, 0:8}]", 8), "[*]");
  // Where an empty shard would stand does not matter.
  EXPECT_EQ(canonical("[y{0:1, 1:2, 0:0, 2:2}]", 2), "[y]");
  EXPECT_EQ(canonical("[y{0:2, 1:2, 2:2, 1:1}]", 2), "[y{0:2, 1:2, 0:0, 0:0}]");
}
