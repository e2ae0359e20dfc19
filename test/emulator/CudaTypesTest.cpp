//===- CudaTypesTest.cpp - Regions of all types on GPUs -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions are drawn of operators on integers, logical values and floats, with
// casts between, broadcasts and uneven boxes. Floats are few eighths, and few
// of them are multiplied, so that all of it is exact: the bits are the
// reference's. (What is rounded: GridKernelsTest.)
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GridKernels.h"
#include "divisi/runtime/kernels/Element.h"
#include "test/Sample.h"
#include "test/emulator/CudaCalls.h"
#include "test/emulator/KernelTarget.h"

#include <algorithm>
#include <cstring>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

namespace {

/// Draws one region, part by part, each of which takes what the last one made.
class TypedRegion {
public:
  explicit TypedRegion(Random &random);
  const GpuCall &call() const { return call_; }

private:
  TensorInfo operand(DType type);
  int addOperand(DType type);
  void addPart(const std::string &op, std::vector<int> values, DType type,
               Attributes attributes = {});
  void addUnary();
  void addBinary();
  void addSelect();
  void addCast(DType to);
  template <typename T> T pick(std::initializer_list<T> choices) {
    return *(choices.begin() + draw(random_, 0, int64_t(choices.size()) - 1));
  }

  /// Numbers of parts, until it is known how many operands there are.
  static constexpr int firstPart = 1000;

  Random &random_;
  GpuCall call_;
  TensorInfo whole_; ///< Of all that is made.
  DType type_;       ///< Of the last part, ...
  int last_;         ///< ... which has this number.
  int products_ = 0;
};

} // namespace

static constexpr DType types[] = {
    DType::F64, DType::F32, DType::I8,  DType::I16, DType::I32, DType::I64,
    DType::U8,  DType::U16, DType::U32, DType::U64, DType::Bool};
/// In which nothing is computed further: each part of the reference rounds.
static constexpr DType lastTypes[] = {
    DType::F16,        DType::BF16,   DType::I2,         DType::U2,
    DType::I4,         DType::U4,     DType::F4E2M1,     DType::F8E4M3FN,
    DType::F8E4M3FNUZ, DType::F8E5M2, DType::F8E5M2FNUZ, DType::F8E8M0};

TypedRegion::TypedRegion(Random &random) : random_(random) {
  call_.op = std::string(fusedOp);
  for (int64_t d = draw(random, 1, 3); d > 0; --d) {
    int64_t global = draw(random, 2, 23), first = draw(random, 0, global - 1);
    whole_.global.push_back(global);
    whole_.offset.push_back(first);
    whole_.extents.push_back(draw(random, 1, global - first));
  }
  type_ = types[random() % std::size(types)];
  last_ = addOperand(type_);
  addBinary(); // of which the result is whole
  for (int64_t part = draw(random, 1, 4); part > 0; --part) {
    switch (draw(random, 0, 4)) {
    case 0:
      addUnary();
      break;
    case 1:
      addSelect();
      break;
    case 2:
      addCast(types[random() % std::size(types)]);
      break;
    default:
      addBinary();
    }
  }
  if (random() % 3 == 0) {
    addCast(lastTypes[random() % std::size(lastTypes)]);
  }
  auto operands = int(call_.operands.size());
  for (RegionPart &part : call_.region.parts) {
    for (int &value : part.operands) {
      value = value < firstPart ? value : value - firstPart + operands;
    }
  }
  call_.region.results = {last_ - firstPart + operands};
  call_.results = {call_.region.parts.back().results[0]};
}

/// Of all of the box, or of one element along some dimensions.
TensorInfo TypedRegion::operand(DType type) {
  TensorInfo info = whole_;
  info.type = type;
  for (size_t d = 0; d < info.rank(); ++d) {
    if (random_() % 4 == 0) {
      info.global[d] = info.extents[d] = 1;
      info.offset[d] = 0;
    }
  }
  return info;
}

int TypedRegion::addOperand(DType type) {
  call_.operands.push_back(operand(type));
  return int(call_.operands.size()) - 1;
}

void TypedRegion::addPart(const std::string &op, std::vector<int> values,
                          DType type, Attributes attributes) {
  TensorInfo info = whole_;
  info.type = type_ = type;
  last_ = call_.add(op, std::move(values), info, std::move(attributes)) -
          int(call_.operands.size()) + firstPart;
}

