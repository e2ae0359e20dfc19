//===- ConvFallbackTest.cpp - Convolutions that cuDNN has no engine for ---===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulated cuDNN lacks them if DIVISI_EMULATOR_NO_ENGINE says so
// (DnnApi.cpp); regions it may still do as one.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/DrawnConv.h"
#include "test/emulator/KernelTarget.h"

#include <cstdlib>
#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;
using testing::HasSubstr;

namespace {

/// With a cuDNN that has no engine for a convolution alone.
class EmulatedConvFallback : public testing::Test {
protected:
  void SetUp() override {
    if (kernelTarget().empty()) {
      GTEST_SKIP() << "no code is made for this processor";
    }
    lack("1");
    dnnEngines().clear();
  }
  void TearDown() override { unsetenv("DIVISI_EMULATOR_NO_ENGINE"); }
  static void lack(const char *how) {
    setenv("DIVISI_EMULATOR_NO_ENGINE", how, /*replace=*/1);
  }

  void expectTheReference(const GpuCall &call, Random &random) {
    std::vector<Bytes> values = drawOperands(call, random);
    auto made = runOnGpu(gpu, call, values);
    ASSERT_TRUE(made);
    ASSERT_EQ(*made, evaluateCall(call, values));
  }
  void expectTheReference(bool isGradient, int rounds, uint32_t seed);

  /// What a launch says of the call, on bytes that are unset.
  Status launch(const GpuCall &call, bool hasFallback,
                std::optional<RefusedPart> *refused = nullptr);

  CudaFixture gpu;
};

} // namespace

/// Drawn ones that the library is asked for.
void EmulatedConvFallback::expectTheReference(bool isGradient, int rounds,
                                              uint32_t seed) {
  Random random(seed);
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    GpuCall call = drawConv(random, isGradient);
    if (!cudaBackend().find(call.site(), 1)) {
      continue;
    }
    lack(++refused % 2 == 0 ? "1" : "2");
    SCOPED_TRACE("round " + std::to_string(round));
    ASSERT_NO_FATAL_FAILURE(expectTheReference(call, random));
  }
  std::printf("counted: %s that cuDNN has no engine for: %d drawn ones\n",
              isGradient ? "gradients of convolutions" : "convolutions",
              refused);
  EXPECT_GT(refused, rounds / 2);
  EXPECT_TRUE(dnnEngines().empty());
}

Status EmulatedConvFallback::launch(const GpuCall &call, bool hasFallback,
                                    std::optional<RefusedPart> *refused) {
  CallSite site = call.site();
  const Kernel *kernel = cudaBackend().find(site, 1);
  EXPECT_TRUE(kernel && kernel->mayFallBack);
  KernelCode fallback = makeFallback(site);
  site.fallback = hasFallback ? &fallback : nullptr;
  std::string error;
  auto prepared = kernel->prepare(site, error);
  EXPECT_TRUE(prepared) << error;
  EXPECT_FALSE(prepared->hasFallenBack());
  auto memory = std::move(*gpu.device->allocate(int64_t(4) << 20));
  Bytes zeros(size_t(memory->size()));
  gpu.copy(zeros.data(), memory->data(), memory->size());
  std::vector<const void *> operands = {memory->data(), memory->data() + 4096};
  std::vector<void *> results = {memory->data() + 8192};
  LaunchContext context{operands, results, memory->data() + 12288};
  context.queue = gpu.queue.get();
  Status status = gpu.device->makeReady(*prepared);
  if (status.isOk()) {
    status = prepared->launch(context);
  }
  if (status.isOk()) {
    status = gpu.finish();
  }
  if (refused) {
    *refused = prepared->hasFallenBack();
  }
  return status;
}

static GpuCall smallConv(int64_t groups = 1) {
  return makeConv(DType::F32, {1, 4, 5, 5}, {6, 4 / groups, 3, 3}, {1, 6, 5, 5},
                  {1, 1}, {1, 1}, {1, 1}, groups);
}

TEST_F(EmulatedConvFallback, ConvolvesByCode) {
  expectTheReference(false, 120, 21);
}

TEST_F(EmulatedConvFallback, MakesGradientsByCode) {
  expectTheReference(true, 120, 22);
}

TEST_F(EmulatedConvFallback, HasGroups) {
  Random random(23);
  for (int64_t groups : {1, 2}) {
    expectTheReference(smallConv(groups), random);
  }
  expectTheReference(makeConv(DType::BF16, {2, 8, 9, 9}, {8, 1, 3, 3},
                              {2, 8, 9, 9}, {1, 1}, {1, 1}, {1, 1}, 8),
                     random);
  EXPECT_TRUE(dnnEngines().empty());
}

/// Of regions it has engines that fuse with an even number of features; of the
/// others code is the convolution, and goes on with it.
TEST_F(EmulatedConvFallback, GoesOnWithWhatCodeHasMade) {
  Random random(24);
  for (int64_t features : {3, 4}) {
    GpuCall call = makeConv(DType::F32, {1, 2, 5, 5}, {features, 2, 3, 3},
                            {1, features, 3, 3}, {1, 1}, {0, 0}, {0, 0}, 1);
    TensorInfo result = call.results[0];
    call.operands.push_back(result);
    int value = call.add(call.op, {1, 0}, result, call.attributes);
    std::swap(call.operands[0], call.operands[1]);
    call.op = fusedOp;
    call.attributes = Attributes();
    value = call.add("nn.add", {2, value}, result);
    call.region.results = {call.add("nn.relu", {value}, result)};
    dnnEngines().clear();
    expectTheReference(call, random);
    EXPECT_EQ(dnnEngines().empty(), features == 3);
  }
}

TEST_F(EmulatedConvFallback, SaysSo) {
  std::optional<RefusedPart> refused;
  EXPECT_TRUE(launch(smallConv(), /*hasFallback=*/true, &refused).isOk());
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->op, "nn.conv");
  EXPECT_EQ(refused->library, "cuDNN");
  lack("0");
  EXPECT_TRUE(launch(smallConv(2), /*hasFallback=*/true, &refused).isOk());
  EXPECT_FALSE(refused);
}

TEST_F(EmulatedConvFallback, IsNotUsedWhereTheLibraryFails) {
  lack("3");
  for (int round = 0; round < 2; ++round) { // no failure is kept
    std::optional<RefusedPart> refused;
    Status status = launch(smallConv(), /*hasFallback=*/true, &refused);
    EXPECT_EQ(status.code(), ExitCode::Device);
    EXPECT_EQ(status.message(),
              "cuDNN cannot plan a convolution: CUDNN_STATUS_INTERNAL_ERROR");
    EXPECT_FALSE(refused);
  }
  lack("0");
  EXPECT_TRUE(launch(smallConv(), /*hasFallback=*/true).isOk());
}

TEST_F(EmulatedConvFallback, IsMissed) {
  Status status = launch(smallConv(), /*hasFallback=*/false);
  EXPECT_EQ(status.code(), ExitCode::Device);
  EXPECT_THAT(status.message(),
              HasSubstr("cuDNN has no engine for a convolution of [1, 4, 5, 5] "
                        "and [6, 4, 3, 3] in f32 that does with "));
  EXPECT_THAT(status.message(), HasSubstr(" bytes of workspace; update it, or "
                                          "compile without --gpu"));
}
