//===- SendersTest.cpp - Who sends what of a move -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/device/Senders.h"
#include "test/runtime/device/BoxValues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;

/// What the one with most has.
static int64_t mostOf(std::span<const int64_t> sizes,
                      const std::vector<size_t> &holderOf, size_t holders) {
  std::vector<int64_t> loads(holders);
  for (size_t i = 0; i < sizes.size(); ++i) {
    loads[holderOf[i]] += sizes[i];
  }
  return *std::ranges::max_element(loads);
}

/// The same of the best way, of all that there are.
static int64_t leastMost(std::span<const int64_t> sizes, size_t holders) {
  std::vector<size_t> holderOf(sizes.size());
  int64_t least = std::numeric_limits<int64_t>::max();
  while (true) {
    least = std::min(least, mostOf(sizes, holderOf, holders));
    size_t i = 0;
    while (i < sizes.size() && ++holderOf[i] == holders) {
      holderOf[i++] = 0;
    }
    if (i == sizes.size()) {
      return least;
    }
  }
}

TEST(SendersTest, sizesAreSharedOutNearlyAsWellAsCanBe) {
  Random random(5);
  int best = 0;
  const int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    size_t holders = 1 + below(random, 3);
    std::vector<int64_t> sizes(1 + below(random, 6));
    bool areEqual = round % 2 == 0;
    for (int64_t &size : sizes) {
      size = areEqual ? 7 : 1 + below(random, 9);
    }
    std::vector<size_t> holderOf = shareOut(sizes, holders);
    EXPECT_EQ(holderOf, shareOut(sizes, holders));
    int64_t most = mostOf(sizes, holderOf, holders);
    int64_t least = leastMost(sizes, holders);
    EXPECT_LE(3 * most, 4 * least);
    best += most == least;
    if (areEqual) {
      EXPECT_EQ(most, least);
      EXPECT_TRUE(std::ranges::is_sorted(holderOf)) << "not by neighbours";
    }
  }
  EXPECT_GE(best, rounds * 9 / 10);
}

TEST(SendersTest, holdersOfOneBoxShareThoseWhoWantIt) {
  Box whole = Box::whole({4}), none = {{0}, {0}};
  std::vector<MoveParty> parties = {{&whole, nullptr}, {&whole, nullptr},
                                    {nullptr, &whole}, {nullptr, &whole},
                                    {&none, &whole},   {nullptr, &none}};
  std::vector<size_t> from;
  Senders senders(parties);
  for (size_t to = 0; to < parties.size(); ++to) {
    Received received = senders.received(to);
    EXPECT_TRUE(received.isWhole);
    for (const SentPiece &piece : received.pieces) {
      EXPECT_EQ(piece.box, whole);
      from.push_back(piece.sender);
    }
  }
  EXPECT_THAT(from, ElementsAre(0, 0, 1));
}

TEST(SendersTest, everyElementComesOnceFromWhoHasIt) {
  Random random(6);
  for (int round = 0; round < 300; ++round) {
    Dims dims(below(random, 4));
    for (int64_t &dim : dims) {
      dim = 1 + below(random, 6);
    }
    // Few boxes, so that some are held by several.
    std::vector<Box> boxes = {Box::whole(dims)};
    for (int i = 0; i < 4; ++i) {
      boxes.push_back(randomBox(random, dims));
    }
    auto anyBox = [&]() -> const Box * {
      size_t choice = below(random, boxes.size() + 1);
      return choice == boxes.size() ? nullptr : &boxes[choice];
    };
    std::vector<MoveParty> parties(1 + below(random, 8));
    for (MoveParty &party : parties) {
      party = {anyBox(), anyBox()};
    }
    Senders senders(parties);
    for (size_t i = 0; i < parties.size(); ++i) {
      Received received = senders.received(i);
      int64_t missing = 0, count = 0;
      std::vector<std::vector<Box>> from(parties.size());
      for (const SentPiece &piece : received.pieces) {
        from[piece.sender].push_back(piece.box);
        ASSERT_TRUE(parties[piece.sender].source);
        EXPECT_TRUE(contains(*parties[piece.sender].source, piece.box));
        EXPECT_TRUE(contains(*parties[i].result, piece.box));
        count += piece.box.count();
        for (const SentPiece &other : received.pieces) {
          EXPECT_TRUE(&other == &piece ||
                      intersect(other.box, piece.box).empty());
        }
        if (piece.sender != i && parties[i].source) {
          EXPECT_TRUE(intersect(*parties[i].source, piece.box).empty());
        }
      }
      if (parties[i].result) {
        missing = parties[i].result->count() - count;
      }
      EXPECT_EQ(received.isWhole, missing == 0);
      for (size_t sender = 0; sender < parties.size(); ++sender) {
        EXPECT_EQ(from[sender], Senders(parties).pieces(sender, i));
      }
    }
  }
}
