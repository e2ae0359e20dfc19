//===- ElementFunctionsTest.cpp - How exact functions are -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of f32 in generated code, on a million arguments of all exponents,
// against those of f64: by how many units in the last place they are off at
// most, which is stated here, and nowhere else what NaN and infinities are.
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/NativeCode.h"
#include "runtime/backends/cpu/NativeObject.h"
#include "test/Codegen/FunctionErrors.h"

#include <bit>
#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <limits>

using namespace divisi;
using namespace divisi::test;

namespace {

struct FunctionCase {
  const char *op;
  rt::Attributes attributes;
  std::function<double(double)> exact;
};

} // namespace

/// The results of `op` for `arguments`.
static std::vector<float> resultsOf(const FunctionCase &function,
                                    const std::vector<float> &arguments) {
  auto info = rt::TensorInfo::whole(rt::DType::F32,
                                    {static_cast<int64_t>(arguments.size())});
  rt::Region region;
  region.parts.push_back({function.op, 1, function.attributes, {0}, {info}});
  region.results = {1};
  rt::Attributes none;
  rt::CallSite site{rt::fusedOp, none, {&info, 1}, {&info, 1}};
  site.region = &region;
  auto code = generateCode(site, std::string(rt::hostLevel()));
  EXPECT_TRUE(code) << code.status().message();
  auto object = rt::cpu::NativeObject::load(std::as_bytes(std::span(*code)));
  EXPECT_TRUE(object) << object.status().message();
  std::vector<float> results(arguments.size());
  const void *tensors[] = {arguments.data(), results.data()};
  int64_t count = info.extents[0];
  const int64_t numbers[] = {count, 1, 1};
  rt::RowArguments call = {tensors, numbers, nullptr, 0, 0, 1, 0, count};
  (*object)->function()(&call);
  return results;
}

static std::vector<FunctionCase> functions() {
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  auto hardSwish = [](double x) {
    return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
  };
  auto gelu = [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); };
  auto geluTanh = [](double x) {
    double inner = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
    return x / (1 + std::exp(-2 * inner));
  };
  return {
      {"nn.exp", {}, [](double x) { return std::exp(x); }},
      {"nn.log", {}, [](double x) { return std::log(x); }},
      {"nn.tanh", {}, [](double x) { return std::tanh(x); }},
      {"nn.erf", {}, [](double x) { return std::erf(x); }},
      {"nn.sqrt", {}, [](double x) { return std::sqrt(x); }},
      {"nn.sigmoid", {}, sigmoid},
      {"nn.silu", {}, [=](double x) { return x * sigmoid(x); }},
      {"nn.hard_swish", {}, hardSwish},
      {"nn.gelu", {{"approximate", std::string("none")}}, gelu},
      {"nn.gelu", {{"approximate", std::string("tanh")}}, geluTanh},
  };
}

TEST(ElementFunctions, AreOffByFewUlps) {
  if (rt::hostLevel().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  std::vector<float> arguments;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 4099) {
    float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isfinite(value)) {
      arguments.push_back(value);
    }
  }
  for (int i = -200000; i <= 200000; ++i) {
    arguments.push_back(static_cast<float>(i) * 5e-4f);
  }
  for (const FunctionCase &function : functions()) {
    std::vector<float> results = resultsOf(function, arguments);
    FunctionError bound = functionError(function.op);
    double worst = 0;
    float worstAt = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      double exact = function.exact(arguments[i]);
      auto rounded = static_cast<float>(exact);
      if (!std::isfinite(rounded) || !std::isfinite(results[i])) {
        // At the very edge one may overflow, and the other not.
        bool isSame = std::bit_cast<uint32_t>(rounded) ==
                          std::bit_cast<uint32_t>(results[i]) ||
                      (std::isnan(rounded) && std::isnan(results[i])) ||
                      std::fabs(exact) > 3.4e38;
        EXPECT_TRUE(isSame) << function.op << " of " << arguments[i] << ": got "
                            << results[i] << ", expected " << rounded;
        continue;
      }
      if (std::fabs(exact) < kLeast && results[i] == 0) {
        continue; // so small numbers may become 0
      }
      double error = std::fabs(double(results[i]) - exact) /
                     ulpOf(std::max(std::fabs(exact), bound.floor));
      if (error > worst) {
        worst = error, worstAt = arguments[i];
      }
    }
    std::printf("%s: %.2f ulp, at %.9g\n", function.op, worst, double(worstAt));
    EXPECT_LE(worst, bound.mostUlps) << function.op << " of " << worstAt;
  }
}

TEST(ElementFunctions, AreExactWhereNothingIsFinite) {
  if (rt::hostLevel().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  // The same many times: vectors, and what is left of them.
  std::vector<float> special = {0.f, -0.f, inf, -inf, nan, 1.f, -1.f};
  std::vector<float> arguments;
  for (int i = 0; i < 11; ++i) {
    arguments.insert(arguments.end(), special.begin(), special.end());
  }
  for (const FunctionCase &function : functions()) {
    std::vector<float> results = resultsOf(function, arguments);
    for (size_t i = 0; i < arguments.size(); ++i) {
      float x = arguments[i];
      bool isProduct = std::string(function.op) == "nn.silu" ||
                       std::string(function.op) == "nn.hard_swish" ||
                       std::string(function.op) == "nn.gelu";
      // 0 times infinity, as the kernels that define them have it.
      double exact = isProduct && x == -inf ? nan : function.exact(x);
      if (std::isnan(exact)) {
        EXPECT_TRUE(std::isnan(results[i])) << function.op << " of " << x;
      } else if (std::isinf(exact) || exact == 0) {
        EXPECT_EQ(results[i], static_cast<float>(exact))
            << function.op << " of " << x;
      } else {
        EXPECT_NEAR(results[i], exact, 1e-6) << function.op << " of " << x;
      }
    }
  }
}
