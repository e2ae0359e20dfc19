//===- LoopsTest.cpp - Loops, splits, derived layouts ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shorthand.h"

#include "llvm/ADT/STLExtras.h"

#include "gmock/gmock.h"

#include <functional>
#include <set>

using namespace divisi;
using namespace divisi::test;
using testing::HasSubstr;

static std::string operand(const LoopNest &nest, const Grid &g,
                           llvm::StringRef text, unsigned index = 0) {
  Split s = split(text, g, nest);
  EXPECT_EQ(verifySplit(nest, g, s).value_or("none"), "none");
  return operandLayout(nest, g, s, index).str(g);
}

static std::string result(const LoopNest &nest, const Grid &g,
                          llvm::StringRef text) {
  return resultLayout(nest, g, split(text, g, nest), 0).str(g);
}

static std::string splitError(const LoopNest &nest, const Grid &g,
                              llvm::StringRef text) {
  return verifySplit(nest, g, split(text, g, nest)).value_or("none");
}

TEST(LoopsTest, MatmulLayoutsFollowFromItsSplit) {
  Grid g = grid("(x=2, y=2, z=2)");
  LoopNest nest = matmul(8, 6, 4);
  EXPECT_EQ(operand(nest, g, "m@x, k@y", 0), "[x, y]");
  EXPECT_EQ(operand(nest, g, "m@x, k@y", 1), "[y, *]");
  EXPECT_EQ(result(nest, g, "m@x, k@y"), "[x, *] partial sum {y}");
  EXPECT_EQ(result(nest, g, "n@z.x"), "[*, z.x]");
  EXPECT_EQ(nest.flops(), 2 * 8 * 6 * 4);
  EXPECT_EQ(localFlops(nest, g, split("m@x, k@y", g, nest)), 2 * 4 * 6 * 2);
}

TEST(LoopsTest, CarryKeepsOneOperandPartial) {
  Grid g = grid("(x=2, y=2)");
  LoopNest nest = matmul(8, 6, 4);
  EXPECT_EQ(operand(nest, g, "m@x, carry sum@y", 0), "[x, *] partial sum {y}");
  EXPECT_EQ(operand(nest, g, "m@x, carry sum@y", 1), "[*, *]");
  EXPECT_EQ(operand(nest, g, "carry sum@y in 1", 0), "[*, *]");
  EXPECT_EQ(operand(nest, g, "carry sum@y in 1", 1), "[*, *] partial sum {y}");
  EXPECT_EQ(result(nest, g, "k@x, carry sum@y in 1"),
            "[*, *] partial sum {x, y}");
}

TEST(LoopsTest, MaximumLeavesPartialMaximum) {
  Grid g = grid("(x=2)");
  LoopNest nest;
  LoopId p = nest.add("p", 4);
  LoopId r = nest.add("r", 8, LoopKind::Reduction, ReduceKind::Max);
  nest.operands = {{{DimMap::loop(p), DimMap::loop(r)}, {4, 8}}};
  nest.results = {{{DimMap::loop(p)}, {4}}};
  EXPECT_EQ(operand(nest, g, "r@x"), "[*, x]");
  EXPECT_EQ(result(nest, g, "r@x"), "[*] partial max {x}");
}

TEST(LoopsTest, ProductSplitsFromTheMajorFactor) {
  Grid g = grid("(x=2, y=2)");
  // (b s) with 3 rows over 2: two rows of 5, then one.
  LoopNest nest =
      oneToOne({{"b", 3}, {"s", 5}}, {DimMap::product({{0}, {1}})}, {15});
  EXPECT_FALSE(verifyNest(nest));
  EXPECT_EQ(operand(nest, g, "b@x"), "[x{0:10, 10:15}]");
  EXPECT_EQ(result(nest, g, "b@x"), "[x, *]");
  EXPECT_THAT(splitError(nest, g, "s@x"), HasSubstr("split that first"));
  EXPECT_THAT(splitError(nest, g, "b@x, s@y"), HasSubstr("2 iterations"));
  // 3 rows over 4: single rows, the last position has none.
  EXPECT_EQ(operand(nest, g, "b@x.y"), "[x.y{0:5, 5:10, 10:15, 0:0}]");
  Grid h = grid("(x=4, y=2)");
  EXPECT_EQ(operand(nest, h, "b@x, s@y"),
            "[x.y{0:3, 3:5, 5:8, 8:10, 10:13, 13:15, 0:0, 0:0}]");
  // An even split of the flat dimension needs no bounds.
  LoopNest even =
      oneToOne({{"b", 2}, {"s", 6}}, {DimMap::product({{0}, {1}})}, {12});
  EXPECT_EQ(operand(even, g, "b@x, s@y"), "[x.y]");
  LoopNest one =
      oneToOne({{"b", 1}, {"s", 6}}, {DimMap::product({{0}, {1}})}, {6});
  EXPECT_EQ(operand(one, g, "s@y"), "[y]");
}

