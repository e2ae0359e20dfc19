//===- RouterTest.cpp - Routes and their prices ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSimulator.h"

#include "divisi/Cost/StepCost.h"
#include "divisi/Route/Router.h"
#include "test/Cost/Links.h"
#include "test/Layout/Shorthand.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

using namespace divisi;
using namespace divisi::test;

/// The steps of a route as text: `all_gather {y} -> [x]; ...`.
static std::string text(const std::optional<Route> &route, const Grid &g) {
  if (!route) {
    return "none";
  }
  std::string result;
  for (const Step &step : route->steps) {
    result += result.empty() ? "" : "; ";
    result += stringifyStepKind(step.kind).str() + " {";
    for (auto [index, axis] : llvm::enumerate(step.axes)) {
      result += (index ? "." : "") + g.name(axis).str();
    }
    result += "} -> " + step.result.str(g);
  }
  return result;
}

static std::string routeText(llvm::StringRef gridText,
                             llvm::ArrayRef<int64_t> shape,
                             llvm::StringRef from, llvm::StringRef to) {
  Grid g = grid(gridText);
  Router router(g, stepPrices(g, uniformLinks(g)));
  return text(router.route(shape, 32, layout(from, g), layout(to, g)), g);
}

static int64_t price(llvm::StringRef gridText, llvm::ArrayRef<int64_t> shape,
                     llvm::StringRef from, llvm::StringRef to) {
  Grid g = grid(gridText);
  Router router(g, stepPrices(g, uniformLinks(g)));
  return router.price(shape, 32, layout(from, g), layout(to, g)).value_or(-1);
}

TEST(RouterTest, SingleSteps) {
  llvm::StringRef g = "(x=2, y=2)";
  llvm::SmallVector<int64_t> shape = {64, 64};
  EXPECT_EQ(routeText(g, shape, "[x, *]", "[x, *]"), "");
  EXPECT_EQ(routeText(g, shape, "[x, *]", "[x.y, *]"), "slice {y} -> [x.y, *]");
  EXPECT_EQ(routeText(g, shape, "[*, *]", "[x, y]"), "slice {x.y} -> [x, y]");
  EXPECT_EQ(routeText(g, shape, "[x.y, *]", "[x, *]"),
            "all_gather {y} -> [x, *]");
  EXPECT_EQ(routeText(g, shape, "[y.x, *]", "[*, *]"),
            "all_gather {y.x} -> [*, *]");
  EXPECT_EQ(routeText(g, shape, "[*, x]", "[x, *]"),
            "all_to_all {x} -> [x, *]");
  EXPECT_EQ(routeText(g, shape, "[x, *] partial sum {y}", "[x, *]"),
            "all_reduce {y} -> [x, *]");
  EXPECT_EQ(routeText(g, shape, "[x, *] partial sum {y}", "[x, y]"),
            "reduce_scatter {y} -> [x, y]");
  EXPECT_EQ(routeText(g, shape, "[x, *]", "[x, *] partial sum {y}"),
            "mask {y} -> [x, *] partial sum {y}");
  EXPECT_EQ(routeText(g, shape, "[x, y]", "[y, x]"),
            "exchange {x.y} -> [y, x]");
  EXPECT_EQ(routeText(g, shape, "[x.y, *]", "[y.x, *]"),
            "exchange {x.y} -> [y.x, *]");
}

TEST(RouterTest, HalosAreExchanged) {
  llvm::StringRef g = "(x=2, y=2)";
  EXPECT_EQ(routeText(g, {8}, "[x]", "[x{0:5, 3:8}]"),
            "exchange {x} -> [x{0:5, 3:8}]");
  EXPECT_EQ(routeText(g, {8}, "[x{0:5, 3:8}]", "[x]"), "slice {} -> [x]");
  EXPECT_EQ(routeText(g, {8}, "[*]", "[x{0:5, 3:8}]"),
            "slice {x} -> [x{0:5, 3:8}]");
  EXPECT_EQ(routeText(g, {8}, "[x{0:3, 3:8}]", "[*]"), "all_gather {x} -> [*]");
  // A halo of partial sums is fetched as it is.
  EXPECT_EQ(
      routeText(g, {8}, "[x] partial sum {y}", "[x{0:5, 3:8}] partial sum {y}"),
      "exchange {x} -> [x{0:5, 3:8}] partial sum {y}");
  // A halo leaves other dimensions alone.
  EXPECT_EQ(routeText(g, {8, 8}, "[x{0:5, 3:8}, y]", "[x{0:5, 3:8}, *]"),
            "all_gather {y} -> [x{0:5, 3:8}, *]");
}

