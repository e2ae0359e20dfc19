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
#include "runtime/kernels/GridCode.h"
#include "runtime/kernels/RowCall.h"
#include "runtime/kernels/RowCode.h"
#include "test/Codegen/DrawnRegion.h"
#include "test/Codegen/RegionCheck.h"
#include "test/emulator/GridExecutor.h"
#include "test/emulator/KernelObject.h"

#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <map>
#include <sstream>

#include <unistd.h>

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
  void *find(uint64_t address, uint64_t bytes) {
    for (size_t t = 0; t < tensors_.size(); ++t) {
      if (address >= addresses_[t] &&
          address + bytes <= addresses_[t] + tensors_[t].size()) {
        return tensors_[t].data() + (address - addresses_[t]);
      }
    }
    return nullptr;
  }

private:
  uint64_t next_ = 1 << 20;
  std::vector<uint64_t> addresses_;
  std::vector<Bytes> tensors_;
};

} // namespace

static emulator::LaunchShape shapeOf(const rt::RowNest &nest) {
  rt::GridShape shape = rt::GridShape::of(nest);
  return {shape.rowBlocks, shape.columnBlocks, shape.lanes, shape.rowsOfBlock};
}

/// Runs what a call does piece by piece; what is wrong, if something is.
static std::optional<std::string> launch(const emulator::KernelObject &object,
                                         const rt::RowCall &call,
                                         Tensors &tensors, uint64_t seed,
                                         uint32_t dropped = ~0U) {
  GridExecutor executor(
      [&](uint64_t at, uint64_t bytes) { return tensors.find(at, bytes); });
  executor.seed(seed);
  executor.dropBarrier(dropped);
  for (const rt::RowCall::Piece &piece : call.pieces()) {
    std::vector<int64_t> numbers = rt::gridNumbers(piece.nest);
    std::vector<uint64_t> pointers;
    for (size_t t = 0; t < piece.tensors.size(); ++t) {
      pointers.push_back(tensors.address(piece.tensors[t]) + piece.begins[t]);
    }
    std::vector<const void *> parameters;
    for (const uint64_t &pointer : pointers) {
      parameters.push_back(&pointer);
    }
    for (const int64_t &number : numbers) {
      parameters.push_back(&number);
    }
    auto wrong = executor.run(object.function(), parameters.data(),
                              shapeOf(piece.nest));
    if (wrong) {
      return wrong;
    }
  }
  return std::nullopt;
}