TEST(LoopsTest, WindowReachesOverItsShard) {
  Grid g = grid("(x=2)");
  auto window = [&](int64_t out, int64_t in, int64_t stride, int64_t lo,
                    int64_t reach) {
    LoopNest nest =
        oneToOne({{"o", out}}, {DimMap::window({0}, stride, lo, reach)}, {in});
    EXPECT_FALSE(verifyNest(nest));
    EXPECT_EQ(result(nest, g, "o@x"), "[x]");
    return operand(nest, g, "o@x");
  };
  // A convolution of three taps, padded by one.
  EXPECT_EQ(window(8, 8, 1, 1, 2), "[x{0:5, 3:8}]");
  // Two taps with stride two: as if there were none.
  EXPECT_EQ(window(4, 8, 2, 0, 1), "[x]");
  // A slice with a step leaves gaps.
  EXPECT_EQ(window(4, 8, 2, 0, 0), "[x{0:3, 4:7}]");
  // Backwards from the end.
  EXPECT_EQ(window(8, 8, -1, -7, 0), "[x{4:8, 0:4}]");
  EXPECT_EQ(window(4, 8, -2, -7, 0), "[x{5:8, 1:4}]");
  // An operand of concat at offset 4: the first half reads nothing.
  EXPECT_EQ(window(8, 4, 1, 4, 0), "[x{0:0, 0:4}]");
  // Everybody reads everything.
  EXPECT_EQ(window(4, 4, 1, 3, 6), "[*]");
  // One output: the second position has none.
  EXPECT_EQ(window(1, 4, 1, 0, 3), "[x{0:4, 0:0}]");
}

TEST(LoopsTest, WindowOfHostileAttributesStaysInTheTensor) {
  Grid g = grid("(x=2)");
  LoopNest nest = oneToOne(
      {{"o", INT64_MAX}},
      {DimMap::window({0}, INT64_MIN, INT64_MIN, INT64_MAX)}, {INT64_MAX});
  Layout l = operandLayout(nest, g, split("o@x", g, nest), 0);
  EXPECT_EQ(l.verify(g, {INT64_MAX}).value_or("none"), "none");
}

TEST(LoopsTest, TableIsTheHullOfItsRows) {
  Grid g = grid("(x=2)");
  LoopNest nest = oneToOne(
      {{"o", 5}},
      {DimMap::tabulated({0}, {{0, 2}, {0, 2}, {3, 3}, {2, 4}, {1, 3}})}, {4});
  EXPECT_EQ(operand(nest, g, "o@x"), "[x{0:2, 1:4}]");
}

// Per position, the indices that its iterations touch, one by one, must lie in
// the derived interval, and the interval must be no larger than needed.
TEST(LoopsTest, WindowsAgreeWithBruteForce) {
  Grid g = grid("(x=3, y=2)");
  for (int64_t out : {1, 2, 5, 7, 12}) {
    for (int64_t stride : {-3, -1, 1, 2}) {
      for (int64_t lo : {-4, 0, 2}) {
        for (int64_t reach : {0, 1, 4}) {
          const int64_t in = 11;
          LoopNest nest = oneToOne(
              {{"o", out}}, {DimMap::window({0}, stride, lo, reach)}, {in});
          Split s = split("o@x.y", g, nest);
          Layout l = operandLayout(nest, g, s, 0);
          ASSERT_FALSE(l.verify(g, {in}));
          auto shards = loopShards(nest, g, s, LoopId{0});
          for (int64_t position = 0; position < 6; ++position) {
            std::set<int64_t> touched;
            for (int64_t i = shards[position].begin; i < shards[position].end;
                 ++i) {
              for (int64_t tap = 0; tap <= reach; ++tap) {
                int64_t index = i * stride + tap - lo;
                if (index >= 0 && index < in) {
                  touched.insert(index);
                }
              }
            }
            Interval box = l.box(g, {in}, position)[0];
            if (touched.empty()) {
              EXPECT_TRUE(box.empty());
              continue;
            }
            EXPECT_EQ(box, (Interval{*touched.begin(), *touched.rbegin() + 1}))
                << "out " << out << " stride " << stride << " lo " << lo
                << " reach " << reach << " position " << position;
          }
        }
      }
    }
  }
}

