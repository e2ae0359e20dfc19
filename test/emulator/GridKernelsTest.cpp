//===- GridKernelsTest.cpp - Kernels of GPUs compute what regions do ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions are drawn at random, with broadcasts, rows, types and boxes. What is
// run is the mapped form, thread by thread, on memory in which nothing lies
// beside the tensors.
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GridKernels.h"
#include "divisi/Codegen/NativeCode.h"
#include "divisi/runtime/code/GridAttentionGradient.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/GridColumns.h"
#include "divisi/runtime/code/GridLines.h"
#include "divisi/runtime/code/GridProduct.h"
#include "divisi/runtime/code/GridReduce.h"
#include "divisi/runtime/code/RowCall.h"
#include "divisi/runtime/code/RowCode.h"
#include "test/Codegen/DrawnRegion.h"
#include "test/Codegen/RegionCheck.h"
#include "test/Codegen/ScalarCalls.h"
#include "test/Sample.h"
#include "test/emulator/GridCalls.h"
#include "test/emulator/GridExecutor.h"
#include "test/emulator/KernelCount.h"
#include "test/emulator/KernelObject.h"

#include <gmock/gmock.h>
#include <map>

using namespace divisi;
using namespace divisi::test;
using emulator::GridExecutor;

namespace {

using Bytes = std::vector<std::byte>;

/// Tensors at addresses of their own, with nothing between.
class Tensors {
public:
  void add(Bytes bytes) {
    addresses_.push_back(next_);
    next_ += (bytes.size() + 4096) / 256 * 256;
    tensors_.push_back(std::move(bytes));
  }
  uint64_t address(size_t tensor) const { return addresses_[tensor]; }
  const Bytes &bytes(size_t tensor) const { return tensors_[tensor]; }
  emulator::MemoryRange find(uint64_t address) {
    for (size_t t = 0; t < tensors_.size(); ++t) {
      uint64_t end = addresses_[t] + tensors_[t].size();
      if (address >= addresses_[t] && address < end) {
        return {addresses_[t], end, tensors_[t].data()};
      }
    }
    return {};
  }

private:
  uint64_t next_ = 1 << 20;
  std::vector<uint64_t> addresses_;
  std::vector<Bytes> tensors_;
};

} // namespace

/// Runs what a call does, launch by launch; what is wrong, if something is.
static std::optional<std::string>
launch(const emulator::KernelObject &object,
       const std::vector<rt::GridLaunch> &launches, Tensors &tensors,
       uint64_t seed, uint32_t dropped = ~0U) {
  GridExecutor executor([&](uint64_t at) { return tensors.find(at); });
  executor.seed(seed);
  executor.dropBarrier(dropped);
  for (const rt::GridLaunch &launch : launches) {
    std::vector<uint64_t> pointers;
    for (const rt::GridLaunch::Pointer &pointer : launch.pointers) {
      pointers.push_back(tensors.address(size_t(pointer.tensor)) +
                         uint64_t(pointer.begin));
    }
    std::vector<const void *> parameters;
    for (const uint64_t &pointer : pointers) {
      parameters.push_back(&pointer);
    }
    for (const int64_t &number : launch.numbers) {
      parameters.push_back(&number);
    }
    auto wrong = executor.run(
        object.function(), parameters.data(),
        {launch.gridX, launch.gridY, launch.blockX, launch.blockY});
    if (wrong) {
      return wrong;
    }
  }
  return std::nullopt;
}

/// The object for a site, made once for each structure.
static const emulator::KernelObject &objectFor(const rt::CallSite &site) {
  static std::map<std::string, std::unique_ptr<emulator::KernelObject>> known;
  auto &object = known[gridStructure(site)];
  if (!object) {
    auto made = generateGridKernel(site, rt::emulatedTarget(rt::hostLevel()));
    EXPECT_TRUE(bool(made)) << made.status().message();
    object = std::make_unique<emulator::KernelObject>(made ? made->data()
                                                           : "nothing");
    EXPECT_TRUE(object->function());
    countKernel(site);
  }
  return *object;
}