// A partial sum over {a, b} of which only a becomes a split must still be
// summed over b; XLA once lost that.
TEST(RouterTest, NoPartialAxisIsLost) {
  EXPECT_EQ(
      routeText("(a=2, b=2)", {64, 64}, "[*, *] partial sum {a, b}", "[a, *]"),
      "reduce_scatter {a} -> [a, *] partial sum {b}; "
      "all_reduce {b} -> [a, *]");
  EXPECT_EQ(routeText("(a=2, b=2)", {64, 64}, "[*, *] partial sum {a, b}",
                      "[*, *] partial sum {a}"),
            "all_reduce {b} -> [*, *] partial sum {a}");
  EXPECT_EQ(
      routeText("(a=2, b=2)", {64, 64}, "[*, *] partial sum {a, b}", "[b, a]"),
      "reduce_scatter {b} -> [b, *] partial sum {a}; "
      "reduce_scatter {a} -> [b, a]");
}

TEST(RouterTest, OnlySumsAreMade) {
  llvm::StringRef g = "(x=2, y=2)";
  EXPECT_EQ(routeText(g, {8}, "[x]", "[x] partial max {y}"), "none");
  EXPECT_EQ(routeText(g, {8}, "[*] partial max {y}", "[*] partial max {x, y}"),
            "none");
  EXPECT_EQ(routeText(g, {8}, "[*] partial max {x, y}", "[*] partial max {y}"),
            "all_reduce {x} -> [*] partial max {y}");
  EXPECT_EQ(routeText(g, {8}, "[*] partial max {y}", "[*] partial sum {y}"),
            "all_reduce {y} -> [*]; mask {y} -> [*] partial sum {y}");
}

TEST(RouterTest, SlowAxesCarryLess) {
  // Between nodes a hundred times slower than within: one all-reduce goes level
  // by level by itself. What is to end scattered is scattered within the node
  // first, so that the slow link carries half.
  Grid g = grid("(node=2, device=2)");
  GridLinks links(machineOf({{2, 1e10}, {2, 1e8}}), g);
  Router router(g, stepPrices(g, links));
  Layout sums = layout("[*, *] partial sum {node, device}", g);
  auto routeTo = [&](llvm::StringRef to) {
    return text(router.route({1024, 1024}, 32, sums, layout(to, g)), g);
  };
  EXPECT_EQ(routeTo("[*, *]"), "all_reduce {node.device} -> [*, *]");
  EXPECT_EQ(routeTo("[device, *]"),
            "reduce_scatter {device} -> [device, *] partial sum {node}; "
            "all_reduce {node} -> [device, *]");
}

TEST(RouterTest, PartialValuesWithBoundsAreReducedWhereTheyLie) {
  EXPECT_EQ(routeText("(x=2, y=2)", {64}, "[x{0:40, 40:64}] partial sum {y}",
                      "[x{0:40, 40:64}]"),
            "all_reduce {y} -> [x{0:40, 40:64}]");
  EXPECT_EQ(
      routeText("(x=2, y=2)", {64}, "[x{0:40, 40:64}] partial sum {y}", "[*]"),
      "all_reduce {y} -> [x{0:40, 40:64}]; all_gather {x} -> [*]");
}

// S = 64*64*4 = 16384 bytes, a byte a nanosecond, 1000 ns a message.
TEST(RouterTest, PricesHaveTheirClosedForms) {
  llvm::StringRef g = "(x=4, y=2)";
  llvm::SmallVector<int64_t> shape = {64, 64};
  const int64_t s = 64 * 64 * 4;
  EXPECT_EQ(price(g, shape, "[x, *]", "[*, *]"), 2000 + 3 * s / 4);
  EXPECT_EQ(price(g, shape, "[*, *] partial sum {x}", "[*, *]"),
            4000 + 6 * s / 4);
  EXPECT_EQ(price(g, shape, "[*, *] partial sum {x}", "[*, x]"),
            2000 + 3 * s / 4);
  EXPECT_EQ(price(g, shape, "[*, x]", "[x, *]"), 3000 + 3 * s / 4 / 4);
  // Along two axes: one group of eight.
  EXPECT_EQ(price(g, shape, "[x.y, *]", "[*, *]"), 3000 + 7 * s / 8);
  // Local steps read and write their result at 100 GB/s.
  EXPECT_EQ(price(g, shape, "[*, *]", "[x, *]"), 100 + (2 * s / 4 + 99) / 100);
  EXPECT_EQ(price(g, shape, "[*, *]", "[*, *] partial sum {y}"),
            100 + (2 * s + 99) / 100);
  // A halo of one row each side: the inner positions talk to two neighbours.
  EXPECT_EQ(price(g, shape, "[x, *]", "[x{0:17, 15:33, 31:49, 47:64}, *]"),
            2000 + 2 * 64 * 4 + 100 + (2 * 18 * 64 * 4 + 99) / 100);
  EXPECT_EQ(price(g, shape, "[x, *]", "[x, *]"), 0);
}

