//===- CudaRegionTest.cpp - Drawn regions through the backend `cuda` ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The regions of GridKernelsTest, here by way of backend and driver: a few of
// them on the emulator, on which GridKernelsTest runs all, and all on a GPU.
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GridKernels.h"
#include "test/Codegen/DrawnRegion.h"
#include "test/Codegen/RegionCheck.h"
#include "test/Sample.h"
#include "test/emulator/CudaCalls.h"
#include "test/emulator/KernelTarget.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

/// The call on drawn numbers against the interpreted region; what is wrong.
static std::string compare(CudaFixture &gpu, const RegionCall &drawn,
                           Numbers numbers, Random &random, Compared &counts) {
  GpuCall call{
      std::string(fusedOp), {}, drawn.operands, drawn.results, drawn.region};
  std::vector<Bytes> values;
  std::vector<std::vector<double>> exact;
  for (const TensorInfo &operand : call.operands) {
    values.push_back(drawNumbers(operand, numbers, random));
    exact.push_back(numbersFrom(operand, values.back().data()));
  }
  auto made = runOnGpu(gpu, call, values);
  return made ? compareWithBounds(drawn, exact, {*made}, counts)
              : "the GPU has no kernel for it\n" + drawn.describe();
}

TEST(CudaRegion, ComputesWhatTheInterpretedRegionDoes) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Compared counts;
  int calls = 0;
  unsigned most = isEmulated() ? sampleSize(40u, 8u) : 600;
  for (unsigned seed = 0; seed < most; ++seed) {
    DrawnRegion drawn(seed);
    RegionCall first = drawn.call(4);
    if (!generatesGridKernel(first.site()) || first.results.size() != 1) {
      continue;
    }
    Random random(seed);
    for (int64_t extent : {3, 20, 33, 300}) {
      ASSERT_EQ(
          compare(gpu, drawn.call(extent), Numbers(extent % 3), random, counts),
          "")
          << "seed " << seed;
      ++calls;
    }
  }
  std::printf("counted: regions by the backend cuda: %d calls; of %ld elements "
              "%ld undecided\n",
              calls, long(counts.elements), long(counts.undecided));
  EXPECT_GT(calls, int(most) * 2);
}
