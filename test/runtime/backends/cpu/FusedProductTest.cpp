//===- FusedProductTest.cpp - Regions that begin with a product -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Int8.h"
#include "test/runtime/backends/cpu/FusedCalls.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::test;

// A matrix that is copied while the call is prepared is in no workspace.
TEST(FusedProductTest, aConstantIsCopiedOnce) {
  Attributes attributes;
  attributes.set("labels", std::string("mk,akn->amn"));
  auto expect = [&](std::string_view op, DType type, DType sum) {
    TensorInfo infos[] = {TensorInfo::whole(type, {2, 32}),
                          TensorInfo::whole(type, {4, 32, 64})};
    TensorInfo result = TensorInfo::whole(sum, {4, 2, 64});
    Constant constants[] = {Constant(), Constant(&infos)};
    CallSite site{op, attributes, infos, {&result, 1}};
    auto workspace = [&] {
      return cpuBackend().find(site)->query(site).workspaceBytes;
    };
    EXPECT_GE(workspace(), infos[1].bytes());
    site.constants = constants;
    EXPECT_LT(workspace(), infos[1].bytes());
  };
  expect("nn.matmul", DType::F32, DType::F32);
  if (cpu::sumsBytesExactly()) {
    expect("nn.matmul_integer", DType::I8, DType::I32);
  }
}

namespace {

/// Draws a product whose groups have several dimensions, and what goes on with
/// it: operands that are broadcast along some dimensions, in all ways.
class ProductDraw {
public:
  explicit ProductDraw(unsigned seed) : random_(seed) {}

  /// Of at least so many `m` and `n`.
  FusedCall draw(int64_t leastRows = 1, int64_t leastColumns = 1) {
    static const char *const all[] = {
        "mk,kn->mn",     "bsk,kn->bsn",  "bsk,knh->bsnh",
        "bsk,knh->bnsh", "bmk,bkn->bmn", "km,kn->nm",
        "bsk,nhk->bsnh", "k,kn->n",      "abmk,abnk->abmn"};
    std::string labels = all[below(std::size(all))];
    std::map<char, int64_t> extents;
    for (char label : labels) {
      extents[label] =
          below(below(4) == 0 ? 40 : 5) + (label == 'm'   ? leastRows
                                           : label == 'n' ? leastColumns
                                                          : 1);
    }
    size_t comma = labels.find(','), arrow = labels.find("->");
    auto dimsOf = [&](size_t begin, size_t end) {
      Dims dims;
      for (; begin < end; ++begin) {
        dims.push_back(extents[labels[begin]]);
      }
      return dims;
    };
    FusedCall call;
    call.operands = {tensor(dimsOf(0, comma)),
                     tensor(dimsOf(comma + 1, arrow))};
    TensorInfo result =
        TensorInfo::whole(DType::F32, dimsOf(arrow + 2, labels.size()));
    call.region.parts = {{"nn.matmul",
                          kernelVersion("nn.matmul").value(),
                          {},
                          {0, 1},
                          {result}}};
    call.region.parts[0].attributes.set("labels", labels);
    int parts = 1 + static_cast<int>(below(4));
    int value = 2 + parts;
    call.operands.resize(2);
    for (int p = 0; p < parts; ++p) {
      call.operands.push_back(tensor(broadcast(result.extents)));
    }
    for (int p = 0; p < parts; ++p, ++value) {
      RegionPart part{pick({"nn.add", "nn.mul", "nn.sub", "nn.gelu", "nn.silu",
                            "nn.relu", "nn.max", "nn.hard_swish"}),
                      1,
                      {},
                      {value},
                      {result}};
      part.version = kernelVersion(part.op).value();
      if (part.op == "nn.gelu") {
        part.attributes.set("approximate", std::string("none"));
      } else if (part.op != "nn.silu" && part.op != "nn.relu" &&
                 part.op != "nn.hard_swish") {
        part.operands.insert(part.operands.begin() + below(2), 2 + p);
      }
      call.region.parts.push_back(std::move(part));
    }
    call.region.results = {value};
    return call;
  }

  /// Without those.
  Tensor numbers(const Dims &dims) {
    std::vector<float> values(static_cast<size_t>(numElements(dims)));
    for (float &value : values) {
      value = std::uniform_real_distribution<float>(-2, 2)(random_);
    }
    return make<float>(dims, values);
  }

