//===- CudaMatmulTest.cpp - Products of the backend `cuda` ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulated libraries are linked, so they are what the tables find.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Element.h"
#include "test/Sample.h"
#include "test/emulator/CudaCalls.h"
#include "test/emulator/KernelTarget.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;
using testing::HasSubstr;

using Call = GpuCall;

static double valueAt(const Bytes &bytes, DType type, int64_t at) {
  auto as = [&](auto value) {
    std::memcpy(&value, bytes.data() + at * int64_t(sizeof(value)),
                sizeof(value));
    return value;
  };
  switch (type) {
  case DType::F64:
    return as(double());
  case DType::F16:
    return float(as(Half()));
  case DType::BF16:
    return float(as(BFloat()));
  default:
    return as(float());
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// A label of a drawn product: where it stands, and what the call has of it.
struct Label {
  char letter;
  bool isIn[3];
  int64_t begin, extent, global;
};

} // namespace

static std::vector<Label> drawLabels(Random &random) {
  static constexpr bool kinds[4][3] = {{true, true, true},
                                       {true, false, true},
                                       {false, true, true},
                                       {true, true, false}};
  std::vector<Label> labels;
  for (const auto &kind : kinds) {
    for (unsigned count = random() % 3; count > 0; --count) {
      Label label{char('a' + labels.size()), {}, 0, 0, 0};
      std::copy_n(kind, 3, label.isIn);
      label.begin = int64_t(random() % 3);
      label.extent = 1 + int64_t(random() % (labels.size() < 4 ? 9 : 4));
      // A rank may have nothing of what is summed.
      label.extent = kind[2] || random() % 10 != 0 ? label.extent : 0;
      label.global = label.begin + label.extent + int64_t(random() % 3);
      labels.push_back(label);
    }
  }
  return labels;
}

/// Of labels in any order, with boxes that have more than is wanted.
static Call drawProduct(Random &random) {
  std::vector<Label> labels = drawLabels(random);
  static constexpr DType types[] = {DType::F32, DType::F16, DType::BF16,
                                    DType::F64};
  DType type = types[random() % 4];
  Call call{"nn.matmul", {}, {}, {}, {}};
  std::string text[3];
  for (int t = 0; t < 3; ++t) {
    if (random() % 2 == 0) {
      std::shuffle(labels.begin(), labels.end(), random);
    }
    TensorInfo info;
    info.type = t == 2 && random() % 2 == 0 ? sumType(type) : type;
    for (const Label &label : labels) {
      if (!label.isIn[t]) {
        continue;
      }
      text[t] += label.letter;
      // Both operands have the same of what is summed.
      bool isExact = t == 2 || !label.isIn[2] || random() % 2 == 0;
      int64_t before = isExact ? 0 : std::min<int64_t>(label.begin, 1);
      int64_t end = label.begin + label.extent;
      int64_t behind = isExact ? 0 : std::min<int64_t>(label.global - end, 1);
      info.offset.push_back(label.begin - before);
      info.extents.push_back(before + label.extent + behind);
      info.global.push_back(label.global);
    }
    (t == 2 ? call.results : call.operands).push_back(info);
  }
  call.attributes.set("labels", text[0] + "," + text[1] + "->" + text[2]);
  return call;
}

TEST(CudaMatmul, MultipliesWhatTheReferenceMultiplies) {
  CudaFixture gpu;
  Random random(1);
  int taken = 0, rounds = sampleSize(1500);
  for (int round = 0; round < rounds; ++round) {
    Call call = drawProduct(random);
    std::vector<Bytes> values;
    for (const TensorInfo &operand : call.operands) {
      values.push_back(drawValues(operand, random));
    }
    auto made = runOnGpu(gpu, call, values);
    ASSERT_TRUE(made || kernelTarget().empty());
    if (!made) {
      continue;
    }
    taken += cudaBackend().find(call.site(), 1) != nullptr;
    ASSERT_EQ(*made, evaluateCall(call, values))
        << "round " << round << " " << call.attributes.getString("labels");
  }
  std::printf("counted: products of GPUs: %d of %d drawn ones by the library, "
              "the others by generated code\n",
              taken, rounds);
  EXPECT_GT(taken, rounds / 2);
}

static Call makeProduct(const std::string &labels, DType type, Dims left,
                        Dims right, Dims result) {
  Call call{"nn.matmul", {}, {}, {}, {}};
  call.attributes.set("labels", labels);
  call.operands = {TensorInfo::whole(type, std::move(left)),
                   TensorInfo::whole(type, std::move(right))};
  call.results = {TensorInfo::whole(type, std::move(result))};
  return call;
}

TEST(CudaMatmul, TakesWhatModelsHave) {
  for (DType type : {DType::F32, DType::F16, DType::BF16}) {
    for (const Call &call :
         {makeProduct("bmk,kn->bmn", type, {2, 3, 5}, {5, 7}, {2, 3, 7}),
          makeProduct("bmk,nk->bmn", type, {2, 3, 5}, {7, 5}, {2, 3, 7}),
          makeProduct("bshd,bthd->bhst", type, {2, 3, 5, 7}, {2, 9, 5, 7},
                      {2, 5, 3, 9}),
          makeProduct("bhst,bthd->bshd", type, {2, 5, 3, 9}, {2, 9, 5, 7},
                      {2, 3, 5, 7}),
          makeProduct("bshd,hde->bse", type, {2, 3, 5, 7}, {5, 7, 11},
                      {2, 3, 11}),
          makeProduct("km,kn->mn", type, {3, 5}, {3, 7}, {5, 7}),
          makeProduct("mk,k->m", type, {3, 5}, {5}, {3})}) {
      EXPECT_TRUE(cudaBackend().find(call.site(), 1))
          << call.attributes.getString("labels");
    }
  }
  EXPECT_TRUE(
      cudaBackend().find(makeProduct("bhsd,hde->bse", DType::F32, {2, 5, 3, 7},
                                     {5, 7, 11}, {2, 3, 11})
                             .site(),
                         1));
  EXPECT_FALSE(cudaBackend().find(
      makeProduct("mk,kn->mn", DType::I32, {2, 3}, {3, 4}, {2, 4}).site(), 1));
}

TEST(CudaMatmul, RoundsToTf32OnlyIfItMay) {
  CudaFixture gpu;
  Call call = makeProduct("mk,kn->mn", DType::F32, {1, 1}, {1, 1}, {1, 1});
  auto bytesOf = [](float value) {
    Bytes bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
  };
  float fine = 1 + 0x1p-12F;
  std::vector<Bytes> values = {bytesOf(fine), bytesOf(1)};
  EXPECT_EQ(*runOnGpu(gpu, call, values), bytesOf(fine));
  Bytes rounded = *runOnGpu(gpu, call, values, /*mayRound=*/true);
  EXPECT_TRUE(rounded == bytesOf(1) ||
              (!isEmulated() && rounded == bytesOf(fine)));
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// A product, and some of: a bias, a residual, a GELU, and what code does.
static Call drawRegion(Random &random) {
  static constexpr DType types[] = {DType::F32, DType::F16, DType::BF16};
  DType type = types[random() % 3];
  auto extent = [&] { return 1 + int64_t(random() % 9); };
  int64_t b = extent(), m = extent(), k = extent(), n = extent();
  Call call = makeProduct(random() % 2 == 0 ? "bmk,kn->bmn" : "bkm,kn->bmn",
                          type, {b, m, k}, {k, n}, {b, m, n});
  if (call.attributes.getString("labels") == "bkm,kn->bmn") {
    call.operands[0] = TensorInfo::whole(type, {b, k, m});
  }
  TensorInfo result = call.results[0];
  call.operands.push_back(TensorInfo::whole(type, {n}));       // 2
  call.operands.push_back(TensorInfo::whole(type, {b, m, n})); // 3
  call.operands.push_back(TensorInfo::whole(type, {b, 1, n})); // 4
  int value = call.add("nn.matmul", {0, 1}, result, call.attributes);
  call.op = fusedOp;
  call.attributes = Attributes();
  auto add = [&](int other) {
    value = call.add("nn.add",
                     random() % 2 == 0 ? std::vector{value, other}
                                       : std::vector{other, value},
                     result);
  };
  for (unsigned steps = 1 + random() % 3; steps > 0; --steps) {
    add(2 + int(random() % 3));
  }
  if (random() % 3 != 0) {
    Attributes kind;
    kind.set("approximate", std::string(random() % 2 == 0 ? "tanh" : "none"));
    value = call.add("nn.gelu", {value}, result, kind);
  }
  if (random() % 3 == 0) {
    value = call.add("nn.mul", {value, 3}, result);
  }
  if (random() % 4 == 0) {
    Attributes axis;
    axis.set("axis", int64_t(2));
    axis.set("log", int64_t(0));
    value = call.add("nn.softmax", {value}, result, axis);
  }
  call.region.results = {value};
  // Nobody reads the others.
  for (int operand = 4; operand >= 2; --operand) {
    bool isRead =
        std::ranges::any_of(call.region.parts, [&](const RegionPart &part) {
          return std::ranges::count(part.operands, operand) != 0;
        });
    if (!isRead) {
      call.operands.erase(call.operands.begin() + operand);
      for (RegionPart &part : call.region.parts) {
        for (int &read : part.operands) {
          read -= read > operand;
        }
      }
      --call.region.results[0];
    }
  }
  return call;
}

/// Numbers of a type may differ by so much where one of the two rounds less.
static double toleranceOf(DType type) {
  return type == DType::F32 ? 1e-5 : type == DType::F16 ? 4e-3 : 4e-2;
}

TEST(CudaMatmul, GoesOnAsTheRegionDoes) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Random random(2);
  int regions = 0;
  const int rounds = sampleSize(200, 40);
  for (int round = 0; round < rounds; ++round) {
    Call call = drawRegion(random);
    std::vector<Bytes> values;
    for (const TensorInfo &operand : call.operands) {
      values.push_back(drawValues(operand, random));
    }
    auto made = runOnGpu(gpu, call, values);
    if (!made && call.results[0].extents[2] == 1) {
      continue; // no code has rows of one element
    }
    ASSERT_TRUE(made) << "round " << round;
    ++regions;
    Bytes expected = evaluateCall(call, values);
    DType type = call.results[0].type;
    for (int64_t i = 0; i < call.results[0].count(); ++i) {
      double got = valueAt(*made, type, i), want = valueAt(expected, type, i);
      ASSERT_LE(std::abs(got - want),
                toleranceOf(type) * std::max(16.0, std::abs(want)))
          << "round " << round << " element " << i << ": " << got << " for "
          << want;
    }
  }
  std::printf("counted: regions of GPUs with a product: %d\n", regions);
  EXPECT_GT(regions, rounds / 2);
}

/// Whose result has the product's box, and another order.
TEST(CudaMatmul, IsNotWrittenOverWhatIsReadInAnotherOrder) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  Call call =
      makeProduct("bmk,kn->bmn", DType::F32, {4, 4, 2}, {2, 33}, {4, 4, 33});
  TensorInfo result = call.results[0];
  int value = call.add(call.op, {0, 1}, result, call.attributes);
  call.op = fusedOp;
  call.attributes = Attributes();
  Attributes order;
  order.set("permutation", Dims{1, 0, 2});
  value = call.add("nn.transpose", {value}, result, order);
  call.region.results = {call.add("nn.relu", {value}, result)};
  Random random(6);
  std::vector<Bytes> values;
  for (const TensorInfo &operand : call.operands) {
    values.push_back(drawValues(operand, random));
  }
  auto made = runOnGpu(gpu, call, values);
  ASSERT_TRUE(made);
  EXPECT_EQ(*made, evaluateCall(call, values));
}

