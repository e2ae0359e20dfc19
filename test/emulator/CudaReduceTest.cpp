//===- CudaReduceTest.cpp - What GPUs reduce is what the reference does ---===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridReduce.h"
#include "runtime/kernels/Formats.h"
#include "test/emulator/CudaCalls.h"
#include "test/emulator/KernelTarget.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

static constexpr std::string_view kinds[] = {"sum", "prod", "max",
                                             "min", "and",  "or"};
static constexpr DType types[] = {
    DType::F32, DType::F16, DType::BF16, DType::F64, DType::I8,  DType::I16,
    DType::I32, DType::I64, DType::U8,   DType::U16, DType::U32, DType::U64};

/// The box of the operand, of which the result is made of a part, or of all.
static void cutBoxes(TensorInfo &operand, TensorInfo &result, const Dims &axes,
                     Random &random) {
  size_t to = 0, axis = 0;
  for (size_t d = 0; d < operand.rank(); ++d) {
    bool isReduced = axis < axes.size() && axes[axis] == int64_t(d);
    int64_t whole = operand.global[d];
    if (random() % 3 == 0) { // of what is reduced, also nothing
      operand.offset[d] = draw(random, 0, whole - 1);
      operand.extents[d] =
          draw(random, isReduced ? 0 : 1, whole - operand.offset[d]);
    }
    if (isReduced) {
      ++axis;
      continue;
    }
    int64_t first = random() % 3 ? 0 : draw(random, 0, operand.extents[d] - 1);
    result.offset[to] = operand.offset[d] + first;
    result.extents[to++] = draw(random, 1, operand.extents[d] - first);
  }
}

/// Products of few elements are exact, in any order.
static GpuCall drawReduce(Random &random) {
  size_t kind = random() % 6;
  DType type = kind > 3                        ? DType::Bool
               : kind > 1 && random() % 8 == 0 ? DType::Bool
                                               : types[random() % 12];
  Dims extents, axes, kept;
  size_t rank = 1 + random() % 4;
  int64_t most = kind == 1 ? 2 : rank == 1 ? 2000 : rank == 2 ? 300 : 9;
  for (size_t d = 0; d < rank; ++d) {
    bool isReduced = random() % 2 && !(kind == 1 && axes.size() == 2);
    extents.push_back(
        draw(random, 1, isReduced ? most : std::min<int64_t>(most, 40) + 2));
    if (isReduced) {
      axes.push_back(int64_t(d));
    } else {
      kept.push_back(extents.back());
    }
  }
  GpuCall call;
  call.op = "nn.reduce";
  call.attributes.set("axes", axes);
  call.attributes.set("kind", std::string(kinds[kind]));
  call.operands = {TensorInfo::whole(type, extents)};
  call.results = {TensorInfo::whole(random() % 4 ? type : sumType(type), kept)};
  if (rank > 2 && random() % 4 == 0) {
    call.operands[0].format = channelsLast;
  }
  cutBoxes(call.operands[0], call.results[0], axes, random);
  return call;
}

/// The same, and the same bytes, with all that it reads row-major.
static GpuCall plain(GpuCall call, std::vector<Bytes> &values) {
  TensorInfo &operand = call.operands[0];
  if (!operand.format.empty()) {
    Bytes stored = values[0];
    int64_t width = byteWidth(operand.type), at = 0;
    Dims strides = stridesOf(operand), index(operand.rank());
    for (int64_t i = 0; i < operand.count(); ++i, at += width) {
      int64_t rest = i, from = 0;
      for (size_t d = operand.rank(); d-- > 0;) {
        from += rest % operand.extents[d] * strides[d];
        rest /= operand.extents[d];
      }
      std::copy_n(stored.begin() + from * width, width, values[0].begin() + at);
    }
    operand.format.clear();
  }
  return call;
}

TEST(CudaReduce, ReducesWhatTheReferenceReduces) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Random random(1);
  int alongRows = 0, rounds = 500;
  for (int round = 0; round < rounds; ++round) {
    GpuCall call = drawReduce(random);
    auto reduce = GridReduce::of(call.site());
    ASSERT_TRUE(reduce) << "round " << round;
    alongRows += reduce->isAlongRow;
    std::vector<Bytes> values = {drawValues(call.operands[0], random)};
    auto made = runOnGpu(gpu, call, values);
    ASSERT_TRUE(made) << "round " << round;
    ASSERT_EQ(*made, evaluateCall(plain(call, values), values))
        << "round " << round << " " << reduce->structure();
  }
  std::printf("counted: reductions of GPUs: %d, %d of them along rows\n",
              rounds, alongRows);
  EXPECT_GT(alongRows, rounds / 4);
  EXPECT_LT(alongRows, rounds * 3 / 4);
}

// What is not there is left to the host, which says what is wrong.
TEST(CudaReduce, RefusesOthers) {
  GpuCall call;
  call.op = "nn.reduce";
  call.attributes.set("axes", Dims{1});
  call.attributes.set("kind", std::string("sum"));
  call.operands = {TensorInfo::whole(DType::F32, {3, 4})};
  call.results = {TensorInfo::whole(DType::F32, {3})};
  EXPECT_TRUE(GridReduce::of(call.site()));
  GpuCall other = call;
  other.attributes.set("axes", Dims{2});
  EXPECT_FALSE(GridReduce::of(other.site()));
  other = call;
  other.attributes.set("kind", std::string("mean"));
  EXPECT_FALSE(GridReduce::of(other.site()));
  other = call;
  other.operands[0].extents = {2, 4};
  EXPECT_FALSE(GridReduce::of(other.site()));
  other = call;
  other.operands[0].type = other.results[0].type = DType::Bool;
  EXPECT_FALSE(GridReduce::of(other.site()));
}
