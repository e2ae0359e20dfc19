//===- Sample.h - Which of their cases tests run ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests that draw many cases, or enumerate them, run a share of these:
// DIVISI_TEST_SHARE, from 0 to 1, and 0.05 unless it is set (test/share.py is
// the same for Python). `make sweep` sets it to 1. A random test with 600
// rounds becomes
//
//   for (int round = 0; round < test::sampleSize(600); ++round)
//
// which are the first ones of the rounds of the sweep, as every round draws
// numbers of its own. Of cases that somebody has written down `sampleOf` takes
// some from all over the list.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_SAMPLE_H
#define DIVISI_TEST_SAMPLE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

namespace divisi::test {

/// The share of their cases that tests run, from 0 to 1. Ends the program if
/// DIVISI_TEST_SHARE is no such number.
inline double sampleShare() {
  static const double share = [] {
    const char *text = std::getenv("DIVISI_TEST_SHARE");
    if (!text || !*text) {
      return 0.05;
    }
    char *end = nullptr;
    double value = std::strtod(text, &end);
    if (*end != '\0' || !(value >= 0 && value <= 1)) {
      std::fprintf(stderr,
                   "DIVISI_TEST_SHARE=%s: expected a number from 0 to 1\n",
                   text);
      std::exit(2);
    }
    return value;
  }();
  return share;
}

/// Whether all cases run.
inline bool isSweep() { return sampleShare() == 1; }

/// How many of `all` cases run: their share, and at least `least` of them.
template <typename Int> Int sampleSize(Int all, Int least = 1) {
  auto size = static_cast<Int>(std::ceil(double(all) * sampleShare()));
  return std::min(all, std::max(size, least));
}

/// The numbers, below `all`, of the cases that run, ascending: so many as
/// sampleSize says, always the same ones, and others for each `seed`, which is
/// the name of what is sampled.
inline std::vector<size_t> sampleOf(size_t all, std::string_view seed,
                                    size_t least = 1) {
  auto hash = [&](size_t number) {
    uint64_t state = 0xcbf29ce484222325 ^ number; // FNV-1a, then a finalizer
    for (char letter : seed) {
      state = (state ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    }
    state = (state ^ (state >> 33)) * 0xff51afd7ed558ccd;
    return state ^ (state >> 33);
  };
  std::vector<std::pair<uint64_t, size_t>> drawn;
  for (size_t number = 0; number != all; ++number) {
    drawn.emplace_back(hash(number), number);
  }
  std::sort(drawn.begin(), drawn.end());
  std::vector<size_t> taken;
  for (size_t i = 0; i != sampleSize(all, least); ++i) {
    taken.push_back(drawn[i].second);
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

/// Those of `all` that run, in their order.
template <typename T>
std::vector<T> sampleOf(const std::vector<T> &all, std::string_view seed,
                        size_t least = 1) {
  std::vector<T> taken;
  for (size_t number : sampleOf(all.size(), seed, least)) {
    taken.push_back(all[number]);
  }
  return taken;
}

} // namespace divisi::test

#endif // DIVISI_TEST_SAMPLE_H
