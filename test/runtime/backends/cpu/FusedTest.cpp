//===- FusedTest.cpp - Calls with regions ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region computes, bit for bit, what its parts do one by one: drawn at
// random, with values that are used often, late or not at all, and results that
// lie over operands wherever the kernel allows it.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/backends/cpu/FusedCalls.h"

#include <gmock/gmock.h>
#include <random>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::test;

namespace {

/// Draws regions on tensors of one shape, beside some that are broadcast to it.
class FusedDraw {
public:
  explicit FusedDraw(unsigned seed) : random_(seed) {}

  FusedCall draw() {
    call_ = {};
    rows_ = below(7), columns_ = 1 + below(70);
    if (below(20) == 0) {
      rows_ = 130 + below(50), columns_ = 130 + below(50); // done in pieces
      ++numLarge;
    }
    int64_t inner = 1 + below(20);
    for (int i = 1 + below(3); i > 0; --i) {
      full_.push_back(addOperand({rows_, columns_}));
    }
    int row = addOperand({columns_});
    int left = addOperand({rows_, inner}),
        right = addOperand({inner, columns_});
    numValues_ = static_cast<int>(call_.operands.size());
    for (int parts = 1 + below(7); parts > 0; --parts) {
      switch (below(6)) {
      case 0:
        full_.push_back(
            add("nn.matmul", {left, right}, {{"labels", "mk,kn->mn"}}));
        break;
      case 1:
        full_.push_back(add("nn.neg", {any()}));
        break;
      case 2:
        full_.push_back(add("nn.add", {any(), row}));
        break;
      case 3:
        full_.push_back(add("nn.max", {row, any()}));
        break;
      case 4: {
        int narrow = add("nn.cast", {any()}, {}, DType::BF16);
        full_.push_back(add("nn.cast", {narrow}));
        break;
      }
      default:
        full_.push_back(add("nn.mul", {any(), any()}));
      }
    }
    pickResults();
    full_.clear();
    return std::move(call_);
  }

  int numLarge = 0;

  int64_t below(int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random_);
  }

private:
  int addOperand(Dims dims) {
    Tensor operand(TensorInfo::whole(DType::F32, std::move(dims)));
    std::vector<float> values(operand.info.count());
    for (float &value : values) {
      value = std::uniform_real_distribution<float>(-2, 2)(random_);
    }
    if (!values.empty()) {
      std::memcpy(operand.data.data(), values.data(), operand.data.size());
    }
    call_.operands.push_back(std::move(operand));
    return static_cast<int>(call_.operands.size()) - 1;
  }

  int add(const char *op, std::vector<int> operands, Attributes attributes = {},
          DType type = DType::F32) {
    call_.region.parts.push_back(
        {op,
         kernelVersion(op).value(),
         std::move(attributes),
         std::move(operands),
         {TensorInfo::whole(type, {rows_, columns_})}});
    return numValues_++;
  }

  int any() { return full_[static_cast<size_t>(below(full_.size()))]; }

  /// The last value, and maybe one before it.
  void pickResults() {
    call_.region.results = {numValues_ - 1};
    auto first = static_cast<int>(call_.operands.size());
    int other = first + static_cast<int>(below(numValues_ - first));
    if (other != numValues_ - 1) {
      call_.region.results.insert(call_.region.results.begin(), other);
    }
  }

  std::mt19937 random_;
  FusedCall call_;
  int64_t rows_ = 0, columns_ = 0;
  std::vector<int> full_; ///< Values of the shape.
  int numValues_ = 0;
};

} // namespace

