//===- SocketCommTest.cpp - The world of tests connected by sockets -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   SocketCommTest PROCESSES MACHINES [--gtest_…]
//
// Processes that a parent starts, and whose exchange it is. With more than one
// machine they connect over the network, as if they were on so many.
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Version.h"
#include "test/runtime/comm/CommWorld.h"
#include "test/runtime/comm/ProcessCommTest.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iostream>
#include <numeric>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

namespace {

/// What a process says has so many bytes.
constexpr size_t wordBytes = 4096;
using Word = std::array<char, wordBytes>;

/// This process's part of the exchange.
struct Exchange {
  int socket = -1;
  uint32_t size = 0;
  /// What goes in, and what comes out, if a test changes that.
  std::function<void(std::string &own)> changeOwn;
  std::function<void(std::vector<std::string> &all)> changeAll;
};

} // namespace

static Exchange &exchange() {
  static Exchange exchange;
  return exchange;
}

static bool sendAll(int socket, const void *bytes, size_t count) {
  return send(socket, bytes, count, MSG_NOSIGNAL) == ssize_t(count);
}

static bool receiveAll(int socket, void *bytes, size_t count) {
  return recv(socket, bytes, count, MSG_WAITALL) == ssize_t(count);
}

static Expected<std::vector<std::string>> exchangeTexts(std::string own) {
  if (exchange().changeOwn) {
    exchange().changeOwn(own);
  }
  Word word{};
  own.copy(word.data(), word.size() - 1);
  std::vector<std::string> all;
  bool isThere = sendAll(exchange().socket, word.data(), word.size());
  for (uint32_t i = 0; i < exchange().size && isThere; ++i) {
    isThere = receiveAll(exchange().socket, word.data(), word.size());
    all.emplace_back(word.data());
  }
  if (!isThere) {
    return Status(ExitCode::Device, "the parent has ended");
  }
  if (exchange().changeAll) {
    exchange().changeAll(all);
  }
  return all;
}

static HostedProcesses hosted(uint32_t self, uint32_t machines) {
  HostedProcesses processes;
  processes.self = self;
  processes.size = exchange().size;
  processes.timeout = std::chrono::seconds(20);
  if (machines > 1) {
    processes.machine = "machine " + std::to_string(self % machines);
    processes.address = "127.0.0.1";
  }
  processes.exchange = exchangeTexts;
  return processes;
}

/// What connecting once more says, where this process changes what is
/// exchanged.
static Status
connectAgain(std::function<void(std::string &)> changeOwn,
             std::function<void(std::vector<std::string> &)> changeAll = {}) {
  uint32_t self = testProcesses()->self();
  HostedProcesses processes = hosted(self, 1);
  processes.timeout = std::chrono::milliseconds(500);
  exchange().changeOwn = std::move(changeOwn);
  exchange().changeAll = std::move(changeAll);
  auto world = connectProcesses(processes);
  exchange().changeOwn = {};
  exchange().changeAll = {};
  return world.status();
}

TEST(SocketCommTest, processesOfOtherVersionsAreRefused) {
  uint32_t self = testProcesses()->self();
  Status status = connectAgain([&](std::string &own) {
    if (self == 1) {
      own.replace(0, own.find('\n'), "0.0.0");
    }
  });
  // Process 1 finds its own word changed.
  EXPECT_EQ(status.code(), ExitCode::Version);
  EXPECT_THAT(status.message(),
              HasSubstr("process 1 has divisi 0.0.0, and this one "));
}

TEST(SocketCommTest, whoIsTheExchangeIsTakenAtItsWord) {
  Status status = connectAgain([](std::string &own) { own = "hello"; });
  EXPECT_EQ(status.code(), ExitCode::Usage);
  EXPECT_THAT(status.message(), HasSubstr("the exchange gave something else "
                                          "than process 0 has said"));
}

