//===- BlasFallbackTest.cpp - Products that cuBLASLt has nothing for ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the emulator, whose heuristic can be incomplete.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Element.h"
#include "test/emulator/CudaCalls.h"
#include "test/emulator/KernelTarget.h"

#include <cstdlib>
#include <cstring>
#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;
using testing::HasSubstr;

extern "C" uint64_t emulatedEpilogues();

namespace {

/// A GPU, and a library that lacks something.
class EmulatedBlasFallback : public testing::Test {
protected:
  void SetUp() override {
    if (kernelTarget().empty()) {
      GTEST_SKIP() << "no code is made for this processor";
    }
  }
  void TearDown() override { unsetenv("DIVISI_EMULATOR_BLAS_LACKS"); }

  /// How many products ended with more than a sum, of a call that gives what
  /// the reference gives.
  uint64_t fusedOf(const GpuCall &call, const char *lacks) {
    setenv("DIVISI_EMULATOR_BLAS_LACKS", lacks, 1);
    Random random(31);
    std::vector<Bytes> values;
    for (const TensorInfo &operand : call.operands) {
      values.push_back(drawValues(operand, random));
    }
    uint64_t before = emulatedEpilogues();
    CudaFixture gpu; // has chosen nothing yet
    auto made = runOnGpu(gpu, call, values);
    EXPECT_TRUE(made) << lacks;
    if (made) {
      expectClose(*made, evaluateCall(call, values));
    }
    return emulatedEpilogues() - before;
  }

private:
  static void expectClose(const Bytes &got, const Bytes &want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t at = 0; at < got.size(); at += sizeof(float)) {
      float a, b;
      std::memcpy(&a, got.data() + at, sizeof(a));
      std::memcpy(&b, want.data() + at, sizeof(b));
      ASSERT_NEAR(a, b, 1e-4) << "at byte " << at;
    }
  }
};

} // namespace

/// `batch` products of odd extents.
static GpuCall product(DType type, int64_t batch) {
  GpuCall call{"nn.matmul", {}, {}, {}, {}};
  call.attributes.set("labels", std::string("bmk,bkn->bmn"));
  call.operands = {TensorInfo::whole(type, {batch, 5, 3}),
                   TensorInfo::whole(type, {batch, 3, 7})};
  call.results = {TensorInfo::whole(type, {batch, 5, 7})};
  return call;
}

/// With a bias, a residual and, if wanted, a GELU.
static GpuCall region(int64_t batch, bool hasGelu) {
  GpuCall call = product(DType::F32, batch);
  TensorInfo result = call.results[0];
  call.operands.push_back(TensorInfo::whole(DType::F32, {7}));
  call.operands.push_back(result);
  int value = call.add(call.op, {0, 1}, result, call.attributes);
  call.op = fusedOp;
  call.attributes = Attributes();
  value = call.add("nn.add", {value, 2}, result);
  value = call.add("nn.add", {3, value}, result);
  if (hasGelu) {
    Attributes kind;
    kind.set("approximate", std::string("tanh"));
    value = call.add("nn.gelu", {value}, result, kind);
  }
  call.region.results = {value};
  return call;
}

TEST_F(EmulatedBlasFallback, FusesWhatItCan) {
  EXPECT_GT(fusedOf(region(1, true), ""), 0U);
  EXPECT_GT(fusedOf(region(3, false), ""), 0U);
}

TEST_F(EmulatedBlasFallback, LeavesToCodeWhatItCannotFuse) {
  EXPECT_EQ(fusedOf(region(1, true), "g"), 0U);
  EXPECT_GT(fusedOf(region(1, false), "g"), 0U);
  EXPECT_EQ(fusedOf(region(3, false), "b"), 0U);
  EXPECT_GT(fusedOf(region(1, false), "b"), 0U);
  EXPECT_EQ(fusedOf(region(2, true), "gb"), 0U);
}

TEST_F(EmulatedBlasFallback, MultipliesByCode) {
  for (const GpuCall &call :
       {product(DType::F32, 3), region(1, true), region(3, false)}) {
    EXPECT_EQ(fusedOf(call, "p"), 0U);
  }
}

/// Odd extents of 2-byte elements begin rows at odd multiples of 2 bytes.
TEST_F(EmulatedBlasFallback, SaysSo) {
  setenv("DIVISI_EMULATOR_BLAS_LACKS", "a", 1);
  CudaFixture gpu;
  for (bool hasFallback : {true, false}) {
    GpuCall call = product(DType::BF16, 3);
    CallSite site = call.site();
    const Kernel *kernel = cudaBackend().find(site, 1);
    ASSERT_TRUE(kernel && kernel->mayFallBack);
    KernelCode fallback = makeFallback(site);
    site.fallback = hasFallback ? &fallback : nullptr;
    std::string error;
    auto prepared = kernel->prepare(site, error);
    ASSERT_TRUE(prepared) << error;
    Status status = gpu.device->makeReady(*prepared);
    ASSERT_EQ(status.isOk(), hasFallback) << status.message();
    auto refused = prepared->hasFallenBack();
    ASSERT_EQ(refused.has_value(), hasFallback);
    if (hasFallback) {
      EXPECT_EQ(refused->op, "nn.matmul");
      EXPECT_EQ(refused->library, "cuBLASLt");
    } else {
      EXPECT_EQ(status.code(), ExitCode::Device);
      EXPECT_THAT(status.message(),
                  HasSubstr("cuBLASLt has no algorithm for a product of "));
    }
  }
}
