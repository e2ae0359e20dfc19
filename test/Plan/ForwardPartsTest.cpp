//===- ForwardPartsTest.cpp -----------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/ForwardParts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace divisi;
using namespace divisi::plan;

/// What a step holds that is cut into `parts`.
static int64_t heldBy(const std::vector<MadeValue> &values,
                      const std::vector<unsigned> &parts) {
  std::vector<int64_t> again(values.size());
  int64_t kept = 0;
  for (size_t i = 0; i != values.size(); ++i) {
    size_t end = i;
    while (end + 1 != values.size() && parts[end + 1] == parts[i]) {
      ++end;
    }
    bool isKept = !values[i].mayRunAgain || values[i].last > values[end].made;
    (isKept ? kept : again[parts[i]]) += values[i].bytes;
  }
  return kept + *std::max_element(again.begin(), again.end());
}

/// A block widens what it gets; a second tensor passes by to its end.
static std::vector<MadeValue> blocks(unsigned count) {
  std::vector<MadeValue> values;
  for (int64_t block = 0; block != count; ++block) {
    int64_t at = 5 * block;
    values.push_back({at, at + 1, 12, true});     // query, key, value
    values.push_back({at + 1, at + 3, 4, true});  // + what comes in
    values.push_back({at + 2, at + 3, 16, true}); // wide
    values.push_back({at + 3, at + 4, 16, true}); // activated
    values.push_back({at + 4, at + 6, 4, true});  // + what comes in
  }
  return values;
}

/// The blocks as parts, `together` in each.
static std::vector<unsigned> byBlocks(size_t count, size_t together) {
  std::vector<unsigned> parts(count);
  for (size_t i = 0; i != count; ++i) {
    parts[i] = unsigned(i / (5 * together));
  }
  return parts;
}

TEST(ForwardParts, holdNoMoreThanBlocks) {
  std::vector<MadeValue> values = blocks(4);
  std::vector<unsigned> parts = forwardParts(values);
  EXPECT_LE(heldBy(values, parts), heldBy(values, byBlocks(20, 1)));
  EXPECT_GE(parts.back(), 2);
}

TEST(ForwardParts, manyBlocksArePartsTogether) {
  std::vector<MadeValue> values = blocks(200);
  std::vector<unsigned> parts = forwardParts(values);
  EXPECT_LT(parts.back() + 1, 100);
  for (size_t together : {1, 2, 4, 8, 16}) {
    EXPECT_LE(double(heldBy(values, parts)),
              1.2 * double(heldBy(values, byBlocks(1000, together))));
  }
}

TEST(ForwardParts, nothingIsNoPart) {
  EXPECT_TRUE(forwardParts({}).empty());
  EXPECT_EQ(forwardParts({{3, 3, 0, false}}), std::vector<unsigned>{0});
}

/// Attention's way back takes much beside its values: it is a part of its own.
TEST(ForwardParts, whatIsTakenBesideMakesPartsSmaller) {
  std::vector<MadeValue> values = blocks(4);
  for (size_t i = 0; i != values.size(); i += 5) {
    values[i].beside = 40;
  }
  std::vector<unsigned> parts = forwardParts(values);
  for (size_t i = 0; i != values.size(); i += 5) {
    EXPECT_NE(parts[i], parts[i + 2]);
  }
}

/// Against all divisions; bounds of parts are tried in steps of 1.2.
TEST(ForwardParts, areNearTheBest) {
  std::mt19937 random(0);
  for (int round = 0; round != 100; ++round) {
    std::vector<MadeValue> values;
    for (int64_t i = 0; i != 10; ++i) {
      values.push_back({i, i + int64_t(random() % 4),
                        1 + int64_t(random() % 20), random() % 5 != 0});
    }
    int64_t best = INT64_MAX;
    for (unsigned cuts = 0; cuts != 1U << 9; ++cuts) {
      std::vector<unsigned> parts{0};
      for (unsigned i = 0; i != 9; ++i) {
        parts.push_back(parts.back() + (cuts >> i & 1));
      }
      best = std::min(best, heldBy(values, parts));
    }
    int64_t found = heldBy(values, forwardParts(values));
    EXPECT_GE(found, best);
    EXPECT_LE(double(found), 1.2 * double(best));
  }
}