/// Process 1 has another key: none lets it in, and all learn of it.
TEST(SocketCommTest, whoHasAnotherKeyIsNotLetIn) {
  uint32_t self = testProcesses()->self();
  int round = 0;
  Status status = connectAgain({}, [&](std::vector<std::string> &all) {
    if (self == 1 && round++ == 0) {
      for (char &digit : all.front()) {
        digit = digit == 'a' ? 'b' : digit;
      }
      std::string &text = all.front(); // a digit at the end, whatever it was
      text[text.size() - 2] = text[text.size() - 2] == '0' ? '1' : '0';
    }
  });
  EXPECT_EQ(status.code(), ExitCode::Device) << status.message();
  if (self == 1) {
    EXPECT_THAT(status.message(),
                HasSubstr("process 1 cannot reach process 0 within 500 ms; "
                          "where it is on another machine, say by which "
                          "address it is reached"));
  }
}

/// All give all an element.
static StepDesc gather(uint32_t parties) {
  StepDesc step;
  step.location = "the last step";
  for (uint32_t i = 0; i < parties; ++i) {
    step.parties.push_back({i, Box{{i}, {i + 1}}, Box::whole({parties})});
  }
  return step;
}

/// The last test: a process that ends is named by who waits for it. The others
/// end when all have seen that, lest they be named in its place.
TEST(SocketCommTest, zzzAProcessThatEndsIsNamed) {
  ProcessWorld &processes = *testProcesses();
  std::vector<uint32_t> processOf(processes.size());
  std::iota(processOf.begin(), processOf.end(), 0);
  std::vector<uint32_t> others = processOf;
  std::erase(others, 1);
  auto communicator =
      processes.connect(processOf, std::chrono::seconds(20), {}, 1);
  auto rest = processes.connect(others, std::chrono::seconds(20), {}, 1);
  uint32_t self = processes.self();
  float source = 1;
  std::vector<float> result(processes.size());
  auto share = LoneStep::prepare(*communicator, gather(processes.size()), self);
  ASSERT_TRUE(share);
  if (self == 1) {
    EXPECT_TRUE(processes.finish(std::chrono::seconds(1)).isOk());
    share = LoneStep();
    communicator.reset();
    rest.reset();
    testProcesses().reset();
    return;
  }
  auto begin = std::chrono::steady_clock::now();
  Status status = runStep(*communicator, **share, &source, result.data());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  EXPECT_EQ(status.code(), ExitCode::Device);
  EXPECT_THAT(status.message(), HasSubstr("process 1 has ended, or cannot be "
                                          "reached any more"));
  auto last = LoneStep::prepare(*rest, gather(uint32_t(others.size())),
                                self - (self > 1));
  ASSERT_TRUE(last);
  EXPECT_TRUE(runStep(*rest, **last, &source, result.data()).isOk());
}

static int runProcess(uint32_t self, uint32_t machines) {
  auto world = connectProcesses(hosted(self, machines));
  if (!world) {
    std::cerr << world.status().message() << "\n";
    return 1;
  }
  testProcesses() = *world;
  int code = RUN_ALL_TESTS();
  if (testProcesses()) {
    Status status = testProcesses()->finish(std::chrono::seconds(20));
    std::cerr << status.message();
    code |= !status.isOk();
  }
  return code;
}

/// Hands all what all say, until one ends.
static void relay(const std::vector<int> &sockets) {
  std::vector<Word> words(sockets.size());
  while (true) {
    for (size_t i = 0; i < sockets.size(); ++i) {
      if (!receiveAll(sockets[i], words[i].data(), wordBytes)) {
        return;
      }
    }
    for (int socket : sockets) {
      for (const Word &word : words) {
        sendAll(socket, word.data(), word.size());
      }
    }
  }
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) {
    std::cerr << "usage: SocketCommTest PROCESSES MACHINES\n";
    return static_cast<int>(ExitCode::Usage);
  }
  auto size = uint32_t(std::atoi(argv[1])),
       machines = uint32_t(std::atoi(argv[2]));
  exchange().size = size;
  std::vector<int> sockets;
  for (uint32_t self = 0; self < size; ++self) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return 1;
    }
    if (fork() == 0) {
      for (int socket : sockets) {
        close(socket);
      }
      close(ends[0]);
      exchange().socket = ends[1];
      return runProcess(self, machines);
    }
    close(ends[1]);
    sockets.push_back(ends[0]);
  }
  relay(sockets);
  int code = 0, status = 0;
  while (wait(&status) > 0) {
    code |= status != 0;
  }
  return code;
}
