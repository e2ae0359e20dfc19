//===- Magnitude.cpp - How large the elements of operands are -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Magnitude.h"
#include "runtime/backends/cpu/Team.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>

namespace divisi::rt::cpu {

/// The largest of the elements' bits without the sign: they are ordered as the
/// magnitudes are, infinity behind all numbers, and NaN behind that.
__attribute__((target_clones("avx512f", "avx2", "default"))) static uint32_t
largestBits(const float *x, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  }
  return largest;
}

double largestMagnitude(const float *x, int64_t count, int threads) {
  /// Fewer are read before a team is awake.
  static constexpr int64_t leastElements = 65536;
  struct Work {
    const float *x;
    int64_t count;
    int pieces;
    std::atomic<uint32_t> largest = 0;
  } work{x, count, count < leastElements ? 1 : threads};
  forEach(
      threads, work.pieces,
      [](void *context, int i) {
        auto &own = *static_cast<Work *>(context);
        int64_t begin = own.count * i / own.pieces;
        int64_t end = own.count * (i + 1) / own.pieces;
        uint32_t bits = largestBits(own.x + begin, end - begin);
        uint32_t before = own.largest;
        while (before < bits &&
               !own.largest.compare_exchange_weak(before, bits)) {
        }
      },
      &work);
  constexpr auto infinity = std::numeric_limits<float>::infinity();
  return std::bit_cast<float>(
      std::min(work.largest.load(), std::bit_cast<uint32_t>(infinity)));
}

static Constant constantOf(const CallSite &call, size_t operand) {
  return call.constants.empty() ? Constant() : call.constants[operand];
}

/// Of all of `count` elements; infinity where they cannot be had.
static double largestMagnitude(const Constant &constant, int64_t count,
                               int threads) {
  std::vector<float> piece(size_t(std::min<int64_t>(count, 1 << 18)));
  double largest = 0;
  for (int64_t at = 0; at < count;) {
    auto taken = std::min<int64_t>(count - at, int64_t(piece.size()));
    if (!constant.read(at * int64_t(sizeof(float)),
                       taken * int64_t(sizeof(float)), piece.data())) {
      return std::numeric_limits<double>::infinity();
    }
    largest = std::max(largest, largestMagnitude(piece.data(), taken, threads));
    at += taken;
  }
  return largest;
}

Magnitude::Magnitude(const CallSite &call, size_t operand)
    : operand_(operand), count_(call.operands[operand].count()) {
  if (Constant constant = constantOf(call, operand)) {
    known_ = largestMagnitude(constant, count_, call.threads);
  }
}

double Magnitude::of(const LaunchContext &context) const {
  return known_ ? *known_
                : largestMagnitude(
                      static_cast<const float *>(context.operands[operand_]),
                      count_, context.threads);
}

int64_t Magnitude::cost(const CallSite &call, size_t operand) {
  return constantOf(call, operand) ? 0 : call.operands[operand].count();
}

} // namespace divisi::rt::cpu
