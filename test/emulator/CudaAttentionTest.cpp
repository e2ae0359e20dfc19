//===- CudaAttentionTest.cpp - What GPUs attend is what the reference does ===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridAttention.h"
#include "divisi/runtime/kernels/Element.h"
#include "test/Sample.h"
#include "test/emulator/CudaCalls.h"
#include "test/emulator/KernelTarget.h"

#include <cmath>
#include <cstring>
#include <set>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

/// Extents of "bhsd" in another order, which leaves the last.
static Dims ordered(const Dims &extents, const std::string &letters) {
  Dims result;
  for (char letter : letters) {
    result.push_back(extents[std::string("bhsd").find(letter)]);
  }
  return result;
}

/// Some heads of some batches, and some of the queries; q and y alike.
static void cutCall(GpuCall &call, const std::string &q, const std::string &y,
                    int64_t group, Random &random) {
  TensorInfo &result = call.results[0], &query = call.operands[0];
  for (char letter : {'b', 'h', 's'}) {
    size_t d = y.find(letter), from = q.find(letter);
    if (random() % 3 || (letter == 'h' && group > 1 && random() % 2)) {
      continue;
    }
    result.offset[d] = draw(random, 0, result.global[d] - 1);
    result.extents[d] = draw(random, 1, result.global[d] - result.offset[d]);
    query.offset[from] = result.offset[d];
    query.extents[from] = result.extents[d];
  }
}

static void addMask(GpuCall &call, const Dims &whole, Random &random) {
  Dims extents = whole;
  for (int64_t &extent : extents) {
    extent = random() % 3 == 0 ? 1 : extent;
  }
  DType type = random() % 2 ? DType::Bool : call.results[0].type;
  call.operands.push_back(TensorInfo::whole(type, extents));
}

/// Of f16 or bf16, if it `isNarrow`; with more features, if it `isWide`.
static GpuCall drawAttention(Random &random, bool isNarrow = false,
                             bool isWide = false) {
  static constexpr DType types[] = {DType::F16, DType::BF16, DType::F32};
  static const std::string orders[] = {"bhsd", "bshd", "hbsd", "sbhd"};
  DType type = types[random() % (isNarrow ? 2 : 3)];
  int64_t b = draw(random, 1, 2), heads = draw(random, 1, 2);
  int64_t group = draw(random, 1, 3), s = draw(random, 1, 40);
  int64_t t = draw(random, 1, random() % 4 ? 20 : 70);
  int64_t depth = draw(random, 1, random() % 4 ? 12 : 70);
  int64_t features = draw(random, 1, random() % 6 ? 20 : 140);
  if (isWide) {
    s = draw(random, GridAttention::leastTensorQueries, 70);
    depth = draw(random, 65, GridAttention::mostTensorDepth);
    features = draw(random, 129, GridAttention::mostTensorFeatures);
  }
  std::string q = orders[random() % 4], k = orders[random() % 4],
              v = orders[random() % 4], y = orders[random() % 4];
  auto named = [](std::string letters, char position, char last) {
    letters[letters.find('s')] = position;
    letters[3] = last;
    return letters;
  };
  GpuCall call;
  call.op = "nn.attention";
  call.attributes.set("labels", q + "," + named(k, 't', 'd') + "," +
                                    named(v, 't', 'e') + "->" +
                                    named(y, 's', 'e'));
  call.operands = {
      TensorInfo::whole(type, ordered({b, heads * group, s, depth}, q)),
      TensorInfo::whole(type, ordered({b, heads, t, depth}, k)),
      TensorInfo::whole(type, ordered({b, heads, t, features}, v))};
  call.results = {
      TensorInfo::whole(type, ordered({b, heads * group, s, features}, y))};
  if (random() % 2) {
    addMask(call, {b, heads * group, s, t}, random);
  }
  int64_t far = int64_t(1) << 62; // bounds are of any size
  call.attributes.set("left", random() % 3 ? -1 : draw(random, 0, 20));
  call.attributes.set("right", random() % 2 ? -1 : draw(random, 0, 9));
  call.attributes.set("offset", random() % 20  ? draw(random, -4, 4)
                                : random() % 2 ? far
                                               : -far);
  call.attributes.set("nan", draw(random, 0, 1));
  call.attributes.set("scale", 0.25);
  call.attributes.set("softcap", random() % 4 ? 0.0 : 2.0);
  cutCall(call, q, y, group, random);
  return call;
}

static double elementAt(DType type, const Bytes &bytes, size_t index) {
  auto read = [&](auto zero) {
    std::memcpy(&zero, bytes.data() + index * sizeof(zero), sizeof(zero));
    return double(float(load(zero)));
  };
  return type == DType::F32   ? read(float())
         : type == DType::F16 ? read(Half())
                              : read(BFloat());
}

static void expectClose(DType type, const Bytes &made, const Bytes &expected,
                        int round) {
  double step = type == DType::F32 ? 1e-5 : type == DType::F16 ? 2e-3 : 2e-2;
  for (size_t i = 0; i < expected.size() / size_t(byteWidth(type)); ++i) {
    double x = elementAt(type, made, i), y = elementAt(type, expected, i);
    bool isSame = x == y || (std::isnan(x) && std::isnan(y));
    bool isClose =
        std::isfinite(y) && std::abs(x - y) <= step * (1 + std::abs(y));
    ASSERT_TRUE(isSame || isClose) << "round " << round << ", element " << i
                                   << ": " << x << ", expected " << y;
  }
}

