//===- MeasuredTest.cpp - Prices and what was measured --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/ClusterFields.h"
#include "divisi/Cluster/ClusterFile.h"
#include "divisi/Cost/MeasuredPoints.h"
#include "divisi/Support/InputText.h"
#include "test/Cost/Group.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

using namespace divisi;
using namespace divisi::test;

static constexpr Collective kCollectives[] = {
    Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter,
    Collective::AllToAll};
static constexpr int64_t MiB = 1 << 20;

//===----------------------------------------------------------------------===//
// The table of docs/rationale-cost.md
//===----------------------------------------------------------------------===//

namespace {
/// | dgx-b200:8 | all_reduce | 16 MiB | 255 | 491.5 | 260.7 | +2.2 % | no |
struct Row {
  std::string cluster, what;
  double mebibytes = 0, measured = 0;
  std::string model, price, error;
  bool isFitted = false;
};
} // namespace

static std::vector<Row> rowsOfTheDocument() {
  Expected<InputText> file = InputText::readFile(DIVISI_COSTS);
  std::vector<Row> rows;
  if (!file) {
    return rows;
  }
  for (llvm::StringRef line : llvm::split(file->text(), '\n')) {
    llvm::SmallVector<llvm::StringRef> cells;
    line.split(cells, '|');
    for (llvm::StringRef &cell : cells) {
      cell = cell.trim();
    }
    Row row;
    if (cells.size() == 10 && cells[3].consume_back(" MiB") &&
        !cells[3].getAsDouble(row.mebibytes) &&
        !cells[4].getAsDouble(row.measured)) {
      row.cluster = cells[1];
      row.what = cells[2];
      row.model = cells[5];
      row.price = cells[6];
      row.error = cells[7];
      row.isFitted = cells[8] == "yes";
      rows.push_back(row);
    }
  }
  return rows;
}

/// In GB/s, as nccl-tests counts.
static double busRate(Collective collective, double members, double bytes,
                      double nanoseconds) {
  double times = collective == Collective::AllReduce ? 2 : 1;
  return times * (members - 1) / members * bytes / nanoseconds;
}

