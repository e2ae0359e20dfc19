//===- SlicesTest.cpp - Problems of parts of a program --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/Slices.h"
#include "lib/Plan/Ties.h"

#include "divisi/Cluster/ClusterFile.h"
#include "divisi/Plan/ModuleDataflow.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace divisi::plan {
namespace {

/// `count` blocks of two products, a ReLU and a residual.
std::string blocks(int count) {
  std::string globals, body, at = "%x";
  for (int i = 0; i != count; ++i) {
    std::string n = std::to_string(i);
    globals += "nn.global @a" + n + " parameter : tensor<64x128xf32>\n";
    globals += "nn.global @b" + n + " parameter : tensor<128x64xf32>\n";
    body += "%a" + n + " = nn.read @a" + n + " : tensor<64x128xf32>\n";
    body += "%b" + n + " = nn.read @b" + n + " : tensor<128x64xf32>\n";
    body += "%p" + n + " = nn.matmul " + at + ", %a" + n +
            " {labels = \"mk,kn->mn\"} : (tensor<32x64xf32>, "
            "tensor<64x128xf32>) -> tensor<32x128xf32>\n";
    body += "%r" + n + " = nn.relu %p" + n +
            " : (tensor<32x128xf32>) -> tensor<32x128xf32>\n";
    body += "%q" + n + " = nn.matmul %r" + n + ", %b" + n +
            " {labels = \"mk,kn->mn\"} : (tensor<32x128xf32>, "
            "tensor<128x64xf32>) -> tensor<32x64xf32>\n";
    body += "%y" + n + " = nn.add %q" + n + ", " + at +
            " : (tensor<32x64xf32>, tensor<32x64xf32>) -> "
            "tensor<32x64xf32>\n";
    at = "%y" + n;
  }
  return globals +
         "func.func @forward(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {\n" +
         body + "return " + at + " : tensor<32x64xf32>\n}\n";
}

/// On devices that fuse, and on others.
class SlicesTest : public testing::TestWithParam<const char *> {
protected:
  SlicesTest() {
    context_.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
    cluster_ = *findCluster(GetParam());
    grid_ = candidateGrids(cluster_, {.mesh = "2x2"})->front();
  }
  ModuleDataflow read(int count) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(blocks(count), &context_);
    return *readDataflow(*module_, 0);
  }
  static search::Outcome solve(const PlanningProblem &planning) {
    return search::solveExact(planning.problem);
  }

  static constexpr size_t kBlock = 4; ///< Operators of one.
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Cluster cluster_;
  DeviceGrid grid_;
};

INSTANTIATE_TEST_SUITE_P(Machines, SlicesTest,
                         testing::Values("cpu:4", "dgx-h100:4"));

TEST_P(SlicesTest, AlikeSlicesHaveOneProblem) {
  ModuleDataflow dataflow = read(6);
  SliceProblems problems(dataflow, cluster_.pace());
  std::set<const PlanningProblem *> distinct;
  for (size_t block = 0; block != 6; ++block) {
    distinct.insert(
        problems.of(kBlock * block, kBlock * (block + 1), grid_, {}).get());
  }
  EXPECT_EQ(distinct.size(), 1u);
  // Two blocks, one from another operator on, another border, another grid.
  auto one = problems.of(0, kBlock, grid_, {});
  EXPECT_NE(problems.of(0, 2 * kBlock, grid_, {}), one);
  EXPECT_NE(problems.of(1, kBlock + 1, grid_, {}), one);
  SliceBorder replicated{{Layout::replicated(2)}, {Layout::replicated(2)}};
  auto bordered = problems.of(0, kBlock, grid_, replicated);
  EXPECT_NE(bordered, one);
  EXPECT_EQ(problems.of(kBlock, 2 * kBlock, grid_, replicated), bordered);
  DeviceGrid other = candidateGrids(cluster_, {.mesh = "4"})->front();
  EXPECT_NE(problems.of(0, kBlock, other, {}), one);
}

TEST_P(SlicesTest, TheWholeProgramIsASlice) {
  ModuleDataflow dataflow = read(3);
  SliceProblems problems(dataflow, cluster_.pace());
  auto slice = problems.of(0, dataflow.sites.size(), grid_, {});
  ProblemOptions options;
  options.links = grid_.links;
  options.memory = MemoryDetail::None;
  auto whole = buildProblem(dataflow, grid_.grid, cluster_.pace(),
                            {grid_.roles}, Fixed::nothingOf(dataflow), options);
  EXPECT_EQ(solve(*slice).solution.cost >> 20,
            solve(*whole).solution.cost >> 20);
}