/// The call on drawn numbers against the interpreted region; what is wrong.
static std::string compare(const RegionCall &call, Numbers numbers,
                           std::mt19937 &random, Compared &counts) {
  Tensors tensors;
  std::vector<std::vector<double>> exact;
  for (const rt::TensorInfo &operand : call.operands) {
    Bytes values = drawNumbers(operand, numbers, random);
    exact.push_back(numbersFrom(operand, values.data()));
    tensors.add(std::move(values));
  }
  for (const rt::TensorInfo &result : call.results) {
    tensors.add(Bytes(result.bytes(), std::byte(0xff)));
  }
  rt::CallSite site = call.site();
  auto wrong = launch(objectFor(site), rt::gridLaunches(*rt::RowCall::of(site)),
                      tensors, random());
  if (wrong) {
    return *wrong + "\n" + call.describe();
  }
  std::vector<Bytes> results;
  for (size_t r = 0; r < call.results.size(); ++r) {
    results.push_back(tensors.bytes(call.operands.size() + r));
  }
  return compareWithBounds(call, exact, results, counts);
}

/// What the kernel for the call makes of the operands.
static std::vector<double> run(const RegionCall &call,
                               const std::vector<Bytes> &operands) {
  Tensors tensors;
  for (const Bytes &operand : operands) {
    tensors.add(operand);
  }
  tensors.add(Bytes(call.results[0].bytes(), std::byte(0xff)));
  rt::CallSite site = call.site();
  auto wrong = launch(objectFor(site), rt::gridLaunches(*rt::RowCall::of(site)),
                      tensors, 1);
  EXPECT_FALSE(wrong) << *wrong;
  return numbersFrom(call.results[0], tensors.bytes(operands.size()).data());
}

