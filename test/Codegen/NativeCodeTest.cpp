//===- NativeCodeTest.cpp - Code of regions computes what they do ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions are drawn at random, with broadcasts, rows, types and boxes. Their
// code is compared with the same region in f32, part by part: code computes in
// f32 whatever the types are, and rounds once, at the end.
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/NativeCode.h"
#include "divisi/runtime/Storage.h"
#include "runtime/kernels/RowCode.h"
#include "test/Codegen/DrawnRegion.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <map>

using namespace divisi;
using namespace divisi::test;
using rt::DType;

namespace {

using Bytes = std::vector<std::byte>;

/// Memory of tensors, aligned as kernels expect it.
struct Memory {
  std::vector<rt::AlignedBytes> buffers;
  std::vector<void *> pointers;

  void add(int64_t bytes) {
    buffers.push_back(std::move(*rt::AlignedBytes::allocate(bytes + 64)));
    std::memset(buffers.back().data(), 0xa5, bytes + 64);
    pointers.push_back(buffers.back().data());
  }
};

} // namespace

static std::vector<float> floatsOf(DType type, const void *data,
                                   int64_t count) {
  std::vector<float> floats(count);
  for (int64_t i = 0; i < count; ++i) {
    auto as = [&](auto element) {
      std::memcpy(&element,
                  static_cast<const std::byte *>(data) + i * sizeof(element),
                  sizeof(element));
      return static_cast<float>(element);
    };
    floats[i] = type == DType::F16    ? as(rt::Half())
                : type == DType::BF16 ? as(rt::BFloat())
                                      : as(0.0f);
  }
  return floats;
}

/// The results of a call, by the backend's kernel; what lies behind a result
/// must stay as it is.
static std::vector<std::vector<float>> run(const rt::CallSite &site,
                                           const std::vector<Bytes> &inputs,
                                           bool overFirst = false) {
  const rt::Kernel *kernel = rt::cpuBackend().find(site);
  if (!kernel) {
    ADD_FAILURE() << "no kernel";
    return {};
  }
  rt::KernelQuery query = kernel->query(site);
  std::string error;
  auto prepared = kernel->prepare(site, error);
  if (!prepared) {
    ADD_FAILURE() << error;
    return {};
  }
  Memory operands, results, workspace;
  for (const Bytes &input : inputs) {
    operands.add(static_cast<int64_t>(input.size()));
    std::memcpy(operands.pointers.back(), input.data(), input.size());
  }
  for (const rt::TensorInfo &result : site.results) {
    results.add(result.bytes());
  }
  bool isOver = overFirst && std::count(query.inPlace.begin(),
                                        query.inPlace.end(), std::pair(0, 0));
  if (isOver) {
    results.pointers[0] = operands.pointers[0];
  }
  workspace.add(query.workspaceBytes);
  std::vector<const void *> from(operands.pointers.begin(),
                                 operands.pointers.end());
  rt::LaunchContext context{from, results.pointers, workspace.pointers[0],
                            site.threads};
  EXPECT_TRUE(prepared->launch(context).isOk());
  std::vector<std::vector<float>> values;
  for (size_t r = 0; r < site.results.size(); ++r) {
    const rt::TensorInfo &info = site.results[r];
    values.push_back(floatsOf(info.type, results.pointers[r], info.count()));
    auto *end = static_cast<std::byte *>(results.pointers[r]) + info.bytes();
    EXPECT_EQ(end[0], std::byte(0xa5)) << "written past the end";
  }
  return values;
}

static Bytes widened(const rt::TensorInfo &info, const Bytes &stored) {
  std::vector<float> floats = floatsOf(info.type, stored.data(), info.count());
  Bytes bytes(floats.size() * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  return bytes;
}

/// How far a result may be off that is rounded to `type`: a norm makes the last
/// bits of rows of nearly equal elements thirty times as large.
static double toleranceOf(DType type, double value) {
  double step = type == DType::F16 ? 0x1p-10 : type == DType::BF16 ? 0x1p-7 : 0;
  return (4e-5 + step) * (1 + std::fabs(value));
}

static void expectNear(const std::vector<float> &got,
                       const std::vector<float> &expected, DType type) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    bool isSame = got[i] == expected[i] ||
                  (std::isnan(got[i]) && std::isnan(expected[i]));
    double error = std::fabs(double(got[i]) - double(expected[i]));
    ASSERT_TRUE(isSame || error <= toleranceOf(type, expected[i]))
        << "element " << i << ": got " << got[i] << ", expected "
        << expected[i];
  }
}

/// The code for a site, made once for each structure.
static const std::string &codeFor(const rt::CallSite &site) {
  static std::map<std::string, std::string> known;
  std::string &code = known[codeStructure(site)];
  if (code.empty()) {
    auto made = generateCode(site, std::string(rt::hostLevel()));
    EXPECT_TRUE(bool(made)) << made.status().message();
    code = made ? std::move(*made) : "?";
  }
  return code;
}

/// The call by its code, by one thread and by three, also over its operand,
/// against the region.
static void compare(DrawnRegion &drawn, const RegionCall &call) {
  std::vector<Bytes> inputs, wideInputs;
  for (const rt::TensorInfo &operand : call.operands) {
    inputs.push_back(drawn.values(operand));
    wideInputs.push_back(widened(operand, inputs.back()));
  }
  RegionCall wide = call.widened();
  auto expected = run(wide.site(), wideInputs);
  const std::string &bytes = codeFor(call.site());
  std::string target = rt::nativeTarget(rt::hostLevel());
  rt::KernelCode code{target, std::as_bytes(std::span(bytes))};
  for (int threads : {1, 3}) {
    rt::CallSite site = call.site(threads);
    site.code = &code;
    auto got = run(site, inputs, threads == 3);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t r = 0; r < got.size(); ++r) {
      expectNear(got[r], expected[r], call.results[r].type);
    }
  }
}

TEST(NativeCode, ComputesWhatTheRegionDoes) {
  if (rt::hostLevel().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  int calls = 0, regions = 0, joined = 0, unknown = 0, formatted = 0;
  const char *wanted = std::getenv("DIVISI_CASES_PER_OPERATOR");
  unsigned most = wanted ? 60 : 600;
  for (unsigned seed = 0; seed < most; ++seed) {
    DrawnRegion drawn(seed);
    if (!generatesCode(drawn.call(4).site())) {
      continue;
    }
    ++regions;
    for (int64_t extent : {3, 20, 33, 97, 300, 5000}) {
      RegionCall call = drawn.call(extent);
      if (!rt::cpuBackend().find(call.widened().site())) {
        ++unknown; // in that format
        continue;
      }
      SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + call.describe());
      compare(drawn, call);
      ++calls;
      joined += call.region.parts[0].op == "nn.concat";
      formatted += !call.results[0].format.empty();
      if (HasFatalFailure()) {
        return;
      }
    }
  }
  std::printf("%d regions, %d calls, %d of which join operands, %d with "
              "channels last; %d have no kernel without code\n",
              regions, calls, joined, formatted, unknown);
  EXPECT_GT(regions, int(most) * 7 / 10);
  EXPECT_GT(calls, int(most) * 3);
  EXPECT_GT(joined, int(most) / 10);
  EXPECT_GT(formatted, int(most) / 10);
}

TEST(NativeCode, IsTheSameTwice) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    RegionCall call = DrawnRegion(seed).call(50);
    if (generatesCode(call.site())) {
      auto once = generateCode(call.site(), "x86-64-v3");
      auto twice = generateCode(call.site(), "x86-64-v3");
      ASSERT_TRUE(once && twice);
      EXPECT_EQ(*once, *twice);
    }
  }
}
