//===- Random.h - Deterministic pseudo-random numbers -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014): the same numbers everywhere, which the standard
// library's distributions don't promise.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_RUN_RANDOM_H
#define DIVISI_LIB_SEARCH_RUN_RANDOM_H

#include <cstdint>

namespace divisi::search {

/// A sequence of random numbers, the same for the same seed.
class Random {
public:
  /// Any seed will do.
  explicit Random(uint64_t seed) : state_(seed) {}

  /// The next 64 bits.
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  /// In [0, bound).
  uint32_t below(uint32_t bound) { return uint32_t(next() % bound); }
  /// In (0, 1].
  double unit() { return double((next() >> 11) + 1) * 0x1p-53; }

private:
  uint64_t state_;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_RUN_RANDOM_H
