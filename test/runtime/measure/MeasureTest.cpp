//===- MeasureTest.cpp - How fast devices are -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/measure/Measure.h"
#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "divisi/runtime/measure/HostFacts.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;

TEST(Measure, RoundsBeginTogetherAndTheFirstDoesNotCount) {
  std::atomic<int> calls[3] = {0, 0, 0};
  auto times = timeTogether(3, 0, [&](size_t part) -> Expected<double> {
    int before = calls[part]++;
    for (const auto &other : calls) { // who is a round ahead has not waited
      EXPECT_LE(std::abs(other - before), 1);
    }
    return before == 0 ? 1e9 : double(10 * (part + 1));
  });
  ASSERT_TRUE(times);
  EXPECT_EQ(times->rounds.size(), 5u);
  EXPECT_EQ(times->median(), 20);
  EXPECT_EQ(times->median(2, 1), 30);
  EXPECT_EQ(times->medianOfLongest(), 30);
}

TEST(Measure, OneFailureEndsAll) {
  std::atomic<int> calls = 0;
  auto times = timeTogether(2, 60, [&](size_t part) -> Expected<double> {
    ++calls;
    return part == 1 ? Expected<double>(Status(ExitCode::Device, "it broke"))
                     : 1.0;
  });
  ASSERT_FALSE(times);
  EXPECT_EQ(times.status().message(), "it broke");
  EXPECT_EQ(calls, 2);
}

static std::vector<std::unique_ptr<DeviceClock>> hosts(size_t count) {
  std::vector<std::unique_ptr<DeviceClock>> clocks;
  for (size_t i = 0; i < count; ++i) {
    clocks.push_back(std::move(*DeviceClock::make(makeHostDevice())));
  }
  return clocks;
}

TEST(Measure, EveryCollectiveRuns) {
  for (std::string_view kind : collectiveKinds) {
    for (size_t members : {2, 3}) {
      auto communicator = makeInprocCommunicator(std::chrono::seconds(30));
      uint32_t number = 0;
      for (int64_t bytes : {0, 5000}) {
        auto times = timeCollective(*communicator, hosts(members),
                                    {kind, bytes}, number++, 0);
        ASSERT_TRUE(times) << kind << ": " << times.status().message();
        EXPECT_GT(times->medianOfLongest(), 0);
        EXPECT_EQ(times->rounds[0].size(), members);
      }
    }
  }
}

/// Elements that a member of it gives and takes.
TEST(Measure, CollectivesHaveEqualBoxes) {
  for (std::string_view kind : collectiveKinds) {
    StepDesc step = CollectiveCase{kind, 4000}.describe(4);
    for (const StepParty &party : step.parties) {
      int64_t given = party.source->count(), taken = party.result->count();
      EXPECT_EQ(given,
                kind == "all_gather" || kind == "all_to_all" ? 248 : 992);
      EXPECT_EQ(taken,
                kind == "reduce_scatter" || kind == "all_to_all" ? 248 : 992);
    }
  }
}

TEST(Measure, ProductsComputeAndCopiesCopy) {
  auto clocks = hosts(1);
  const Backend *const backends[] = {&referenceBackend()};
  auto product = makeProduct(*clocks[0], backends, DType::F32, 8, 1);
  ASSERT_TRUE(product && *product) << product.status().message();
  auto time = clocks[0]->time([&] { return (*product)->put(); }, 3);
  ASSERT_TRUE(time);
  EXPECT_GT(*time, 0);
  EXPECT_FALSE(*makeProduct(*clocks[0], {}, DType::F32, 8, 1));
  auto from = *clocks[0]->allocateHost(64), to = *clocks[0]->allocate(64);
  from->data()[63] = std::byte(7);
  auto copy = std::move(*makeCopy(*clocks[0], from, to, 64));
  EXPECT_EQ(to->data()[63], std::byte(0));
  ASSERT_TRUE(copy->put().isOk());
  EXPECT_EQ(to->data()[63], std::byte(7));
}

static void put(const std::filesystem::path &file, const char *text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

/// `eth0 1.25e+09` and so on, of a machine whose files lie there.
static std::string portsOf(const std::string &root) {
  std::ostringstream text;
  for (const NetworkPort &port : networkPorts(root)) {
    text << port.name << " " << port.bytesPerSecond << "; ";
  }
  return text.str();
}

TEST(Measure, PortsAreThoseThatSayTheirRate) {
  auto root = std::filesystem::path(testing::TempDir()) / "measure-test-root";
  std::filesystem::remove_all(root);
  EXPECT_EQ(portsOf(root), "");
  for (const char *name : {"eth0", "eth1", "eth2", "docker0"}) {
    auto folder = root / "sys/class/net" / name;
    put(folder / "speed", std::string(name) == "eth1" ? "-1\n" : "10000\n");
    put(folder / "operstate", std::string(name) == "eth2" ? "down\n" : "up\n");
    if (std::string(name) != "docker0") {
      put(folder / "device/vendor", "");
    }
  }
  EXPECT_EQ(portsOf(root), "eth0 1.25e+09; ");
  for (const char *name : {"mlx5_1", "mlx5_0"}) {
    auto folder = root / "sys/class/infiniband" / name / "ports/1";
    put(folder / "rate", "400 Gb/sec (4X NDR)\n");
    put(folder / "state", "4: ACTIVE\n");
  }
  EXPECT_EQ(portsOf(root), "mlx5_0/1 5e+10; mlx5_1/1 5e+10; ");
  put(root / "sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
  EXPECT_EQ(portsOf(root), "mlx5_0/1 5e+10; ");
}

TEST(Measure, AGroupsLimitIsTheMachinesMemory) {
  auto root = std::filesystem::path(testing::TempDir()) / "measure-test-group";
  int64_t all = hostMemoryBytes(root);
  EXPECT_GT(all, 1 << 20);
  put(root / "sys/fs/cgroup/memory.max", "1048576\n");
  EXPECT_EQ(hostMemoryBytes(root), 1048576);
  put(root / "sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(hostMemoryBytes(root), all);
}
