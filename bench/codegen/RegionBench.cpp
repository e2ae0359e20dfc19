//===- RegionBench.cpp - Code of regions, interpreters and people ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions by generated code, part by part (as they run without code) and, one
// of them, as a person wrote it, in turns. A line says the medians, in
// microseconds, and how fast the code is: 1 is as fast as the other.
//
//===----------------------------------------------------------------------===//

#include "bench/codegen/HandWritten.h"
#include "divisi/Codegen/NativeCode.h"
#include "divisi/runtime/HostTensor.h"
#include "runtime/backends/cpu/Team.h"
#include "runtime/kernels/RowCode.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

using namespace divisi;
using namespace divisi::rt;

namespace {

/// A region on rows, and its memory.
struct Work {
  const char *name;
  Region region;
  std::vector<TensorInfo> operands, results;
  std::vector<AlignedBytes> buffers;
  std::vector<const void *> from;
  std::vector<void *> to;
  Attributes none;

  int add(Dims dims) {
    operands.push_back(TensorInfo::whole(DType::F32, std::move(dims)));
    return static_cast<int>(operands.size()) - 1;
  }
  int part(std::string op, std::vector<int> values, Attributes with = {}) {
    region.parts.push_back(
        {std::move(op), 1, std::move(with), std::move(values), {results[0]}});
    region.results = {static_cast<int>(operands.size() + region.parts.size()) -
                      1};
    return region.results[0];
  }
  void allocate();
  CallSite site(int threads) const;
};

} // namespace

