//===- RandomDraws.h - What random plans are drawn by -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same numbers of the same seed on every machine, which the distributions
// of the standard library are not.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_RANDOMDRAWS_H
#define DIVISI_LIB_PLAN_RANDOMDRAWS_H

#include <cstdint>
#include <utility>

namespace divisi::plan {

/// SplitMix64 (Steele et al.).
class Random {
public:
  /// Equal seeds give equal numbers.
  explicit Random(uint64_t seed) : state_(seed) {}

  /// In [0, bound).
  uint64_t below(uint64_t bound) {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % bound;
  }
  /// True so many times of a hundred.
  bool chance(uint64_t percent) { return below(100) < percent; }
  /// One of `list`, which is not empty.
  template <typename List> auto &pick(List &list) {
    return list[below(list.size())];
  }
  /// Puts `list` into any order.
  template <typename List> void shuffle(List &list) {
    for (size_t i = list.size(); i > 1; --i) {
      std::swap(list[i - 1], list[below(i)]);
    }
  }

private:
  uint64_t state_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_RANDOMDRAWS_H