TEST(LoopsTest, ProductsAgreeWithBruteForce) {
  Grid g = grid("(x=2, y=3, z=2)");
  for (int64_t a : {1, 2, 3}) {
    for (int64_t b : {1, 3, 5}) {
      const int64_t c = 3, shape = a * b * c;
      LoopNest nest = oneToOne({{"a", a}, {"b", b}, {"c", c}},
                               {DimMap::product({{0}, {1}, {2}})}, {shape});
      for (const Split &s : enumerateSplits(nest, g, 10000)) {
        Layout flat = operandLayout(nest, g, s, 0);
        Layout apart = resultLayout(nest, g, s, 0);
        ASSERT_FALSE(flat.verify(g, {shape}));
        ASSERT_FALSE(flat.verifyCoverage(g, {shape}));
        for (int64_t position = 0; position < 12; ++position) {
          auto box = apart.box(g, {a, b, c}, position);
          std::set<int64_t> expected, held;
          for (int64_t i = box[0].begin; i < box[0].end; ++i) {
            for (int64_t j = box[1].begin; j < box[1].end; ++j) {
              for (int64_t k = box[2].begin; k < box[2].end; ++k) {
                expected.insert((i * b + j) * c + k);
              }
            }
          }
          Interval interval = flat.box(g, {shape}, position)[0];
          for (int64_t i = interval.begin; i < interval.end; ++i) {
            held.insert(i);
          }
          EXPECT_EQ(held, expected) << str(s, g, nest);
        }
      }
    }
  }
}

TEST(LoopsTest, VerifySplitSaysWhy) {
  Grid g = grid("(x=2, y=2)");
  LoopNest nest = matmul(8, 6, 4);
  nest.add("whole", 3, LoopKind::Whole);
  nest.add("own", 3, LoopKind::Exchange);
  LoopId top = nest.add("top", 3, LoopKind::Reduction, ReduceKind::Max);
  EXPECT_THAT(splitError(nest, g, "whole@x"), HasSubstr("kind whole"));
  EXPECT_THAT(splitError(nest, g, "own@x"), HasSubstr("kind exchange"));
  EXPECT_THAT(splitError(nest, g, "top@x, k@y"),
              HasSubstr("in two ways, sum and, by the loop 'top', max"));
  EXPECT_THAT(splitError(nest, g, "top@x, carry sum@y"),
              HasSubstr("partial in two ways"));
  EXPECT_THAT(splitError(nest, g, "carry sum@y in 2"),
              HasSubstr("linear set 2"));
  nest.barred = {1};
  EXPECT_THAT(splitError(nest, g, "carry sum@y in 1"),
              HasSubstr("carried in linear set 1, whose other factor may be "
                        "infinite"));
  EXPECT_EQ(splitError(nest, g, "carry sum@y"), "none");
  Split twice = split("m@x", g, nest);
  twice.loopAxes[top.index] = {AxisId{0}};
  EXPECT_THAT(verifySplit(nest, g, twice).value_or("none"),
              HasSubstr("'x' is used twice"));
  twice.loopAxes[top.index] = {AxisId{7}};
  EXPECT_THAT(verifySplit(nest, g, twice).value_or("none"),
              HasSubstr("axis number 7"));
  EXPECT_THAT(verifySplit(nest, g, Split()).value_or("none"),
              HasSubstr("0 loops, expected 6"));
}

TEST(LoopsTest, VerifyNestFindsContradictions) {
  auto error = [](const LoopNest &nest) {
    return verifyNest(nest).value_or("none");
  };
  EXPECT_EQ(error(matmul(2, 3, 4)), "none");
  LoopNest nest = matmul(2, 3, 4);
  nest.loops[1].name = "m";
  EXPECT_THAT(error(nest), HasSubstr("two loops are called 'm'"));
  nest = matmul(2, 3, 4);
  nest.operands[1].shape[0] = 5;
  EXPECT_THAT(error(nest),
              HasSubstr("dimension 0 of operand 1 has loops of 4"));
  nest = matmul(2, 3, 4);
  nest.results[0].dims[1] = DimMap::none();
  EXPECT_THAT(error(nest), HasSubstr("lacks the parallel loop 'n'"));
  nest = matmul(2, 2, 4);
  nest.results[0].dims[1] = nest.results[0].dims[0];
  EXPECT_THAT(error(nest), HasSubstr("mentions the loop 'm' twice"));
  nest = matmul(2, 3, 4);
  nest.operands[0].dims[0] = DimMap::window({0}, 0, 0, 0);
  EXPECT_THAT(error(nest), HasSubstr("stride 0"));
  nest = matmul(2, 3, 4);
  nest.operands[0].dims[0] = DimMap::tabulated({0}, {{0, 1}});
  EXPECT_THAT(error(nest), HasSubstr("1 rows, expected 2"));
  nest = matmul(2, 3, 4);
  nest.operands[0].dims[0] = DimMap::loop({9});
  EXPECT_THAT(error(nest), HasSubstr("loop number 9"));
  nest = matmul(2, 3, 4);
  nest.linear.push_back({2});
  EXPECT_THAT(error(nest), HasSubstr("a linear set"));
}

