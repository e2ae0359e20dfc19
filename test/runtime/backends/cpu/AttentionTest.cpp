//===- AttentionTest.cpp - Attention by blocks, on drawn calls ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel of the backend `cpu`, which goes through blocks of keys, against
// the reference, which has all weights of a query at once.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/backends/cpu/ConformanceRun.h"
#include "test/runtime/kernels/Tensors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::test;

static constexpr float inf = std::numeric_limits<float>::infinity();

namespace {

/// A call on whole tensors with its operands.
struct AttentionCall {
  Case test;
  std::vector<Tensor> operands;
  int64_t batches = 0, heads = 0, group = 0, queries = 0;
  int64_t keys = 0, depth = 0, features = 0;
  double scale = 1;
};

/// Draws calls whose queries and keys fill several blocks, or less than one.
class AttentionDraw {
public:
  explicit AttentionDraw(unsigned seed) : random_(seed) {}

  AttentionCall draw() {
    AttentionCall call;
    call.batches = 1 + below(2);
    call.heads = 1 + below(3);
    call.group = 1 + below(3);
    call.queries = 1 + below(below(4) == 0 ? 150 : 20);
    call.keys = 1 + below(below(3) == 0 ? 1300 : 40);
    call.depth = 1 + below(70);
    call.features = 1 + below(70);
    call.scale = 1 / std::sqrt(double(call.depth));
    Case &test = call.test;
    test.op = "nn.attention";
    int64_t all = call.heads * call.group;
    std::string labels;
    auto add = [&](const char *letters, Dims dims, const char *behind) {
      auto [order, placed] = shuffle(letters, dims);
      labels += order + behind;
      return f32(placed);
    };
    TensorInfo q =
        add("bhsd", {call.batches, all, call.queries, call.depth}, ",");
    TensorInfo k =
        add("bhtd", {call.batches, call.heads, call.keys, call.depth}, ",");
    TensorInfo v =
        add("bhte", {call.batches, call.heads, call.keys, call.features}, "->");
    test.result =
        add("bhse", {call.batches, all, call.queries, call.features}, "");
    test.operands = {q, k, v};
    test.attributes = {{"scale", call.scale},
                       {"softcap", below(5) == 0 ? 1.5 : 0.0},
                       {"left", below(4) == 0 ? below(call.keys) : -1},
                       {"right", below(3) == 0 ? below(call.keys) : -1},
                       {"offset", below(call.keys) - below(9)},
                       {"nan", below(2)}};
    if (below(3) > 0 || labels != "bhsd,bhtd,bhte->bhse") {
      test.attributes.set("labels", labels);
    }
    for (const TensorInfo &info : test.operands) {
      call.operands.push_back(tensor(info));
    }
    if (below(3) > 0) {
      addMask(call, {call.batches, all, call.queries, call.keys});
    }
    return call;
  }

  /// A box of it, of whole rows.
  TensorInfo box(TensorInfo info) {
    for (size_t d = 0; d < 3; ++d) {
      info.offset[d] = below(info.global[d]);
      info.extents[d] =
          below(20) == 0 ? 0 : 1 + below(info.global[d] - info.offset[d]);
    }
    return info;
  }

  int64_t below(int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random_);
  }

private:
  /// All but the last in any order.
  std::pair<std::string, Dims> shuffle(std::string letters, Dims dims) {
    for (size_t i = 0; i < 2; ++i) {
      size_t with = i + size_t(below(int64_t(3 - i)));
      std::swap(letters[i], letters[with]);
      std::swap(dims[i], dims[with]);
    }
    return {letters, dims};
  }

  Tensor tensor(const TensorInfo &info) {
    std::vector<float> values(size_t(info.count()));
    for (float &value : values) {
      value = std::uniform_real_distribution<float>(-2, 2)(random_);
    }
    return make<float>(info.global, values);
  }