TEST(RouterTest, BytesAreThoseOfTheBusiestPosition) {
  Grid g = grid("(x=4)");
  Router router(g, stepPrices(g, uniformLinks(g)));
  auto halo = router.route({8}, 32, layout("[x]", g),
                           layout("[x{0:3, 1:5, 3:7, 5:8}]", g));
  EXPECT_EQ(halo->steps[0].bytes, 2 * 4);
  auto gather = router.route({8}, 32, layout("[x]", g), layout("[*]", g));
  EXPECT_EQ(gather->steps[0].bytes, 6 * 4);
}

TEST(RouterTest, LargeGridsAreAnsweredByRule) {
  llvm::StringRef g =
      "(a=2, b=2, c=2, d=2, e=2, f=2, g=2, h=2, i=2, j=2, k=2, l=2)";
  EXPECT_EQ(routeText(g, {4096, 4096},
                      "[a.b.c.d.e.f, *] partial sum {g, h, i, j, k, l}",
                      "[a.b.c.d.e.f, g.h.i]"),
            "reduce_scatter {g.h.i} -> [a.b.c.d.e.f, g.h.i] partial sum "
            "{j, k, l}; all_reduce {j.k.l} -> [a.b.c.d.e.f, g.h.i]");
  EXPECT_EQ(routeText(g, {4096, 4096}, "[a.c.e.g.i.k, b.d.f.h.j.l]",
                      "[l.k.j.i.h.g, f.e.d.c.b.a]"),
            "exchange {a.b.c.d.e.f.g.h.i.j.k.l} -> "
            "[l.k.j.i.h.g, f.e.d.c.b.a]");
}

//===----------------------------------------------------------------------===//
// Random routes, carried out
//===----------------------------------------------------------------------===//

namespace {
/// Makes grids, shapes and layouts at random.
class Dice {
public:
  explicit Dice(uint32_t seed) : random_(seed) {}

  int64_t roll(int64_t low, int64_t high) {
    return low + int64_t(random_() % uint64_t(high - low + 1));
  }

  Grid grid(int64_t maxAxes, int64_t maxSize) {
    llvm::SmallVector<GridAxis, 4> axes;
    for (int64_t axis = 0, count = roll(0, maxAxes); axis < count; ++axis) {
      axes.push_back({std::string(1, char('a' + axis)), roll(1, maxSize)});
    }
    return Grid(axes);
  }

  llvm::SmallVector<int64_t, 4> shape(int64_t maxRank) {
    llvm::SmallVector<int64_t, 4> shape;
    for (int64_t dim = 0, rank = roll(0, maxRank); dim < rank; ++dim) {
      shape.push_back(roll(0, 9) == 0 ? roll(0, 1) : roll(2, 6));
    }
    return shape;
  }

  Layout layout(const Grid &grid, llvm::ArrayRef<int64_t> shape, bool gaps) {
    Layout layout = Layout::replicated(shape.size());
    for (uint32_t axis = 0; axis < grid.numAxes(); ++axis) {
      int64_t place = roll(-2, int64_t(shape.size()) - 1);
      if (place == -2) {
        layout.partialAxes.push_back(AxisId{axis});
      } else if (place >= 0) {
        auto &axes = layout.dims[place].axes;
        axes.insert(axes.begin() + roll(0, int64_t(axes.size())), AxisId{axis});
      }
    }
    if (layout.isPartial() && roll(0, 2) == 0) {
      layout.partialKind = ReduceKind::Max;
    }
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      if (roll(0, 2) == 0) {
        bend(grid, layout.dims[dim], extent, gaps);
      }
    }
    layout.canonicalize(grid, shape);
    return layout;
  }

private:
  /// Gives a dimension explicit bounds near its own, in any order.
  void bend(const Grid &grid, DimLayout &dim, int64_t extent, bool gaps) {
    if (dim.axes.empty()) {
      return;
    }
    for (Interval bound : nestedShards(grid, extent, dim.axes)) {
      bound.begin = std::max<int64_t>(0, bound.begin - roll(0, 2));
      bound.end = std::min(extent, bound.end + roll(0, 2));
      if (gaps && bound.size() > 1 && roll(0, 1)) {
        ++bound.begin;
      }
      dim.bounds.push_back(bound);
    }
    std::shuffle(dim.bounds.begin(), dim.bounds.end(), random_);
  }

  std::mt19937 random_;
};
} // namespace

static bool mayExist(const Layout &from, const Layout &to) {
  return to.partialKind == ReduceKind::Sum ||
         (from.partialKind == to.partialKind &&
          llvm::all_of(to.partialAxes, [&](AxisId axis) {
            return llvm::is_contained(from.partialAxes, axis);
          }));
}

