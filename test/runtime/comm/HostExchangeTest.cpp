//===- HostExchangeTest.cpp - Tests of what hosts tell each other ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/HostExchange.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds limit(5000);

/// As torchrun says it; a port that no other test has.
static uint16_t sayPort(int test) {
  auto port = static_cast<uint16_t>(10000 + 4 * (getpid() % 10000) + 2 * test);
  setenv("MASTER_ADDR", "localhost", 1);
  setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
  return port;
}

TEST(HostExchangeTest, allGetWhatAllSay) {
  sayPort(0);
  std::unique_ptr<HostExchange> hosts[3];
  std::thread threads[3];
  for (uint32_t host : {2u, 1u, 0u}) {
    threads[host] = std::thread([&, host] {
      auto opened = HostExchange::open(host, 3, limit);
      ASSERT_TRUE(opened);
      hosts[host] = std::move(*opened);
      std::string name = std::to_string(host);
      EXPECT_EQ(*hosts[host]->exchange(name), "012");
      EXPECT_EQ(*hosts[host]->exchange(std::string(1, '\0') + name),
                std::string("\0000\0001\0002", 6));
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  hosts[1].reset();
  auto answer = hosts[2]->exchange("2");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.status().message(),
              HasSubstr("of the 3 hosts GROUP_RANK 1 has ended while"));
}

TEST(HostExchangeTest, theFirstHostEnds) {
  uint16_t port = sayPort(1) + 1;
  auto address = networkAddress("localhost", port);
  ASSERT_TRUE(address);
  auto meeting =
      Rendezvous::open(anyAddress(*address), 2, {"hosts", "GROUP_RANK"}, limit);
  ASSERT_TRUE(meeting);
  auto second = HostExchange::open(1, 2, limit);
  ASSERT_TRUE(second);
  meeting = Status(ExitCode::Device, "gone");
  auto answer = (*second)->exchange("1");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.status().message(),
              HasSubstr("the first host's server has ended"));
}

TEST(HostExchangeTest, theFirstHostDoesNotCome) {
  sayPort(2);
  auto second = HostExchange::open(1, 2, milliseconds(50));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.status().code(), ExitCode::Device);
  EXPECT_THAT(second.status().message(),
              HasSubstr("GROUP_RANK 0 did not come within 50 ms, one port "
                        "above MASTER_PORT="));
}

TEST(HostExchangeTest, anAddressThatIsNoneIsRefused) {
  for (const char *port : {"", "x", "65535", "70000", "1x"}) {
    setenv("MASTER_ADDR", "localhost", 1);
    setenv("MASTER_PORT", port, 1);
    auto opened = HostExchange::open(0, 2, limit);
    ASSERT_FALSE(opened) << port;
    EXPECT_EQ(opened.status().code(), ExitCode::Usage);
    EXPECT_THAT(opened.status().message(),
                HasSubstr("expected a host and a port below 65535"));
  }
}
