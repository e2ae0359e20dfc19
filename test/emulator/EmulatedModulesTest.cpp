//===- EmulatedModulesTest.cpp - Code in contexts of GPUs -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GridKernels.h"
#include "test/emulator/CudaCalls.h"
#include "test/emulator/CudaState.h"
#include "test/emulator/KernelTarget.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

/// How many libraries there were, and in how many contexts in all.
static std::pair<uint64_t, uint64_t> count() {
  uint64_t loaded = 0, modules = 0, unloaded = 0;
  emulatedLibraries(&loaded, &modules, &unloaded);
  return {loaded, modules};
}

/// Whichever call sites and ranks have the code: it is loaded once, and comes
/// to each context once, before it is launched there.
TEST(EmulatedModules, AreOneForEachContext) {
  const std::string target = kernelTarget();
  if (target.empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  GpuCall call{"nn.add", {}, {}, {}, {}};
  call.operands = {TensorInfo::whole(DType::F32, {64}),
                   TensorInfo::whole(DType::F32, {64})};
  call.results = {TensorInfo::whole(DType::F32, {64})};
  CallSite site = call.site();
  auto bytes = generateGridKernel(site, target);
  ASSERT_TRUE(bytes) << bytes.status().message();
  std::string copy = *bytes; // of another artifact
  auto before = count();
  std::vector<std::unique_ptr<PreparedKernel>> prepared;
  std::vector<std::shared_ptr<Device>> devices = {*makeCudaDevice(0),
                                                  *makeCudaDevice(1)};
  for (const std::string *of : {&*bytes, &copy}) {
    KernelCode code{target, std::as_bytes(std::span(*of))};
    site.code = &code;
    const Kernel *kernel = cudaBackend().find(site, 1);
    ASSERT_TRUE(kernel);
    for (const auto &device : devices) {
      std::string error;
      prepared.push_back(kernel->prepare(site, error));
      ASSERT_TRUE(prepared.back()) << error;
      ASSERT_TRUE(device->makeReady(*prepared.back()).isOk());
    }
  }
  EXPECT_EQ(count().first - before.first, 1U);
  EXPECT_EQ(count().second - before.second, 2U);
  // A launch loads nothing; elsewhere than where it is ready it fails.
  auto queue = std::move(*devices[0]->makeQueue());
  auto memory = std::move(*devices[0]->allocate(1024));
  std::vector<const void *> operands = {memory->data(), memory->data()};
  std::vector<void *> results = {memory->data() + 512};
  LaunchContext context{operands, results, nullptr};
  context.queue = queue.get();
  EXPECT_TRUE(prepared[0]->launch(context).isOk());
  EXPECT_EQ(prepared[1]->launch(context).code(), ExitCode::Device);
  EXPECT_EQ(count().second - before.second, 2U);
}
