//===- Random.cpp - Random numbers ----------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Philox4x32-10: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC 2011. Constants are the paper's.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>
#include <array>

namespace divisi::rt {

namespace {

/// So many counters at once that a compiler makes vectors of them.
constexpr int64_t kBlocks = 16;

/// What all elements of a result have in common.
struct RandomStream {
  uint64_t key;
  uint32_t stream, count;

  /// Of blocks `first` and those that follow, four numbers each.
  void fill(uint64_t first, float *out) const;
};

/// A result's box as rows of neighbours.
struct RandomRows {
  Dims extents, offset, strides; ///< Strides are those of the whole tensor.
  int64_t length = 1;            ///< Of a row.

  void fill(const RandomStream &stream, float *out) const;
};

} // namespace

void RandomStream::fill(uint64_t first, float *out) const {
  std::array<std::array<uint32_t, kBlocks>, 4> x;
  for (int64_t i = 0; i < kBlocks; ++i) {
    x[0][i] = uint32_t(first + i);
    x[1][i] = uint32_t((first + i) >> 32);
    x[2][i] = stream;
    x[3][i] = count;
  }
  auto low = uint32_t(key), high = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int64_t i = 0; i < kBlocks; ++i) {
      uint64_t a = uint64_t(x[0][i]) * 0xD2511F53;
      uint64_t b = uint64_t(x[2][i]) * 0xCD9E8D57;
      x[0][i] = uint32_t(b >> 32) ^ x[1][i] ^ low;
      x[1][i] = uint32_t(b);
      x[2][i] = uint32_t(a >> 32) ^ x[3][i] ^ high;
      x[3][i] = uint32_t(a);
    }
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  for (int64_t i = 0; i < kBlocks; ++i) {
    for (int64_t word = 0; word < 4; ++word) {
      out[4 * i + word] = float(x[word][i] >> 8) * 0x1p-24f;
    }
  }
}

void RandomRows::fill(const RandomStream &stream, float *out) const {
  std::array<float, 4 * kBlocks> made;
  uint64_t from = 0, to = 0; // Which places `made` has.
  int64_t rows = numElements(extents) / std::max<int64_t>(length, 1);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t place = offset.empty() ? 0 : offset.back();
    for (int64_t dim = int64_t(extents.size()) - 2, rest = row; dim >= 0;
         --dim) {
      place += (offset[dim] + rest % extents[dim]) * strides[dim];
      rest /= extents[dim];
    }
    for (int64_t done = 0; done < length;) {
      uint64_t next = uint64_t(place + done);
      if (next < from || next >= to) {
        from = next / 4 * 4;
        to = from + made.size();
        stream.fill(from / 4, made.data());
      }
      int64_t count = std::min(length - done, int64_t(to - next));
      std::copy_n(made.data() + (next - from), count, out);
      out += count;
      done += count;
    }
  }
}

static std::unique_ptr<PreparedKernel> prepareRandom(const CallSite &site,
                                                     std::string &error) {
  Checks checks(site, error);
  int64_t stream = 0;
  if (!checks.counts(2, 1) || !checks.operandType(0, DType::I64) ||
      !checks.operandType(1, DType::I64) || !checks.operandRank(0, 0) ||
      !checks.operandRank(1, 0) || !checks.resultType(0, DType::F32) ||
      !checks.getInt("stream", 0, UINT32_MAX, stream)) {
    return nullptr;
  }
  const TensorInfo &result = site.results[0];
  RandomRows rows{result.extents, result.offset,
                  rowMajorStrides(result.global)};
  rows.length = result.extents.empty() ? 1 : result.extents.back();
  return makeKernel([=](auto operands, auto results, void *) {
    auto word = [&](size_t i) {
      return *static_cast<const int64_t *>(operands[i]);
    };
    RandomStream numbers{uint64_t(word(0)), uint32_t(stream),
                         uint32_t(word(1))};
    rows.fill(numbers, static_cast<float *>(results[0]));
  });
}

std::span<const Kernel> randomKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.random", 1, KernelUse::Parts, queryNothing, prepareRandom},
  };
  return kernels;
}

} // namespace divisi::rt
