//===- HostMessagesTest.cpp - Tests of the bytes that processes get -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/HostMessages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

static constexpr FrameLimits limits = {100, 4};

TEST(HostMessagesTest, aFrameIsWholeWhenAllOfItHasCome) {
  std::string bytes = makeFrame("hello", "code");
  for (size_t count = 0; count < bytes.size(); ++count) {
    auto frame = parseFrame(std::string_view(bytes).substr(0, count), limits);
    ASSERT_TRUE(frame);
    EXPECT_FALSE(frame->isWhole);
    EXPECT_EQ(frame->size, count < 4 ? 4u : bytes.size());
  }
  bytes += "more";
  auto frame = parseFrame(bytes, limits);
  ASSERT_TRUE(frame && frame->isWhole);
  EXPECT_EQ(frame->text, "hello");
  EXPECT_EQ(frame->code, "code");
  EXPECT_EQ(frame->size, bytes.size() - 4);
}

TEST(HostMessagesTest, aLongFrameIsNone) {
  EXPECT_TRUE(parseFrame(makeFrame(std::string(100, 'x')), limits));
  EXPECT_FALSE(parseFrame(makeFrame(std::string(101, 'x')), limits));
  EXPECT_FALSE(parseFrame("\xff\xff\xff\xff", limits));
  EXPECT_FALSE(parseFrame("HTTP", limits));
}

TEST(HostMessagesTest, aGreetingHasANumberAndANonce) {
  Greeting greeting = {70000, std::string(nonceBytes, '\0')};
  std::string text = makeGreeting(greeting);
  EXPECT_LE(text.size(), maxGreeting);
  EXPECT_EQ(parseGreeting(text), greeting);
  EXPECT_FALSE(parseGreeting(text + "x"));
  EXPECT_FALSE(parseGreeting(text.substr(1)));
  EXPECT_FALSE(parseGreeting("x" + text.substr(1)));
  EXPECT_FALSE(parseGreeting(""));
}

TEST(HostMessagesTest, anAnswerIsATextOrAnError) {
  std::string text("a\0b", 3);
  EXPECT_EQ(*decode(encode(text)), text);
  EXPECT_EQ(*decode(encode(std::string())), "");
  auto failure = decode(encode(Status(ExitCode::Usage, "wrong")));
  ASSERT_FALSE(failure);
  EXPECT_EQ(failure.status().code(), ExitCode::Usage);
  EXPECT_EQ(failure.status().message(), "wrong");
  // Another process says why.
  failure = decode(encode(Status(ExitCode::Usage, "")));
  EXPECT_EQ(failure.status().code(), ExitCode::Usage);
  EXPECT_EQ(failure.status().message(), "");
  using namespace std::string_literals;
  for (const std::string &bad :
       {"HTTP"s, ""s, "0"s, "\0"s, "x\0"s, "11\0"s, "-1\0"s, "300\0"s}) {
    auto answer = decode(bad);
    ASSERT_FALSE(answer) << bad;
    EXPECT_EQ(answer.status().code(), ExitCode::Device);
    EXPECT_EQ(answer.status().message(), "another program answers");
  }
}

TEST(HostMessagesTest, hostsHaveAllProcesses) {
  std::string lines = makeHostLine("job 1", {"a,b", {1, 0}}) +
                      makeHostLine("another", {"c", {2}});
  EXPECT_EQ(lines, "job-1 a-b 1 0\nanother c 2\n");
  auto found = parseHostLines(lines, 2, 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->job, "job-1");
  ASSERT_EQ(found->hosts.size(), 2u);
  EXPECT_EQ(found->hosts[0].name, "a-b");
  EXPECT_THAT(found->hosts[0].processes, ElementsAre(1, 0));
  EXPECT_THAT(found->hosts[1].processes, ElementsAre(2));
}

/// Each of these would be an index or a name that nobody has looked at.
TEST(HostMessagesTest, hostsWithOtherProcessesAreNone) {
  auto messageOf = [](const std::string &lines) {
    auto found = parseHostLines(lines, 2, 3);
    EXPECT_FALSE(found) << lines;
    EXPECT_EQ(found.status().code(), ExitCode::Device);
    return found.status().message();
  };
  for (const char *second :
       {"j b", "j b ", "j b 2 2", "j b 1", "j b 3", "j b -1", "j b x",
        "j b 4294967298", "j  2", " b 2", "j b;c 2", "j b  2"}) {
    EXPECT_THAT(
        messageOf("j a 0 1\n" + std::string(second) + "\n"),
        HasSubstr("host 1 does not say which processes of the 3 it has"))
        << second;
  }
  for (const char *lines : {"", "j a 0 1 2\n", "j a 0 1\n",
                            "j a 0\nj b 1\nj c 2\n", "j a 0\nj b 1\n"}) {
    EXPECT_THAT(messageOf(lines),
                AllOf(HasSubstr("expected 2 hosts with 3 processes, got "),
                      HasSubstr("; do all have the same WORLD_SIZE?")));
  }
  EXPECT_THAT(messageOf(std::string(300, 'x') + " a 0\nj b 1 2\n"),
              HasSubstr("host 0 does not say which"));
}

TEST(HostMessagesTest, variablesHaveNamesAndValues) {
  using namespace std::string_literals;
  auto variables = parseVariables("A=b=c\0_X9=\0"s);
  ASSERT_TRUE(variables);
  EXPECT_THAT(*variables, ElementsAre(Pair("A", "b=c"), Pair("_X9", "")));
  EXPECT_TRUE(parseVariables("") && parseVariables("")->empty());
  for (const std::string &bad :
       {"A"s, "A=b"s, "A\0"s, "=b\0"s, "A=b\0\0"s, "A B=c\0"s, "A=b\0C"s}) {
    auto none = parseVariables(bad);
    ASSERT_FALSE(none) << bad;
    EXPECT_THAT(none.status().message(),
                HasSubstr("the server of this host has sent no variables"));
  }
}
