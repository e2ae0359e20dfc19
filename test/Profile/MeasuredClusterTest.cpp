//===- MeasuredClusterTest.cpp --------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Profile/MeasuredCluster.h"
#include "divisi/Cluster/ClusterFields.h"
#include "divisi/Cluster/ClusterFile.h"

#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <gtest/gtest.h>

using namespace divisi;
using enum DevicePath;

/// `nvlink 2, pci 2`, and what is noted, of devices that NVLink joins where
/// `isLinked` says so.
static std::string
levelsOf(int64_t count, const std::function<bool(int64_t, int64_t)> &isLinked) {
  std::vector<DevicePath> paths;
  for (int64_t pair = 0; pair < count * count; ++pair) {
    int64_t a = pair / count, b = pair % count;
    paths.push_back(a != b && isLinked(a, b) ? NvLink : Pci);
  }
  FoundLevels found = findLevels(paths, count);
  std::string text;
  for (const LinkLevel &level : found.levels) {
    text += (text.empty() ? "" : ", ") + level.name + " " +
            kTransportNames[unsigned(level.transport)].str() + " " +
            std::to_string(level.fanout);
  }
  return text + (found.notes.empty() ? "" : "; " + found.notes.front());
}

TEST(Profile, LevelsAreUnitsThatNvLinkJoins) {
  auto none = [](int64_t, int64_t) { return false; };
  auto all = [](int64_t, int64_t) { return true; };
  auto pairs = [](int64_t a, int64_t b) { return a / 2 == b / 2; };
  auto chain = [](int64_t a, int64_t b) { return std::abs(a - b) == 1; };
  EXPECT_EQ(levelsOf(1, none), "");
  EXPECT_EQ(levelsOf(4, none), "pci pci 4");
  EXPECT_EQ(levelsOf(8, all), "nvlink nvlink 8");
  EXPECT_EQ(levelsOf(8, pairs), "nvlink nvlink 2, pci pci 4");
  EXPECT_EQ(levelsOf(4, chain), "nvlink nvlink 4");
}

TEST(Profile, UnevenUnitsAreNotedAndTakenForPci) {
  const char *told =
      "pci pci 4; NVLink connects some devices, but not in equal groups of "
      "consecutive devices: all links are treated as PCIe";
  auto lonely = [](int64_t a, int64_t b) { return a < 3 && b < 3; };
  auto apart = [](int64_t a, int64_t b) { return a % 2 == b % 2; };
  EXPECT_EQ(levelsOf(4, lonely), told);
  EXPECT_EQ(levelsOf(4, apart), told);
}

TEST(Profile, WhatIsNotKnownHasTheDefaultTransport) {
  std::vector<DevicePath> paths(16, Unknown);
  FoundLevels found = findLevels(paths, 4);
  ASSERT_EQ(found.levels.size(), 1u);
  EXPECT_EQ(found.levels[0].name, "links");
  EXPECT_EQ(found.levels[0].transport, LinkLevel().transport);
}

/// Times of four members by alpha and beta, as Collectives.cpp has them.
static std::vector<CollectiveTime> timesOf(double alpha,
                                           double bytesPerSecond) {
  std::vector<CollectiveTime> times;
  for (Collective collective :
       {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter,
        Collective::AllToAll}) {
    bool isReduce = collective == Collective::AllReduce;
    double rounds = isReduce ? 4 : collective == Collective::AllToAll ? 3 : 2;
    for (int64_t bytes : {32, 65536, 1 << 20, 1 << 24}) {
      times.push_back({collective, bytes,
                       rounds * alpha + (isReduce ? 2 : 1) * 0.75 * 1e9 *
                                            double(bytes) / bytesPerSecond});
    }
  }
  return times;
}

static void expectAbout(double got, double want) {
  EXPECT_NEAR(got / want, 1, 0.01) << got << " for " << want;
}

TEST(Profile, LatencyAndRateAreFound) {
  LinkLevel level{.name = "machine", .fanout = 4};
  fitLevel(level, 4, timesOf(5000, 8e9), 0);
  expectAbout(double(level.latencyNanoseconds), 5000);
  expectAbout(level.bytesPerSecond, 8e9);
  ASSERT_EQ(level.measured.size(), 16u);
  expectAbout(level.measured[3].nanoseconds(), 4 * 5000 + 1.5 * (1 << 24) / 8.);
}