void Work::allocate() {
  for (const TensorInfo &info : operands) {
    buffers.push_back(std::move(*AlignedBytes::allocate(info.bytes())));
    auto *values = reinterpret_cast<float *>(buffers.back().data());
    for (int64_t i = 0; i < info.count(); ++i) {
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

/// `parts` adds operands and parts; the results are [rows, columns].
static Work makeWork(const char *name, int64_t rows, int64_t columns,
                     const std::function<void(Work &)> &parts) {
  Work work{name, {}, {}, {}, {}, {}, {}, {}};
  work.results = {TensorInfo::whole(DType::F32, {rows, columns})};
  parts(work);
  work.allocate();
  return work;
}

static std::vector<Work> makeAll(int64_t rows, int64_t columns) {
  Attributes norm = {{"axes", std::vector<int64_t>{1}},
                     {"center", int64_t(1)},
                     {"epsilon", 1e-5}};
  std::vector<Work> all;
  all.push_back(makeWork("residual + norm", rows, columns, [&](Work &work) {
    int a = work.add({rows, columns}), b = work.add({rows, columns});
    int gamma = work.add({columns}), beta = work.add({columns});
    int sum = work.part("nn.add", {a, b});
    int x = work.part("nn.normalize", {sum}, norm);
    work.part("nn.add", {work.part("nn.mul", {x, gamma}), beta});
  }));
  all.push_back(makeWork("norm", rows, columns, [&](Work &work) {
    int a = work.add({rows, columns});
    int gamma = work.add({columns}), beta = work.add({columns});
    int x = work.part("nn.normalize", {a}, norm);
    work.part("nn.add", {work.part("nn.mul", {x, gamma}), beta});
  }));
  all.push_back(makeWork("softmax, no NaN", rows, columns, [&](Work &work) {
    int a = work.add({rows, columns}), zero = work.add({});
    int y = work.part("nn.softmax", {a},
                      {{"axis", int64_t(1)}, {"log", int64_t(0)}});
    int bad = work.part("nn.is_nan", {y});
    work.region.parts.back().results[0].type = DType::Bool;
    work.part("nn.select", {bad, zero, y});
  }));
  all.push_back(makeWork("no NaN", rows, columns, [&](Work &work) {
    int a = work.add({rows, columns}), zero = work.add({});
    int bad = work.part("nn.is_nan", {a});
    work.region.parts.back().results[0].type = DType::Bool;
    work.part("nn.select", {bad, zero, a});
  }));
  all.push_back(makeWork("scale, shift, relu", rows, columns, [&](Work &work) {
    int a = work.add({rows, columns});
    int scale = work.add({rows, 1}), shift = work.add({rows, 1});
    int y = work.part("nn.mul", {a, scale});
    work.part("nn.relu", {work.part("nn.add", {y, shift})});
  }));
  all.push_back(makeWork("bias, gelu, mul", rows, columns, [&](Work &work) {
    int a = work.add({rows, columns}), bias = work.add({columns});
    int b = work.add({rows, columns});
    int y = work.part("nn.add", {a, bias});
    y = work.part("nn.gelu", {y}, {{"approximate", std::string("tanh")}});
    work.part("nn.mul", {y, b});
  }));
  return all;
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// Medians of `kinds`, which are run in turns, in microseconds.
static std::vector<double>
timesOf(const std::vector<std::function<void()>> &kinds) {
  constexpr int rounds = 101;
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
  std::vector<double> medians;
  for (std::vector<double> &of : times) {
    std::nth_element(of.begin(), of.begin() + rounds / 2, of.end());
    medians.push_back(of[rounds / 2]);
  }
  return medians;
}

/// What launches the kernel for a call.
static std::function<void()> runner(Work &work, const CallSite &site) {
  const Kernel *kernel = cpuBackend().find(site);
  std::string error;
  std::shared_ptr<PreparedKernel> prepared = kernel->prepare(site, error);
  if (!prepared) {
    std::fprintf(stderr, "%s\n", error.c_str());
    std::exit(1);
  }
  auto workspace = std::make_shared<AlignedBytes>(
      std::move(*AlignedBytes::allocate(kernel->query(site).workspaceBytes)));
  int threads = site.threads;
  return [&work, prepared, workspace, threads] {
    LaunchContext context{work.from, work.to, workspace->data(), threads};
    (void)prepared->launch(context);
  };
}

static std::function<void()> handWritten(Work &work, int threads) {
  return [&work, threads] {
    struct Share {
      Work &work;
      int threads;
    } share{work, threads};
    auto body = [](void *of, int i) {
      auto &[work, threads] = *static_cast<Share *>(of);
      const Dims &dims = work.results[0].extents;
      auto at = [&](int o) { return static_cast<const float *>(work.from[o]); };
      bench::residualNorm(
          at(0), at(1), at(2), at(3), static_cast<float *>(work.to[0]),
          dims[0] * i / threads, dims[0] * (i + 1) / threads, dims[1], 1e-5f);
    };
    cpu::forEach(threads, threads, body, &share);
  };
}

static void measure(Work &work, int threads) {
  auto code = generateCode(work.site(threads), std::string(hostLevel()));
  if (!code) {
    std::fprintf(stderr, "%s\n", code.status().message().c_str());
    std::exit(1);
  }
  std::string target = nativeTarget(hostLevel());
  KernelCode native{target, std::as_bytes(std::span(*code))};
  CallSite plain = work.site(threads), compiled = plain;
  compiled.code = &native;
  std::vector<std::function<void()>> kinds = {runner(work, compiled),
                                              runner(work, plain)};
  if (work.operands.size() == 4) {
    kinds.push_back(handWritten(work, threads));
  }
  std::vector<double> times = timesOf(kinds);
  std::printf("%-20s %5ld x %-5ld %d threads: code %8.1f us, by parts %8.1f, "
              "%.2f times as fast",
              work.name, long(work.results[0].extents[0]),
              long(work.results[0].extents[1]), threads, times[0], times[1],
              times[1] / times[0]);
  if (times.size() == 3) {
    std::printf("; by hand %8.1f, %.2f", times[2], times[2] / times[0]);
  }
  std::printf("; %zu bytes\n", code->size());
  std::fflush(stdout);
}

int main() {
  if (hostLevel().empty()) {
    std::fprintf(stderr, "no code is made for this processor\n");
    return 1;
  }
  const std::pair<int64_t, int64_t> shapes[] = {
      {128, 768},  {1024, 768}, {197, 768}, {3136, 96}, {49, 768},
      {1536, 128}, {512, 513},  {64, 3136}, {2048, 17}, {4096, 4096}};
  for (int threads : {1, 2}) {
    for (auto [rows, columns] : shapes) {
      for (Work &work : makeAll(rows, columns)) {
        measure(work, threads);
      }
    }
  }
  return 0;
}
