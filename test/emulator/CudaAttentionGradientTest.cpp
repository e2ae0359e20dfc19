//===- CudaAttentionGradientTest.cpp - Attention on its way back on GPUs --===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridAttentionGradient.h"
#include "divisi/runtime/kernels/Element.h"
#include "test/Sample.h"
#include "test/emulator/CudaCalls.h"
#include "test/emulator/KernelTarget.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

namespace {

/// Extents of a drawn attention.
struct Extents {
  int64_t b, heads, group, s, t, depth, features;
};

/// The operands' places in a call of gradients.
enum : size_t { Q, K, V, Dy, LseAt, DeltaAt, MaskAt };

} // namespace

static Extents drawExtents(Random &random, bool isLarge) {
  Extents extents{draw(random, 1, 2),  draw(random, 1, 2),  draw(random, 1, 3),
                  draw(random, 1, 40), draw(random, 1, 40), draw(random, 1, 20),
                  draw(random, 1, 20)};
  if (isLarge) { // more than a tile, and than a warp's rows
    extents.s = draw(random, 20, 80);
    extents.t = draw(random, 20, 80);
    extents.depth = draw(random, 1, 140);
    extents.features = draw(random, 1, 140);
  }
  return extents;
}

static Attributes drawAttributes(Random &random, int64_t depth) {
  Attributes attributes{{"scale", 0.5 / std::sqrt(double(depth))},
                        {"nan", int64_t(0)}};
  attributes.set("left", random() % 3 ? -1 : draw(random, 0, 20));
  attributes.set("right", random() % 2 ? -1 : draw(random, 0, 9));
  attributes.set("offset", draw(random, -4, 4));
  attributes.set("softcap", random() % 4 ? 0.0 : 2.0);
  return attributes;
}

static void addMask(GpuCall &call, DType type, const Extents &extents,
                    Random &random) {
  Dims dims = {extents.b, extents.heads * extents.group, extents.s, extents.t};
  for (int64_t &extent : dims) {
    extent = random() % 3 == 0 ? 1 : extent;
  }
  call.operands.push_back(
      TensorInfo::whole(random() % 2 ? DType::Bool : type, dims));
}

/// A part of dimension `dim`, which all of `tensors` have.
static void cut(std::initializer_list<TensorInfo *> tensors, size_t dim,
                Random &random) {
  int64_t whole = (*tensors.begin())->global[dim];
  int64_t offset = draw(random, 0, whole - 1);
  int64_t extent = draw(random, 1, whole - offset);
  for (TensorInfo *tensor : tensors) {
    tensor->offset[dim] = offset;
    tensor->extents[dim] = extent;
  }
}

/// Some rows and heads of the result, and of what is summed.
static void cutCall(GpuCall &call, size_t of, Random &random) {
  TensorInfo &result = call.results[0], *operands = call.operands.data();
  auto maybe = [&](std::initializer_list<TensorInfo *> tensors, size_t dim) {
    if (random() % 3 == 0) {
      cut(tensors, dim, random);
    }
  };
  if (of == Q) {
    for (size_t dim : {0, 1, 2}) {
      maybe({&result, operands + Q, operands + Dy}, dim);
    }
    maybe({operands + K, operands + V}, 2);
    return;
  }
  // Some queries of some heads: other heads of keys get nothing.
  auto queries = {operands + Q, operands + Dy, operands + LseAt,
                  operands + DeltaAt};
  maybe(queries, 1);
  maybe(queries, 2);
  maybe({&result, operands + K, operands + V}, 2);
  if (random() % 3 == 0) {
    cut({&result}, 1, random);
  }
}

static GpuCall drawGradient(Random &random, DType type, bool isLarge) {
  Extents x = drawExtents(random, isLarge);
  int64_t h = x.heads * x.group;
  DType wide = sumType(type);
  GpuCall call;
  call.op = "nn.attention_gradient";
  call.attributes = drawAttributes(random, x.depth);
  size_t of = random() % 3;
  call.attributes.set("of", std::string(1, "qkv"[of]));
  call.operands = {TensorInfo::whole(type, {x.b, h, x.s, x.depth}),
                   TensorInfo::whole(type, {x.b, x.heads, x.t, x.depth}),
                   TensorInfo::whole(type, {x.b, x.heads, x.t, x.features}),
                   TensorInfo::whole(type, {x.b, h, x.s, x.features}),
                   TensorInfo::whole(wide, {x.b, h, x.s}),
                   TensorInfo::whole(wide, {x.b, h, x.s})};
  call.results = {call.operands[of]};
  call.results[0].type = random() % 2 ? type : wide;
  if (random() % 2) {
    addMask(call, type, x, random);
  }
  cutCall(call, of, random);
  return call;
}

static GpuCall drawLse(Random &random, DType type, bool isLarge) {
  GpuCall gradient = drawGradient(random, type, isLarge), call;
  call.op = "nn.attention_lse";
  call.attributes = gradient.attributes;
  call.attributes.set("nan", draw(random, 0, 1));
  auto whole = [&](size_t operand) {
    const TensorInfo &info = gradient.operands[operand];
    return TensorInfo::whole(info.type, info.global);
  };
  call.operands = {whole(Q), whole(K)};
  if (gradient.operands.size() > MaskAt) {
    call.operands.push_back(whole(MaskAt));
  }
  call.results = {whole(LseAt)};
  for (size_t dim : {0, 1, 2}) {
    if (random() % 3 == 0) {
      cut({call.results.data(), call.operands.data()}, dim, random);
    }
  }
  return call;
}