TEST(FusedTest, aRegionIsWhatItsPartsAre) {
  FusedDraw draw(7);
  int inPlace = 0, withScratch = 0, withTwo = 0;
  for (int round = 0; round < 600; ++round) {
    FusedCall call = draw.draw();
    std::vector<TensorInfo> operands = call.operandInfos(),
                            results = call.resultInfos();
    CallSite site{fusedOp, call.none, operands, results};
    site.region = &call.region;
    for (const Runner &runner :
         {Runner{&referenceBackend(), {&referenceBackend()}, 1},
          Runner{&cpuBackend(), {&cpuBackend(), &referenceBackend()}, 1},
          Runner{&cpuBackend(), {&cpuBackend(), &referenceBackend()}, 3}}) {
      site.threads = runner.threads;
      const Kernel *kernel = runner.backend->find(site);
      ASSERT_TRUE(kernel);
      if (results.back().count() == 0) {
        continue; // never launched
      }
      std::vector<Tensor> expected = expectedOf(call, runner);
      KernelQuery query = kernel->query(site);
      std::vector<std::optional<std::pair<int, int>>> places = {std::nullopt};
      places.insert(places.end(), query.inPlace.begin(), query.inPlace.end());
      inPlace += static_cast<int>(query.inPlace.size());
      withScratch += query.workspaceBytes > 0;
      withTwo += results.size() == 2;
      for (const auto &over : places) {
        std::vector<Tensor> got = runFused(call, site, *kernel, over);
        for (size_t r = 0; r < got.size(); ++r) {
          ASSERT_EQ(got[r].data, expected[r].data) << "round " << round;
        }
      }
    }
  }
  // All of it has been tried.
  EXPECT_GT(draw.numLarge, 15);
  EXPECT_GT(inPlace, 300);
  EXPECT_GT(withScratch, 300);
  EXPECT_GT(withTwo, 300);
}

// A chain needs no memory but its result's.
TEST(FusedTest, partsWriteOverOneAnother) {
  FusedCall call;
  call.operands = {make<float>({2, 3}, {1, 2, 3, 4, 5, 6})};
  TensorInfo info = call.operands[0].info;
  call.region.parts = {{"nn.neg", 1, {}, {0}, {info}},
                       {"nn.exp", 1, {}, {1}, {info}},
                       {"nn.add", 1, {}, {2, 0}, {info}}};
  call.region.results = {3};
  std::vector<TensorInfo> infos = {info};
  CallSite site{fusedOp, call.none, infos, infos};
  site.region = &call.region;
  KernelQuery query = referenceBackend().find(site)->query(site);
  EXPECT_EQ(query.workspaceBytes, 0);
  // The operand is read after the result's place is first written.
  EXPECT_TRUE(query.inPlace.empty());
  call.region.parts[2] = {"nn.neg", 1, {}, {2}, {info}};
  query = referenceBackend().find(site)->query(site);
  EXPECT_THAT(query.inPlace, testing::ElementsAre(std::pair(0, 0)));
}

TEST(FusedTest, aPartThatNobodyTakesIsNamed) {
  FusedCall call;
  call.operands = {make<float>({2}, {1, 2})};
  TensorInfo info = call.operands[0].info,
             other = TensorInfo::whole(DType::F32, {3});
  std::vector<TensorInfo> infos = {info};
  call.region.parts = {{"nn.neg", 1, {}, {0}, {other}}};
  call.region.results = {1};
  CallSite site{fusedOp, call.none, infos, infos};
  site.region = &call.region;
  std::string error;
  const Kernel *kernel = referenceBackend().find(site);
  ASSERT_TRUE(kernel);
  EXPECT_FALSE(kernel->prepare(site, error));
  EXPECT_THAT(error, testing::HasSubstr("part 0, 'nn.neg': "));
  call.region.parts[0].version = 99;
  EXPECT_FALSE(referenceBackend().find(site));
}

// Indices are data: the first bad one by position is told.
TEST(FusedTest, badIndicesOfPartsAreTold) {
  FusedCall call;
  call.operands = {make<float>({2, 1}, {1, 2}), make<int64_t>({3}, {0, 7, 9})};
  TensorInfo info = TensorInfo::whole(DType::F32, {3, 1});
  call.region.parts = {{"nn.gather",
                        kernelVersion("nn.gather").value(),
                        {{"axis", int64_t(0)}, {"batch_dims", int64_t(0)}},
                        {0, 1},
                        {info}},
                       {"nn.neg", 1, {}, {2}, {info}}};
  call.region.results = {3};
  std::vector<TensorInfo> operands = call.operandInfos(), results = {info};
  CallSite site{fusedOp, call.none, operands, results};
  site.region = &call.region;
  std::string error;
  auto kernel = referenceBackend().find(site)->prepare(site, error);
  ASSERT_TRUE(kernel) << error;
  Tensor result(info);
  void *to = result.data.data();
  std::vector<const void *> from = {call.operands[0].data.data(),
                                    call.operands[1].data.data()};
  LaunchContext context{from, {&to, 1}};
  expectOk(kernel->launch(context));
  ASSERT_TRUE(context.badIndex);
  EXPECT_EQ(context.badIndex->value, 7);
  EXPECT_EQ(context.badIndex->position, Dims{1});
}
