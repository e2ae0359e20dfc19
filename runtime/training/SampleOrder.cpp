//===- SampleOrder.cpp - In which order samples come ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/training/SampleOrder.h"

#include <cstddef>

using namespace divisi::rt;

static constexpr uint64_t golden = 0x9e3779b97f4a7c15;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

SampleOrder::SampleOrder(uint64_t seed, int64_t samples, int64_t epoch)
    : samples_(samples) {
  while (half_ < 31 && int64_t(1) << (2 * half_) < samples) {
    ++half_;
  }
  for (int round = 0; round < kRounds; ++round) {
    uint64_t counter = uint64_t(epoch) * kRounds + uint64_t(round) + 1;
    keys_[size_t(round)] = mix(mix(seed) + counter * golden);
  }
}

uint64_t SampleOrder::permute(uint64_t number) const {
  uint64_t mask = (uint64_t(1) << half_) - 1;
  uint64_t left = number >> half_, right = number & mask;
  for (uint64_t key : keys_) {
    uint64_t next = left ^ (mix(key + right) & mask);
    left = right;
    right = next;
  }
  return left << half_ | right;
}

int64_t SampleOrder::at(int64_t place) const {
  auto number = permute(uint64_t(place));
  while (number >= uint64_t(samples_)) {
    number = permute(number);
  }
  return int64_t(number);
}