/// Cut where a value crosses in one layout, the parts cost what the whole does:
/// the least over that layout.
TEST_P(SlicesTest, PartsAddUp) {
  ModuleDataflow dataflow = read(2);
  SliceProblems problems(dataflow, cluster_.pace());
  auto whole = problems.of(0, 2 * kBlock, grid_, {});
  search::Wide best = solve(*whole).solution.cost;
  std::optional<search::Wide> parts;
  for (const Layout &layout : simplePlaces(grid_.grid, {32, 64})) {
    auto first = problems.of(0, kBlock, grid_, {{std::nullopt}, {layout}});
    auto second =
        problems.of(kBlock, 2 * kBlock, grid_, {{layout}, {std::nullopt}});
    search::Wide sum =
        solve(*first).solution.cost + solve(*second).solution.cost;
    parts = parts ? std::min(*parts, sum) : sum;
  }
  // A value that leaves a slice as made may need one more conversion in the
  // whole only if it rests in none of these places.
  EXPECT_GE(*parts >> 20, best >> 20);
  EXPECT_LE(double(*parts), 1.05 * double(best));
}

/// A block has a product with its ReLU, and one with its sum.
TEST_P(SlicesTest, KernelsEndAtTheBorder) {
  ModuleDataflow dataflow = read(1);
  auto ends = [](const Dataflow &slice) {
    std::vector<std::pair<size_t, size_t>> ends;
    for (const Site &site : slice.sites) {
      ends.push_back(
          {site.fusible.operands.size(), site.fusible.results.size()});
    }
    return ends;
  };
  using Ends = std::vector<std::pair<size_t, size_t>>;
  EXPECT_EQ(ends(dataflow), (Ends{{0, 1}, {1, 0}, {0, 1}, {1, 0}}));
  EXPECT_EQ(ends(sliceOf(dataflow, 0, 3)), (Ends{{0, 1}, {1, 0}, {0, 0}}));
  EXPECT_EQ(ends(sliceOf(dataflow, 1, 4)), (Ends{{0, 0}, {0, 1}, {1, 0}}));
}

TEST_P(SlicesTest, ThreadsGetTheSame) {
  ModuleDataflow dataflow = read(8);
  SliceProblems problems(dataflow, cluster_.pace(), int64_t(1) << 30);
  std::vector<std::vector<const PlanningProblem *>> seen(4);
  std::vector<std::thread> threads;
  for (auto &list : seen) {
    threads.emplace_back([&] {
      for (size_t begin = 0; begin != 8; ++begin) {
        for (size_t end = begin + 1; end <= 8; ++end) {
          list.push_back(
              problems.of(kBlock * begin, kBlock * end, grid_, {}).get());
        }
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(seen[1], seen[0]);
  EXPECT_EQ(seen[2], seen[0]);
  EXPECT_EQ(seen[3], seen[0]);
  // One for each number of blocks.
  EXPECT_EQ(std::set(seen[0].begin(), seen[0].end()).size(), 8u);
}

/// Blocks of one kind, then blocks of another, as in a training step.
TEST_P(SlicesTest, EveryRunOfBlocksIsFound) {
  std::string text = blocks(6);
  text.resize(text.rfind("return"));
  std::string at = "%y5";
  for (int i = 0; i != 8; ++i) {
    std::string name = "%t" + std::to_string(i);
    text += name + (i % 2 ? " = nn.exp " : " = nn.tanh ") + at +
            " : (tensor<32x64xf32>) -> tensor<32x64xf32>\n";
    at = name;
  }
  text += "return " + at + " : tensor<32x64xf32>\n}\n";
  module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  ModuleDataflow dataflow = *readDataflow(*module_, 0);
  EXPECT_EQ(findAllRepeats(dataflow),
            (std::vector<RepeatedBlocks>{{0, kBlock, 6}, {24, 2, 4}}));
}

/// Folded and unfolded, the same cost.
TEST_P(SlicesTest, RepeatedBlocksAreTied) {
  for (int count : {4, 8}) {
    ModuleDataflow dataflow = read(count);
    EXPECT_EQ(findRepeats(dataflow),
              (RepeatedBlocks{0, kBlock, size_t(count)}));
    ProblemOptions options;
    options.links = grid_.links;
    options.memory = MemoryDetail::None;
    auto planning =
        buildProblem(dataflow, grid_.grid, cluster_.pace(), {grid_.roles},
                     Fixed::nothingOf(dataflow), options);
    auto ties = tiesOf(dataflow, *planning);
    ASSERT_TRUE(ties);
    EXPECT_EQ(search::validate(planning->problem, *ties), std::nullopt);
    size_t tied = 0;
    for (size_t node = 0; node != ties->leader.size(); ++node) {
      tied += ties->leader[node] != node;
    }
    // Four operators, two weights and the residual of each block but the first;
    // the last one's residual is the result.
    EXPECT_EQ(tied, size_t(7 * (count - 1) - 1));
    search::Outcome unfolded = search::solveAuto(planning->problem);
    search::Options asked;
    asked.ties = *ties;
    search::Outcome folded = search::solveAuto(planning->problem, asked);
    ASSERT_EQ(unfolded.verdict, search::Verdict::Solved);
    ASSERT_EQ(folded.verdict, search::Verdict::Solved);
    EXPECT_EQ(unfolded.stopped, search::Stopped::Finished);
    EXPECT_EQ(folded.stopped, search::Stopped::Finished);
    EXPECT_EQ(folded.solution.cost, unfolded.solution.cost);
    EXPECT_EQ(search::check(planning->problem, folded.solution), std::nullopt);
  }
}

} // namespace
} // namespace divisi::plan