TEST(LoopsTest, SplitsPrintTheirNames) {
  Grid g = grid("(x=2, y=2, z=2)");
  LoopNest nest = matmul(8, 6, 4);
  for (llvm::StringRef text :
       {"m@x, n@z.y", "carry sum@x.y", "k@z, carry sum@x in 1"}) {
    EXPECT_EQ(str(split(text, g, nest), g, nest), text);
  }
}

/// All ways to give each axis to nobody, a loop or a linear set, kept when
/// legal and useful: the definition, without any cleverness.
static size_t countSplits(const LoopNest &nest, const Grid &g) {
  size_t count = 0;
  Split s = Split::replicated(nest);
  std::function<void(uint32_t)> place = [&](uint32_t axis) {
    if (axis == g.numAxes()) {
      for (size_t loop = 0; loop < nest.loops.size(); ++loop) {
        auto axes = llvm::ArrayRef(s.loopAxes[loop]);
        if (!axes.empty() &&
            g.product(axes.drop_back()) >= nest.loops[loop].extent) {
          return;
        }
      }
      count += !verifySplit(nest, g, s);
      return;
    }
    place(axis + 1);
    for (auto &axes : s.loopAxes) {
      axes.push_back(AxisId{axis});
      place(axis + 1);
      axes.pop_back();
    }
    for (unsigned set = 0; set < nest.linear.size(); ++set) {
      if (s.carryAxes.empty() || s.carrySet == set) {
        unsigned before = s.carrySet;
        s.carrySet = set;
        s.carryAxes.push_back(AxisId{axis});
        place(axis + 1);
        s.carryAxes.pop_back();
        s.carrySet = before;
      }
    }
  };
  place(0);
  return count;
}

TEST(EnumerateSplitsTest, CountsAgreeWithBruteForce) {
  LoopNest product = oneToOne({{"a", 3}, {"b", 4}, {"c", 1}},
                              {DimMap::product({{0}, {1}, {2}})}, {12});
  LoopNest mixed = matmul(8, 3, 4);
  mixed.add("top", 5, LoopKind::Reduction, ReduceKind::Max);
  mixed.add("whole", 5, LoopKind::Whole);
  for (llvm::StringRef text : {"()", "(x=2)", "(x=2, y=2)", "(x=2, y=3, z=2)",
                               "(x=2, y=2, z=2, w=3)"}) {
    Grid g = grid(text);
    for (const LoopNest &nest : {matmul(8, 1, 4), product, mixed}) {
      auto splits = enumerateSplits(nest, g, 1000000);
      EXPECT_EQ(splits.size(), countSplits(nest, g)) << text.str();
      EXPECT_EQ(splits[0], Split::replicated(nest));
      std::set<std::string> distinct;
      for (const Split &s : splits) {
        EXPECT_FALSE(verifySplit(nest, g, s));
        distinct.insert(str(s, g, nest));
      }
      EXPECT_EQ(distinct.size(), splits.size());
    }
  }
  // By hand: nobody, m, n, k, either linear set.
  LoopNest nest = matmul(8, 6, 4);
  EXPECT_EQ(enumerateSplits(nest, grid("(x=2)"), 100).size(), 6u);
  nest.barred = {0};
  EXPECT_EQ(enumerateSplits(nest, grid("(x=2)"), 100).size(), 5u);
}

TEST(EnumerateSplitsTest, StopsAtItsLimitOnLargeGrids) {
  Grid g = grid("(a=2, b=2, c=2, d=2, e=2, f=2, g=2, h=2, i=2, j=2, k=2, l=2)");
  EXPECT_EQ(enumerateSplits(matmul(4096, 4096, 4096), g, 500).size(), 500u);
  // A minor factor that no axes can free must not be searched for.
  LoopNest nest = oneToOne({{"a", 1 << 20}, {"b", 1 << 20}},
                           {DimMap::product({{0}, {1}})}, {int64_t(1) << 40});
  EXPECT_EQ(enumerateSplits(nest, g, 1 << 20).size(), 4096u);
}
