//===- CudaCalls.cpp - Calls on a GPU and by the reference ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/CudaCalls.h"

#include "divisi/Codegen/GridKernels.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/ProductRegion.h"
#include "divisi/runtime/kernels/Element.h"
#include "divisi/runtime/kernels/HostTensor.h"
#include "runtime/kernels/Region.h"
#include "test/emulator/KernelCount.h"
#include "test/emulator/KernelTarget.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

CallSite GpuCall::site() const {
  CallSite site{op, attributes, operands, results};
  site.region = region.parts.empty() ? nullptr : &region;
  return site;
}

int GpuCall::add(const std::string &name, std::vector<int> values,
                 const TensorInfo &result, Attributes own) {
  region.parts.push_back(
      {name, 1, std::move(own), std::move(values), {result}});
  return int(operands.size() + region.parts.size()) - 1;
}

Bytes divisi::test::drawValues(const TensorInfo &info, Random &random) {
  Bytes bytes(size_t(info.bytes()));
  auto put = [&](int64_t at, auto value) {
    std::memcpy(bytes.data() + at * int64_t(sizeof(value)), &value,
                sizeof(value));
  };
  if (!isFloatType(info.type)) {
    for (std::byte &byte : bytes) {
      byte = std::byte(random() % 2); // also a bool
    }
    return bytes;
  }
  for (int64_t i = 0; i < info.count(); ++i) {
    float value = float(int(random() % 33) - 16) / 8;
    info.type == DType::F64    ? put(i, double(value))
    : info.type == DType::F16  ? put(i, Half(value))
    : info.type == DType::BF16 ? put(i, BFloat(value))
                               : put(i, value);
  }
  return bytes;
}

Bytes divisi::test::evaluateCall(const GpuCall &call,
                                 const std::vector<Bytes> &values,
                                 std::optional<BadIndex> *badIndex) {
  Bytes result(size_t(call.results[0].bytes()));
  static const Backend *const reference[] = {&referenceBackend()};
  RegionRunner runner{reference};
  CallSite site = call.site();
  std::string error;
  KernelQuery query = site.region ? queryRegion(site, runner)
                                  : referenceBackend().find(site)->query(site);
  auto kernel = site.region
                    ? prepareRegion(site, runner, error)
                    : referenceBackend().find(site)->prepare(site, error);
  EXPECT_TRUE(kernel) << error;
  AlignedBytes workspace =
      std::move(*AlignedBytes::allocate(query.workspaceBytes));
  std::vector<const void *> operands;
  for (const Bytes &bytes : values) {
    operands.push_back(bytes.data());
  }
  std::vector<void *> results = {result.data()};
  LaunchContext context{operands, results, workspace.data()};
  EXPECT_TRUE(kernel->launch(context).isOk());
  if (badIndex) {
    *badIndex = context.badIndex;
  }
  return result;
}

/// The kernel for a site, made once for each structure; empty after a failure.
static const std::string &codeFor(const CallSite &site) {
  static std::map<std::string, std::string> known;
  auto [code, isNew] = known.try_emplace(gridStructure(site));
  if (isNew) {
    auto made = generateGridKernel(site, kernelTarget());
    EXPECT_TRUE(made) << made.status().message();
    code->second = made ? *std::move(made) : "";
    countKernel(site);
  }
  return code->second;
}

KernelCode divisi::test::makeFallback(const CallSite &site) {
  static const std::string target = kernelTarget();
  auto region = ProductRegion::of(site);
  bool isThere = !target.empty() && region;
  return isThere
             ? KernelCode{target,
                          std::as_bytes(std::span(codeFor(region->product())))}
             : KernelCode();
}

std::optional<Bytes> divisi::test::runOnGpu(CudaFixture &gpu,
                                            const GpuCall &call,
                                            const std::vector<Bytes> &values,
                                            bool mayRound,
                                            std::optional<BadIndex> *badIndex) {
  const Backend &backend = cudaBackend(mayRound);
  CallSite site = call.site();
  KernelCode code;
  const Kernel *kernel = backend.find(site, 1);
  if (!kernel && generatesGridKernel(site)) {
    const std::string &bytes = codeFor(site);
    static const std::string target = kernelTarget();
    code = {target, std::as_bytes(std::span(bytes))};
    site.code = &code;
    kernel = backend.find(site, 1);
  }
  if (!kernel || (site.code && site.code->bytes.empty())) {
    return std::nullopt;
  }
  KernelCode fallback = kernel->mayFallBack ? makeFallback(site) : KernelCode();
  site.fallback = &fallback;
  // Aligned to 64 and no further, as buffers are.
  constexpr int64_t margin = 64;
  std::vector<std::unique_ptr<DeviceMemory>> memories;
  auto place = [&](int64_t size) {
    Bytes unset(size_t(size + 2 * margin), std::byte(0xff));
    memories.push_back(std::move(*gpu.device->allocate(size + 2 * margin)));
    gpu.copy(unset.data(), memories.back()->data(), size + 2 * margin);
    return memories.back()->data() + margin;
  };
  std::vector<const void *> operands;
  for (const Bytes &tensor : values) {
    std::byte *at = place(int64_t(tensor.size()));
    gpu.copy(tensor.data(), at, int64_t(tensor.size()));
    operands.push_back(at);
  }
  int64_t size = call.results[0].bytes();
  std::vector<void *> results = {place(size)};
  DeviceMemory &ofResult = *memories.back();
  std::string error;
  auto prepared = kernel->prepare(site, error);
  EXPECT_TRUE(prepared) << error;
  if (!prepared) {
    return std::nullopt;
  }
  Status ready = gpu.device->makeReady(*prepared);
  EXPECT_TRUE(ready.isOk()) << ready.message();
  LaunchContext context{operands, results,
                        place(kernel->query(site).workspaceBytes)};
  context.queue = gpu.queue.get();
  for (int run = 0; run < 2; ++run) {
    Status status = prepared->launch(context);
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  Bytes all = gpu.read(ofResult);
  LaunchContext ended{};
  prepared->collect(ended);
  if (badIndex) {
    *badIndex = ended.badIndex;
  }
  auto isUntouched = [](std::byte byte) { return byte == std::byte(0xff); };
  EXPECT_TRUE(std::all_of(all.begin(), all.begin() + margin, isUntouched));
  EXPECT_TRUE(std::all_of(all.end() - margin, all.end(), isUntouched));
  return Bytes(all.begin() + margin, all.end() - margin);
}

void divisi::test::expectAlignment(const GpuCall &call,
                                   const std::string &message) {
  CudaFixture gpu;
  CallSite site = call.site();
  const Kernel *kernel = cudaBackend().find(site, 1);
  ASSERT_TRUE(kernel);
  std::string error;
  auto prepared = kernel->prepare(site, error);
  ASSERT_TRUE(gpu.device->makeReady(*prepared).isOk());
  auto memory = std::move(*gpu.device->allocate(int64_t(4) << 20));
  std::byte *at = memory->data();
  std::vector<void *> results = {at + 256};
  auto launch = [&](int64_t operandAt) {
    std::vector<const void *> operands = {at + operandAt, at + 512};
    LaunchContext context{operands, results, at + 1024};
    context.queue = gpu.queue.get();
    return prepared->launch(context);
  };
  EXPECT_TRUE(launch(64).isOk());
  Status refused = launch(4);
  EXPECT_EQ(refused.code(), ExitCode::Device);
  EXPECT_EQ(refused.message(), message);
}
