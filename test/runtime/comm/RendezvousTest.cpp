//===- RendezvousTest.cpp - Tests of where processes first meet -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/Rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

static SocketAddress address() {
  return localAddress("divisi-test-" + std::to_string(getpid()));
}

static Deadline soon() {
  return std::chrono::steady_clock::now() + milliseconds(5000);
}

static Expected<Rendezvous> openFor(uint32_t count, int64_t limit = 5000) {
  return Rendezvous::open(address(), count, {"guests", "CHAIR"},
                          milliseconds(limit));
}

/// A party that has said `text`.
static Channel come(uint32_t number, const std::string &text) {
  Channel channel = connectTo(address(), soon());
  EXPECT_TRUE(channel.isOpen());
  EXPECT_TRUE(channel.send(std::to_string(number), soon()));
  EXPECT_TRUE(channel.send(text, soon()));
  return channel;
}

TEST(RendezvousTest, allAreHeardAndAnswered) {
  auto meeting = openFor(3);
  ASSERT_TRUE(meeting);
  Channel last = come(2, "c"), first = come(0, ""), second = come(1, "b");
  auto texts = meeting->hear();
  ASSERT_TRUE(texts);
  EXPECT_THAT(*texts, ElementsAre("", "b", "c"));
  EXPECT_TRUE(
      meeting->watch(std::chrono::steady_clock::now() + milliseconds(20))
          .isOk());
  meeting->answer(1, "to b");
  meeting->answer(2, "to c");
  EXPECT_EQ(last.receive(soon()), "to c");
  EXPECT_EQ(second.receive(soon()), "to b");
  // And once more: a text that is longer than what a socket holds.
  std::string text(3'000'000, 'x');
  std::thread sender([&] { EXPECT_TRUE(first.send(text, soon())); });
  EXPECT_TRUE(second.send("b2", soon()) && last.send("c2", soon()));
  texts = meeting->hear();
  sender.join();
  ASSERT_TRUE(texts);
  EXPECT_THAT(*texts, ElementsAre(text, "b2", "c2"));
}

TEST(RendezvousTest, whoOpensItMayComeLater) {
  Channel channel;
  std::thread party([&] { channel = come(0, "here"); });
  std::this_thread::sleep_for(milliseconds(50));
  auto meeting = openFor(1);
  ASSERT_TRUE(meeting);
  auto texts = meeting->hear();
  party.join();
  EXPECT_TRUE(texts && texts->front() == "here");
}

TEST(RendezvousTest, thoseThatDoNotComeAreNamed) {
  auto meeting = openFor(4, 50);
  ASSERT_TRUE(meeting);
  Channel channel = come(1, "here");
  auto texts = meeting->hear();
  ASSERT_FALSE(texts);
  EXPECT_EQ(texts.status().code(), ExitCode::Device);
  EXPECT_THAT(
      texts.status().message(),
      HasSubstr("of the 4 guests CHAIR 0, 2, 3 did not come within 50 ms"));
}

TEST(RendezvousTest, onesEndIsNoticedAtOnce) {
  auto meeting = openFor(2);
  ASSERT_TRUE(meeting);
  Channel first = come(0, "here");
  {
    Channel channel = come(1, "here");
    EXPECT_TRUE(meeting->hear());
  }
  auto texts = meeting->hear();
  ASSERT_FALSE(texts);
  EXPECT_THAT(texts.status().message(),
              HasSubstr("CHAIR 1 has ended while others waited"));
  EXPECT_EQ(meeting->watch(soon()).message(), texts.status().message());
  EXPECT_TRUE(meeting->isThere(0) && !meeting->isThere(1));
  first = Channel();
  meeting->waitForEnd();
}

TEST(RendezvousTest, strangersAndDoublesAreSentAway) {
  auto meeting = openFor(2, 500);
  ASSERT_TRUE(meeting);
  Channel party = come(0, "here"), twin = come(0, "me, too"),
          far = come(7, "there");
  Channel stranger = connectTo(address(), soon());
  EXPECT_TRUE(stranger.send("hello", soon()));
  EXPECT_FALSE(meeting->hear());
  auto refusal = twin.receive(soon());
  ASSERT_TRUE(refusal);
  EXPECT_EQ(decode(*refusal).status().message(),
            "of the 2 guests another one is CHAIR 0, too");
  for (Channel *channel : {&twin, &far, &stranger}) {
    EXPECT_FALSE(channel->receive(soon()));
    EXPECT_FALSE(channel->isOpen());
  }
  EXPECT_TRUE(party.isOpen());
}

TEST(RendezvousTest, aPlaceIsFreeWhenAllHaveCome) {
  auto first = openFor(1);
  ASSERT_TRUE(first);
  Channel party = come(0, "here");
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_TRUE(first->hear());
  });
  EXPECT_TRUE(openFor(1));
  late.join();
}

TEST(RendezvousTest, aPlaceThatIsTakenIsRefused) {
  auto first = openFor(2), second = openFor(2);
  EXPECT_TRUE(first);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.status().code(), ExitCode::Usage);
  EXPECT_THAT(second.status().message(),
              HasSubstr("the 2 guests cannot connect: Address already in use; "
                        "is there another one with CHAIR 0?"));
}

TEST(RendezvousTest, nobodyHasOpenedIt) {
  auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(connectTo(address(), begin + milliseconds(50)).isOpen());
  EXPECT_LT(std::chrono::steady_clock::now(), begin + milliseconds(5000));
}

TEST(RendezvousTest, anAnswerIsATextOrAnError) {
  std::string text("a\0b", 3);
  EXPECT_EQ(*decode(encode(text)), text);
  EXPECT_EQ(*decode(encode(std::string())), "");
  auto failure = decode(encode(Status(ExitCode::Usage, "wrong")));
  ASSERT_FALSE(failure);
  EXPECT_EQ(failure.status().code(), ExitCode::Usage);
  EXPECT_EQ(failure.status().message(), "wrong");
  EXPECT_EQ(decode("HTTP").status().message(), "another program answers");
}