/// NCCL's own latency is known, and what a ring reaches is its rate.
TEST(Profile, NvLinkHasTheRateOfItsLongestCollectives) {
  LinkLevel level{
      .name = "nvlink", .fanout = 4, .transport = Transport::NvLink};
  fitLevel(level, 4, timesOf(10, 3e11), 4e11);
  EXPECT_EQ(level.latencyNanoseconds, 0);
  expectAbout(level.bytesPerSecond, 3e11);
  EXPECT_EQ(level.peerBytesPerSecond, 4e11);
}

TEST(Profile, WithoutCollectivesTheRateIsThatOfCopies) {
  LinkLevel level{.name = "pci", .fanout = 2, .transport = Transport::Pci};
  fitLevel(level, 2, {}, 2.345678e10);
  EXPECT_EQ(level.bytesPerSecond, 2.346e10);
  EXPECT_TRUE(level.measured.empty());
}

/// As on a machine that has other work: a short message that took long, and a
/// long one that took no longer.
TEST(Profile, DisturbedTimesAreACluster) {
  for (double disturbed : {1e3, 1e9}) {
    for (size_t which = 0; which < 16; ++which) {
      std::vector<CollectiveTime> times = timesOf(5000, 8e9);
      times[which].nanoseconds = disturbed;
      Cluster cluster{.name = "c",
                      .devices = {{4,
                                   {.name = "cpu",
                                    .peaks = {.f32 = 1e11},
                                    .memoryBytesPerSecond = 1e10,
                                    .memoryBytes = 1 << 30}}},
                      .levels = {{.name = "machine", .fanout = 4}}};
      fitLevel(cluster.levels[0], 4, times, 0);
      EXPECT_EQ(verifyCluster(cluster).message(), "");
      std::string text;
      llvm::raw_string_ostream os(text);
      printClusterYAML(cluster, os);
      Expected<Cluster> again = parseClusterYAML("# a note\n" + text);
      ASSERT_TRUE(again) << again.status().message();
      EXPECT_EQ(*again, cluster);
    }
  }
}

/// A disturbed time is none of the level's, whichever it is of.
TEST(Profile, OneDisturbedTimeOfEachMovesNoOther) {
  for (size_t which = 0; which < 3; ++which) {
    std::vector<CollectiveTime> times = timesOf(5000, 8e9);
    for (size_t i = which; i < times.size(); i += 4) {
      times[i].nanoseconds *= 24; // 118 us for 5 us were seen
    }
    LinkLevel level{.name = "machine", .fanout = 4};
    fitLevel(level, 4, times, 0);
    std::vector<CollectiveTime> right = timesOf(5000, 8e9);
    for (size_t i = 0; i < right.size(); ++i) {
      double got = level.measured[i].nanoseconds();
      if (i % 4 != which) {
        EXPECT_NEAR(got / right[i].nanoseconds, 1, 0.01) << i << " " << which;
      } else {
        EXPECT_LE(got, right[i + 1].nanoseconds * 1.01) << i;
      }
    }
    EXPECT_LE(level.latencyNanoseconds, 8100);
  }
}

TEST(Profile, ABusyMachineIsSaid) {
  EXPECT_EQ(noteOfLoad(0.2, 2, 2), std::nullopt);
  EXPECT_EQ(noteOfLoad(4, 16, 8), std::nullopt); // on others
  EXPECT_EQ(noteOfLoad(1.3, 2, 2),
            "the machine is busy (load 1.3 of 2 processors, of which 2 are "
            "measured): what other work has disturbed is measured as slower; "
            "profile again when it is idle");
  EXPECT_TRUE(noteOfLoad(9, 16, 8));
}

TEST(Profile, NumbersHaveFourDigits) {
  EXPECT_EQ(fourDigits(0), 0);
  EXPECT_EQ(fourDigits(123456), 123500);
  EXPECT_EQ(fourDigits(1.23456e12), 1.235e12);
  EXPECT_EQ(fourDigits(0.123456), 0.1235);
}
