//===- RendezvousTest.cpp - Tests of where processes first meet -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/Rendezvous.h"

#include <atomic>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
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
  return Rendezvous::open(address(),
                          {count, "guests", "CHAIR", milliseconds(limit), {}});
}

/// A party that has said `text`.
static Channel come(uint32_t number, const std::string &text) {
  Channel channel = connectTo({address()}, soon());
  EXPECT_TRUE(channel.isOpen());
  EXPECT_EQ(introduce(channel, number, {}, soon()), Introduction::Done);
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
  meeting->answer(1, "to b", soon());
  meeting->answer(2, "to c", soon());
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
  Channel stranger = connectTo({address()}, soon());
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
  EXPECT_FALSE(connectTo({address()}, begin + milliseconds(50)).isOpen());
  EXPECT_LT(std::chrono::steady_clock::now(), begin + milliseconds(5000));
}

/// Of the memory that is in use, what the process has at most had, in bytes.
static size_t peakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return size_t(usage.ru_maxrss) * 1024;
}

/// Sends without waiting, until nobody takes more or `bytes` are gone.
static void flood(const Channel &channel, size_t bytes) {
  std::string block(1 << 16, '\xff');
  for (size_t sent = 0; sent < bytes; sent += block.size()) {
    if (send(channel.descriptor(), block.data(), block.size(), MSG_NOSIGNAL) <=
        0) {
      return;
    }
  }
}

TEST(RendezvousTest, strangersSayLittle) {
  auto meeting = openFor(1, 300);
  ASSERT_TRUE(meeting);
  size_t before = peakMemory();
  std::vector<std::thread> strangers;
  for (int i = 0; i < 7; ++i) {
    strangers.emplace_back([] {
      Channel channel = connectTo({address()}, soon());
      fcntl(channel.descriptor(), F_SETFL, 0); // it waits from now on
      // A text of as many bytes as may be, or of more.
      std::string length("\0\0\0\1", 4);
      send(channel.descriptor(), length.data(), length.size(), MSG_NOSIGNAL);
      flood(channel, size_t(1) << 28);
    });
  }
  EXPECT_FALSE(meeting->hear());
  for (std::thread &stranger : strangers) {
    stranger.join();
  }
  EXPECT_LT(peakMemory() - before, size_t(1) << 24);
}

