//===- TransferTest.cpp - Prices of transfers between grids ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/Transfer.h"
#include "divisi/Cost/StepCost.h"
#include "lib/Cost/Collectives.h"
#include "test/Cost/Links.h"
#include "test/Layout/Shorthand.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace divisi;
using namespace divisi::test;

using Shape = llvm::SmallVector<int64_t, 3>;
using Devices = llvm::SmallVector<int64_t, 8>;

static TransferEnd end(llvm::StringRef axes, llvm::StringRef text,
                       const Devices &devices) {
  Grid own = grid(axes);
  return {own, devices, layout(text, own)};
}

static Router routerOf(const TransferEnd &to, const Cluster &cluster) {
  return Router(to.grid,
                stepPrices(to.grid, GridLinks(cluster, to.grid, to.devices)));
}

TEST(TransferTest, PricesHaveTheirClosedForms) {
  Cluster machine = machineOf({{8, 1e9}});
  auto price = [&](llvm::StringRef fromGrid, llvm::StringRef from,
                   llvm::StringRef toGrid, llvm::StringRef to) {
    Devices sources(grid(fromGrid).numPositions()),
        targets(grid(toGrid).numPositions());
    std::iota(sources.begin(), sources.end(), 0);
    std::iota(targets.begin(), targets.end(), 4);
    return priceTransfer({1024}, 32, end(fromGrid, from, sources),
                         end(toGrid, to, targets), machine)
        .nanoseconds;
  };
  EXPECT_EQ(price("()", "[*]", "()", "[*]"), 1000 + 4096);
  EXPECT_EQ(price("(x=2)", "[x]", "(x=2)", "[x]"), 1000 + 2048);
  // Two owners for one receiver.
  EXPECT_EQ(price("(x=2)", "[x]", "()", "[*]"), 2000 + 4096);
  EXPECT_EQ(price("(x=4)", "[x]", "(x=2)", "[x]"), 2000 + 2048);
  // One sender for four receivers sends it four times.
  EXPECT_EQ(price("()", "[*]", "(x=4)", "[*]"), 1000 + 4 * 4096);
  EXPECT_EQ(price("(x=4)", "[*]", "(x=4)", "[*]"), 1000 + 4096);
  // Of two senders each has one receiver of three, or two.
  EXPECT_EQ(price("(x=2)", "[*]", "(x=3)", "[*]"), 1000 + 2 * 4096);
}

TEST(TransferTest, PartsGoOverSlowLinksAndAreGatheredOverFastOnes) {
  Cluster machine = machineOf({{4, 1e10}, {2, 1e9}});
  TransferEnd from = end("(x=4)", "[*]", {0, 1, 2, 3});
  TransferEnd to = end("(z=4)", "[*]", {4, 5, 6, 7});
  Router router = routerOf(to, machine);
  TransferWay way = chooseTransfer({1 << 20}, 32, from, to, machine, router);
  EXPECT_EQ(way.via.str(to.grid), "[z]");
  EXPECT_EQ(way.price.nanoseconds, 1000 + (1 << 20));
  EXPECT_EQ(way.price.bytes, 1 << 20);
  // Of so little the latency counts.
  way = chooseTransfer({64}, 32, from, to, machine, router);
  EXPECT_EQ(way.via.str(to.grid), "[*]");
  // Nothing is wanted twice.
  to.layout = layout("[z]", to.grid);
  way = chooseTransfer({1 << 20}, 32, from, to, machine, router);
  EXPECT_EQ(way.via, to.layout);
  EXPECT_EQ(way.gathering, 0);
}

TEST(TransferTest, TheBoundIsThatOfTheNarrowestCut) {
  Cluster machine = machineOf({{4, 1e10}, {2, 1e9}});
  int64_t bytes = 4 << 20;
  auto least = [&](const TransferEnd &from, const TransferEnd &to) {
    return leastTransferNanoseconds({1 << 20}, 32, from, to, machine);
  };
  TransferEnd four = end("(x=4)", "[*]", {0, 1, 2, 3});
  // All of it comes into the machine, over the links of four.
  EXPECT_EQ(least(four, end("(z=4)", "[*]", {4, 5, 6, 7})), 1000 + bytes / 4);
  // What a device lacks comes from its machine.
  EXPECT_EQ(least(end("(x=2)", "[x]", {0, 1}), end("()", "[*]", {0})),
            1000 + bytes / 2 / 10);
  EXPECT_EQ(least(four, end("(x=4)", "[x]", {0, 1, 2, 3})), 0);
  // One device sends all.
  EXPECT_EQ(least(end("()", "[*]", {0}), end("(z=2)", "[z]", {1, 2})),
            1000 + bytes / 10);
}

//===----------------------------------------------------------------------===//
// Any grids
//===----------------------------------------------------------------------===//

using Random = std::mt19937;

static int64_t below(Random &random, int64_t bound) {
  return int64_t(random() % uint64_t(bound));
}

