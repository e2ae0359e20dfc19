//===- FusedCalls.h - Calls with regions, for tests -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_BACKENDS_CPU_FUSEDCALLS_H
#define DIVISI_TEST_RUNTIME_BACKENDS_CPU_FUSEDCALLS_H

#include "test/runtime/kernels/Tensors.h"

#include <gtest/gtest.h>

namespace divisi::rt::test {

/// A backend, and whom it asks to run parts.
struct Runner {
  const Backend *backend;
  std::vector<const Backend *> ofParts;
  int threads;
};

/// A call with a region, and what it is given.
struct FusedCall {
  Region region;
  std::vector<Tensor> operands;
  Attributes none;

  std::vector<TensorInfo> operandInfos() const {
    std::vector<TensorInfo> infos;
    for (const Tensor &operand : operands) {
      infos.push_back(operand.info);
    }
    return infos;
  }
  const TensorInfo &infoOf(int value) const {
    auto number = static_cast<size_t>(value);
    if (number < operands.size()) {
      return operands[number].info;
    }
    number -= operands.size();
    auto part = region.parts.begin();
    for (; number >= part->results.size(); ++part) {
      number -= part->results.size();
    }
    return part->results[number];
  }
  std::vector<TensorInfo> resultInfos() const {
    std::vector<TensorInfo> infos;
    for (int result : region.results) {
      infos.push_back(infoOf(result));
    }
    return infos;
  }
};

inline void expectOk(const Status &status) {
  EXPECT_TRUE(status.isOk()) << status.message();
}

/// Bytes at a multiple of 64.
inline std::byte *aligned(std::vector<std::byte> &storage, int64_t bytes) {
  storage.assign(static_cast<size_t>(bytes) + 64, std::byte(0xff));
  return storage.data() + (-reinterpret_cast<uintptr_t>(storage.data()) & 63);
}

/// Runs one call by the first of `backends` that takes it.
inline void runAlone(const std::vector<const Backend *> &backends,
                     const CallSite &site,
                     const std::vector<const void *> &operands, void *result) {
  std::unique_ptr<PreparedKernel> kernel;
  int64_t bytes = 0;
  for (const Backend *backend : backends) {
    std::string error;
    const Kernel *found = backend->find(site);
    if (found && !kernel) {
      bytes = found->query(site).workspaceBytes;
      kernel = found->prepare(site, error);
    }
  }
  ASSERT_TRUE(kernel);
  std::vector<std::byte> storage;
  LaunchContext context{
      operands, {&result, 1}, aligned(storage, bytes), site.threads};
  expectOk(kernel->launch(context));
}

/// What the parts compute one by one.
inline std::vector<Tensor> expectedOf(const FusedCall &call,
                                      const Runner &runner) {
  std::vector<Tensor> values = call.operands;
  for (const RegionPart &part : call.region.parts) {
    std::vector<TensorInfo> infos;
    std::vector<const void *> pointers;
    for (int operand : part.operands) {
      infos.push_back(values[operand].info);
      pointers.push_back(values[operand].data.data());
    }
    Tensor result(part.results.front());
    CallSite site{part.op, part.attributes, infos, part.results};
    site.threads = runner.threads;
    if (result.info.count() != 0) {
      runAlone(runner.ofParts, site, pointers, result.data.data());
    }
    values.push_back(std::move(result));
  }
  std::vector<Tensor> results;
  for (int value : call.region.results) {
    results.push_back(values[value]);
  }
  return results;
}

/// What the call gives when result `over->second` lies over operand
/// `over->first`.
inline std::vector<Tensor> runFused(const FusedCall &call, const CallSite &site,
                                    const Kernel &kernel,
                                    std::optional<std::pair<int, int>> over) {
  std::string error;
  std::unique_ptr<PreparedKernel> prepared = kernel.prepare(site, error);
  EXPECT_TRUE(prepared) << error;
  std::vector<Tensor> operands = call.operands, results;
  for (const TensorInfo &info : site.results) {
    results.emplace_back(info);
  }
  std::vector<const void *> from;
  std::vector<void *> to;
  for (Tensor &operand : operands) {
    from.push_back(operand.data.data());
  }
  for (Tensor &result : results) {
    to.push_back(result.data.data());
  }
  if (over) {
    to[over->second] = operands[over->first].data.data();
  }
  std::vector<std::byte> storage;
  LaunchContext context{from, to,
                        aligned(storage, kernel.query(site).workspaceBytes),
                        site.threads};
  if (prepared) {
    expectOk(prepared->launch(context));
  }
  if (over) {
    results[over->second].data = operands[over->first].data;
  }
  return results;
}

} // namespace divisi::rt::test

#endif // DIVISI_TEST_RUNTIME_BACKENDS_CPU_FUSEDCALLS_H
