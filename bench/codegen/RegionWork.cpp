//===- RegionWork.cpp - Regions to be measured ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "bench/codegen/RegionWork.h"
#include "divisi/Codegen/NativeCode.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::bench;

int Work::add(Dims dims, DType type) {
  operands.push_back(TensorInfo::whole(type, std::move(dims)));
  return static_cast<int>(operands.size()) - 1;
}

int Work::part(std::string op, std::vector<int> values, Attributes with,
               DType type) {
  region.parts.push_back(
      {std::move(op), 1, std::move(with), std::move(values), {results[0]}});
  region.parts.back().results[0].type = type;
  region.results = {static_cast<int>(operands.size() + region.parts.size()) -
                    1};
  return region.results[0];
}

void Work::allocate() {
  for (const TensorInfo &info : operands) {
    buffers.push_back(std::move(*AlignedBytes::zeros(info.bytes())));
    auto *values = reinterpret_cast<float *>(buffers.back().data());
    for (int64_t i = 0; info.type == DType::F32 && i < info.count(); ++i) {
      values[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
    }
    from.push_back(values);
  }
  buffers.push_back(std::move(*AlignedBytes::zeros(results[0].bytes())));
  to.push_back(buffers.back().data());
}

CallSite Work::site(int threads) const {
  CallSite site{fusedOp, none, operands, results};
  site.threads = threads;
  site.region = &region;
  return site;
}

Work divisi::bench::makeWork(const char *name, int64_t rows, int64_t columns,
                             const std::function<void(Work &)> &parts) {
  Work work{name, {}, {}, {}, {}, {}, {}, {}};
  work.results = {TensorInfo::whole(DType::F32, {rows, columns})};
  parts(work);
  work.allocate();
  return work;
}

std::function<void()> divisi::bench::runner(Work &work, int threads,
                                            const KernelCode *code) {
  CallSite site = work.site(threads);
  site.code = code;
  const Kernel *kernel = cpuBackend().find(site);
  kernel = kernel ? kernel : referenceBackend().find(site);
  std::string error;
  std::shared_ptr<PreparedKernel> prepared = kernel->prepare(site, error);
  if (!prepared) {
    std::fprintf(stderr, "%s\n", error.c_str());
    std::exit(1);
  }
  auto workspace = std::make_shared<AlignedBytes>(
      std::move(*AlignedBytes::allocate(kernel->query(site).workspaceBytes)));
  return [&work, prepared, workspace, threads] {
    LaunchContext context{work.from, work.to, workspace->data(), threads};
    (void)prepared->launch(context);
  };
}

std::string divisi::bench::codeOf(const Work &work, const std::string &level) {
  auto code = generateCode(work.site(/*threads=*/1), level);
  if (!code) {
    std::fprintf(stderr, "%s\n", code.status().message().c_str());
    std::exit(1);
  }
  return *code;
}

std::vector<double>
divisi::bench::timesOf(const std::vector<std::function<void()>> &kinds,
                       int rounds, double share) {
  std::vector<std::vector<double>> times(kinds.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t k = 0; k < kinds.size(); ++k) {
      kinds[k]();
      auto begin = std::chrono::steady_clock::now();
      kinds[k]();
      std::chrono::duration<double, std::micro> taken =
          std::chrono::steady_clock::now() - begin;
      times[k].push_back(taken.count());
    }
  }
  std::vector<double> found;
  int64_t index = int64_t(share * rounds);
  for (std::vector<double> &of : times) {
    std::nth_element(of.begin(), of.begin() + index, of.end());
    found.push_back(of[index]);
  }
  return found;
}
