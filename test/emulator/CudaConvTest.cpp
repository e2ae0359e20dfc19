//===- CudaConvTest.cpp - Convolutions of the backend `cuda` --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulated libraries are linked, so they are what the tables find.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Element.h"
#include "test/emulator/DrawnConv.h"
#include "test/emulator/KernelTarget.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;
using testing::HasSubstr;

using Call = GpuCall;

static void expectTheReference(bool isGradient, int rounds) {
  CudaFixture gpu;
  Random random(isGradient ? 2 : 1);
  int taken = 0;
  for (int round = 0; round < rounds; ++round) {
    Call call = drawConv(random, isGradient);
    std::vector<Bytes> values = drawOperands(call, random);
    auto made = runOnGpu(gpu, call, values);
    ASSERT_TRUE(made || kernelTarget().empty());
    if (made) {
      taken += cudaBackend().find(call.site(), 1) != nullptr;
      ASSERT_EQ(*made, evaluateCall(call, values)) << "round " << round;
    }
  }
  std::printf("counted: %s of GPUs: %d of %d drawn ones by the library, the "
              "others by generated code\n",
              isGradient ? "gradients of convolutions" : "convolutions", taken,
              rounds);
  EXPECT_GT(taken, rounds / 2);
}

TEST(CudaConv, ConvolvesWhatTheReferenceConvolves) {
  expectTheReference(false, 600);
}

TEST(CudaConv, MakesTheReferencesGradients) { expectTheReference(true, 300); }

TEST(CudaConv, TakesWhatModelsHave) {
  for (DType type : {DType::F32, DType::F16, DType::BF16}) {
    for (const Call &call :
         {makeConv(type, {1, 3, 32, 32}, {8, 3, 7, 7}, {1, 8, 16, 16}, {2, 2},
                   {3, 3}, {3, 3}, 1),
          makeConv(type, {2, 8, 9, 9}, {8, 1, 3, 3}, {2, 8, 9, 9}, {1, 1},
                   {1, 1}, {1, 1}, 8),
          makeConv(type, {1, 80, 30}, {16, 80, 3}, {1, 16, 30}, {1}, {1}, {1},
                   1),
          makeConv(type, {1, 3, 4, 8, 8}, {6, 3, 2, 4, 4}, {1, 6, 2, 2, 2},
                   {2, 4, 4}, {0, 0, 0}, {0, 0, 0}, 1)}) {
      EXPECT_TRUE(cudaBackend().find(call.site(), 1));
    }
  }
  EXPECT_FALSE(
      cudaBackend().find(makeConv(DType::I32, {1, 3, 4, 4}, {8, 3, 1, 1},
                                  {1, 8, 4, 4}, {1, 1}, {0, 0}, {0, 0}, 1)
                             .site(),
                         1));
}

static Bytes bytesOf(const std::vector<float> &values) {
  auto *bytes = reinterpret_cast<const std::byte *>(values.data());
  return {bytes, bytes + values.size() * sizeof(float)};
}

TEST(CudaConv, RoundsToTf32OnlyIfItMay) {
  CudaFixture gpu;
  Call call = makeConv(DType::F32, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1},
                       {1, 1}, {0, 0}, {0, 0}, 1);
  float fine = 1 + 0x1p-12F;
  std::vector<Bytes> values = {bytesOf({fine}), bytesOf({1})};
  EXPECT_EQ(*runOnGpu(gpu, call, values), bytesOf({fine}));
  Bytes rounded = *runOnGpu(gpu, call, values, /*mayRound=*/true);
  EXPECT_TRUE(rounded == bytesOf({1}) ||
              (!isEmulated() && rounded == bytesOf({fine}))); // it need not
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// What a chain may go on with: operands of the convolution's result.
static void addOperands(Call &call, Random &random) {
  TensorInfo result = call.results[0], channel = result, plane = result;
  for (size_t d = 0; d < result.rank(); ++d) {
    if (d != 1) {
      channel.extents[d] = channel.global[d] = 1;
      channel.offset[d] = 0;
    }
  }
  plane.extents[1] = plane.global[1] = 1;
  plane.offset[1] = 0;
  if (random() % 2 == 0) { // as biases of ONNX are
    channel.extents.erase(channel.extents.begin());
    channel.offset.erase(channel.offset.begin());
    channel.global.erase(channel.global.begin());
  }
  call.operands.insert(call.operands.end(), {channel, result, plane});
}

/// Leaves out the operands that nobody reads.
static void eraseUnread(Call &call) {
  for (int operand = int(call.operands.size()) - 1; operand >= 2; --operand) {
    if (call.region.countReads(operand) != 0) {
      continue;
    }
    call.operands.erase(call.operands.begin() + operand);
    for (RegionPart &part : call.region.parts) {
      for (int &read : part.operands) {
        read -= read > operand;
      }
    }
    --call.region.results[0];
  }
}

/// A convolution and some of what follows one.
static Call drawRegion(Random &random) {
  static constexpr const char *functions[] = {"nn.relu", "nn.silu",
                                              "nn.sigmoid", "nn.tanh"};
  static constexpr const char *pairs[] = {"nn.add", "nn.add", "nn.mul",
                                          "nn.max", "nn.min", "nn.sub"};
  Call call = drawConv(random, random() % 6 == 0);
  TensorInfo result = call.results[0];
  addOperands(call, random);
  int value = call.add(call.op, {0, 1}, result, call.attributes);
  int made = value;
  call.op = fusedOp;
  call.attributes = Attributes();
  for (int64_t steps = draw(random, 1, 3); steps > 0; --steps) {
    int other = 2 + int(random() % 3);
    if (random() % 2 == 0) {
      value = call.add(functions[random() % 4], {value}, result);
    } else {
      value = call.add(pairs[random() % 6],
                       random() % 2 == 0 ? std::vector{value, other}
                                         : std::vector{other, value},
                       result);
    }
  }
  if (random() % 4 == 0) {
    Attributes kind;
    kind.set("approximate", std::string(random() % 2 == 0 ? "tanh" : "none"));
    value = call.add("nn.gelu", {value}, result, kind);
  }
  if (random() % 6 == 0) { // the library has no such graphs
    value = call.add("nn.mul", {value, made}, result);
  }
  call.region.results = {value};
  eraseUnread(call);
  return call;
}