  /// Numbers, among them those that mask, or booleans; sometimes a key whose
  /// value is no number and that nobody attends.
  void addMask(AttentionCall &call, Dims dims) {
    for (int64_t &dim : dims) {
      dim = below(2) == 0 ? 1 : dim;
    }
    bool isBool = below(2) == 0, hides = dims[3] > 1 && below(2) == 0;
    int64_t hidden = hides ? below(call.keys) : -1, density = below(4);
    auto count = size_t(numElements(dims));
    std::vector<float> biases(count);
    std::vector<uint8_t> flags(count);
    for (size_t i = 0; i < count; ++i) {
      bool attends = below(4) >= density && int64_t(i) % dims[3] != hidden;
      flags[i] = attends;
      biases[i] = std::uniform_real_distribution<float>(-2, 2)(random_);
      biases[i] = attends                                   ? biases[i]
                  : int64_t(i) % dims[3] == hidden          ? -inf
                  : below(2) == 0 ? std::numeric_limits<float>::lowest()
                                  : -inf;
    }
    Tensor mask = isBool ? make<uint8_t>(dims, flags)
                         : make<float>(dims, biases);
    mask.info.type = isBool ? DType::Bool : DType::F32;
    call.test.operands.push_back(mask.info);
    call.operands.push_back(mask);
    if (hides) {
      spoil(call, hidden);
    }
  }

  void spoil(AttentionCall &call, int64_t key) {
    std::string labels = call.test.attributes.getString("labels");
    size_t at = labels.empty() ? 2 : labels.substr(10, 4).find('t');
    Tensor &v = call.operands[2];
    int64_t inner = 1;
    for (size_t d = at + 1; d < 4; ++d) {
      inner *= v.info.global[d];
    }
    auto *values = reinterpret_cast<float *>(v.data.data());
    for (int64_t i = 0; i < v.info.count(); ++i) {
      if (i / inner % call.keys == key) {
        values[i] = below(2) == 0 ? inf : std::nanf("");
      }
    }
  }

  std::mt19937 random_;
};

} // namespace

/// How far two orders of rounding may lie apart: products are off by the units
/// of their sum, weights by twice that and by the units of exponentials and
/// their own sum, and results by weights of values up to 2.
static double boundOf(const AttentionCall &call) {
  constexpr double unit = 0x1p-24;
  double largest = call.scale * 4 * double(call.depth) + 2;
  double products = unit * double(call.depth + 8) * largest;
  return 2 * 2 * (2 * products + unit * (16 + double(call.keys)));
}

TEST(Attention, BlocksAreTheReference) {
  AttentionDraw draw(17);
  Subject reference{"reference", referenceBackend, 1};
  int64_t taken = 0, compared = 0;
  for (int round = 0; round < 600; ++round) {
    AttentionCall call = draw.draw();
    int threads = 1 + int(draw.below(5));
    Subject cpu{"cpu", cpuBackend, threads};
    TensorInfo result =
        draw.below(2) == 0 ? call.test.result : draw.box(call.test.result);
    std::vector<TensorInfo> boxes = trimOperands(reference, call.test, result);
    std::vector<float> got =
        runBoxes(cpu, call.test, boxes, result, call.operands).values<float>();
    std::vector<float> expected =
        runBoxes(reference, call.test, boxes, result, call.operands)
            .values<float>();
    double bound = boundOf(call);
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE((std::isnan(got[i]) && std::isnan(expected[i])) ||
                  std::abs(double(got[i]) - double(expected[i])) <= bound)
          << "round " << round << ", element " << i << ": " << got[i]
          << ", expected " << expected[i] << " up to " << bound;
    }
    CallSite site{call.test.op, call.test.attributes, boxes, {&result, 1}};
    taken += cpuBackend().find(site) != nullptr;
    compared += int64_t(got.size());
  }
  EXPECT_GT(taken, 500);
  EXPECT_GT(compared, 200000);
}

/// The number of threads is not seen in any bit.
TEST(Attention, TeamsGiveTheSameBits) {
  AttentionDraw draw(18);
  for (int round = 0; round < 60; ++round) {
    AttentionCall call = draw.draw();
    auto run = [&](int threads) {
      Subject cpu{"cpu", cpuBackend, threads};
      return runBoxes(cpu, call.test, call.test.operands, call.test.result,
                      call.operands)
          .data;
    };
    auto alone = run(1);
    EXPECT_EQ(alone, run(2));
    EXPECT_EQ(alone, run(5));
  }
}
