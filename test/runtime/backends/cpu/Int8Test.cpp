//===- Int8Test.cpp - Products of bytes and what follows them -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions and contractions of bytes, drawn at random with signs, zero
// points, groups, strides, pads, boxes of the result and formats, alone and
// with what models do behind them, by oneDNN and by the reference. Sums are
// equal. What is rounded behind them may be rounded to the other neighbour:
// that is one step of a code, and rare.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/Int8Epilogue.h"
#include "test/Sample.h"
#include "test/runtime/kernels/Tensors.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <iostream>
#include <map>
#include <random>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::test;

namespace {

/// A product with its region, empty if it is alone, and its operands.
struct Call {
  std::string op;
  Attributes attributes;
  Region region;
  std::vector<Tensor> operands;
  std::vector<bool> isConstant;
  TensorInfo result;
  bool hasCodeBetween = false; ///< A code is rounded twice.
};

class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}

  Call draw();

private:
  int64_t below(int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random_);
  }
  bool coin() { return below(2) == 0; }
  float real(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  DType byteType() { return coin() ? DType::I8 : DType::U8; }

  int add(Tensor tensor, bool isConstant);
  int addBytes(DType type, Dims dims);
  int addNumbers(Dims dims, float low, float high);
  int addZero(DType type, size_t rank);
  void drawConv();
  void drawMatmul();
  void drawBox(const Dims &dims);
  void drawRegion(const Dims &channel);
  int part(const char *op, std::vector<int> operands, DType type,
           Attributes attributes = {});
  int scaled(const char *op, int value, DType code, float scale);

  std::mt19937 random_;
  Call call_;
  double terms_ = 1; ///< Products in a sum.
};

} // namespace

int Draw::add(Tensor tensor, bool isConstant) {
  call_.operands.push_back(std::move(tensor));
  call_.isConstant.push_back(isConstant);
  return int(call_.operands.size()) - 1;
}

int Draw::addBytes(DType type, Dims dims) {
  Tensor tensor(TensorInfo::whole(type, std::move(dims)));
  for (std::byte &byte : tensor.data) {
    // The ends often: their products are the largest.
    byte = std::byte(below(8) == 0 ? (coin() ? 0x80 : 0x7f) : below(256));
  }
  return add(std::move(tensor), false);
}

int Draw::addNumbers(Dims dims, float low, float high) {
  std::vector<float> values(size_t(numElements(dims)));
  for (float &value : values) {
    value = real(low, high);
  }
  return add(make<float>(dims, values), true);
}

int Draw::addZero(DType type, size_t rank) {
  Tensor zero(TensorInfo::whole(type, Dims(rank, 1)));
  zero.data[0] = std::byte(below(256));
  return add(std::move(zero), true);
}

/// A part of the result, as one of several ranks has it, or all of it.
void Draw::drawBox(const Dims &dims) {
  call_.result = TensorInfo::whole(DType::I32, dims);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (below(4) == 0) {
      call_.result.offset[d] = below(dims[d]);
      call_.result.extents[d] = 1 + below(dims[d] - call_.result.offset[d]);
    }
  }
}