//===----------------------------------------------------------------------===//
// What the emulator refuses
//===----------------------------------------------------------------------===//

TEST(EmulatedBlas, RefusesWhatIsNotAligned) {
  expectAlignment(makeProduct("mk,kn->mn", DType::F32, {4, 4}, {4, 4}, {4, 4}),
                  "cuBLASLt cannot do a product: CUBLAS_STATUS_INVALID_VALUE");
}

/// Comes last: what is wrong with a device stays wrong.
TEST(EmulatedBlasRace, IsReportedWhateverTheOrder) {
  CudaFixture gpu;
  Call call = makeProduct("mk,kn->mn", DType::F32, {4, 4}, {4, 4}, {4, 4});
  CallSite site = call.site();
  const Kernel *kernel = cudaBackend().find(site, 1);
  ASSERT_TRUE(kernel);
  std::string error;
  auto prepared = kernel->prepare(site, error);
  ASSERT_TRUE(gpu.device->makeReady(*prepared).isOk());
  auto allocate = [&](int64_t bytes) {
    return std::move(*gpu.device->allocate(bytes));
  };
  auto a = allocate(64), c = allocate(64),
       workspace = allocate(kernel->query(site).workspaceBytes);
  auto other = std::move(*gpu.device->makeQueue());
  std::vector<const void *> operands = {a->data(), a->data()};
  std::vector<void *> results = {c->data()};
  LaunchContext context{operands, results, workspace->data()};
  context.queue = gpu.queue.get();
  ASSERT_TRUE(prepared->launch(context).isOk());
  ASSERT_TRUE(
      gpu.device->fill(other.get(), DType::F32, ReduceKind::Sum, c->data(), 16)
          .isOk());
  Status status = gpu.finish();
  status = status.isOk() ? gpu.finish(*other) : status;
  EXPECT_THAT(status.message(), HasSubstr("nothing says which comes first"));
}