  int64_t below(int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random_);
  }

private:
  std::string pick(std::initializer_list<const char *> of) {
    return of.begin()[below(int64_t(of.size()))];
  }
  Dims broadcast(Dims dims) {
    int64_t way = below(4);
    for (size_t d = 0; d < dims.size(); ++d) {
      bool isLast = d + 1 == dims.size();
      if (way == 0 || (way == 1 && !isLast) || (way == 2 && below(2) == 0)) {
        dims[d] = 1;
      }
    }
    while (way == 1 && dims.size() > 1) {
      dims.erase(dims.begin());
    }
    return dims;
  }
  /// A few are NaN or infinite.
  Tensor tensor(const Dims &dims) {
    Tensor drawn = numbers(dims);
    if (below(8) == 0) {
      std::vector<float> values = drawn.values<float>();
      values[static_cast<size_t>(below(int64_t(values.size())))] =
          below(2) == 0 ? std::numeric_limits<float>::quiet_NaN()
                        : -std::numeric_limits<float>::infinity();
      return make<float>(dims, values);
    }
    return drawn;
  }

  std::mt19937 random_;
};

} // namespace

namespace {

/// Where a call runs: by one thread or two, the right matrix a constant or not.
struct DrawnSite {
  DrawnSite(const FusedCall &call, ProductDraw &draw)
      : operands(call.operandInfos()), results(call.resultInfos()),
        constants(operands.size()),
        site{fusedOp, call.none, operands, results, constants} {
    constants[1] = draw.below(2) == 0 ? call.operands[1].data.data() : nullptr;
    site.region = &call.region;
    site.threads = 1 + int(draw.below(2));
    kernel = cpuBackend().find(site);
  }
  DrawnSite(const DrawnSite &) = delete; // the site has its addresses

  /// Whether one primitive does all of it.
  bool isWhole() const {
    std::string error;
    return kernel->prepare(site, error)->parts().empty();
  }

  std::vector<TensorInfo> operands, results;
  std::vector<Constant> constants;
  CallSite site;
  const Kernel *kernel;
};

} // namespace

static bool isNear(float got, float expected) {
  return std::isnan(expected) ? std::isnan(got)
         : std::isinf(expected)
             ? got == expected
             : std::abs(got - expected) <= 1e-4f * (1 + std::abs(expected));
}

/// Whether one primitive does all of `call`, which runs as the reference
/// kernels say.
static bool expectProduct(const FusedCall &call, ProductDraw &draw,
                          const std::string &name) {
  DrawnSite drawn(call, draw);
  EXPECT_TRUE(drawn.kernel) << name;
  if (!drawn.kernel) {
    return false;
  }
  std::vector<float> expected =
      expectedOf(call, {nullptr, {&cpuBackend(), &referenceBackend()}, 1})[0]
          .values<float>();
  std::vector<float> got =
      runFused(call, drawn.site, *drawn.kernel, std::nullopt)[0]
          .values<float>();
  for (size_t i = 0; i < got.size(); ++i) {
    if (!isNear(got[i], expected[i])) {
      ADD_FAILURE() << name << ", element " << i << ": " << got[i]
                    << ", expected " << expected[i];
      break;
    }
  }
  return drawn.isWhole();
}

TEST(FusedTest, aProductGoesOnWithItsResult) {
  ProductDraw draw(11);
  int whole = 0;
  for (int round = 0; round < 800; ++round) {
    whole += expectProduct(draw.draw(), draw, "round " + std::to_string(round));
  }
  EXPECT_GT(whole, 400);
}

// In each launch, if it is no constant (MatmulPlan.h).
TEST(FusedTest, aRightMatrixOfLongRowsIsCopied) {
  ProductDraw draw(12);
  for (int round = 0; round < 20; ++round) {
    expectProduct(draw.draw(64, 2048), draw, "round " + std::to_string(round));
  }
  auto workspace = [](int64_t m, int64_t n) {
    Attributes attributes;
    attributes.set("labels", std::string("mk,kn->mn"));
    TensorInfo infos[] = {TensorInfo::whole(DType::F32, {m, 32}),
                          TensorInfo::whole(DType::F32, {32, n})};
    TensorInfo result = TensorInfo::whole(DType::F32, {m, n});
    CallSite site{"nn.matmul", attributes, infos, {&result, 1}};
    return cpuBackend().find(site)->query(site).workspaceBytes;
  };
  EXPECT_LT(workspace(64, 2048), 32 * 2048 * 4);
  EXPECT_LT(workspace(63, 3072), 32 * 3072 * 4);
  EXPECT_GE(workspace(64, 3072), 32 * 3072 * 4);
}

