//===- MoreGridsTest.cpp --------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/ClusterFile.h"
#include "divisi/Cluster/DeviceGrid.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace divisi;

/// In other orders, and of other numbers of devices, unless a finer one has
/// them: (x0=4, x1=2) is (x0=2, x1=2, x2=2) with two axes as one.
TEST(DeviceGrid, MoreAreListedBehindTheOthers) {
  auto more = [](llvm::StringRef spec, GridRequest request) {
    std::string text;
    llvm::raw_string_ostream os(text);
    auto all =
        candidateGrids(*findCluster(spec.str()), request, Precision::F32, true);
    for (const DeviceGrid &grid : *all) {
      if (grid.isMore) {
        grid.grid.print(os);
        os << ' ';
      }
    }
    return text;
  };
  EXPECT_EQ(more("cpu:8", {}), "(x0=2, x1=3) ");
  EXPECT_EQ(more("cpu:16", {.maxAxes = 3}).substr(0, 34),
            "(x0=2, x1=4, x2=2) (x0=2, x1=2, x2");
  EXPECT_NE(more("cpu:13", {}).find("(x0=2, x1=2, x2=3)"), std::string::npos);
  EXPECT_NE(more("cpu:31", {}).find("(x0=7, x1=2, x2=2)"), std::string::npos);
  EXPECT_EQ(more("cpu:8", {.mesh = "2x4"}), "");
  // Those of fewer axes first, though (4, 4, 2, 2) refines some.
  std::string all = more("cpu:64", {});
  EXPECT_NE(all.find("(x0=4, x1=4, x2=4) "), std::string::npos);
  EXPECT_LT(all.rfind("x2=5) "), all.find("x3="));
}

/// Who speaks of all grids must know of those that are not even listed.
TEST(DeviceGrid, ItIsToldWhetherSomeAreNotListed) {
  auto leaves = [](llvm::StringRef spec, GridRequest request) {
    return leavesUnlisted(*findCluster(spec.str()), request);
  };
  EXPECT_FALSE(leaves("cpu:64", {}));
  EXPECT_TRUE(leaves("cpu:65", {}));
  EXPECT_FALSE(leaves("cpu:65", {.devices = 64}));
  EXPECT_TRUE(leaves("dgx-h100:128", {}));
  EXPECT_FALSE(leaves("dgx-h100:128", {.mesh = "16x8"}));
  EXPECT_TRUE(leaves("a100:4+v100:4", {}));
  EXPECT_FALSE(leaves("a100:4+v100:4", {.devices = 1}));
  // Degrees say how many devices; orders are left, but of a prime number.
  EXPECT_TRUE(leaves("cpu:128", {.tensorParallel = 128}));
  EXPECT_FALSE(leaves("cpu:67", {.tensorParallel = 67}));
}
