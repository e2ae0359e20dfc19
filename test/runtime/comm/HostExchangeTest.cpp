//===- HostExchangeTest.cpp - Tests of what hosts tell each other ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/HostExchange.h"

#include <arpa/inet.h>
#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <thread>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds limit(5000);

static HostSecret secret(const std::string &key = "a key") {
  return HostSecret(key, "an artifact");
}

/// As torchrun says it; a port that no other test has.
static uint16_t sayPort(int test) {
  auto port = static_cast<uint16_t>(10000 + 16 * (getpid() % 2500) + 2 * test);
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
      auto opened = HostExchange::open(host, 3, limit, secret());
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
  Expected<std::string> heard = std::string();
  std::thread first([&] { heard = hosts[0]->exchange("0"); });
  auto answer = hosts[2]->exchange("2");
  first.join();
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.status().message(),
              HasSubstr("of the 3 hosts GROUP_RANK 1 has ended while"));
  EXPECT_EQ(heard.status().message(), answer.status().message());
}

/// Opens an exchange of two hosts; the first one's is not asked for anything.
static std::pair<std::unique_ptr<HostExchange>, std::unique_ptr<HostExchange>>
openTwo(milliseconds patience = limit) {
  auto first = HostExchange::open(0, 2, patience, secret());
  EXPECT_TRUE(first);
  std::unique_ptr<HostExchange> second;
  std::thread other([&] {
    auto opened = HostExchange::open(1, 2, patience, secret());
    ASSERT_TRUE(opened);
    second = std::move(*opened);
    EXPECT_EQ(*second->exchange("1"), "01");
  });
  EXPECT_EQ(*(*first)->exchange("0"), "01");
  other.join();
  return {std::move(*first), std::move(second)};
}

TEST(HostExchangeTest, theFirstHostEnds) {
  sayPort(1);
  auto [first, second] = openTwo();
  first.reset();
  auto answer = second->exchange("1");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.status().message(),
              HasSubstr("the first host's server has ended"));
}

TEST(HostExchangeTest, nobodyIsWaitedForForEver) {
  sayPort(3);
  auto [first, second] = openTwo(milliseconds(100));
  auto begin = std::chrono::steady_clock::now();
  auto heard = first->exchange("0"), answer = second->exchange("1");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5000));
  ASSERT_FALSE(heard);
  EXPECT_THAT(heard.status().message(),
              HasSubstr("GROUP_RANK 1 did not come within 100 ms"));
  // It has been told so.
  EXPECT_EQ(answer.status().message(), heard.status().message());
  answer = second->exchange("1");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.status().message(),
              HasSubstr("the first host's server did not answer within 2200"));
}

TEST(HostExchangeTest, aHostSaysNoMoreThanOthersHear) {
  sayPort(4);
  auto first = HostExchange::open(0, 2, limit, secret());
  ASSERT_TRUE(first);
  auto answer = (*first)->exchange(std::string(maxHostText + 1, 'x'));
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.status().message(),
              HasSubstr("a host of 2 has 16777217 bytes to tell the others, "
                        "expected at most 16777216"));
}

TEST(HostExchangeTest, hostsHaveOneKey) {
  sayPort(5);
  auto first = HostExchange::open(0, 2, milliseconds(300), secret());
  ASSERT_TRUE(first);
  std::thread other([] {
    auto opened =
        HostExchange::open(1, 2, milliseconds(300), secret("another"));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.status().code(), ExitCode::Usage);
    EXPECT_THAT(opened.status().message(),
                HasSubstr("has another key than GROUP_RANK 1; give all hosts "
                          "the same DIVISI_HOSTS_KEY"));
  });
  EXPECT_FALSE((*first)->exchange("0"));
  other.join();
}

TEST(HostExchangeTest, hostsHaveOneArtifact) {
  sayPort(6);
  auto first = HostExchange::open(0, 2, limit, secret());
  ASSERT_TRUE(first);
  std::thread other([] {
    auto opened = HostExchange::open(1, 2, limit, HostSecret("a key", "b"));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.status().code(), ExitCode::Invalid);
    EXPECT_THAT(opened.status().message(),
                HasSubstr("GROUP_RANK 0 has another artifact than GROUP_RANK "
                          "1; give all hosts the same"));
  });
  EXPECT_EQ((*first)->exchange("0").status().code(), ExitCode::Invalid);
  other.join();
}

TEST(HostExchangeTest, theFirstHostListensAtItsAddressAlone) {
  auto listensAt = [](const char *name, const char *own) {
    auto addresses = networkAddresses(own, 80);
    EXPECT_TRUE(addresses);
    auto &found = reinterpret_cast<const sockaddr_in &>(
        listeningAddress(name, *addresses).bytes);
    return std::string(inet_ntoa(found.sin_addr));
  };
  EXPECT_EQ(listensAt("127.0.0.1", "127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(listensAt("localhost", "127.0.0.1"), "127.0.0.1");
  // Nobody else calls this one so, and that one is of no interface.
  EXPECT_EQ(listensAt("node7", "127.0.1.1"), "0.0.0.0");
  EXPECT_EQ(listensAt("192.0.2.1", "192.0.2.1"), "0.0.0.0");
}

TEST(HostExchangeTest, theKeyIsOfTheEnvironmentOrTheUser) {
  setenv("DIVISI_HOSTS_KEY", "0123456789abcde", 1);
  auto key = HostSecret::find("a");
  ASSERT_FALSE(key);
  EXPECT_EQ(key.status().code(), ExitCode::Usage);
  EXPECT_THAT(key.status().message(),
              HasSubstr("DIVISI_HOSTS_KEY has 15 characters, expected 16 at "
                        "least, that nobody can guess and all hosts have"));
  auto proofOf = [] {
    auto found = HostSecret::find("a");
    EXPECT_TRUE(found) << found.status().message();
    return found->prove(HostEnd::First, {}, "nonce");
  };
  setenv("DIVISI_HOSTS_KEY", "0123456789abcdef", 1);
  EXPECT_EQ(
      proofOf(),
      HostSecret("0123456789abcdef", "a").prove(HostEnd::First, {}, "nonce"));
  unsetenv("DIVISI_HOSTS_KEY");
  std::string folder = testing::TempDir() + "hosts-" + std::to_string(getpid());
  setenv("XDG_DATA_HOME", folder.c_str(), 1);
  EXPECT_EQ(proofOf(), proofOf()); // of the file that the first one makes
  std::filesystem::permissions(folder + "/divisi/hosts.key",
                               std::filesystem::perms::all);
  key = HostSecret::find("a");
  ASSERT_FALSE(key);
  EXPECT_THAT(key.status().message(),
              HasSubstr("the key for the hosts of a run, '" + folder));
  std::filesystem::remove_all(folder);
}

TEST(HostExchangeTest, theFirstHostDoesNotCome) {
  sayPort(2);
  auto second = HostExchange::open(1, 2, milliseconds(50), secret());
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
    auto opened = HostExchange::open(0, 2, limit, secret());
    ASSERT_FALSE(opened) << port;
    EXPECT_EQ(opened.status().code(), ExitCode::Usage);
    EXPECT_THAT(opened.status().message(),
                HasSubstr("expected a host and a port below 65535"));
  }
}