void Draw::drawConv() {
  static constexpr int64_t channels[] = {1, 3, 4, 7, 16, 33, 64};
  int64_t spatial = 1 + below(3), groups = below(3) == 0 ? 1 + below(4) : 1;
  int64_t in = channels[below(7)], out = channels[below(7)];
  if (below(4) == 0) {
    groups = std::max(in, out), in = out = 1; // depthwise
  }
  Dims x{1 + below(3), groups * in}, w{groups * out, in}, y{x[0], w[0]};
  Dims strides, dilations, low, high;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t taps = 1 + below(3), dilation = 1 + below(2);
    int64_t reach = (taps - 1) * dilation + 1;
    x.push_back(reach + below(9));
    w.push_back(taps);
    dilations.push_back(dilation);
    strides.push_back(1 + below(2));
    low.push_back(below(reach));
    high.push_back(below(reach));
    y.push_back((x.back() + low.back() + high.back() - reach) /
                    strides.back() +
                1);
  }
  DType xType = byteType(), wType = below(4) == 0 ? DType::U8 : DType::I8;
  int64_t zero = xType == DType::U8 ? below(256) : below(256) - 128;
  call_.op = "nn.conv_integer";
  call_.attributes = {{"strides", strides},
                      {"dilations", dilations},
                      {"pads_lo", low},
                      {"pads_hi", high},
                      {"groups", groups},
                      {"x_zero", coin() ? zero : int64_t(0)},
                      {"w_zero", int64_t(wType == DType::U8 ? 128 : 0)}};
  addBytes(xType, x);
  addBytes(wType, w);
  call_.isConstant[1] = below(8) != 0;
  terms_ = double(numElements(w)) / double(w[0]);
  drawBox(y);
  if (coin()) {
    call_.result.format = channelsLast;
  }
  if (coin()) {
    call_.operands[0].info.format = channelsLast;
  }
  if (below(6) != 0) {
    Dims channel(y.size(), 1);
    channel[1] = y[1];
    drawRegion(channel);
  }
}

void Draw::drawMatmul() {
  static constexpr const char *labels[] = {"mk,kn->mn",       "bmk,kn->bmn",
                                           "bmk,bkn->bmn",    "mk,nk->mn",
                                           "bshd,bthd->bhst", "bhst,bthd->bshd",
                                           "bsk,khd->bshd",   "km,kn->nm"};
  std::string text = labels[below(8)];
  std::map<char, int64_t> extents;
  auto dimsOf = [&](const std::string &letters) {
    Dims dims;
    for (char letter : letters) {
      auto [at, isNew] = extents.try_emplace(letter, 1 + below(40));
      dims.push_back(at->second);
    }
    return dims;
  };
  size_t comma = text.find(','), arrow = text.find("->");
  Dims a = dimsOf(text.substr(0, comma));
  Dims b = dimsOf(text.substr(comma + 1, arrow - comma - 1));
  Dims y = dimsOf(text.substr(arrow + 2));
  DType aType = byteType(), bType = byteType();
  auto zeroOf = [&](DType type) {
    int64_t zero = type == DType::U8 ? below(256) : below(256) - 128;
    return coin() ? zero : int64_t(0);
  };
  call_.op = "nn.matmul_integer";
  call_.attributes = {{"labels", text},
                      {"a_zero", zeroOf(aType)},
                      {"b_zero", zeroOf(bType)}};
  addBytes(aType, a);
  addBytes(bType, b);
  call_.isConstant[1] = coin();
  terms_ = double(numElements(a)) * double(numElements(b)) /
           double(numElements(y));
  drawBox(y);
  if (below(6) != 0) {
    Dims channel(y.size(), 1);
    channel.back() = y.back();
    drawRegion(channel);
  }
}

/// Parts are drawn with the numbers of operands, whose count is not known yet:
/// part p is value -1 - p.
int Draw::part(const char *op, std::vector<int> operands, DType type,
               Attributes attributes) {
  TensorInfo info = call_.result;
  info.type = type;
  info.format.clear();
  call_.region.parts.push_back({op,
                                kernelVersion(op).value(),
                                std::move(attributes),
                                std::move(operands),
                                {info}});
  return -int(call_.region.parts.size());
}

/// nn.quantize or nn.dequantize with one scale; `code` is the narrow type.
int Draw::scaled(const char *op, int value, DType code, float scale) {
  size_t rank = call_.result.rank();
  std::vector<int> operands = {value,
                               addNumbers(Dims(rank, 1), scale, scale)};
  if (coin()) {
    operands.push_back(addZero(code, rank));
  }
  bool isQuantize = std::string(op) == "nn.quantize";
  return part(op, operands, isQuantize ? code : DType::F32,
              {{"axis", int64_t(0)}, {"block", int64_t(1)}});
}