/// The object for a site, made once for each structure.
static const emulator::KernelObject &objectFor(const rt::CallSite &site) {
  static std::map<std::string, std::unique_ptr<emulator::KernelObject>> known;
  auto &object = known[codeStructure(site)];
  if (!object) {
    auto made = generateGridKernel(site, rt::emulatedTarget(rt::hostLevel()));
    EXPECT_TRUE(bool(made)) << made.status().message();
    object = std::make_unique<emulator::KernelObject>(
        made ? made->data() : "nothing");
    EXPECT_TRUE(object->function());
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
  auto wrong =
      launch(objectFor(site), *rt::RowCall::of(site), tensors, random());
  if (wrong) {
    return *wrong + "\n" + call.describe();
  }
  std::vector<Bytes> results;
  for (size_t r = 0; r < call.results.size(); ++r) {
    results.push_back(tensors.bytes(call.operands.size() + r));
  }
  return compareWithBounds(call, exact, results, counts);
}

TEST(GridKernels, ComputeWhatTheRegionDoes) {
  if (rt::hostLevel().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  int calls = 0, regions = 0, joined = 0;
  Compared counts;
  const char *wanted = std::getenv("DIVISI_CASES_PER_OPERATOR");
  unsigned most = wanted ? 60 : 600;
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

/// Softmax over rows that need a whole block: two reductions with two barriers
/// each. Behind the last one nobody touches what the block shares any more.
TEST(GridKernels, NeedEachBarrier) {
  RegionCall call;
  rt::TensorInfo info = rt::TensorInfo::whole(rt::DType::F32, {3, 300});
  rt::RegionPart part{"nn.softmax", 1, {}, {0}, {info}};
  part.attributes.set("axis", int64_t(1));
  call.operands = call.results = {info};
  call.region = {{part}, {1}};
  rt::CallSite site = call.site();
  std::mt19937 random(7);
  Bytes values = drawNumbers(info, Numbers::Mixed, random);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    for (uint32_t dropped = 0; dropped < 5; ++dropped) {
      Tensors tensors;
      tensors.add(values);
      tensors.add(Bytes(values.size()));
      auto wrong = launch(objectFor(site), *rt::RowCall::of(site), tensors,
                          seed, dropped);
      EXPECT_EQ(wrong.has_value(), dropped < 3) << dropped;
    }
  }
}

/// What ptxas, of CUDA's toolkit, says of PTX; nothing where it takes it
/// without spilling registers.
static std::string assemble(const std::string &ptx, const std::string &ptxas,
                            const std::string &architecture) {
  std::string base = testing::TempDir() + "grid-" + std::to_string(getpid());
  std::ofstream(base + ".ptx") << ptx;
  std::string command = ptxas + " -v -arch=" + architecture + " " + base +
                        ".ptx -o " + base + ".cubin 2>" + base + ".log";
  bool isDone = std::system(command.c_str()) == 0;
  std::stringstream said;
  said << std::ifstream(base + ".log").rdbuf();
  for (const char *suffix : {".ptx", ".cubin", ".log"}) {
    std::remove((base + suffix).c_str());
  }
  bool spills = said.str().find(" 0 bytes spill stores, 0 bytes spill loads") ==
                std::string::npos;
  return isDone && !spills ? "" : said.str();
}

TEST(GridKernels, ArePtxThatPtxasTakes) {
  std::string ptxas = "/usr/local/cuda/bin/ptxas";
  if (access(ptxas.c_str(), X_OK) != 0) {
    GTEST_SKIP() << "no " << ptxas;
  }
  int kernels = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    RegionCall call = DrawnRegion(seed).call(50);
    if (!generatesGridKernel(call.site())) {
      continue;
    }
    auto once = generateGridKernel(call.site(), rt::ptxTarget("sm_80"));
    auto twice = generateGridKernel(call.site(), rt::ptxTarget("sm_80"));
    ASSERT_TRUE(once && twice) << once.status().message();
    EXPECT_EQ(*once, *twice);
    for (const char *architecture : {"sm_80", "sm_90", "sm_100"}) {
      ASSERT_EQ(assemble(*once, ptxas, architecture), "") << call.describe();
    }
    ++kernels;
  }
  EXPECT_GT(kernels, 20);
}

TEST(GridKernels, MovesArePtxThatPtxasTakes) {
  std::string ptxas = "/usr/local/cuda/bin/ptxas";
  if (access(ptxas.c_str(), X_OK) != 0) {
    GTEST_SKIP() << "no " << ptxas;
  }
  for (rt::DType type : {rt::DType::Bool, rt::DType::F16, rt::DType::F32,
                         rt::DType::I64}) {
    for (bool hasSquares : {false, true}) {
      rt::Dims from = {5, 40, 70}, to = {5, 70, 40};
      rt::TensorInfo operand = rt::TensorInfo::whole(type, from);
      rt::TensorInfo result =
          rt::TensorInfo::whole(type, hasSquares ? to : rt::Dims{40, 5, 70});
      rt::Attributes attributes;
      attributes.set("permutation",
                     hasSquares ? rt::Dims{0, 2, 1} : rt::Dims{1, 0, 2});
      rt::CallSite site{"nn.transpose", attributes, {&operand, 1}, {&result, 1}};
      auto ptx = generateGridKernel(site, rt::ptxTarget("sm_80"));
      ASSERT_TRUE(ptx) << ptx.status().message();
      EXPECT_EQ(ptx->find(".shared") != ptx->npos, hasSquares);
      for (const char *architecture : {"sm_80", "sm_90", "sm_100"}) {
        ASSERT_EQ(assemble(*ptx, ptxas, architecture), "");
      }
    }
  }
}
