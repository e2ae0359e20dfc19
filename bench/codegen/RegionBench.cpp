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
#include "bench/codegen/RegionWork.h"
#include "divisi/runtime/code/RowCode.h"
#include "runtime/backends/cpu/Team.h"

#include <cstdio>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::bench;

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
    int bad = work.part("nn.is_nan", {y}, {}, DType::Bool);
    work.part("nn.select", {bad, zero, y});
  }));
  all.push_back(makeWork("no NaN", rows, columns, [&](Work &work) {
    int a = work.add({rows, columns}), zero = work.add({});
    int bad = work.part("nn.is_nan", {a}, {}, DType::Bool);
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
      residualNorm(
          at(0), at(1), at(2), at(3), static_cast<float *>(work.to[0]),
          dims[0] * i / threads, dims[0] * (i + 1) / threads, dims[1], 1e-5f);
    };
    cpu::forEach(threads, threads, body, &share);
  };
}

static void measure(Work &work, int threads) {
  std::string code = codeOf(work, std::string(hostLevel()));
  std::string target = nativeTarget(hostLevel());
  KernelCode native{target, std::as_bytes(std::span(code))};
  std::vector<std::function<void()>> kinds = {runner(work, threads, &native),
                                              runner(work, threads, nullptr)};
  if (work.operands.size() == 4) {
    kinds.push_back(handWritten(work, threads));
  }
  std::vector<double> times = timesOf(kinds, /*rounds=*/101);
  std::printf("%-20s %5ld x %-5ld %d threads: code %8.1f us, by parts %8.1f, "
              "%.2f times as fast",
              work.name, long(work.results[0].extents[0]),
              long(work.results[0].extents[1]), threads, times[0], times[1],
              times[1] / times[0]);
  if (times.size() == 3) {
    std::printf("; by hand %8.1f, %.2f", times[2], times[2] / times[0]);
  }
  std::printf("; %zu bytes\n", code.size());
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
