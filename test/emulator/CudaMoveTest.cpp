//===- CudaMoveTest.cpp - What moves elements on the backend `cuda` -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GridKernels.h"
#include "divisi/runtime/code/GridMove.h"
#include "test/emulator/CudaCalls.h"
#include "test/emulator/KernelTarget.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

static Dims drawExtents(Random &random, size_t rank) {
  Dims extents;
  for (size_t d = 0; d < rank; ++d) {
    // Now and then more than a square.
    extents.push_back(draw(random, 1, rank <= 3 && random() % 3 == 0 ? 70 : 6));
  }
  return extents;
}

/// A part of the result, which all of the operands are there for.
static void cutResult(GpuCall &call, Random &random) {
  TensorInfo &result = call.results[0];
  for (size_t d = 0; d < result.rank() && random() % 2 == 0; ++d) {
    result.offset[d] = draw(random, 0, result.global[d] - 1);
    result.extents[d] = draw(random, 1, result.global[d] - result.offset[d]);
  }
}

static void drawTranspose(GpuCall &call, const Dims &extents, Random &random) {
  Dims permutation(extents.size()), result;
  std::iota(permutation.begin(), permutation.end(), 0);
  std::shuffle(permutation.begin(), permutation.end(), random);
  for (int64_t from : permutation) {
    result.push_back(extents[size_t(from)]);
  }
  call.attributes.set("permutation", permutation);
  call.results[0] = TensorInfo::whole(call.results[0].type, result);
}

static void drawSlice(GpuCall &call, const Dims &extents, Random &random) {
  Dims starts, limits, steps, result;
  for (int64_t extent : extents) {
    int64_t step = draw(random, 1, 2), begin = draw(random, 0, extent - 1);
    int64_t end = draw(random, begin + 1, extent);
    bool isBackward = random() % 3 == 0;
    starts.push_back(isBackward ? end - 1 : begin);
    limits.push_back(isBackward ? begin - 1 : end);
    steps.push_back(isBackward ? -step : step);
    result.push_back((end - begin - 1) / step + 1);
  }
  call.attributes.set("starts", starts);
  call.attributes.set("limits", limits);
  call.attributes.set("steps", steps);
  call.results[0] = TensorInfo::whole(call.results[0].type, result);
}

static void drawPad(GpuCall &call, const Dims &extents, Random &random) {
  Dims low, high, result;
  for (int64_t extent : extents) {
    low.push_back(draw(random, extent == 1 ? 0 : -1, 2));
    high.push_back(draw(random, 0, 2));
    result.push_back(low.back() + extent + high.back());
  }
  call.attributes.set("lo", low);
  call.attributes.set("hi", high);
  call.attributes.set("value", double(draw(random, 0, 1)));
  call.results[0] = TensorInfo::whole(call.results[0].type, result);
}

static void drawConcat(GpuCall &call, Dims extents, Random &random) {
  auto axis = size_t(draw(random, 0, int64_t(extents.size()) - 1));
  call.attributes.set("axis", int64_t(axis));
  int64_t all = extents[axis];
  for (int more = 1 + int(random() % 2); more > 0; --more) {
    Dims other = extents;
    other[axis] = draw(random, 1, 7);
    all += other[axis];
    call.operands.push_back(TensorInfo::whole(call.results[0].type, other));
  }
  extents[axis] = all;
  call.results[0] = TensorInfo::whole(call.results[0].type, extents);
}

static void drawBroadcast(GpuCall &call, Dims extents, Random &random) {
  Dims dims, result = drawExtents(random, extents.size() + 1);
  auto missing = size_t(random() % result.size());
  for (size_t d = 0; d < result.size(); ++d) {
    if (d != missing) {
      dims.push_back(int64_t(d));
      int64_t &extent = extents[dims.size() - 1];
      extent = random() % 3 == 0 ? 1 : result[d];
    }
  }
  call.attributes.set("dims", dims);
  call.operands[0] = TensorInfo::whole(call.results[0].type, extents);
  call.results[0] = TensorInfo::whole(call.results[0].type, result);
}