static std::string print(const char *format, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

/// Whether the preset was made from this row.
static bool isPoint(const Row &row, const Cluster &cluster) {
  return llvm::any_of(cluster.levels, [&](const LinkLevel &level) {
    return llvm::any_of(level.measured, [&](const MeasuredRate &point) {
      return kCollectiveNames[unsigned(point.collective)] == row.what &&
             point.members == cluster.numDevices() &&
             point.bytes == int64_t(row.mebibytes) * MiB;
    });
  });
}

TEST(MeasuredTest, TheDocumentSaysHowFarPricesAreFromMeasurements) {
  std::vector<Row> rows = rowsOfTheDocument();
  ASSERT_EQ(rows.size(), 17u);
  unsigned fitted = 0;
  for (const Row &row : rows) {
    SCOPED_TRACE(row.cluster + " " + row.what + " " +
                 std::to_string(row.mebibytes) + " MiB");
    Cluster cluster = *findCluster(row.cluster);
    Collective collective = Collective::AllReduce;
    if (row.what == "ring") {
      cluster.levels.front().switchBytesPerSecond = 0;
      cluster.levels.front().measured.clear();
    } else {
      const auto *name = llvm::find(kCollectiveNames, row.what);
      ASSERT_NE(name, std::end(kCollectiveNames));
      collective = Collective(name - std::begin(kCollectiveNames));
    }
    Group group(cluster);
    double bytes = row.mebibytes * MiB, members = double(group.reach.members);
    double model = busRate(
        collective, members, bytes,
        modelNanoseconds(collective, bytes, group.reach, cluster.levels));
    double price =
        busRate(collective, members, bytes, group.time(collective, bytes));
    double error = 100 * (price / row.measured - 1);
    EXPECT_EQ(row.model, print("%.1f", model));
    EXPECT_EQ(row.price, print("%.1f", price));
    EXPECT_EQ(row.error,
              std::abs(error) < 0.05 ? "0.0 %" : print("%+.1f %%", error));
    bool isRate = row.cluster == "mi300x:8";
    EXPECT_EQ(row.isFitted, isPoint(row, cluster) || isRate);
    EXPECT_LT(std::abs(error), row.isFitted ? 0.1 : 7.0);
    fitted += row.isFitted;
  }
  EXPECT_EQ(fitted, 9u);
}

TEST(MeasuredTest, PresetsStateWhatTheModelSays) {
  for (llvm::StringRef preset : clusterPresets()) {
    Cluster cluster = *presetCluster(preset, 32), again = cluster;
    noteModelTimes(again);
    for (auto [level, other] : llvm::zip_equal(cluster.levels, again.levels)) {
      for (auto [point, noted] :
           llvm::zip_equal(level.measured, other.measured)) {
        EXPECT_EQ(point.modelNanoseconds, noted.modelNanoseconds)
            << preset.str() << " " << level.name << " " << point.bytes;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Curves
//===----------------------------------------------------------------------===//

/// Eight threads, of which somebody measured `points`.
static Cluster threads(std::vector<MeasuredRate> points) {
  Cluster cluster = machineOf({{8, 1e9}});
  cluster.levels.front().measured.assign(points.begin(), points.end());
  EXPECT_EQ(verifyCluster(cluster).message(), "");
  noteModelTimes(cluster);
  return cluster;
}

TEST(MeasuredTest, APointIsThePrice) {
  // 7/8 of 8 MB at 0.5 GB/s.
  Group group(threads({{Collective::AllGather, 8, 8'000'000, 5e8}}));
  EXPECT_NEAR(group.time(Collective::AllGather, 8e6), 14e6, 1e-3);
  // One point stretches all times alike: 3 us and 7 ms are 7003 us.
  double stretch = 14e6 / (3e3 + 7e6);
  EXPECT_NEAR(group.time(Collective::AllGather, 8e3), stretch * 10e3, 1e-3);
  EXPECT_NEAR(group.time(Collective::AllGather, 8e9), stretch * (3e3 + 7e9), 1);
  // What nobody measured is stretched like what is most like it.
  EXPECT_NEAR(group.time(Collective::AllReduce, 8e6), stretch * (6e3 + 14e6),
              1e-3);
}

TEST(MeasuredTest, ItsOwnPointsCountAndThoseOfAsManyMembers) {
  Group group(threads({{Collective::AllGather, 8, 8'000'000, 5e8},
                       {Collective::AllReduce, 8, 8'000'000, 1e9},
                       {Collective::AllReduce, 4, 8'000'000, 2e8}}));
  EXPECT_NEAR(group.time(Collective::AllReduce, 8e6), 14e6, 1e-3);
  EXPECT_NEAR(group.time(Collective::ReduceScatter, 8e6), 14e6, 1e-3);
  Cluster few = group.cluster;
  auto price = [&](int64_t members) {
    Reach reach = group.reach;
    reach.members = reach.fanouts[0] = members;
    return collectiveNanoseconds(Collective::AllReduce, 8e6, reach,
                                 group.cluster.levels);
  };
  EXPECT_NEAR(price(4), 2 * 0.75 * 8e6 / 0.2, 1e-3);
  // Five reach the point of four. Of two there is none: the one of fewest.
  EXPECT_NEAR(price(5) / price(4), (6e3 + 12.8e6) / (4e3 + 12e6), 1e-6);
  EXPECT_NEAR(price(2) / price(4), (2e3 + 8e6) / (4e3 + 12e6), 1e-6);
}

TEST(MeasuredTest, PricesRiseWithBytesAndMembers) {
  for (llvm::StringRef preset : clusterPresets()) {
    for (Collective collective : kCollectives) {
      for (int64_t devices : {2, 3, 4, 8, 16, 32, 64}) {
        Group group(*presetCluster(preset, devices));
        double before = 0;
        for (double bytes = 1; bytes < 1e12; bytes *= 1.3) {
          double time = group.time(collective, bytes);
          ASSERT_GE(time, before * (1 - 1e-12))
              << preset.str() << " " << devices << " " << bytes;
          before = time;
        }
      }
    }
  }
  for (llvm::StringRef preset : {"dgx-h200", "dgx-b200", "p6-b200"}) {
    for (double bytes = 1; bytes < 1e12; bytes *= 1.7) {
      double before = 0;
      for (int64_t devices : {8, 16, 32, 64, 128}) {
        double time = Group(*presetCluster(preset, devices))
                          .time(Collective::AllReduce, bytes);
        ASSERT_GE(time, before) << preset.str() << devices << " " << bytes;
        before = time;
      }
    }
  }
}

// A curve that first falls behind the model and then catches up.
TEST(MeasuredTest, CurvesRiseBetweenTheirPoints) {
  std::vector<MeasuredRate> points;
  double rates[] = {1e6, 9e8, 3e8, 1e8, 1.6e9};
  int64_t bytes = 1000;
  for (double rate : rates) {
    points.push_back({Collective::AllReduce, 8, bytes, rate});
    bytes *= 20;
  }
  // The second takes less than the first.
  Cluster wrong = machineOf({{8, 1e9}});
  wrong.levels.front().measured.assign(points.begin(), points.end());
  EXPECT_NE(verifyCluster(wrong).message(), "");
  points[1].busBytesPerSecond = 1.9e7;
  Group group(threads(points));
  double before = 0;
  for (double at = 1; at < 1e12; at *= 1.01) {
    double time = group.time(Collective::AllReduce, at);
    ASSERT_GE(time, before) << at;
    before = time;
  }
}

TEST(MeasuredTest, EqualGroupsHaveEqualPrices) {
  Cluster cluster = *presetCluster("dgx-b200", 8);
  Grid one({{"z", 8}}), two({{"x", 2}, {"y", 4}});
  Reach whole = GridLinks(cluster, one).reach({AxisId{0}});
  Reach crossed = GridLinks(cluster, two).reach({AxisId{0}, AxisId{1}});
  for (Collective collective : kCollectives) {
    EXPECT_EQ(collectiveNanoseconds(collective, 3e6, whole, cluster.levels),
              collectiveNanoseconds(collective, 3e6, crossed, cluster.levels));
  }
}

// The group between nodes is of whole nodes, and shares their ports.
TEST(MeasuredTest, PointsBetweenNodesAreOfWholeNodes) {
  Cluster cluster = *presetCluster("dgx-v100", 32);
  cluster.levels[1].measured = {{Collective::AllReduce, 16, 64 * MiB, 1e9}};
  ASSERT_EQ(verifyCluster(cluster).message(), "");
  noteModelTimes(cluster);
  cluster.devices.front().count = 16;
  Group group(cluster);
  EXPECT_NEAR(busRate(Collective::AllReduce, 16, 64 * MiB,
                      group.time(Collective::AllReduce, 64 * MiB)),
              1, 1e-6);
}

//===----------------------------------------------------------------------===//
// Better machines
//===----------------------------------------------------------------------===//

namespace {
/// A number of a level that may be improved.
struct Knob {
  std::string name;
  std::function<bool(Cluster &, double)> improve; ///< False: it is not stated.
};
} // namespace

/// All numbers of the links of `cluster`.
static std::vector<Knob> knobsOf(const Cluster &cluster) {
  std::vector<Knob> knobs;
  for (size_t index = 0; index != cluster.levels.size(); ++index) {
    const std::string &level = cluster.levels[index].name;
    auto add = [&](const char *name, double LinkLevel::*rate) {
      knobs.push_back({level + " " + name, [=](Cluster &cluster, double by) {
                         cluster.levels[index].*rate *= by;
                         return cluster.levels[index].*rate > 0;
                       }});
    };
    add("bytes", &LinkLevel::bytesPerSecond);
    add("unit", &LinkLevel::unitBytesPerSecond);
    add("switch", &LinkLevel::switchBytesPerSecond);
    add("peer", &LinkLevel::peerBytesPerSecond);
    add("flagged", &LinkLevel::flaggedBytesPerSecond);
    knobs.push_back({level + " latency", [=](Cluster &cluster, double by) {
                       int64_t &latency =
                           cluster.levels[index].latencyNanoseconds;
                       latency = int64_t(double(latency) / by);
                       return latency > 0;
                     }});
  }
  return knobs;
}

/// Whether no collective of any group of `grid` takes longer on `better`.
static testing::AssertionResult
isNoSlower(const Cluster &cluster, const Cluster &better, const Grid &grid) {
  GridLinks links(cluster, grid), faster(better, grid);
  for (uint64_t set = 1; set >> grid.numAxes() == 0; ++set) {
    llvm::SmallVector<AxisId> axes;
    for (uint32_t axis = 0; axis != grid.numAxes(); ++axis) {
      if (set >> axis & 1) {
        axes.push_back(AxisId{axis});
      }
    }
    Reach reach = links.reach(axes), other = faster.reach(axes);
    for (Collective collective : kCollectives) {
      for (double bytes = 64; bytes < 1e11; bytes *= 3) {
        double before =
            collectiveNanoseconds(collective, bytes, reach, cluster.levels);
        double after =
            collectiveNanoseconds(collective, bytes, other, better.levels);
        if (after > before * (1 + 1e-12) + 1e-3) {
          return testing::AssertionFailure()
                 << kCollectiveNames[unsigned(collective)].str() << " of "
                 << bytes << " bytes and " << reach.members
                 << " members: " << before << " before, " << after << " after";
        }
      }
    }
  }
  return testing::AssertionSuccess();
}

TEST(MeasuredTest, FasterLinksNeverTakeLonger) {
  const Grid grids[] = {Grid({{"x", 8}}), Grid({{"x", 2}, {"y", 2}, {"z", 2}}),
                        Grid({{"x", 4}, {"y", 8}}), Grid({{"x", 3}, {"y", 4}})};
  for (llvm::StringRef preset : clusterPresets()) {
    for (bool states : {true, false}) {
      Cluster cluster = *presetCluster(preset, 32);
      for (LinkLevel &level : cluster.levels) {
        for (MeasuredRate &point : level.measured) {
          point.modelNanoseconds *= states;
        }
      }
      for (const Knob &knob : knobsOf(cluster)) {
        for (double by : {1.1, 2.0, 10.0}) {
          Cluster better = cluster;
          if (!knob.improve(better, by)) {
            continue;
          }
          for (const Grid &grid : grids) {
            ASSERT_TRUE(isNoSlower(cluster, better, grid))
                << preset.str() << ": " << knob.name << " x " << by
                << (states ? "" : ", without the model's times");
          }
        }
      }
    }
  }
}

// Whose file does not say what the model said then: bounds, and only for what
// was measured.
TEST(MeasuredTest, PointsAloneBoundWhatIsLikeThem) {
  Cluster cluster = machineOf({{8, 1e9}});
  cluster.levels.front().measured = {
      {Collective::AllGather, 4, 8'000'000, 5e8},
      {Collective::AllGather, 4, 16'000'000, 8e8}};
  Group group(cluster);
  auto price = [&](Collective collective, int64_t members, double bytes) {
    Reach reach = group.reach;
    reach.members = reach.fanouts[0] = members;
    return collectiveNanoseconds(collective, bytes, reach, cluster.levels);
  };
  EXPECT_NEAR(price(Collective::AllGather, 4, 8e6), 12e6, 1e-3);
  EXPECT_NEAR(price(Collective::AllGather, 4, 16e6), 15e6, 1e-3);
  EXPECT_NEAR(price(Collective::AllGather, 4, 12e6), 13.5e6, 1e-3);
  // The model says 0.752 ms and 750.002 ms.
  EXPECT_NEAR(price(Collective::AllGather, 4, 1e6), 1.5e6, 1e-3);
  EXPECT_NEAR(price(Collective::AllGather, 4, 1e9), 750.002e6, 1e-3);
  // Smaller groups take no longer, larger ones no less.
  EXPECT_NEAR(price(Collective::AllGather, 2, 8e6), 4e6 + 1e3, 1e-3);
  EXPECT_NEAR(price(Collective::AllGather, 8, 8e6), 12e6, 1e-3);
  EXPECT_NEAR(price(Collective::AllReduce, 4, 8e6), 12e6 + 4e3, 1e-3);
}
