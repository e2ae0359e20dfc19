//===- SampleOrder.h - In which order samples come --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each epoch has a permutation of all samples, which its number and a seed
// decide, and nothing else: no device, thread or process has a say. Any place
// of it is computed by itself, so that no list is kept, and a run goes on where
// an earlier one ended:
//
//   mix(x):  x ^= x >> 30;  x *= 0xbf58476d1ce4e5b9
//            x ^= x >> 27;  x *= 0x94d049bb133111eb;  x ^= x >> 31
//   key(epoch, round) = mix(mix(seed) + (8 * epoch + round + 1) * golden)
//
// with golden = 0x9e3779b97f4a7c15, all modulo 2^64 (the generator SplitMix64).
// A place is a number of 2 * h bits, h being at least 4 and the least with
// 2^(2 * h) >= samples. Eight rounds of a Feistel network permute these:
//
//   (left, right) = (right, left ^ (mix(key(epoch, round) + right) mod 2^h))
//
// and are done again until the number is one of a sample.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TRAINING_SAMPLEORDER_H
#define DIVISI_RUNTIME_TRAINING_SAMPLEORDER_H

#include <array>
#include <cstdint>

namespace divisi::rt {

/// The order of one epoch.
class SampleOrder {
public:
  /// Of `samples` > 0.
  SampleOrder(uint64_t seed, int64_t samples, int64_t epoch);

  /// The sample at `place`, both from 0, below their number.
  int64_t at(int64_t place) const;

private:
  static constexpr int kRounds = 8;

  uint64_t permute(uint64_t number) const;

  int64_t samples_;
  int half_ = 4; ///< Bits of a half of a number.
  std::array<uint64_t, kRounds> keys_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TRAINING_SAMPLEORDER_H
