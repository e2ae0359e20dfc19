//===- AllGridsTest.cpp ---------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the search over all grids answers, against the exact optimum of every
// grid by itself, on small programs drawn at random: nothing that it left out
// was better, its bound is one, and so are those that need no problem.
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/PlanningInputs.h"

#include "test/Sample.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

#include <iostream>
#include <random>

using namespace divisi;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {
/// Draws a program of a few operators on tensors of two dimensions and one.
/// Values are taken up again, so that some have several users.
class ProgramMaker {
public:
  explicit ProgramMaker(uint64_t seed) : random_(seed) {}

  std::string make();

private:
  using Shape = std::vector<int64_t>;
  struct Tensor {
    std::string name;
    Shape shape;
    bool isUsed = false;
  };

  size_t below(size_t count) { return size_t(random_() % count); }
  int64_t extent() {
    constexpr int64_t kExtents[] = {3, 6, 8, 96, 100, 256, 1024, 1536};
    return kExtents[below(std::size(kExtents))];
  }
  static std::string type(const Shape &shape) {
    return "tensor<" +
           llvm::join(llvm::map_range(shape,
                                      [](int64_t extent) {
                                        return std::to_string(extent) + "x";
                                      }),
                      "") +
           "f32>";
  }
  Tensor pick(size_t rank);
  void emit(const std::string &op, const std::vector<Tensor> &operands,
            const std::string &attributes, Shape shape);
  void emitMatmul();
  void emitAdd();
  void emitOne();

  std::mt19937_64 random_;
  std::vector<Tensor> tensors_;
  std::string globals_, body_;
  size_t numWeights_ = 0;
};
} // namespace

/// A tensor of `rank`; the argument if there is none.
ProgramMaker::Tensor ProgramMaker::pick(size_t rank) {
  std::vector<Tensor *> fitting;
  for (Tensor &tensor : tensors_) {
    if (tensor.shape.size() == rank) {
      fitting.push_back(&tensor);
    }
  }
  // The last one more often than others: programs are deep, too.
  Tensor &tensor = fitting.empty() ? tensors_.front()
                   : below(2) == 0 ? *fitting.back()
                                   : *fitting[below(fitting.size())];
  tensor.isUsed = true;
  return tensor;
}

void ProgramMaker::emit(const std::string &op,
                        const std::vector<Tensor> &operands,
                        const std::string &attributes, Shape shape) {
  std::string names, types;
  for (const Tensor &operand : operands) {
    names += (names.empty() ? "" : ", ") + operand.name;
    types += (types.empty() ? "" : ", ") + type(operand.shape);
  }
  std::string name = "%" + std::to_string(tensors_.size());
  body_ += llvm::formatv("  {0} = nn.{1} {2} {3} : ({4}) -> {5}\n", name, op,
                         names, attributes, types, type(shape));
  tensors_.push_back({name, std::move(shape)});
}

/// With a weight, or with a tensor that fits.
void ProgramMaker::emitMatmul() {
  Tensor left = pick(2);
  Tensor right = pick(2);
  if (right.shape[0] != left.shape[1]) {
    right = {"%w" + std::to_string(numWeights_), {left.shape[1], extent()}};
    std::string symbol = "@w" + std::to_string(numWeights_++);
    globals_ += llvm::formatv("nn.global {0} parameter : {1}\n", symbol,
                              type(right.shape));
    body_ += llvm::formatv("  {0} = nn.read {1} : {2}\n", right.name, symbol,
                           type(right.shape));
  }
  emit("matmul", {left, right}, R"({labels = "mk,kn->mn"})",
       {left.shape[0], right.shape[1]});
}

/// Of two tensors of one shape, or of one and a row that is broadcast.
void ProgramMaker::emitAdd() {
  Tensor left = pick(2);
  Tensor right = pick(1 + below(2));
  if (right.shape != left.shape && right.shape != Shape{left.shape[1]}) {
    right = left;
  }
  emit("add", {left, right}, "", left.shape);
}

void ProgramMaker::emitOne() {
  switch (below(6)) {
  case 0:
  case 1:
    return emitMatmul();
  case 2:
    return emitAdd();
  case 3: {
    Tensor tensor = pick(1 + below(2));
    return emit("relu", {tensor}, "", tensor.shape);
  }
  case 4: {
    Tensor tensor = pick(2);
    return emit("softmax", {tensor},
                llvm::formatv("{{axis = {0} : i64, log = false}", below(2)),
                tensor.shape);
  }
  default: {
    Tensor tensor = pick(2);
    size_t axis = below(2);
    return emit("reduce", {tensor},
                llvm::formatv("{{kind = \"{0}\", axes = array<i64: {1}>}",
                              below(2) == 0 ? "sum" : "max", axis),
                {tensor.shape[1 - axis]});
  }
  }
}

std::string ProgramMaker::make() {
  tensors_.push_back({"%x", {extent(), extent()}, true});
  std::string argument = type(tensors_.front().shape);
  for (size_t left = 2 + below(5); left != 0; --left) {
    emitOne();
  }
  std::string names, types;
  for (const Tensor &tensor : tensors_) {
    if (!tensor.isUsed) {
      names += (names.empty() ? "" : ", ") + tensor.name;
      types += (types.empty() ? "" : ", ") + type(tensor.shape);
    }
  }
  return llvm::formatv("{0}func.func @f(%x: {1}) -> ({2}) {{\n{3}  return {4} "
                       ": {2}\n}\n",
                       globals_, argument, types, body_, names);
}

