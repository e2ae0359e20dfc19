//===- RepeatsTest.cpp ----------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Repeats.h"

#include <gtest/gtest.h>

using namespace divisi;

/// The repeats of a text's characters, as `begin:period x count`.
static std::string repeatsOf(const std::string &text) {
  std::vector<std::string> sequence;
  for (char c : text) {
    sequence.push_back(std::string(1, c));
  }
  std::string found;
  for (const Repeat &repeat : findRepeats(sequence)) {
    found += (found.empty() ? "" : " ") + std::to_string(repeat.begin) + ":" +
             std::to_string(repeat.period) + "x" + std::to_string(repeat.count);
  }
  return found;
}

TEST(Repeats, TheOneThatCoversMostComesFirst) {
  EXPECT_EQ(repeatsOf(""), "");
  EXPECT_EQ(repeatsOf("abcdefgh"), "");
  EXPECT_EQ(repeatsOf("abcabc"), "0:3x2");
  EXPECT_EQ(repeatsOf("aaaaaaa"), "0:1x7");
  EXPECT_EQ(repeatsOf("xabcabcabcy"), "1:3x3");
  // Not the few a's, which would hide the layers.
  EXPECT_EQ(repeatsOf("aaaaaabaaaaaabaaaaaab"), "0:7x3");
}

TEST(Repeats, BothSidesOfARepeatAreLookedAt) {
  EXPECT_EQ(repeatsOf("ababab-cdecdecdecde-fgfgfg"), "0:2x3 7:3x4 20:2x3");
}

TEST(Repeats, AFewEqualElementsAreNoLayer) {
  EXPECT_EQ(repeatsOf("aab"), "");
  EXPECT_EQ(repeatsOf("ababx"), "");
}