// What Sigmoid.cpp does behind the primitive.
TEST(FusedTest, aLargeProductEndsInASigmoid) {
  ProductDraw draw(5);
  for (const char *function : {"nn.sigmoid", "nn.silu"}) {
    FusedCall call;
    call.operands = {draw.numbers({150, 9}), draw.numbers({9, 133}),
                     draw.numbers({133})};
    TensorInfo result = TensorInfo::whole(DType::F32, {150, 133});
    auto version = [](std::string_view op) {
      return kernelVersion(op).value();
    };
    call.region.parts = {
        {"nn.matmul", version("nn.matmul"), {}, {0, 1}, {result}},
        {"nn.add", version("nn.add"), {}, {3, 2}, {result}},
        {function, version(function), {}, {4}, {result}}};
    call.region.parts[0].attributes.set("labels", std::string("mk,kn->mn"));
    call.region.results = {5};
    std::vector<TensorInfo> operands = call.operandInfos(),
                            results = call.resultInfos();
    CallSite site{fusedOp, call.none, operands, results};
    site.region = &call.region;
    site.threads = 2;
    std::vector<float> expected =
        expectedOf(call, {nullptr, {&referenceBackend()}, 1})[0]
            .values<float>();
    std::vector<float> got =
        runFused(call, site, *cpuBackend().find(site), std::nullopt)[0]
            .values<float>();
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(isNear(got[i], expected[i]))
          << function << ", element " << i << ": " << got[i] << ", expected "
          << expected[i];
    }
  }
}

/// The same call on bf16.
static FusedCall narrowed(FusedCall call) {
  for (Tensor &operand : call.operands) {
    std::vector<BFloat> values;
    for (float value : operand.values<float>()) {
      values.emplace_back(value);
    }
    operand = make<BFloat>(operand.info.extents, values);
  }
  for (RegionPart &part : call.region.parts) {
    part.results[0].type = DType::BF16;
  }
  return call;
}

/// The same values in f32.
static FusedCall widened(FusedCall call) {
  for (Tensor &operand : call.operands) {
    std::vector<float> values;
    for (BFloat value : operand.values<BFloat>()) {
      values.push_back(load(value));
    }
    operand = make<float>(operand.info.extents, values);
  }
  for (RegionPart &part : call.region.parts) {
    part.results[0].type = DType::F32;
  }
  return call;
}

// Rounded where an operator ends.
TEST(FusedTest, aProductOfBF16IsThatOfF32Rounded) {
  ProductDraw draw(23);
  int whole = 0;
  for (int round = 0; round < 400; ++round) {
    FusedCall call = narrowed(draw.draw()), wide = widened(call);
    DrawnSite drawn(call, draw);
    ASSERT_TRUE(drawn.kernel);
    whole += drawn.isWhole();
    // All that is made on the way.
    float largest = 1;
    std::vector<float> expected;
    for (size_t p = 0; p < wide.region.parts.size(); ++p) {
      FusedCall begin = wide;
      begin.region.parts.resize(p + 1);
      begin.region.results = {int(wide.operands.size() + p)};
      expected = expectedOf(begin, {nullptr, {&referenceBackend()}, 1})[0]
                     .values<float>();
      for (float value : expected) {
        largest =
            std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
      }
    }
    std::vector<BFloat> got =
        runFused(call, drawn.site, *drawn.kernel, std::nullopt)[0]
            .values<BFloat>();
    for (size_t i = 0; i < got.size(); ++i) {
      float value = load(got[i]);
      bool isRight = std::isfinite(expected[i])
                         ? std::abs(value - expected[i]) <= 0x1p-6f * largest
                         : isNear(value, expected[i]);
      ASSERT_TRUE(isRight) << "round " << round << ", element " << i << ": "
                           << value << ", expected " << expected[i];
    }
  }
  if (__builtin_cpu_supports("avx512bf16")) {
    EXPECT_GT(whole, 200);
  }
}