/// Makes some of the values infinite, or NaN.
static void spoilValues(const TensorInfo &info, Bytes &values, Random &random) {
  static constexpr uint16_t ofHalf[] = {0x7c00, 0xfc00, 0x7e00};
  static constexpr uint16_t ofBFloat[] = {0x7f80, 0xff80, 0x7fc0};
  for (size_t i = 0; i < values.size() / 2; ++i) {
    if (random() % 40 == 0) {
      uint16_t bits =
          (info.type == DType::F16 ? ofHalf : ofBFloat)[random() % 3];
      std::memcpy(values.data() + i * 2, &bits, 2);
    }
  }
}

/// What no query attends does not matter, whatever it is; what one does is
/// summed, on tensor cores, too.
TEST(CudaAttention, AttendsInfinitiesAndNanAsTheReferenceDoes) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Random random(2);
  int rounds = sampleSize(30, 8), onTensorCores = 0, finite = 0, others = 0;
  for (int round = 0; round < rounds; ++round) {
    GpuCall call = drawAttention(random, /*isNarrow=*/true);
    onTensorCores += GridAttention::of(call.site())->usesTensorCores();
    std::vector<Bytes> values;
    for (const TensorInfo &operand : call.operands) {
      values.push_back(drawValues(operand, random));
    }
    spoilValues(call.operands[2], values[2], random);
    auto made = runOnGpu(gpu, call, values);
    ASSERT_TRUE(made) << "round " << round;
    Bytes expected = evaluateCall(call, values);
    DType type = call.results[0].type;
    ASSERT_NO_FATAL_FAILURE(expectClose(type, *made, expected, round));
    for (size_t i = 0; i < expected.size() / 2; ++i) {
      bool isFinite = std::isfinite(elementAt(type, expected, i));
      finite += isFinite;
      others += !isFinite;
    }
  }
  std::printf("counted: attentions of GPUs with infinities: %d, %d on tensor "
              "cores; %d elements finite, %d not\n",
              rounds, onTensorCores, finite, others);
  EXPECT_GT(finite, 0);
  EXPECT_GT(others, 0);
  if (isSweep()) {
    EXPECT_GT(onTensorCores, rounds / 3);
    EXPECT_GT(finite, 500);
    EXPECT_GT(others, 500);
  }
}

/// Blocks have fewer warps, since there is room for fewer queries.
TEST(CudaAttention, AttendsWithWideHeads) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Random random(3);
  int rounds = sampleSize(20, 6);
  std::set<int64_t> warps;
  for (int round = 0; round < rounds; ++round) {
    GpuCall call = drawAttention(random, /*isNarrow=*/true, /*isWide=*/true);
    auto attention = GridAttention::of(call.site());
    ASSERT_TRUE(attention && attention->usesTensorCores()) << round;
    warps.insert(attention->tensorWarps());
    std::vector<Bytes> values;
    for (const TensorInfo &operand : call.operands) {
      values.push_back(drawValues(operand, random));
    }
    if (round % 2) {
      spoilValues(call.operands[2], values[2], random);
    }
    auto made = runOnGpu(gpu, call, values);
    ASSERT_TRUE(made) << "round " << round;
    ASSERT_NO_FATAL_FAILURE(expectClose(call.results[0].type, *made,
                                        evaluateCall(call, values), round));
  }
  std::printf("counted: attentions of GPUs with wide heads: %d, of %zu numbers "
              "of warps\n",
              rounds, warps.size());
  if (isSweep()) {
    EXPECT_EQ(*warps.begin(), 1);
    EXPECT_EQ(*warps.rbegin(), GridAttention::mostTensorWarps);
  }
}

TEST(CudaAttention, AttendsWhatTheReferenceAttends) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Random random(1);
  int rounds = sampleSize(100, 20), masked = 0, onTensorCores = 0;
  for (int round = 0; round < rounds; ++round) {
    GpuCall call = drawAttention(random);
    auto attention = GridAttention::of(call.site());
    ASSERT_TRUE(attention) << "round " << round;
    masked += attention->masks();
    onTensorCores += attention->usesTensorCores();
    std::vector<Bytes> values;
    for (const TensorInfo &operand : call.operands) {
      values.push_back(drawValues(operand, random));
    }
    auto made = runOnGpu(gpu, call, values);
    ASSERT_TRUE(made) << "round " << round;
    ASSERT_NO_FATAL_FAILURE(expectClose(call.results[0].type, *made,
                                        evaluateCall(call, values), round));
  }
  std::printf("counted: attentions of GPUs: %d, %d of them masked, %d on "
              "tensor cores\n",
              rounds, masked, onTensorCores);
  EXPECT_GT(onTensorCores, 0);
  EXPECT_GT(masked, 0);
  if (isSweep()) {
    EXPECT_GT(onTensorCores, rounds / 4);
    EXPECT_GT(masked, rounds / 10);
  }
}