/// Up to eight devices in any order, in a grid of up to two axes, which split
/// any dimensions, or none.
static TransferEnd drawEnd(Random &random, llvm::ArrayRef<int64_t> shape) {
  int64_t first = 1 + below(random, 4), second = 1 + below(random, 8 / first);
  TransferEnd drawn;
  drawn.grid = Grid({{"x", first}, {"y", second}});
  Devices all(8);
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), random);
  drawn.devices.assign(all.begin(), all.begin() + first * second);
  drawn.layout = Layout::replicated(shape.size());
  for (uint32_t axis : {0, 1}) {
    int64_t dim = below(random, int64_t(shape.size()) + 1);
    if (dim != int64_t(shape.size())) {
      drawn.layout.dims[size_t(dim)].axes.push_back(AxisId{axis});
    }
  }
  drawn.layout.canonicalize(drawn.grid, shape);
  return drawn;
}

/// The whole indices of what each device has.
static std::map<int64_t, std::set<int64_t>>
indicesOf(llvm::ArrayRef<int64_t> shape, const TransferEnd &end) {
  std::map<int64_t, std::set<int64_t>> indices;
  for (auto [position, device] : llvm::enumerate(end.devices)) {
    std::set<int64_t> own = {0};
    for (auto [interval, extent] : llvm::zip_equal(
             end.layout.box(end.grid, shape, int64_t(position)), shape)) {
      std::set<int64_t> next;
      for (int64_t index : own) {
        for (int64_t i = interval.begin; i < interval.end; ++i) {
          next.insert(index * extent + i);
        }
      }
      own = std::move(next);
    }
    indices[device] = std::move(own);
  }
  return indices;
}

/// If the first device that has an element sends it to each who wants it.
static double sendingEach(llvm::ArrayRef<int64_t> shape, double width,
                          const TransferEnd &from, const TransferEnd &to,
                          const Cluster &cluster) {
  auto held = indicesOf(shape, from), wanted = indicesOf(shape, to);
  GridLinks links = linksBetween(from, to, cluster);
  MessageCost cost = messageCost(links.reach({AxisId{0}}), links.levels());
  std::map<int64_t, double> sent;
  double worst = 1;
  for (const auto &[device, indices] : wanted) {
    std::set<int64_t> senders;
    double received = 0, kept = 0;
    for (int64_t index : indices) {
      if (held.contains(device) && held[device].contains(index)) {
        kept += width;
        continue;
      }
      for (const auto &[other, own] : held) {
        if (own.contains(index)) {
          senders.insert(other);
          sent[other] += width;
          break;
        }
      }
      received += width;
    }
    double copied = 2e9 * kept / links.memoryBytesPerSecond();
    double time = received > 0 ? cost.of(double(senders.size()), received) : 0;
    worst = std::max(worst, copied + time);
  }
  for (const auto &[device, bytes] : sent) {
    worst = std::max(worst, cost.of(1, bytes));
  }
  return std::ceil(worst);
}

TEST(TransferTest, NoWayIsWorseThanSendingEachOrBetterThanTheBound) {
  Random random(44);
  int gathered = 0, balanced = 0;
  for (int round = 0; round < 2000; ++round) {
    Cluster machine = round % 2 == 0 ? machineOf({{8, 1e9}})
                                     : machineOf({{4, 1e10}, {2, 1e9}});
    Shape shape(1 + size_t(below(random, 3)));
    for (int64_t &extent : shape) {
      extent = 1 + below(random, 9);
    }
    // Long elements stand for many, of tensors that bandwidth counts for.
    int64_t width = round % 3 == 0 ? 4 : 4096;
    TransferEnd from = drawEnd(random, shape), to = drawEnd(random, shape);
    TransferPrice direct = priceTransfer(shape, 8 * width, from, to, machine);
    double each = sendingEach(shape, double(width), from, to, machine);
    EXPECT_LE(double(direct.nanoseconds), each);
    balanced += double(direct.nanoseconds) < each;
    Router router = routerOf(to, machine);
    TransferWay way =
        chooseTransfer(shape, 8 * width, from, to, machine, router);
    EXPECT_LE(way.nanoseconds(), direct.nanoseconds);
    EXPECT_EQ(way.via.verify(to.grid, shape), std::nullopt);
    if (way.gathering > 0) {
      ++gathered;
      std::optional<Route> route =
          router.route(shape, 8 * width, way.via, to.layout);
      ASSERT_TRUE(route);
      EXPECT_EQ(route->nanoseconds, way.gathering);
    } else {
      EXPECT_EQ(way.via, to.layout);
    }
    int64_t least =
        leastTransferNanoseconds(shape, 8 * width, from, to, machine);
    EXPECT_LE(least, way.nanoseconds());
    EXPECT_EQ(chooseTransfer(shape, 8 * width, from, to, machine, router).via,
              way.via);
  }
  EXPECT_GT(balanced, 50);
  EXPECT_GT(gathered, 50);
}
