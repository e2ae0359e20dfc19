//===- KernelBench.cpp - Kernels of the backends on transformer shapes ----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layers of a small transformer: 128 tokens, width 768, 12 heads.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Kernel.h"

#include <benchmark/benchmark.h>
#include <cstdlib>

using namespace divisi::rt;

namespace {

struct Work {
  const char *name;
  const char *op;
  Attributes attributes;
  std::vector<Dims> operands;
  Dims result;
  double flops; ///< Per launch.
};

struct Free {
  void operator()(void *data) const { std::free(data); }
};
using Buffer = std::unique_ptr<void, Free>;

} // namespace

static Buffer makeBuffer(int64_t bytes) {
  Buffer buffer(std::aligned_alloc(64, (bytes + 64) / 64 * 64));
  auto *values = static_cast<float *>(buffer.get());
  for (int64_t i = 0; i < bytes / 4; ++i) {
    values[i] = float(i % 17) / 8 - 1;
  }
  return buffer;
}

static std::vector<Work> works() {
  using S = std::string;
  Attributes conv{{"strides", Dims{1, 1}},
                  {"dilations", Dims{1, 1}},
                  {"pads_lo", Dims{1, 1}},
                  {"pads_hi", Dims{1, 1}},
                  {"groups", int64_t(1)}};
  double points = 128.0 * 3072;
  return {
      {"matmul_128x768x3072",
       "nn.matmul",
       {{"labels", S("mk,kn->mn")}},
       {{128, 768}, {768, 3072}},
       {128, 3072},
       2 * points * 768},
      {"scores_12x128x64x128",
       "nn.matmul",
       {{"labels", S("shd,thd->hst")}},
       {{128, 12, 64}, {128, 12, 64}},
       {12, 128, 128},
       2.0 * 12 * 128 * 128 * 64},
      {"add_128x3072",
       "nn.add",
       {},
       {{128, 3072}, {3072}},
       {128, 3072},
       points},
      {"tanh_128x3072", "nn.tanh", {}, {{128, 3072}}, {128, 3072}, points},
      {"erf_128x3072", "nn.erf", {}, {{128, 3072}}, {128, 3072}, points},
      {"gelu_128x3072",
       "nn.gelu",
       {{"approximate", S("tanh")}},
       {{128, 3072}},
       {128, 3072},
       points},
      {"pow3_128x3072", "nn.pow", {}, {{128, 3072}, {}}, {128, 3072}, points},
      {"softmax_12x128x128",
       "nn.softmax",
       {{"axis", int64_t(2)}, {"log", int64_t(0)}},
       {{12, 128, 128}},
       {12, 128, 128},
       12.0 * 128 * 128},
      {"normalize_128x768",
       "nn.normalize",
       {{"axes", Dims{1}}, {"center", int64_t(1)}, {"epsilon", 1e-5}},
       {{128, 768}},
       {128, 768},
       128.0 * 768},
      {"transpose_128x12x64",
       "nn.transpose",
       {{"permutation", Dims{1, 2, 0}}},
       {{128, 12, 64}},
       {12, 64, 128},
       128.0 * 768},
      {"conv_64x56x56_3x3",
       "nn.conv",
       conv,
       {{1, 64, 56, 56}, {64, 64, 3, 3}},
       {1, 64, 56, 56},
       2.0 * 64 * 64 * 9 * 56 * 56},
  };
}

/// Matrices and convolutions have constant weights, as in inference.
static void runWork(benchmark::State &state, const Backend &backend,
                    const Work &work, int threads) {
  std::vector<TensorInfo> operands;
  std::vector<Buffer> buffers;
  std::vector<const void *> pointers;
  for (const Dims &dims : work.operands) {
    operands.push_back(TensorInfo::whole(DType::F32, dims));
    buffers.push_back(makeBuffer(operands.back().bytes()));
    pointers.push_back(buffers.back().get());
  }
  if (std::string_view(work.op) == "nn.pow") {
    *static_cast<float *>(buffers[1].get()) = 3;
  }
  TensorInfo result = TensorInfo::whole(DType::F32, work.result);
  Buffer out = makeBuffer(result.bytes());
  std::vector<Constant> constants(pointers.size());
  if (!constants.empty() && work.operands.size() == 2 && work.flops > 1e8) {
    constants[1] = pointers[1];
  }
  CallSite site{work.op,      work.attributes, operands,
                {&result, 1}, constants,       threads};
  const Kernel *kernel = backend.find(site);
  if (!kernel) {
    state.SkipWithError("left to the reference kernel");
    return;
  }
  std::string error;
  auto prepared = kernel->prepare(site, error);
  if (!prepared) {
    state.SkipWithError(error.c_str());
    return;
  }
  Buffer workspace = makeBuffer(kernel->query(site).workspaceBytes);
  void *data = out.get();
  for (auto _ : state) {
    LaunchContext context{pointers, {&data, 1}, workspace.get(), site.threads};
    if (!prepared->launch(context).isOk()) {
      state.SkipWithError("the kernel failed");
      return;
    }
  }
  state.counters["GFLOP/s"] = benchmark::Counter(
      work.flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

int main(int argc, char **argv) {
  static const std::vector<Work> all = works();
  for (const Work &work : all) {
    auto add = [&](const char *name, const Backend &backend, int threads) {
      std::string full = std::string(work.name) + "/" + name;
      benchmark::RegisterBenchmark(
          full.c_str(),
          [&backend, &work, threads](benchmark::State &state) {
            runWork(state, backend, work, threads);
          })
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
    };
    add("reference", referenceBackend(), 1);
    add("cpu1", cpuBackend(), 1);
    add("cpu2", cpuBackend(), 2);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