/// One that always has something to say, but never all of it.
TEST(RendezvousTest, theTimeOutHoldsForThoseThatGoOnTalking) {
  auto meeting = openFor(1, 300);
  ASSERT_TRUE(meeting);
  Channel party = connectTo({address()}, soon());
  ASSERT_EQ(introduce(party, 0, {}, soon()), Introduction::Done);
  std::atomic<bool> isOver = false;
  std::thread talker([&] {
    std::string length("\0\0\1\0", 4);
    send(party.descriptor(), length.data(), length.size(), MSG_NOSIGNAL);
    while (!isOver) {
      send(party.descriptor(), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  auto begin = std::chrono::steady_clock::now();
  auto texts = meeting->hear();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(3000));
  isOver = true;
  talker.join();
  ASSERT_FALSE(texts);
  EXPECT_THAT(texts.status().message(), HasSubstr("CHAIR 0 did not come"));
}

TEST(RendezvousTest, theOldestStrangersMakeRoom) {
  auto meeting = openFor(1);
  ASSERT_TRUE(meeting);
  std::vector<Channel> strangers;
  std::thread crowd([&] {
    for (int i = 0; i < 200; ++i) {
      strangers.push_back(connectTo({address()}, soon()));
    }
    strangers.push_back(come(0, "here"));
  });
  auto texts = meeting->hear();
  crowd.join();
  ASSERT_TRUE(texts);
  EXPECT_EQ(texts->front(), "here");
}

/// What nobody asks for is not taken in, and an end behind it is noticed.
TEST(RendezvousTest, nobodyIsHeardWhoIsNotAsked) {
  auto meeting = openFor(1);
  ASSERT_TRUE(meeting);
  Channel party = come(0, "here");
  ASSERT_TRUE(meeting->hear());
  size_t before = peakMemory();
  std::thread talker([&] {
    std::string text(1 << 20, 'x');
    while (party.send(text,
                      std::chrono::steady_clock::now() + milliseconds(100))) {
    }
    party.close();
  });
  meeting->waitForEnd();
  talker.join();
  EXPECT_LT(peakMemory() - before, size_t(1) << 24);
}

//===----------------------------------------------------------------------===//
// Parties with a secret
//===----------------------------------------------------------------------===//

static HostSecret secret(const std::string &key = "a key",
                         const std::string &artifact = "an artifact") {
  return HostSecret(key, artifact);
}

static Expected<Rendezvous> openSecretly(int64_t limit = 500) {
  return Rendezvous::open(address(),
                          {2, "hosts", "CHAIR", milliseconds(limit), secret(),
                           /*first=*/1});
}

/// What party 1 with that secret is told, and what is heard of it.
static std::pair<Introduction, Expected<std::vector<std::string>>>
meetWith(const HostSecret &other) {
  auto meeting = openSecretly();
  EXPECT_TRUE(meeting);
  Introduction met = Introduction::Gone;
  std::thread party([&] {
    Channel channel = connectTo({address()}, soon());
    met = introduce(channel, 1, other, soon());
    channel.send("here", soon());
    channel.receive(std::chrono::steady_clock::now() + milliseconds(500));
  });
  auto texts = meeting->hear();
  meeting->answer(1, "welcome", soon());
  party.join();
  return {met, texts};
}

TEST(SecretMeetingTest, whoHasTheSecretIsHeard) {
  auto [met, texts] = meetWith(secret());
  EXPECT_EQ(met, Introduction::Done);
  ASSERT_TRUE(texts);
  EXPECT_THAT(*texts, ElementsAre("", "here"));
}

TEST(SecretMeetingTest, anotherKeyIsNot) {
  auto [met, texts] = meetWith(secret("another key"));
  EXPECT_EQ(met, Introduction::OtherKey);
  ASSERT_FALSE(texts);
  EXPECT_EQ(texts.status().code(), ExitCode::Device);
  EXPECT_THAT(texts.status().message(), HasSubstr("CHAIR 1 did not come"));
}

TEST(SecretMeetingTest, anotherArtifactIsSaid) {
  auto [met, texts] = meetWith(secret("a key", "another"));
  EXPECT_EQ(met, Introduction::OtherArtifact);
  ASSERT_FALSE(texts);
  EXPECT_EQ(texts.status().code(), ExitCode::Invalid);
  EXPECT_THAT(
      texts.status().message(),
      HasSubstr("of the 2 hosts CHAIR 1 has another artifact than CHAIR 0"));
}

/// Says texts to who has opened the socket, as they are.
static void say(const std::vector<std::string> &texts) {
  Channel channel = connectTo({address()}, soon());
  for (const std::string &text : texts) {
    channel.send(text, soon());
    channel.receive(std::chrono::steady_clock::now() + milliseconds(100));
  }
}

TEST(SecretMeetingTest, whoProvesNothingIsCounted) {
  auto meeting = openSecretly();
  ASSERT_TRUE(meeting);
  std::string nonce(nonceBytes, 'n'), zeros(proofBytes, '\0');
  std::thread strangers([&] {
    say({"1", "here"});
    say({makeGreeting({1, nonce}), "short"});
    say({makeGreeting({1, nonce}), zeros});
    say({makeGreeting({0, nonce}), zeros}); // of who has opened the socket
    say({makeGreeting({2, nonce}), zeros}); // of nobody
  });
  auto texts = meeting->hear();
  strangers.join();
  ASSERT_FALSE(texts);
  EXPECT_THAT(texts.status().message(),
              HasSubstr("CHAIR 1 did not come within 500 ms; who has come "
                        "instead, 2 times, has another key"));
}

/// What was said in an earlier meeting proves nothing in this one, and what
/// the first says is no proof of another.
TEST(SecretMeetingTest, whatOthersHaveSaidIsNoProof) {
  Greeting greeting = {1, std::string(nonceBytes, 'n')};
  std::string nonce(nonceBytes, 'm');
  std::string proof = secret().prove(HostEnd::Other, greeting, nonce);
  EXPECT_EQ(secret().check(HostEnd::Other, greeting, nonce, proof),
            Proof::Same);
  EXPECT_EQ(secret().check(HostEnd::First, greeting, nonce, proof),
            Proof::None);
  EXPECT_EQ(secret().check(HostEnd::Other, greeting, greeting.nonce, proof),
            Proof::None);
  EXPECT_EQ(secret().check(HostEnd::Other, {0, greeting.nonce}, nonce, proof),
            Proof::None);
  auto meeting = openSecretly();
  ASSERT_TRUE(meeting);
  std::thread stranger([&] { say({makeGreeting(greeting), proof}); });
  EXPECT_FALSE(meeting->hear());
  stranger.join();
}

/// A text of one who came between two that know each other.
TEST(SecretMeetingTest, textsHaveCodes) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Channel sender{Descriptor(ends[0])}, receiver{Descriptor(ends[1])};
  sender.guard(TextCodes("key"), TextCodes("back"));
  receiver.guard(TextCodes("back"), TextCodes("key"));
  EXPECT_TRUE(sender.send("one", soon()));
  EXPECT_TRUE(sender.send("two", soon()));
  EXPECT_EQ(receiver.receive(soon()), "one");
  EXPECT_EQ(receiver.receive(soon()), "two");
  // The first one again, in the place of the third.
  sender.guard(TextCodes("key"), TextCodes("back"));
  EXPECT_TRUE(sender.send("one", soon()));
  EXPECT_FALSE(receiver.receive(soon()));
  EXPECT_FALSE(receiver.isOpen());
}