static double valueAt(const Bytes &bytes, DType type, int64_t at) {
  auto as = [&](auto value) {
    std::memcpy(&value, bytes.data() + at * int64_t(sizeof(value)),
                sizeof(value));
    return double(float(value));
  };
  return type == DType::F16    ? as(Half())
         : type == DType::BF16 ? as(BFloat())
                               : as(float());
}

/// Numbers of a type may differ by so much where one of the two rounds less.
static double toleranceOf(DType type) {
  return type == DType::F32 ? 1e-5 : type == DType::F16 ? 1e-2 : 8e-2;
}

static void expectNear(const Call &call, const Bytes &made,
                       const Bytes &expected) {
  DType type = call.results[0].type;
  for (int64_t i = 0; i < call.results[0].count(); ++i) {
    double got = valueAt(made, type, i), want = valueAt(expected, type, i);
    ASSERT_LE(std::abs(got - want),
              toleranceOf(type) * std::max(16.0, std::abs(want)))
        << "element " << i << ": " << got << " for " << want;
  }
}

/// Of the emulated engines, those that may be used were, and no other: 1 and 2
/// do not round f16 and bf16 between the operators that they fuse.
static void expectEngines() {
  auto &uses = dnnEngines();
  std::printf("counted: of these, all by the library: %ld\n",
              long(uses[3]) / 2);
  for (int64_t used : {0, 3, 5, 6}) {
    EXPECT_GT(uses[used], 0) << "engine " << used;
  }
  for (int64_t unused : {1, 2, 4, 40, 41, 42, 43, 44}) {
    EXPECT_EQ(uses[unused], 0) << "engine " << unused;
  }
}

TEST(CudaConv, GoesOnAsTheRegionDoes) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Random random(3);
  int taken = 0, rounds = 150;
  dnnEngines().clear();
  for (int round = 0; round < rounds; ++round) {
    Call call = drawRegion(random);
    std::vector<Bytes> values = drawOperands(call, random);
    auto made = runOnGpu(gpu, call, values);
    taken += made.has_value();
    if (made) {
      SCOPED_TRACE("round " + std::to_string(round));
      ASSERT_NO_FATAL_FAILURE(
          expectNear(call, *made, evaluateCall(call, values)));
    }
  }
  std::printf("counted: regions of GPUs with a convolution: %d of %d drawn "
              "ones\n",
              taken, rounds);
  EXPECT_GT(taken, rounds / 3);
  if (isEmulated()) {
    expectEngines();
  }
}

/// cuDNN's engines drop NaN where they compare, unless they say that they do
/// not.
TEST(CudaConv, KeepsNanWhereItCompares) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  for (int64_t features : {3, 4}) {
    for (DType type : {DType::F32, DType::F16}) {
      Call call = makeConv(type, {1, 1, 2, 2}, {features, 1, 1, 1},
                           {1, features, 2, 2}, {1, 1}, {0, 0}, {0, 0}, 1);
      TensorInfo result = call.results[0];
      int value = call.add(call.op, {0, 1}, result, call.attributes);
      call.op = fusedOp;
      call.attributes = Attributes();
      call.region.results = {call.add("nn.relu", {value}, result)};
      Random random(4);
      std::vector<Bytes> values = drawOperands(call, random);
      std::fill_n(values[0].begin(), byteWidth(type), std::byte(0xff));
      auto made = runOnGpu(gpu, call, values);
      ASSERT_TRUE(made);
      Bytes expected = evaluateCall(call, values);
      EXPECT_TRUE(std::isnan(valueAt(*made, type, 0)));
      for (int64_t i = 0; i < result.count(); ++i) {
        EXPECT_EQ(std::isnan(valueAt(*made, type, i)),
                  std::isnan(valueAt(expected, type, i)));
      }
    }
  }
}

/// Whose result has the convolution's box, and another order.
TEST(CudaConv, IsNotWrittenOverWhatIsReadInAnotherOrder) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Call call = makeConv(DType::F32, {4, 1, 3, 5}, {4, 1, 1, 1}, {4, 4, 3, 5},
                       {1, 1}, {0, 0}, {0, 0}, 1);
  TensorInfo result = call.results[0];
  int value = call.add(call.op, {0, 1}, result, call.attributes);
  call.op = fusedOp;
  call.attributes = Attributes();
  Attributes order;
  order.set("permutation", Dims{1, 0, 2, 3});
  value = call.add("nn.transpose", {value}, result, order);
  call.region.results = {call.add("nn.relu", {value}, result)};
  Random random(5);
  std::vector<Bytes> values = drawOperands(call, random);
  auto made = runOnGpu(gpu, call, values);
  ASSERT_TRUE(made);
  EXPECT_EQ(*made, evaluateCall(call, values));
}

TEST(EmulatedDnn, RefusesWhatIsNotAligned) {
  expectAlignment(makeConv(DType::F32, {1, 2, 4, 4}, {2, 2, 1, 1}, {1, 2, 4, 4},
                           {1, 1}, {0, 0}, {0, 0}, 1),
                  "cuDNN cannot do a convolution: CUDNN_STATUS_BAD_PARAM");
}
