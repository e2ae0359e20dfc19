//===- DimChangeTest.cpp - One dimension between two layouts --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shorthand.h"

#include "divisi/Layout/DimChange.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace divisi;
using namespace divisi::test;

/// Every ordered list of axes of `grid`.
static void listAxes(const Grid &grid, DimLayout &begun,
                     std::vector<DimLayout> &all) {
  all.push_back(begun);
  for (uint32_t axis = 0; axis != grid.numAxes(); ++axis) {
    if (!llvm::is_contained(begun.axes, AxisId{axis})) {
      begun.axes.push_back(AxisId{axis});
      listAxes(grid, begun, all);
      begun.axes.pop_back();
    }
  }
}

/// With its shards written out, which is how uneven ones are analysed.
static DimLayout withBounds(const Grid &grid, int64_t extent, DimLayout dim) {
  for (Interval shard : dim.shards(grid, extent)) {
    dim.bounds.push_back(shard);
  }
  return dim;
}

static std::set<DimChange::Cell> asSet(llvm::ArrayRef<DimChange::Cell> cells) {
  return {cells.begin(), cells.end()};
}

// What follows from the axes is what the shards say.
TEST(DimChangeTest, EvenShardsNeedNoLook) {
  Grid g = grid("(x=2, y=3, z=4)");
  DimLayout begun;
  std::vector<DimLayout> all;
  listAxes(g, begun, all);
  ASSERT_EQ(all.size(), 16u);
  constexpr int64_t kExtent = 48;
  for (const DimLayout &from : all) {
    for (const DimLayout &to : all) {
      if (from == to) {
        continue;
      }
      DimChange even = analyzeDim(g, kExtent, from, to);
      DimChange seen = analyzeDim(g, kExtent, withBounds(g, kExtent, from),
                                  withBounds(g, kExtent, to));
      EXPECT_EQ(even.contained, seen.contained);
      EXPECT_EQ(even.covered, seen.covered);
      EXPECT_EQ(even.gathers, seen.gathers);
      EXPECT_EQ(even.splits, seen.splits);
      EXPECT_EQ(even.minor, seen.minor);
      EXPECT_EQ(even.talking, seen.talking);
      EXPECT_EQ(even.largestFrom, seen.largestFrom);
      EXPECT_EQ(even.largestTo, seen.largestTo);
      EXPECT_EQ(asSet(even.cells), asSet(seen.cells));
      EXPECT_EQ(asSet(even.worst), asSet(seen.worst));
    }
  }
}

// Every cell has one among the worst that is as bad.
TEST(DimChangeTest, TheWorstStandForAll) {
  Grid g = grid("(x=3, y=4, z=2)");
  DimChange change =
      analyzeDim(g, 41, layout("[x.z]", g).dims[0], layout("[y]", g).dims[0]);
  EXPECT_EQ(change.cells.size(), 24u);
  EXPECT_LT(change.worst.size(), 6u);
  for (const DimChange::Cell &cell : change.cells) {
    EXPECT_TRUE(llvm::any_of(change.worst, [&](const auto &worst) {
      return worst.size >= cell.size && worst.kept <= cell.kept &&
             worst.owners >= cell.owners;
    }));
  }
}