TEST(GridKernels, ComputeEveryFunctionOfElements) {
  if (rt::hostLevel().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  std::mt19937 random(11);
  size_t count = 0;
  for (const rt::ScalarFacts &row : operatorRows()) {
    for (rt::DType type : {rt::DType::F32, rt::DType::F64, rt::DType::I32}) {
      bool isTaken =
          (row.types & rt::typeBit(type)) != 0 &&
          (type != rt::DType::F64 || row.cost != rt::FunctionCost::Few);
      if (!isTaken || row.function == rt::ScalarFunction::Cast) {
        continue;
      }
      RegionCall call = callOf(row, type, {40});
      std::vector<Bytes> operands = drawOperands(call, random);
      EXPECT_EQ(differenceOf(call.results[0].type, run(call, operands),
                             evaluateCall(call, operands)),
                "")
          << nameOf(row) << " of " << rt::stringify(type);
      ++count;
    }
  }
  EXPECT_GT(count, 70u);
}

TEST(GridKernels, ComputeWhatTheRegionDoes) {
  if (rt::hostLevel().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  int calls = 0, regions = 0, joined = 0;
  Compared counts;
  unsigned most = sampleSize(600u, 60u);
  for (unsigned seed = 0; seed < most; ++seed) {
    DrawnRegion drawn(seed);
    if (!generatesGridKernel(drawn.call(4).site())) {
      continue;
    }
    ++regions;
    std::mt19937 random(seed);
    for (int64_t extent : {3, 20, 33, 300}) {
      RegionCall call = drawn.call(extent);
      ASSERT_EQ(compare(call, Numbers(extent % 3), random, counts), "")
          << "seed " << seed;
      ++calls;
      joined += call.region.parts[0].op == "nn.concat";
    }
  }
  std::printf("counted: kernels of GPUs: %d, %d calls; of %ld elements %ld "
              "undecided\n",
              regions, calls, long(counts.elements), long(counts.undecided));
  EXPECT_GT(regions, int(most) * 7 / 10);
  EXPECT_GT(calls, int(most) * 2);
  EXPECT_GT(joined, int(most) / 10);
}

/// Each of the barriers that a block comes to is reported if it is left out,
/// but for `unneeded`: before the first ones, and behind the last ones, nobody
/// touches what the block shares.
static void expectBarriers(const rt::CallSite &site,
                           std::vector<rt::GridLaunch> launches, uint32_t count,
                           uint32_t unneeded) {
  std::mt19937 random(7);
  launches[0].gridX = 1;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    for (uint32_t dropped = 0; dropped < count + 1; ++dropped) {
      Tensors tensors;
      for (const rt::TensorInfo &operand : site.operands) {
        tensors.add(drawNumbers(operand, Numbers::Mixed, random));
      }
      tensors.add(Bytes(size_t(site.results[0].bytes())));
      auto wrong = launch(objectFor(site), launches, tensors, seed, dropped);
      EXPECT_EQ(wrong.has_value(), dropped < count && dropped != unneeded)
          << site.op << " without barrier " << dropped;
    }
  }
  std::printf("counted: barriers of blocks of GPUs: %u left out, %u reported\n",
              count, count - 1);
}

/// Softmax over rows that need a whole block: two reductions with two barriers
/// each, for each of three rows.
TEST(GridKernels, NeedEachBarrier) {
  RegionCall call;
  rt::TensorInfo info = rt::TensorInfo::whole(rt::DType::F32, {3, 300});
  rt::RegionPart part{"nn.softmax", 1, {}, {0}, {info}};
  part.attributes.set("axis", int64_t(1));
  call.operands = call.results = {info};
  call.region = {{part}, {1}};
  rt::CallSite site = call.site();
  expectBarriers(site, rt::gridLaunches(*rt::RowCall::of(site)), 12, 11);
}

/// Two barriers for each part of the results that a block does.
TEST(GridKernels, ReductionsNeedEachBarrier) {
  for (int64_t axis : {0, 1}) {
    ReduceCall call(rt::DType::F32, axis);
    rt::CallSite site = call.site();
    expectBarriers(site, {rt::GridReduce::of(site)->launch()}, 6, 5);
  }
}

namespace {

/// An operator of one operand.
struct LineCall {
  std::string op;
  rt::TensorInfo operand, result;
  rt::Attributes attributes;

  rt::CallSite site() const {
    return {op, attributes, {&operand, 1}, {&result, 1}};
  }
  /// Three lines of 300, of which each has a block's threads.
  static LineCall cumulate() {
    auto info = rt::TensorInfo::whole(rt::DType::F32, {3, 300});
    return {"nn.cumulate",
            info,
            info,
            {{"axis", int64_t(1)},
             {"kind", std::string("sum")},
             {"exclusive", int64_t(0)},
             {"reverse", int64_t(0)}}};
  }
  /// The first two of one line.
  static LineCall topK() {
    return {"nn.top_k",
            rt::TensorInfo::whole(rt::DType::F32, {1, 300}),
            rt::TensorInfo::whole(rt::DType::I64, {1, 2}),
            {{"axis", int64_t(1)}, {"k", int64_t(2)}, {"largest", int64_t(1)}}};
  }
  /// 40 lines across, which are 32 and 8.
  static LineCall softmax() {
    auto info = rt::TensorInfo::whole(rt::DType::F32, {300, 40});
    return {
        "nn.softmax", info, info, {{"axis", int64_t(0)}, {"log", int64_t(0)}}};
  }
};

} // namespace

/// Two barriers for each line, for each of two things that threads find
/// together of each pick, and of each line across.
TEST(GridKernels, LinesNeedEachBarrier) {
  LineCall cumulate = LineCall::cumulate(), topK = LineCall::topK(),
           softmax = LineCall::softmax();
  ASSERT_TRUE(rt::GridColumns::of(softmax.site()));
  expectBarriers(cumulate.site(),
                 {rt::GridCumulate::of(cumulate.site())->launch()}, 6, 5);
  expectBarriers(topK.site(), {rt::GridPick::of(topK.site())->launch()}, 8, 7);
  expectBarriers(softmax.site(),
                 {rt::GridColumns::of(softmax.site())->launch()}, 8, 7);
}

/// What kernels depend on, and no extents beside.
TEST(GridKernels, AreNamedByTheirStructure) {
  LineCall softmax = LineCall::softmax();
  softmax.attributes.set("log", int64_t(1));
  EXPECT_EQ(gridStructure(softmax.site()),
            "log softmax f32 across, 1 dims, 1 of lines");
  LineCall least = LineCall::cumulate();
  least.op = "nn.arg_reduce";
  least.result = rt::TensorInfo::whole(rt::DType::I64, {3});
  least.attributes.set("kind", std::string("min"));
  least.attributes.set("last", int64_t(1));
  EXPECT_EQ(gridStructure(least.site()),
            "pick smallest, nan first, last of f32, 1 dims");
  LineCall pool = LineCall::cumulate();
  pool.op = "nn.pool_max";
  pool.result.extents = pool.result.global = {3, 298};
  pool.attributes = {{"kernel", rt::Dims{1, 3}},
                     {"strides", rt::Dims{1, 1}},
                     {"dilations", rt::Dims{1, 1}},
                     {"pads_lo", rt::Dims{0, 0}},
                     {"pads_hi", rt::Dims{0, 0}}};
  EXPECT_EQ(gridStructure(pool.site()),
            "pool max of f32 to f32, stored 0 1 windowed");
  rt::TensorInfo operands[] = {pool.operand,
                               rt::TensorInfo::whole(rt::DType::F32, {3, 5}),
                               rt::TensorInfo::whole(rt::DType::I64, {})};
  rt::Attributes along{{"axis", int64_t(1)}};
  EXPECT_EQ(gridStructure({"nn.insert", along, operands, {&pool.operand, 1}}),
            "insert 4 bytes by i64, 2 dims, along 1");
}

/// Of one head, so that a block comes to nothing else.
static AttentionCall attentionOfAHead(rt::DType type) {
  AttentionCall call(type, 40, 40);
  for (rt::TensorInfo &operand : call.operands) {
    operand = rt::TensorInfo::whole(type, {1, 1, operand.extents[2], 40});
  }
  call.result = call.operands[0];
  return call;
}

/// Two tiles of keys, each of two parts of their depth and two of features: two
/// barriers for each of these four.
TEST(GridKernels, AttentionNeedsEachBarrier) {
  AttentionCall call = attentionOfAHead(rt::DType::F32);
  rt::CallSite site = call.site();
  expectBarriers(site, {rt::GridAttention::of(site)->launch()}, 16, 0);
}

/// Two tiles of keys, with a barrier before they are read and one behind.
TEST(GridKernels, AttentionOnTensorCoresNeedsEachBarrier) {
  AttentionCall call = attentionOfAHead(rt::DType::F16);
  rt::CallSite site = call.site();
  EXPECT_EQ(gridStructure(site), "attend f16, 5 tiles, tensor cores, depth of "
                                 "3, 0x1p-2, cap 0x0p+0");
  expectBarriers(site, {rt::GridAttention::of(site)->launch()}, 4, 3);
}

/// Two tiles of keys, each of two parts of their depth and of the features for
/// products, and of two of the columns: two barriers for each of these six. On
/// tensor cores as above.
TEST(GridKernels, GradientsOfAttentionNeedEachBarrier) {
  for (rt::DType type : {rt::DType::F32, rt::DType::F16}) {
    AttentionGradientCall call(type, 'q', 40, 40, /*heads=*/1);
    rt::CallSite site = call.site();
    auto gradient = rt::GridAttentionGradient::of(site);
    ASSERT_EQ(gradient->usesTensorCores, type == rt::DType::F16);
    bool isTensor = gradient->usesTensorCores;
    EXPECT_EQ(gridStructure(site),
              isTensor ? "gradient by queries of f16 to f16, tiles 3 3, tensor "
                         "cores, 0x1p-2, cap 0x0p+0"
                       : "gradient by queries of f32 to f32, tiles 2 2, "
                         "0x1p-2, cap 0x0p+0");
    expectBarriers(site, {gradient->launch()}, isTensor ? 4 : 24,
                   isTensor ? 3 : 0);
  }
}

/// Twice 32 of what is summed, with a barrier before they are read and one
/// behind.
TEST(GridKernels, ProductsNeedEachBarrier) {
  for (rt::DType type : {rt::DType::I8, rt::DType::F64}) {
    rt::TensorInfo operands[] = {rt::TensorInfo::whole(type, {20, 40}),
                                 rt::TensorInfo::whole(type, {40, 30})};
    rt::TensorInfo result = rt::TensorInfo::whole(type, {20, 30});
    rt::Attributes attributes{{"labels", std::string("mk,kn->mn")}};
    rt::CallSite site{"nn.matmul", attributes, operands, {&result, 1}};
    expectBarriers(site, {rt::GridProduct::of(site)->launch()}, 4, 3);
  }
}
