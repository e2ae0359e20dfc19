//===- SpacesTest.cpp - Programs compiled for a device --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models are compiled for the host, and for a device that has kernels for all
// operators, or for some of them drawn at random. Both give the same bits. What
// is copied is counted from the operators and moves alone:
//
//   one copy to the device   of what is not made there, and read there
//   one copy to the host     of what is made there, and read with the host
//
//===----------------------------------------------------------------------===//

#include "SpacesFixture.h"

#include "divisi/Compiler/Registration.h"
#include "test/Sample.h"

#include "mlir/Parser/Parser.h"

using namespace divisi;
using namespace divisi::exec;

namespace {
class SpacesTest : public SpacesFixture,
                   public testing::WithParamInterface<SpacesCase> {
protected:
  void SetUp() override { prepare(GetParam()); }
  /// A device whose queues keep step with each other shows nothing. How often
  /// they do is up to when ranks wait for each other, so all cases count.
  static void TearDownTestSuite() {
    EXPECT_TRUE(numOvertaken > 0 || !mayOvertake);
  }

  static inline int numOvertaken = 0;
  static inline bool mayOvertake = false;
};
} // namespace

TEST_P(SpacesTest, givesTheBitsOfTheHostWithAllOnTheDevice) {
  Counted copies = expectSameBits(all(), /*seed=*/1, /*isReached=*/false);
  // New values of globals lie where they rest when they are there, unless all
  // programs of several have to meet before they are written.
  EXPECT_EQ(numCopiesThere(), GetParam().model == "two_states" ? 1 : 0);
  EXPECT_EQ(numStatesThere(), numUpdated());
  if (GetParam().devices == 1) {
    // Alone, it is passed what it reads, and passes on what it makes: states
    // are there.
    const rt::EntryInfo &entry = host().entries()[0];
    EXPECT_EQ(copies.toDevice, int64_t(entry.inputs.size()));
    EXPECT_EQ(copies.toHost, int64_t(entry.outputs.size()));
  }
}

TEST_P(SpacesTest, copiesNothingForCollectivesThatReachTheDevice) {
  Counted apart = expectSameBits(all(), /*seed=*/2, /*isReached=*/false);
  Counted reached = expectSameBits(all(), /*seed=*/3, /*isReached=*/true);
  EXPECT_LE(reached.toHost, apart.toHost);
  if (numMeetings() == 0) {
    EXPECT_EQ(reached.toDevice, apart.toDevice);
    EXPECT_EQ(reached.toHost, apart.toHost);
  }
}

TEST_P(SpacesTest, givesTheBitsOfTheHostWithSomeOnTheDevice) {
  std::mt19937 random(7);
  for (uint32_t seed = 10; seed < 10 + test::sampleSize(6u, 2u); ++seed) {
    std::set<std::string> some;
    for (const std::string &op : all()) {
      if (random() % 2 == 0) {
        some.insert(op);
      }
    }
    expectSameBits(some, seed, /*isReached=*/seed % 2 == 0);
  }
  SpacesTest::numOvertaken += SpacesFixture::numOvertaken();
  mayOvertake |= !GetParam().isChain;
}

// Bytes are not used again so early that calls would wait for copies of what
// they have no part in.
TEST_P(SpacesTest, callsWaitForCopiesOfWhatTheyReadAlone) {
  rt::TestDeviceBackend backend(rt::referenceBackend());
  Compilation compilation = lower({&backend});
  int64_t numWaits = 0;
  compilation.module().walk([&](CallOp call) {
    for (mlir::Value token : call.getAfter()) {
      auto copy = token.getDefiningOp<CopyOp>();
      if (!copy) {
        continue;
      }
      ++numWaits;
      EXPECT_TRUE(llvm::any_of(call.getReads(), [&](mlir::Value buffer) {
        return rootOf(buffer) == copy.getTarget();
      })) << call.getCallee().str();
    }
  });
  EXPECT_GT(numWaits, 0);
}

