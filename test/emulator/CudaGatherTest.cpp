//===- CudaGatherTest.cpp - What GPUs gather is what the reference does ---===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridGather.h"
#include "test/emulator/CudaCalls.h"
#include "test/emulator/KernelTarget.h"

#include <cstring>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

/// A part of dimension `d` of the result; of the operand what it reads, and now
/// and then more.
static void cutDim(TensorInfo &result, size_t d, TensorInfo *operand,
                   size_t from, Random &random) {
  if (random() % 2) {
    return;
  }
  int64_t whole = result.global[d];
  result.offset[d] = draw(random, 0, whole - 1);
  result.extents[d] = draw(random, 1, whole - result.offset[d]);
  if (operand && random() % 2) {
    operand->offset[from] = draw(random, 0, result.offset[d]);
    int64_t end = result.offset[d] + result.extents[d];
    operand->extents[from] = draw(random, end, whole) - operand->offset[from];
  }
}

/// The rows of the data that this rank has; perhaps none.
static void cutRows(TensorInfo &data, size_t axis, Random &random) {
  if (random() % 3 == 0) {
    data.offset[axis] = draw(random, 0, data.global[axis] - 1);
    data.extents[axis] = draw(random, 0, data.global[axis] - data.offset[axis]);
  }
}

static Dims drawExtents(Random &random, size_t rank) {
  Dims extents;
  for (size_t d = 0; d < rank; ++d) {
    extents.push_back(draw(random, 1, rank == 1 && random() % 2 ? 300 : 7));
  }
  return extents;
}

static void drawGather(GpuCall &call, DType type, DType indexType,
                       Random &random) {
  Dims data = drawExtents(random, 1 + random() % 3);
  auto axis = size_t(random() % data.size());
  auto batch = size_t(random() % (axis + 1));
  Dims indices(data.begin(), data.begin() + long(batch));
  for (int64_t extent : drawExtents(random, random() % 3)) {
    indices.push_back(extent);
  }
  Dims result(data.begin(), data.begin() + long(axis));
  result.insert(result.end(), indices.begin() + long(batch), indices.end());
  result.insert(result.end(), data.begin() + long(axis) + 1, data.end());
  call.op = "nn.gather";
  call.attributes.set("axis", int64_t(axis));
  call.attributes.set("batch_dims", int64_t(batch));
  call.operands = {TensorInfo::whole(type, data),
                   TensorInfo::whole(indexType, indices)};
  call.results = {TensorInfo::whole(type, result)};
  size_t indexDims = indices.size() - batch;
  for (size_t d = batch; d < result.size(); ++d) {
    bool isOfIndices = d >= axis && d < axis + indexDims;
    size_t from = isOfIndices ? d - axis + batch
                  : d < axis  ? d
                              : d + 1 - indexDims;
    cutDim(call.results[0], d, &call.operands[isOfIndices], from, random);
  }
  cutRows(call.operands[0], axis, random);
}

static void drawTakeAlong(GpuCall &call, DType type, DType indexType,
                          Random &random) {
  Dims data = drawExtents(random, 1 + random() % 3), result = data;
  auto axis = size_t(random() % data.size());
  result[axis] = draw(random, 1, 9);
  call.op = "nn.take_along";
  call.attributes.set("axis", int64_t(axis));
  call.operands = {TensorInfo::whole(type, data),
                   TensorInfo::whole(indexType, result)};
  call.results = {TensorInfo::whole(type, result)};
  for (size_t d = 0; d < result.size(); ++d) {
    cutDim(call.results[0], d, &call.operands[1], d, random);
  }
  cutRows(call.operands[0], axis, random);
}

/// Of all rows, also counted from the end; now and then a bad one.
static Bytes drawIndices(const TensorInfo &info, int64_t rows, bool hasBad,
                         Random &random) {
  Bytes bytes(size_t(info.bytes()));
  for (int64_t i = 0; i < info.count(); ++i) {
    int64_t index = draw(random, -rows, rows - 1);
    if (hasBad && random() % 5 == 0) {
      int64_t far[] = {rows, -rows - 1, rows + 12345, INT32_MIN, INT32_MAX};
      index = far[random() % 5];
    }
    auto narrow = int32_t(index);
    info.type == DType::I64 ? std::memcpy(bytes.data() + i * 8, &index, 8)
                            : std::memcpy(bytes.data() + i * 4, &narrow, 4);
  }
  return bytes;
}

TEST(CudaGather, GathersWhatTheReferenceGathers) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  static constexpr DType types[] = {DType::F32, DType::F16, DType::BF16,
                                    DType::I64, DType::Bool};
  CudaFixture gpu;
  Random random(1);
  int rounds = 300, bad = 0;
  for (int round = 0; round < rounds; ++round) {
    GpuCall call;
    auto draws = random() % 2 ? drawGather : drawTakeAlong;
    draws(call, types[random() % 5], random() % 2 ? DType::I32 : DType::I64,
          random);
    ASSERT_TRUE(GridGather::of(call.site())) << "round " << round;
    auto axis = size_t(call.attributes.getInt("axis"));
    std::vector<Bytes> values = {drawValues(call.operands[0], random),
                                 drawIndices(call.operands[1],
                                             call.operands[0].global[axis],
                                             random() % 3 == 0, random)};
    std::optional<BadIndex> found, expected;
    auto made = runOnGpu(gpu, call, values, false, &found);
    ASSERT_TRUE(made) << "round " << round;
    ASSERT_EQ(*made, evaluateCall(call, values, &expected))
        << "round " << round << " " << call.op;
    ASSERT_EQ(found.has_value(), expected.has_value()) << "round " << round;
    if (found) {
      ASSERT_EQ(found->message(), expected->message()) << "round " << round;
    }
    bad += found.has_value();
  }
  std::printf("counted: gathers of GPUs: %d, %d of them with bad indices\n",
              rounds, bad);
  EXPECT_GT(bad, rounds / 20);
}
