//===- CudaCalls.h - Calls on a GPU and by the reference --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_CUDACALLS_H
#define DIVISI_TEST_EMULATOR_CUDACALLS_H

#include "test/emulator/CudaFixture.h"

#include <optional>
#include <random>
#include <string>

namespace divisi::test {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937;

/// A number from the first to the last one.
inline int64_t draw(Random &random, int64_t from, int64_t to) {
  return from + int64_t(random() % uint64_t(to - from + 1));
}

/// A call with what it points to.
struct GpuCall {
  std::string op;
  rt::Attributes attributes;
  std::vector<rt::TensorInfo> operands, results;
  rt::Region region;

  rt::CallSite site() const;
  /// Adds a part to the region; the value that it makes.
  int add(const std::string &name, std::vector<int> values,
          const rt::TensorInfo &result, rt::Attributes own = {});
};

/// Numbers of a float type: few eighths, so that products and their sums are
/// exact in every type, and any order of them gives the same bits. Of other
/// types any bytes.
Bytes drawValues(const rt::TensorInfo &info, Random &random);

/// What the reference makes of `values`, and the bad index that it meets.
Bytes evaluateCall(const GpuCall &call, const std::vector<Bytes> &values,
                   std::optional<rt::BadIndex> *badIndex = nullptr);

/// Code for what a library may have nothing for, of a call whose kernel says
/// so; of no target if none is made for this processor.
rt::KernelCode makeFallback(const rt::CallSite &site);

/// The call on the GPU, twice, with code if it needs some; nothing if that has
/// no kernel for it. It may touch nothing beside its result.
std::optional<Bytes> runOnGpu(CudaFixture &gpu, const GpuCall &call,
                              const std::vector<Bytes> &values,
                              bool mayRound = false,
                              std::optional<rt::BadIndex> *badIndex = nullptr);

/// Launches the call, of two operands, without code: it succeeds, and is
/// refused with `message` where its first operand begins in the middle of 16
/// bytes.
void expectAlignment(const GpuCall &call, const std::string &message);

} // namespace divisi::test

#endif // DIVISI_TEST_EMULATOR_CUDACALLS_H