TEST_P(SpacesTest, aDeviceWithoutKernelsChangesNothing) {
  rt::TestDeviceBackend none(rt::referenceBackend(),
                             [](std::string_view) { return false; });
  EXPECT_EQ(loweredText({.backend = &none}), loweredText({}));
}

/// A call that may write over its operand, and one that wants scratch memory.
static constexpr llvm::StringLiteral kProgram = R"mlir(
  func.func @forward(%x: tensor<8x20xf32> {nn.name = "x"})
      -> (tensor<8x2xi64> {nn.name = "y"}) {
    %0 = nn.neg %x : (tensor<8x20xf32>) -> tensor<8x20xf32>
    %1 = nn.exp %0 : (tensor<8x20xf32>) -> tensor<8x20xf32>
    %y = nn.top_k %1 {axis = 1, k = 2, largest = true}
        : (tensor<8x20xf32>) -> tensor<8x2xi64>
    return %y : tensor<8x2xi64>
  }
)mlir";

namespace {
/// Programs as text, for a device with all kernels.
class SpacesOptionsTest : public testing::Test {
protected:
  SpacesOptionsTest() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
    options_.device.backend = &backend_;
  }
  ~SpacesOptionsTest() override { rt::TestDeviceBackend::takes = nullptr; }

  Compilation lower(llvm::StringRef text) {
    Compilation compilation(
        options_, mlir::parseSourceString<mlir::ModuleOp>(text, &context_),
        Stage::Import);
    Status status = compilation.advanceTo(Stage::Lower);
    EXPECT_TRUE(status.isOk()) << status.message();
    return compilation;
  }

  mlir::MLIRContext context_;
  rt::TestDeviceBackend backend_{rt::referenceBackend()};
  CompileOptions options_;
};
} // namespace

TEST_F(SpacesOptionsTest, theDevicesKernelsAreAsked) {
  options_.fuse = false;
  // Less than the host and the device have together.
  options_.plan.memoryLimit = 3000;
  Compilation compilation = lower(kProgram);
  // x and what is made of it in place, the result, and a row of indices.
  int64_t tensor = 8 * 20 * 4, result = 8 * 2 * 8, workspace = 20 * 8;
  compilation.module().walk([&](ProgramOp program) {
    EXPECT_LE(program.arenaBytesIn("test"), tensor + result + workspace + 128);
    EXPECT_GE(program.arenaBytesIn("test"), tensor + result + workspace);
    EXPECT_EQ(program.getArenaBytes(), result);
  });
  compilation.module().walk([&](CallOp call) {
    bool isSorted = call.getCallee() == "nn.top_k";
    EXPECT_EQ(call.getWorkspace().value_or(0), isSorted ? workspace : 0);
    EXPECT_EQ(call.getOver().has_value(), !isSorted);
  });
  auto memory = compilation.memory();
  ASSERT_TRUE(memory) << memory.status().message();
  ASSERT_EQ(memory->size(), 1u);
  const DeviceMemory &held = memory->front();
  EXPECT_EQ(held.missing(), held.held.device - 3000);
  auto report = compilation.report();
  ASSERT_TRUE(report) << report.status().message();
  ASSERT_EQ(report->spaceCopies.size(), 1u);
  EXPECT_EQ(report->spaceCopies[0].entry, "forward");
  EXPECT_EQ(report->spaceCopies[0].space, "test");
  EXPECT_EQ(report->spaceCopies[0].copies, 2);
  EXPECT_EQ(report->spaceCopies[0].bytes, tensor + result);
  EXPECT_EQ(report->devices[0].ownBytes, held.held.device);
  ASSERT_EQ(report->kernels.size(), 3u);
  EXPECT_EQ(report->kernels[0].backend, "test-device");
}

