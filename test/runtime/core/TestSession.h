//===- TestSession.h - Sessions on manifests made by tests ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_CORE_TESTSESSION_H
#define DIVISI_TEST_RUNTIME_CORE_TESTSESSION_H

#include "test/runtime/artifact/ManifestBuilder.h"
#include "test/runtime/core/TestBackend.h"

#include <filesystem>

namespace divisi::rt {

/// A session with the test's own kernels.
inline SessionOptions testOptions() {
  static const TestBackend backend;
  SessionOptions options;
  options.backends = {&backend};
  options.timeout = std::chrono::seconds(20);
  return options;
}

/// Writes the artifact and opens it; the file is gone afterwards, which mapped
/// bytes survive.
inline Expected<std::unique_ptr<Session>>
openSession(const pb::Manifest &manifest,
            const std::vector<std::vector<float>> &globals = {},
            const SessionOptions &options = testOptions()) {
  std::vector<GlobalData> data;
  for (const std::vector<float> &values : globals) {
    data.push_back({std::as_bytes(std::span<const float>(values)), {}, 0});
  }
  std::string path = temporaryFile("session.divisi");
  if (auto written = writeArtifact(path, manifest, data); !written) {
    return written.status();
  }
  auto session = Session::open(path, options);
  std::filesystem::remove(path);
  return session;
}

/// start, start + 1, ...
inline std::vector<float> counting(int64_t count, float start = 1) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), start);
  return values;
}

/// x[4, 6] * w[6, 5] by plain loops.
inline std::vector<float> product(const std::vector<float> &x,
                                  const std::vector<float> &w) {
  std::vector<float> y(20, 0.f);
  for (int m = 0; m < 4; ++m) {
    for (int k = 0; k < 6; ++k) {
      for (int n = 0; n < 5; ++n) {
        y[m * 5 + n] += x[m * 6 + k] * w[k * 5 + n];
      }
    }
  }
  return y;
}

/// How a matmul is split over the one axis of the grid.
enum class MatmulSplit { M, N, K };

/// x[4, 6] times the parameter w[6, 5], whole on every rank at the end.
inline pb::Manifest matmulManifest(int64_t ranks, MatmulSplit split) {
  ManifestBuilder b(static_cast<uint32_t>(ranks));
  uint32_t g = b.grid({ranks});
  DimSplit m, n, k;
  (split == MatmulSplit::M ? m : split == MatmulSplit::N ? n : k).axes = {0};
  TensorRef x = b.tensor(g, {4, 6}, {m, k});
  TensorRef w = b.tensor(g, {6, 5}, {k, n});
  TensorRef whole = b.tensor(g, {4, 5}, {{}, {}});
  TensorRef y = split == MatmulSplit::K ? b.tensor(g, {4, 5}, {{}, {}}, {0})
                                        : b.tensor(g, {4, 5}, {m, n});
  uint32_t weight = b.global("w", "parameter", w);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("forward");
  addValue(entry.mutable_inputs(), "x", x);
  addValue(entry.mutable_outputs(), "y", whole);
  Axes all(ranks);
  std::iota(all.begin(), all.end(), 0);
  ProgramBuilder p(b.manifest, entry, all);
  uint32_t in = p.input(0, x), weights = p.global(weight, w);
  uint32_t local = p.alloc(y), out = p.alloc(whole);
  p.call("test.matmul", {in, weights}, local);
  p.collective(split == MatmulSplit::K ? "all_reduce" : "all_gather", {0},
               local, out, 1);
  p.output(out, 0);
  return inOneOrder(b.manifest);
}

/// m += x, n gets what m was; y is what n was.
inline pb::Manifest stateManifest() {
  ManifestBuilder b(2);
  uint32_t g = b.grid({2});
  TensorRef t = b.tensor(g, {3}, {DimSplit({0})});
  uint32_t m = b.global("m", "state", t), n = b.global("n", "parameter", t);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("step");
  addValue(entry.mutable_inputs(), "x", t);
  addValue(entry.mutable_outputs(), "y", t);
  ProgramBuilder p(b.manifest, entry, {0, 1});
  uint32_t x = p.input(0, t), oldM = p.global(m, t), oldN = p.global(n, t);
  uint32_t newM = p.newGlobal(m, t), newN = p.newGlobal(n, t);
  uint32_t sum = p.alloc(t);
  p.call("test.add", {x, oldM}, sum);
  p.output(oldN, 0);
  p.commit();
  p.copy(oldM, newN);
  p.copy(sum, newM);
  return inOneOrder(b.manifest);
}

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_CORE_TESTSESSION_H
