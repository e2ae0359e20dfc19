//===- HostsTest.cpp - Processes on hosts ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;

namespace {

/// A host file with that text.
std::string hostFile(const std::string &text) {
  std::string path = testing::TempDir() + "divisi-hosts-test";
  std::ofstream(path) << text;
  return path;
}

TEST(HostsTest, aHostIsReadOnceWithAllOfItsSlots) {
  auto hosts = readHosts(
      hostFile("# of both rooms\n\na slots=3 # three\nb\n\ta max=9 slots=2\n"));
  ASSERT_TRUE(hosts) << hosts.status().message();
  ASSERT_EQ(hosts->size(), 2u);
  EXPECT_EQ(hosts->front().name, "a");
  EXPECT_EQ(hosts->front().slots, 5);
  EXPECT_EQ(hosts->back().name, "b");
  EXPECT_EQ(hosts->back().slots, 1);
}

TEST(HostsTest, slotsAreNumbers) {
  for (const char *slots : {"x", "-1", "2x", ""}) {
    std::string path =
        hostFile("a slots=1\nb slots=" + std::string(slots) + "\n");
    auto hosts = readHosts(path);
    ASSERT_FALSE(hosts) << slots;
    EXPECT_EQ(hosts.status().code(), ExitCode::Invalid);
    EXPECT_EQ(hosts.status().message(),
              "'" + path + "':2: slots=" + slots + ": expected a number");
  }
}

TEST(HostsTest, slotsBehindAColonAreMpichs) {
  std::string path = hostFile("localhost:2\n");
  auto hosts = readHosts(path);
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.status().message(),
            "'" + path +
                "':1: localhost:2: expected 'localhost slots=2', as OpenMPI's "
                "mpirun reads it");
  EXPECT_TRUE(readHosts(hostFile("fe80::1\n")));
}

TEST(HostsTest, processesOfOneMachineAreOnOneHost) {
  MachineShape shape{8, 4, "nvlink"};
  EXPECT_THAT(processesByMachine(4, shape), ElementsAre(2, 2));
  EXPECT_THAT(processesByMachine(1, shape), ElementsAre(1));
  EXPECT_THAT(processesByMachine(3, {}), ElementsAre(1, 1, 1));
  auto places = layOnHosts(hostFile("a slots=3\nb\nc slots=2\n"), 4, shape);
  ASSERT_TRUE(places) << places.status().message();
  EXPECT_EQ(*places, "a:2,c:2");
  auto none = layOnHosts(hostFile("a slots=2\nb\nc\n"), 4, shape);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.status().code(), ExitCode::Usage);
}

TEST(HostsTest, devicesThatDoNotShareTheirMachineAreNamed) {
  MachineShape shape{4, 2, "nvlink"};
  EXPECT_EQ(misplacedDevices({{0, "a"}, {0, "a"}, {1, "b"}, {1, "b"}}, shape),
            "");
  EXPECT_THAT(
      misplacedDevices({{0, "a"}, {0, "a"}, {0, "a"}, {1, "b"}}, shape),
      testing::HasSubstr("devices 2 to 3 share a machine (its links: "
                         "'nvlink'), but they are on 2: 2 on 'a', 3 on 'b'"));
}

} // namespace
