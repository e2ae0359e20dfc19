//===- FusionPlanTest.cpp - Plans for devices that fuse -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/PlanningInputs.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace divisi::plan {
namespace {

/// To half precision and back. The input lies by rows and the result by
/// columns, so there is one conversion, and the fewest bytes are in between.
constexpr llvm::StringLiteral kThere = R"mlir(
  func.func @f(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %p = nn.cast %x : (tensor<1024x1024xf32>) -> tensor<1024x1024xf16>
    %r = nn.cast %p : (tensor<1024x1024xf16>) -> tensor<1024x1024xf32>
    return %r : tensor<1024x1024xf32>
  }
)mlir";

class FusionPlanTest : public testing::Test {
protected:
  FusionPlanTest() {
    context_.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
    cluster_ = *presetCluster("dgx-h100", 8);
    grid_ = candidateGrids(cluster_, {.mesh = "8"})->front();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(kThere, &context_);
    dataflow_ = *readDataflow(*module_, 0);
  }

  Layout along(size_t dim) const {
    Layout layout = Layout::replicated(2);
    layout.dims[dim].axes = {AxisId{0}};
    layout.canonicalize(grid_.grid, {1024, 1024});
    return layout;
  }

  /// The problem with input and result at their places.
  PlanningProblem problem(const DeviceKind &kind) const {
    Fixed fixed = Fixed::nothingOf(dataflow_);
    fixed.values[0] = along(0);
    fixed.outputs[0] = along(1);
    ProblemOptions options;
    options.links = grid_.links;
    options.memory = MemoryDetail::None;
    return *buildProblem(dataflow_, grid_.grid, kind, {grid_.roles}, fixed,
                         options);
  }
  /// Of the best plan: the splits of both casts, and what it takes.
  std::tuple<Split, Split, int64_t> best(const DeviceKind &kind) const {
    PlanningProblem planning = problem(kind);
    search::Solution found = search::solveExact(planning.problem).solution;
    auto split = [&](unsigned site) {
      return planning.choices[site]
          ->splits[found.assignment[planning.siteNodes[site]]];
    };
    return {split(0), split(1), nanosecondsOf(found.cost)};
  }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Cluster cluster_;
  DeviceGrid grid_;
  ModuleDataflow dataflow_;
};

TEST_F(FusionPlanTest, FusingDecides) {
  DeviceKind kind = cluster_.pace();
  ASSERT_TRUE(kind.fuses);
  auto [first, second, together] = best(kind);
  EXPECT_EQ(first, second);
  kind.fuses = false;
  auto [before, after, apart] = best(kind);
  EXPECT_NE(before, after);
  EXPECT_LT(together, apart);
}

/// One launch, and an eighth of 4 MiB in and out.
TEST_F(FusionPlanTest, AGroupMovesItsEnds) {
  PlanningProblem planning = problem(cluster_.pace());
  ASSERT_EQ(planning.fusions.size(), 1u);
  const SiteChoices &first = *planning.choices[0];
  const SiteChoices &second = *planning.choices[1];
  for (size_t i = 0; i != first.splits.size(); ++i) {
    if (grid_.grid.product(first.splits[i].usedAxes()) == 8) {
      double bytes = 4 * 1024 * 1024 / 8;
      double seconds = bytes / cluster_.pace().memoryBytesPerSecond;
      EXPECT_EQ(first.nanoseconds[i], 2000 + int64_t(std::ceil(1e9 * seconds)));
      EXPECT_EQ(second.nanoseconds[i], int64_t(std::ceil(1e9 * seconds)));
      EXPECT_NEAR(double(*first.resultApart[i]), 0.5e9 * seconds, 1);
      EXPECT_NEAR(double(*second.operandApart[i]), 2000 + 0.5e9 * seconds, 1);
    }
  }
}

TEST_F(FusionPlanTest, WhereNothingIsFusedNothingChanges) {
  DeviceKind kind = cluster_.pace();
  kind.fuses = false;
  PlanningProblem planning = problem(kind);
  EXPECT_TRUE(planning.fusions.empty());
  // Argument, two operators, output.
  EXPECT_EQ(planning.problem.edges.size(), 3u);
  for (const auto &choices : planning.choices) {
    EXPECT_TRUE(choices->operandApart.empty());
    EXPECT_TRUE(choices->resultApart.empty());
  }
}

/// Layouts: by rows, by columns, parts of a sum.
TEST_F(FusionPlanTest, OnlyWholeTensorsInEqualLayoutsAreFused) {
  LayoutPool pool;
  unsigned tensor = pool.classOf({1024, 1024}, 32);
  Layout sum = Layout::replicated(2);
  sum.partialAxes = {AxisId{0}};
  sum.partialKind = ReduceKind::Sum;
  std::vector<unsigned> layouts = {pool.intern(tensor, along(0)),
                                   pool.intern(tensor, along(1)),
                                   pool.intern(tensor, sum)};
  // The last strategy of the user makes it a view.
  layouts.push_back(layouts[0]);
  std::vector<ApartTime> made = {1, 2, 3, 4};
  std::vector<ApartTime> used = {10, 20, 30, std::nullopt};
  std::vector<search::Matrix> matrices;
  EdgeMatrices edges(
      grid_.grid, grid_.links, nullptr, {KindMemory()}, pool, matrices,
      [] { return false; }, [] {});
  Port from{0, &layouts, &made}, to{1, &layouts, &used};
  uint32_t index = edges.aparts(tensor, from, to);
  EXPECT_EQ(edges.aparts(tensor, from, to), index);
  std::vector<int64_t> nanoseconds;
  for (int64_t cost : matrices[index].entries) {
    nanoseconds.push_back(nanosecondsOf(cost));
  }
  EXPECT_EQ(nanoseconds, (std::vector<int64_t>{0, 21, 31, 1,  // by rows
                                               12, 0, 32, 2,  // by columns
                                               13, 23, 33, 3, // parts
                                               0, 24, 34, 4}));
}

} // namespace
} // namespace divisi::plan