/// Sums become numbers of about 1, which codes hold in steps of 1/40.
void Draw::drawRegion(const Dims &channel) {
  constexpr float step = 1.0f / 40;
  size_t rank = channel.size();
  auto isWhole = [&] { return coin() ? channel : Dims(rank, 1); };
  int value = part(call_.op.c_str(), {0, 1}, DType::I32, call_.attributes);
  if (below(4) == 0) {
    Dims dims = isWhole();
    std::vector<int32_t> biases(size_t(numElements(dims)));
    for (int32_t &bias : biases) {
      bias = int32_t(below(20000)) - 10000;
    }
    value = part("nn.add", {add(make<int32_t>(dims, biases), true), value},
                 DType::I32);
  }
  float size = 1.0f / (4000 * std::sqrt(float(terms_)));
  value = part("nn.dequantize",
               {value, addNumbers(isWhole(), size / 2, size)}, DType::F32,
               {{"axis", int64_t(0)}, {"block", int64_t(1)}});
  TensorInfo other = call_.result;
  for (int64_t parts = below(6); parts > 0; --parts) {
    switch (below(7)) {
    case 0:
      value = part("nn.add", {value, addNumbers(isWhole(), -1, 1)}, DType::F32);
      break;
    case 1:
      value = part("nn.relu", {value}, DType::F32);
      break;
    case 2:
      value = part("nn.min", {addNumbers({}, 0.5, 2), value}, DType::F32);
      break;
    case 3: {
      DType code = byteType();
      value = scaled("nn.quantize", value, code, step);
      std::vector<int> operands = call_.region.parts.back().operands;
      operands[0] = value;
      value = part("nn.dequantize", operands, DType::F32,
                   {{"axis", int64_t(0)}, {"block", int64_t(1)}});
      call_.hasCodeBetween = true;
      break;
    }
    case 4: {
      Tensor tensor(other);
      tensor.info.type = byteType();
      tensor.data.resize(size_t(tensor.info.bytes()));
      for (std::byte &byte : tensor.data) {
        byte = std::byte(below(256));
      }
      DType type = tensor.info.type;
      std::vector<int> operands = {value, add(std::move(tensor), false),
                                   addNumbers(Dims(rank, 1), 0.43f * step,
                                              0.43f * step)};
      if (coin()) {
        operands.push_back(addZero(type, rank));
      }
      value = part("nn.add_dequantized", operands, DType::F32);
      break;
    }
    case 5:
      value = part("nn.mul", {value, addNumbers({}, -1, 1)}, DType::F32);
      break;
    default:
      value = part("nn.gelu", {value}, DType::F32, {{"approximate", "none"}});
    }
  }
  if (below(5) != 0) {
    value = scaled("nn.quantize", value, byteType(), step);
  }
  call_.result.type = call_.region.parts.back().results[0].type;
  auto renumber = [&](int &operand) {
    operand = operand < 0 ? int(call_.operands.size()) - 1 - operand : operand;
  };
  for (RegionPart &made : call_.region.parts) {
    std::for_each(made.operands.begin(), made.operands.end(), renumber);
  }
  renumber(value);
  call_.region.results = {value};
}

Call Draw::draw() {
  call_ = {};
  if (coin()) {
    drawConv();
  } else {
    drawMatmul();
  }
  return std::move(call_);
}

/// What `kernel` computes of the call.
static std::vector<std::byte> run(const Kernel &kernel, const CallSite &site,
                                  const Call &call) {
  std::string error;
  std::unique_ptr<PreparedKernel> prepared = kernel.prepare(site, error);
  EXPECT_TRUE(prepared) << error;
  std::vector<std::byte> made(size_t(call.result.bytes()));
  if (!prepared) {
    return made;
  }
  std::vector<const void *> operands;
  for (const Tensor &operand : call.operands) {
    operands.push_back(operand.data.data());
  }
  dropUnread(*prepared, operands);
  std::vector<std::byte> storage(
      size_t(kernel.query(site).workspaceBytes) + 64, std::byte(0xff));
  void *workspace =
      storage.data() + (-reinterpret_cast<uintptr_t>(storage.data()) & 63);
  void *result = made.data();
  LaunchContext context{operands, {&result, 1}, workspace, site.threads};
  EXPECT_TRUE(prepared->launch(context).isOk());
  return made;
}