static void runRandomRoutes(Dice &dice, uint32_t seed, int64_t maxAxes,
                            int64_t maxSize) {
  Grid g = dice.grid(maxAxes, maxSize);
  auto shape = dice.shape(3);
  // A level for each axis.
  llvm::SmallVector<std::pair<int64_t, double>> levels;
  for (const GridAxis &axis : llvm::reverse(g.axes())) {
    levels.push_back({axis.size, 1e9 * double(dice.roll(1, 1000))});
  }
  GridLinks links(machineOf(levels), g);
  Router router(g, stepPrices(g, links));
  for (int pair = 0; pair < 4; ++pair) {
    Layout from = dice.layout(g, shape, /*gaps=*/false);
    Layout to = dice.layout(g, shape, /*gaps=*/true);
    SCOPED_TRACE(from.str(g) + " to " + to.str(g) + " seed " +
                 std::to_string(seed));
    ASSERT_FALSE(from.verify(g, shape)) << *from.verify(g, shape);
    ASSERT_FALSE(from.verifyCoverage(g, shape));
    ASSERT_FALSE(to.verify(g, shape));
    std::optional<Route> route = router.route(shape, 32, from, to);
    EXPECT_EQ(route.has_value(), mayExist(from, to));
    EXPECT_EQ(router.price(shape, 32, from, to).has_value(), route.has_value());
    if (!route) {
      continue;
    }
    StepSimulator simulator(g, shape, from, seed);
    ASSERT_EQ(simulator.check(), "");
    Layout current = from;
    int64_t nanoseconds = 0;
    for (const Step &step : route->steps) {
      ASSERT_EQ(verifyStep(g, shape, step.kind, step.axes, current, step.result)
                    .value_or(""),
                "");
      ASSERT_EQ(simulator.apply(step), "") << text(route, g);
      ASSERT_EQ(simulator.check(), "") << text(route, g);
      EXPECT_GT(step.nanoseconds, 0);
      nanoseconds += step.nanoseconds;
      current = step.result;
    }
    EXPECT_EQ(current, to);
    EXPECT_EQ(nanoseconds, route->nanoseconds);
    EXPECT_EQ(*router.price(shape, 32, from, to), nanoseconds);
    // What was asked before does not matter.
    Router fresh(g, stepPrices(g, links));
    EXPECT_EQ(fresh.route(shape, 32, from, to)->steps, route->steps);
  }
}

TEST(RouterTest, RandomRoutesEndAsAsked) {
  for (uint32_t seed = 0; seed < 250; ++seed) {
    Dice dice(seed);
    runRandomRoutes(dice, seed, 3, 3);
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST(RouterTest, RandomRoutesOnManyAxesEndAsAsked) {
  for (uint32_t seed = 1000; seed < 1080; ++seed) {
    Dice dice(seed);
    runRandomRoutes(dice, seed, 6, 2);
    if (HasFatalFailure()) {
      return;
    }
  }
}

/// The axes of `g` in another order.
static Grid shuffled(Dice &dice, const Grid &g) {
  llvm::SmallVector<GridAxis, 4> axes(g.axes());
  for (size_t i = axes.size(); i > 1; --i) {
    std::swap(axes[i - 1], axes[size_t(dice.roll(0, int64_t(i) - 1))]);
  }
  return Grid(axes);
}

TEST(RouterTest, AxesThatMatchTakeAsLong) {
  int matched = 0, moved = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    Grid g = dice.grid(4, 3);
    Grid other = shuffled(dice, g);
    auto shape = dice.shape(4);
    // Nodes of as many devices as some axes have.
    int64_t inner = 1;
    for (int64_t axis = dice.roll(0, g.numAxes()); axis < g.numAxes(); ++axis) {
      inner *= g.axes()[axis].size;
    }
    Cluster machine = machineOf({{inner, 1e11}, {1 << 10, 1e9}});
    GridLinks links(machine, g), others(machine, other);
    auto names = links.matchAxes(others);
    if (!names) {
      continue;
    }
    ++matched;
    Router router(g, stepPrices(g, links));
    Router named(other, stepPrices(other, others));
    for (int pair = 0; pair < 8; ++pair) {
      Layout from = dice.layout(g, shape, /*gaps=*/false);
      Layout to = dice.layout(g, shape, /*gaps=*/false);
      std::optional<int64_t> price = router.price(shape, 32, from, to);
      EXPECT_EQ(price, named.price(shape, 32, renamed(from, *names),
                                   renamed(to, *names)))
          << from.str(g) << " to " << to.str(g) << ", seed " << seed;
      moved += !llvm::is_sorted(*names) && price.value_or(0) > 0;
    }
  }
  EXPECT_GT(matched, 50);
  EXPECT_GT(moved, 50);
}
