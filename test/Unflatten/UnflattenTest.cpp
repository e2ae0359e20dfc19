//===- UnflattenTest.cpp - Unflattened programs compute the same ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

#include "dialects/NN/NN.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Unflatten/Unflatten.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"

#include <iostream>
#include <random>

using namespace divisi;

static rt::HostTensor randomTensor(rt::Dims dims, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(static_cast<size_t>(rt::numElements(dims)));
  for (float &value : values) {
    value = static_cast<float>(static_cast<int64_t>(random() % 33) - 16) / 8;
  }
  return rt::HostTensor::ofFloats(dims, values);
}

static rt::Dims dimsOf(mlir::Type type) {
  auto shape = llvm::cast<mlir::RankedTensorType>(type).getShape();
  return rt::Dims(shape.begin(), shape.end());
}

/// @forward's results on random inputs and parameters, which do not depend on
/// the shapes of the parameters.
static std::vector<rt::HostTensor> run(mlir::ModuleOp module) {
  GlobalStore store;
  GlobalValues globals(module, store);
  for (auto global : module.getOps<nn::GlobalOp>()) {
    globals.write(global.getSymName().str(),
                  randomTensor(dimsOf(global.getTensorType()),
                               llvm::xxHash64(global.getSymName())));
  }
  auto forward = module.lookupSymbol<mlir::func::FuncOp>("forward");
  std::vector<rt::HostTensor> inputs;
  for (mlir::Type type : forward.getArgumentTypes()) {
    inputs.push_back(randomTensor(dimsOf(type), inputs.size() + 1));
  }
  auto results = evaluateFunction(forward, inputs, globals);
  EXPECT_TRUE(bool(results)) << (results ? "" : results.status().message());
  return results ? *results : std::vector<rt::HostTensor>();
}

static void expectSame(const rt::HostTensor &got,
                       const rt::HostTensor &expected) {
  ASSERT_EQ(got.dims(), expected.dims());
  for (int64_t i = 0; i < got.count(); ++i) {
    double a = got.floatAt(i), b = expected.floatAt(i);
    if (std::isfinite(b)) {
      ASSERT_NEAR(a, b, 1e-5 * (1 + std::abs(b))) << "at element " << i;
    } else {
      ASSERT_EQ(std::isnan(a), std::isnan(b)) << "at element " << i;
    }
  }
}

static std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

/// Whether `module` is legal and computes `expected`.
static void expectResults(mlir::ModuleOp module,
                          const std::vector<rt::HostTensor> &expected) {
  ASSERT_TRUE(mlir::succeeded(mlir::verify(module)));
  std::vector<rt::HostTensor> results = run(module);
  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    expectSame(results[i], expected[i]);
  }
}

static void canonicalize(mlir::ModuleOp module) {
  mlir::PassManager passes(module.getContext());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  ASSERT_TRUE(mlir::succeeded(passes.run(module)));
}

/// What has been tried, for the last line.
struct Counts {
  int64_t programs = 0;
  int64_t rewritings = 0;
};

static Counts &counts() {
  static Counts instance;
  return instance;
}

namespace {

class UnflattenTest : public testing::TestWithParam<int> {};

/// Says at the end how much was tried, and fails if nothing was.
class Summary : public testing::Environment {
public:
  void TearDown() override {
    std::cout << "counted: random programs: " << counts().programs
              << " unflattened by " << counts().rewritings << " rewritings\n";
    EXPECT_GT(counts().programs, 0);
  }
};

} // namespace

static const testing::Environment *const kSummary =
    testing::AddGlobalTestEnvironment(new Summary);

// Canonicalization before and after: as the Import stage has it.
TEST_P(UnflattenTest, ComputesTheSame) {
  mlir::MLIRContext context;
  context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  int64_t rewritten = 0;
  for (uint64_t i = 0; i < 25; ++i) {
    uint64_t seed = GetParam() * 25 + i;
    auto module = test::makeRandomProgram(context, seed, 8 + seed % 30);
    std::string before = print(*module);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + before);
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
    std::vector<rt::HostTensor> expected = run(*module);
    if (i % 2 == 0) {
      canonicalize(*module);
      expectResults(*module, expected);
    }
    auto changed = unflatten(*module);
    ASSERT_TRUE(llvm::succeeded(changed));
    rewritten += *changed;
    expectResults(*module, expected);
    canonicalize(*module);
    expectResults(*module, expected);
    ASSERT_FALSE(HasFailure()) << print(*module);
  }
  EXPECT_GT(rewritten, 25);
  counts().programs += 25;
  counts().rewritings += rewritten;
}

INSTANTIATE_TEST_SUITE_P(Random, UnflattenTest, testing::Range(0, 40));