namespace {

/// How far results are from those that are expected.
struct Difference {
  double most = 0;   ///< In steps, or in numbers.
  int64_t count = 0; ///< Of codes that differ.
};

} // namespace

template <typename T>
static Difference differ(const std::vector<std::byte> &got,
                         const std::vector<std::byte> &wanted) {
  Difference difference;
  for (size_t i = 0; i < got.size(); i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, &got[i], sizeof(T));
    std::memcpy(&b, &wanted[i], sizeof(T));
    double by = std::abs(double(a) - double(b));
    difference.most = std::max(difference.most, std::isnan(by) ? 1e30 : by);
    difference.count += by != 0;
  }
  return difference;
}

static Difference differ(DType type, const std::vector<std::byte> &got,
                         const std::vector<std::byte> &wanted) {
  switch (type) {
  case DType::I8:
    return differ<int8_t>(got, wanted);
  case DType::U8:
    return differ<uint8_t>(got, wanted);
  case DType::I32:
    return differ<int32_t>(got, wanted);
  default:
    return differ<float>(got, wanted);
  }
}

TEST(Int8, ProductsAreThoseOfTheReference) {
  if (!cpu::sumsBytesExactly()) {
    GTEST_SKIP() << "this processor does not sum products of bytes exactly, so "
                    "that no kernel takes them";
  }
  const unsigned cases = divisi::test::sampleSize(2500u, 250u);
  int64_t taken = 0, alone = 0, codes = 0, off = 0;
  for (unsigned seed = 0; seed < cases; ++seed) {
    Call call = Draw(seed).draw();
    std::vector<TensorInfo> infos;
    std::vector<Constant> constants;
    for (size_t i = 0; i < call.operands.size(); ++i) {
      infos.push_back(call.operands[i].info);
      constants.push_back(call.isConstant[i] ? call.operands[i].data.data()
                                             : nullptr);
    }
    bool isAlone = call.region.parts.empty();
    Attributes none;
    CallSite site{isAlone ? std::string_view(call.op) : fusedOp,
                  isAlone ? call.attributes : none,
                  infos,
                  {&call.result, 1},
                  constants,
                  1 + int(seed % 2)};
    site.region = isAlone ? nullptr : &call.region;
    const Kernel *kernel = cpuBackend().find(site);
    const Kernel *reference = referenceBackend().find(site);
    ASSERT_TRUE(reference) << "seed " << seed;
    bool isTaken = false;
    for (auto family : {cpu::int8ConvKernels(), cpu::int8MatmulKernels()}) {
      isTaken |= kernel && kernel->prepare == family[0].prepare;
    }
    if (!isTaken) {
      continue;
    }
    ++taken;
    alone += isAlone;
    Difference difference = differ(call.result.type, run(*kernel, site, call),
                                   run(*reference, site, call));
    bool isCode = byteWidth(call.result.type) == 1;
    codes += isCode ? call.result.count() : 0;
    off += isCode ? difference.count : 0;
    double step = call.hasCodeBetween ? 1.0 / 40 : 0;
    double bound = isAlone ? 0 : isCode ? (step != 0 ? 4 : 1) : 1e-4 + 4 * step;
    EXPECT_LE(difference.most, bound) << "seed " << seed;
  }
  std::cout << taken << " of " << cases << " calls, " << alone
            << " of them products alone; " << off << " of " << codes
            << " codes differ\n";
  EXPECT_GT(taken, cases * 3 / 4);
  EXPECT_GT(alone, cases / 20);
  EXPECT_LT(double(off), 1e-3 * double(codes));
}