/// Weights are small, as they are of sums that are those of their rows.
static void enlarge(const TensorInfo &info, Bytes &values) {
  auto add = [&](auto zero) {
    for (size_t i = 0; i < values.size() / sizeof(zero); ++i) {
      std::memcpy(&zero, values.data() + i * sizeof(zero), sizeof(zero));
      zero += 4;
      std::memcpy(values.data() + i * sizeof(zero), &zero, sizeof(zero));
    }
  };
  info.type == DType::F64 ? add(double()) : add(float());
}

static std::vector<double> elementsOf(DType type, const Bytes &bytes) {
  std::vector<double> elements(bytes.size() / size_t(byteWidth(type)));
  auto read = [&](auto zero) {
    for (size_t i = 0; i < elements.size(); ++i) {
      std::memcpy(&zero, bytes.data() + i * sizeof(zero), sizeof(zero));
      elements[i] = double(load(zero));
    }
  };
  type == DType::F64   ? read(double())
  : type == DType::F32 ? read(float())
  : type == DType::F16 ? read(Half())
                       : read(BFloat());
  return elements;
}

/// Within what weights are rounded to, of the largest element.
static void expectClose(DType type, const std::vector<double> &made,
                        const std::vector<double> &expected, int round) {
  double step = type == DType::F64   ? 1e-12
                : type == DType::F32 ? 1e-5
                : type == DType::F16 ? 2e-3
                                     : 1e-2;
  double largest = 1;
  for (double y : expected) {
    largest = std::isfinite(y) ? std::max(largest, std::abs(y)) : largest;
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    double x = made[i], y = expected[i];
    bool isSame = x == y || (std::isnan(x) && std::isnan(y));
    ASSERT_TRUE(isSame || std::abs(x - y) <= step * largest)
        << "round " << round << ", element " << i << ": " << x << ", expected "
        << y;
  }
}

/// Runs `call` and compares it; what one of its operands has.
static void expectReference(CudaFixture &gpu, const GpuCall &call,
                            Random &random, int round) {
  std::vector<Bytes> values;
  for (const TensorInfo &operand : call.operands) {
    values.push_back(drawValues(operand, random));
  }
  if (call.operands.size() > LseAt) {
    enlarge(call.operands[LseAt], values[LseAt]);
  }
  auto made = runOnGpu(gpu, call, values);
  ASSERT_TRUE(made) << "round " << round;
  DType result = call.results[0].type;
  expectClose(call.operands[Q].type, elementsOf(result, *made),
              elementsOf(result, evaluateCall(call, values)), round);
}

static DType drawType(Random &random, bool isNarrow) {
  static constexpr DType types[] = {DType::F16, DType::BF16, DType::F32,
                                    DType::F64};
  return types[random() % (isNarrow ? 2 : 4)];
}

TEST(CudaAttentionGradient, IsWhatTheReferenceMakes) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Random random(1);
  int rounds = sampleSize(240, 36), onTensorCores = 0, byOperand[3] = {};
  for (int round = 0; round < rounds; ++round) {
    bool isNarrow = round % 3 != 0;
    GpuCall call = drawGradient(random, drawType(random, isNarrow),
                                /*isLarge=*/round % 2 == 0);
    auto gradient = GridAttentionGradient::of(call.site());
    ASSERT_TRUE(gradient) << "round " << round;
    onTensorCores += gradient->usesTensorCores;
    ++byOperand[gradient->plan.of];
    ASSERT_NO_FATAL_FAILURE(expectReference(gpu, call, random, round));
  }
  std::printf(
      "counted: gradients of attention of GPUs: %d, %d on tensor cores, "
      "by q %d, k %d, v %d\n",
      rounds, onTensorCores, byOperand[0], byOperand[1], byOperand[2]);
  EXPECT_GT(onTensorCores, rounds / 5);
  EXPECT_LT(onTensorCores, rounds);
  EXPECT_GT(*std::ranges::min_element(byOperand), 0);
}

TEST(CudaAttentionGradient, HasTheLogarithmsOfTheReference) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Random random(2);
  int rounds = sampleSize(80, 12), onTensorCores = 0;
  for (int round = 0; round < rounds; ++round) {
    GpuCall call = drawLse(random, drawType(random, round % 3 != 0),
                           /*isLarge=*/round % 2 == 0);
    auto attention = GridAttention::of(call.site());
    ASSERT_TRUE(attention && attention->makesLse) << "round " << round;
    onTensorCores += attention->usesTensorCores();
    ASSERT_NO_FATAL_FAILURE(expectReference(gpu, call, random, round));
  }
  std::printf("counted: logarithms of attention of GPUs: %d, %d on tensor "
              "cores\n",
              rounds, onTensorCores);
  EXPECT_GT(onTensorCores, 0);
}