void TypedRegion::addUnary() {
  bool isBool = type_ == DType::Bool, isFloat = isFloatType(type_);
  std::string op =
      isBool    ? "nn.not"
      : isFloat ? pick({"nn.neg", "nn.abs", "nn.sign", "nn.relu", "nn.floor",
                        "nn.ceil", "nn.round"})
                : pick({"nn.neg", "nn.abs", "nn.sign", "nn.relu", "nn.not"});
  addPart(op, {last_}, type_);
}

void TypedRegion::addBinary() {
  int other = addOperand(type_);
  if (random_() % 6 == 0) {
    std::string predicate = pick({"eq", "ne", "lt", "le", "gt", "ge"});
    return addPart("nn.compare", {last_, other}, DType::Bool,
                   {{"predicate", predicate}});
  }
  std::string op;
  Attributes attributes;
  if (type_ == DType::Bool) {
    op = pick({"nn.and", "nn.or", "nn.xor", "nn.max", "nn.min"});
  } else if (isFloatType(type_)) {
    op = pick({"nn.add", "nn.sub", "nn.mul", "nn.max", "nn.min"});
    op = op == "nn.mul" && ++products_ > 1 ? "nn.add" : op;
  } else {
    op = pick({"nn.add", "nn.sub", "nn.mul", "nn.max", "nn.min", "nn.and",
               "nn.or", "nn.xor", "nn.div", "nn.mod", "nn.shift", "nn.pow"});
    if (op == "nn.mod") {
      attributes.set("fmod", draw(random_, 0, 1));
    } else if (op == "nn.shift") {
      attributes.set("left", draw(random_, 0, 1));
    }
  }
  addPart(op, {last_, other}, type_, std::move(attributes));
}

void TypedRegion::addSelect() {
  int condition = addOperand(DType::Bool), other = addOperand(type_);
  addPart("nn.select", {condition, last_, other}, type_);
}

void TypedRegion::addCast(DType to) {
  Attributes attributes;
  if (isFloatType(to) && bitWidth(to) == 8) {
    attributes.set("saturate", draw(random_, 0, 1));
  }
  addPart("nn.cast", {last_}, to, std::move(attributes));
}

static bool isSigned(DType type) {
  return type == DType::I8 || type == DType::I16 || type == DType::I32 ||
         type == DType::I64;
}

static bool hasFloats(const GpuCall &call) {
  return std::ranges::any_of(call.region.parts, [](const RegionPart &part) {
    return isFloatType(part.results[0].type);
  });
}

/// Few eighths, and small integers; any where floats do not come of them.
static Bytes drawAny(const TensorInfo &info, bool areSmall, Random &random) {
  Bytes bytes = drawValues(info, random);
  if (isFloatType(info.type) || info.type == DType::Bool) {
    return bytes;
  }
  int64_t width = byteWidth(info.type), least = isSigned(info.type) ? -4 : 0;
  bool isAny = !areSmall && random() % 2;
  for (int64_t i = 0; i < info.count(); ++i) {
    int64_t number = isAny ? int64_t(random()) << 32 | int64_t(random())
                           : draw(random, least, least + 8);
    std::memcpy(bytes.data() + i * width, &number, size_t(width));
  }
  return bytes;
}

/// The same on all of the tensors.
static GpuCall wholeOf(GpuCall call) {
  auto widen = [](std::vector<TensorInfo> &infos) {
    for (TensorInfo &info : infos) {
      info = TensorInfo::whole(info.type, info.global);
    }
  };
  widen(call.operands);
  widen(call.results);
  for (RegionPart &part : call.region.parts) {
    widen(part.results);
  }
  return call;
}

/// The call on drawn numbers; what the reference does else.
static void expectTheReference(CudaFixture &gpu, const GpuCall &call,
                               Random &random) {
  std::vector<Bytes> values;
  for (const TensorInfo &info : call.operands) {
    values.push_back(drawAny(info, hasFloats(call), random));
  }
  auto made = runOnGpu(gpu, call, values);
  ASSERT_TRUE(made);
  ASSERT_EQ(*made, evaluateCall(call, values)) << gridStructure(call.site());
}

TEST(CudaTypes, ComputeWhatTheReferenceDoes) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Random random(5);
  const int rounds = sampleSize(800);
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    TypedRegion drawn(random);
    expectTheReference(gpu, drawn.call(), random);
    expectTheReference(gpu, wholeOf(drawn.call()), random);
  }
  std::printf("counted: regions of all types on GPUs: %d\n", rounds);
}