static GpuCall drawMove(Random &random) {
  static constexpr DType types[] = {DType::Bool, DType::F16, DType::BF16,
                                    DType::F32, DType::I64};
  static constexpr std::string_view ops[] = {
      "nn.transpose", "nn.slice", "nn.pad", "nn.concat", "nn.broadcast"};
  DType type = types[random() % 5];
  size_t op = random() % 5;
  Dims extents = drawExtents(random, 1 + random() % 4);
  GpuCall call;
  call.op = ops[op];
  call.operands = {TensorInfo::whole(type, extents)};
  call.results = {TensorInfo::whole(type, extents)};
  op == 0   ? drawTranspose(call, extents, random)
  : op == 1 ? drawSlice(call, extents, random)
  : op == 2 ? drawPad(call, extents, random)
  : op == 3 ? drawConcat(call, extents, random)
            : drawBroadcast(call, extents, random);
  cutResult(call, random);
  return call;
}

TEST(CudaMove, MovesWhatTheReferenceMoves) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Random random(1);
  int bySquares = 0, rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    GpuCall call = drawMove(random);
    auto move = GridMove::of(call.site());
    ASSERT_TRUE(move) << "round " << round << " " << call.op;
    bySquares += move->hasSquares;
    std::vector<Bytes> values;
    for (const TensorInfo &operand : call.operands) {
      values.push_back(drawValues(operand, random));
    }
    auto made = runOnGpu(gpu, call, values);
    ASSERT_TRUE(made) << "round " << round << " " << call.op;
    ASSERT_EQ(*made, evaluateCall(call, values))
        << "round " << round << " " << call.op;
  }
  std::printf("counted: moves of GPUs: %d, %d of them by squares\n", rounds,
              bySquares);
  EXPECT_GT(bySquares, 20);
}

/// A transpose that leaves rows as they are, and what goes on with it.
static GpuCall drawTransposedRegion(Random &random) {
  static constexpr DType types[] = {DType::F32, DType::F16, DType::BF16};
  DType type = types[random() % 3];
  GpuCall call;
  call.op = fusedOp;
  Dims extents = drawExtents(random, 2 + random() % 4);
  extents.back() = std::max<int64_t>(extents.back(), 2);
  Dims permutation(extents.size()), from(extents.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::shuffle(permutation.begin(), permutation.end() - 1, random);
  for (size_t d = 0; d < extents.size(); ++d) {
    from[size_t(permutation[d])] = extents[d];
  }
  TensorInfo result = TensorInfo::whole(type, extents);
  call.operands = {TensorInfo::whole(type, from), result,
                   TensorInfo::whole(type, {extents.back()})};
  Attributes order{{"permutation", permutation}};
  bool isFirst = random() % 2; // or it comes behind others
  int moved = isFirst ? call.add("nn.transpose", {0}, result, order)
                      : call.add("nn.neg", {0}, call.operands[0]);
  moved = isFirst ? call.add("nn.neg", {moved}, result)
                  : call.add("nn.transpose", {moved}, result, order);
  int most = call.add("nn.max", {moved, 2}, result);
  call.region.results = {call.add("nn.min", {1, most}, result)};
  call.results = {result};
  return call;
}

TEST(CudaMove, RegionsTranspose) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Random random(2);
  for (int round = 0; round < 60; ++round) {
    GpuCall call = drawTransposedRegion(random);
    std::vector<Bytes> values;
    for (const TensorInfo &operand : call.operands) {
      values.push_back(drawValues(operand, random));
    }
    auto made = runOnGpu(gpu, call, values);
    ASSERT_TRUE(made) << "round " << round;
    ASSERT_EQ(*made, evaluateCall(call, values)) << "round " << round;
  }
}