/// Rows 0 to 3, 3 to 6 and 6 to 8.
static constexpr llvm::StringLiteral kUneven = R"mlir(
  spmd.grid @g (x = 3)
  func.func @forward(
      %x: tensor<8x4xf32> {nn.name = "x",
                           spmd.place = #spmd.place<@g: [x, *]>})
      -> (tensor<8x4xf32> {nn.name = "y",
                           spmd.place = #spmd.place<@g: [x, *]>}) {
    %y = nn.neg %x {spmd.split = #spmd.split<@g: d0@x>}
        : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }
)mlir";

TEST_F(SpacesOptionsTest, aCallIsOnTheDeviceIfItIsOnAllRanks) {
  auto spaceOfCall = [&] {
    Compilation compilation = lower(kUneven);
    std::string space;
    compilation.module().walk(
        [&](CallOp call) { space = call.getSpace().str(); });
    return space;
  };
  EXPECT_EQ(spaceOfCall(), "test");
  rt::TestDeviceBackend::takes = [](const rt::CallSite &site) {
    return site.results[0].extents[0] == 3;
  };
  EXPECT_EQ(spaceOfCall(), "");
}

TEST_F(SpacesOptionsTest, withoutTheDeviceNothingIsWritten) {
  options_.fuse = false;
  Compilation compilation = lower(kProgram);
  EXPECT_TRUE(compilation.emitTemporary());
  Compilation resumed({},
                      mlir::cast<mlir::ModuleOp>(compilation.module()->clone()),
                      Stage::Lower);
  Status status = resumed.emitTemporary().status();
  EXPECT_EQ(status.code(), ExitCode::Unsupported);
  EXPECT_THAT(status.message(),
              testing::HasSubstr("no backend in use has a kernel 'nn.neg' for "
                                 "memory space 'test'"));
}

static std::string nameOf(const testing::TestParamInfo<SpacesCase> &info) {
  const SpacesCase &param = info.param;
  return param.model + "_" + std::to_string(param.devices) +
         (param.fuses ? "_fused" : "") +
         (param.seed ? "_random_" + std::to_string(param.seed) : "");
}

/// A share of the cases, and of each model its last one.
static std::vector<SpacesCase> sampleOfModels() {
  const std::vector<SpacesCase> all = {
      {"gpt2", 1},
      {"gpt2", 2},
      {"gpt2", 4},
      {"resnet", 1},
      {"resnet", 2},
      {"resnet", 4},
      {"train_step", 1},
      {"train_step", 2},
      {"train_step", 4},
      {"gpt2", 3},
      {"gpt2", 2, /*fuses=*/true},
      {"train_step", 1, /*fuses=*/true},
      {"resnet", 3},
      {"zero_step", 2},
      {"megatron_step", 2},
      {"two_states", 3, /*fuses=*/false, /*seed=*/0, /*isChain=*/true},
      {"loop", 2},
      {"two_grids", 4, /*fuses=*/false, /*seed=*/0, /*isChain=*/true}};
  std::vector<size_t> drawn = test::sampleOf(all.size(), "spaces");
  std::vector<SpacesCase> kept;
  for (size_t i = 0; i != all.size(); ++i) {
    bool isLast = std::none_of(
        all.begin() + long(i) + 1, all.end(),
        [&](const SpacesCase &other) { return other.model == all[i].model; });
    if (isLast || llvm::is_contained(drawn, i)) {
      kept.push_back(all[i]);
    }
  }
  return kept;
}

INSTANTIATE_TEST_SUITE_P(Models, SpacesTest,
                         testing::ValuesIn(sampleOfModels()), nameOf);

// What no planner would choose: slices, masks, exchanges, between all layouts.
INSTANTIATE_TEST_SUITE_P(
    RandomPlans, SpacesTest,
    testing::ValuesIn(test::sampleOf<SpacesCase>({{"gpt2", 4, false, 1},
                                                  {"gpt2", 4, false, 2},
                                                  {"gpt2", 3, false, 3},
                                                  {"vit", 4, false, 4},
                                                  {"resnet", 2, false, 5}},
                                                 "random plans", 2)),
    nameOf);