//===----------------------------------------------------------------------===//
// The comparison
//===----------------------------------------------------------------------===//

/// What has been tried, for the last line.
struct Counts {
  int64_t programs = 0, grids = 0, idle = 0, infeasible = 0, fusions = 0;
};

static Counts &counts() {
  static Counts instance;
  return instance;
}

namespace {
/// Over how many devices, on which machine.
struct Machine {
  const char *cluster;
  int64_t devices;
};

class AllGridsTest : public testing::TestWithParam<Machine> {
protected:
  AllGridsTest() {
    context_.loadDialect<mlir::func::FuncDialect, nn::NNDialect,
                         spmd::SPMDDialect>();
  }

  std::optional<int64_t> leastOfAllGrids(mlir::ModuleOp module,
                                         const PlanOptions &options);
  void compare(const std::string &program, const PlanOptions &options);

  mlir::MLIRContext context_;
};

/// Says at the end how much was tried, and fails if it was too little or, where
/// all programs are, all alike.
class Summary : public testing::Environment {
public:
  void TearDown() override {
    const Counts &all = counts();
    std::cout << "counted: plans of all grids: " << all.programs
              << " programs enumerated on " << all.grids << " grids; "
              << all.idle << " plans leave devices idle, " << all.infeasible
              << " programs fit on no grid; " << all.fusions
              << " pairs of operators could be fused\n";
    EXPECT_GT(all.programs, 0);
    EXPECT_GT(all.grids, 3 * all.programs);
    if (!test::isSweep()) {
      return;
    }
    EXPECT_GE(all.programs, 200);
    EXPECT_GT(all.idle, 0);
    EXPECT_LT(2 * all.idle, all.programs);
    EXPECT_GT(all.fusions, all.grids / 8);
    EXPECT_GT(all.infeasible, 0);
    EXPECT_LT(4 * all.infeasible, all.programs);
  }
};
} // namespace

static const testing::Environment *const kSummary =
    testing::AddGlobalTestEnvironment(new Summary);

/// The exact optimum of each candidate by itself, with everything open.
std::optional<int64_t>
AllGridsTest::leastOfAllGrids(mlir::ModuleOp module,
                              const PlanOptions &options) {
  plan::PlanningInputs inputs;
  inputs.cluster = *plan::clusterOf(module, options);
  inputs.setDataflow(*plan::readDataflow(module, options.batchDim));
  inputs.fixed = plan::Fixed::nothingOf(inputs.dataflow());
  std::optional<int64_t> least;
  auto grids = candidateGrids(inputs.cluster, options.grid);
  for (const DeviceGrid &grid : *grids) {
    ++counts().grids;
    inputs.devices = grid;
    auto planning = plan::makeProblem(inputs, options, {});
    counts().fusions += int64_t(planning->fusions.size());
    search::Outcome outcome = search::solveExact(planning->problem);
    EXPECT_NE(outcome.verdict, search::Verdict::NotFound) << outcome.message;
    if (outcome.verdict == search::Verdict::Solved) {
      EXPECT_EQ(outcome.stopped, search::Stopped::Finished);
      int64_t cost = plan::nanosecondsOf(outcome.solution.cost);
      EXPECT_LE(plan::quickBound(inputs, grid), cost);
      EXPECT_LE(plan::operatorBound(inputs, grid, options), cost);
      least = std::min(least.value_or(cost), cost);
    }
  }
  return least;
}

void AllGridsTest::compare(const std::string &program,
                           const PlanOptions &options) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program, &context_);
  ASSERT_TRUE(module);
  std::optional<int64_t> least = leastOfAllGrids(*module, options);
  ++counts().programs;
  Expected<PlanReport> report = planModule(*module, options);
  if (!least) {
    ++counts().infeasible;
    EXPECT_EQ(report.status().code(), ExitCode::Infeasible);
    return;
  }
  ASSERT_TRUE(report) << report.status().message();
  EXPECT_EQ(report->nanoseconds, *least);
  EXPECT_EQ(report->stopped, search::Stopped::Finished);
  EXPECT_EQ(report->lowerBound, *least);
  counts().idle += !report->notes.empty();
}

/// One program in four has a limit of memory, which binds.
TEST_P(AllGridsTest, NothingIsBetterThanWhatIsFound) {
  auto [cluster, devices] = GetParam();
  // In a sample fewest on the machine with the most grids.
  size_t all = devices > 8 && !test::isSweep() ? 20 : 70;
  for (uint64_t seed : test::sampleOf(all, cluster)) {
    std::string program = ProgramMaker(seed).make();
    SCOPED_TRACE(llvm::formatv("seed {0}\n{1}", seed, program).str());
    PlanOptions options;
    options.cluster = cluster;
    options.grid.devices = devices;
    options.gap = 0;
    if (seed % 4 == 0) {
      options.memoryLimit = int64_t(50'000) << (seed / 4 % 8);
    }
    compare(program, options);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, AllGridsTest,
                         testing::Values(Machine{"cpu:6", 6},
                                         Machine{"dgx-h100:8", 8},
                                         Machine{"dgx-h100:16", 12}));
