//===- CommandLineTest.cpp ------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/CommandLine.h"

#include "lib/Driver/ActsOn.h"
#include "lib/Driver/LimitFlags.h"
#include "lib/Driver/OutputFlag.h"
#include "lib/Driver/Verbs.h"

#include <gtest/gtest.h>

#include <limits>

using namespace divisi;
namespace cl = llvm::cl;

namespace {

/// A verb with an option of each sort.
struct Probe {
  cl::SubCommand verb{"probe", "for tests"};
  cl::opt<std::string> input{cl::Positional, cl::sub(verb), cl::Required,
                             cl::desc("FILE")};
  cl::opt<int64_t> devices{"devices", cl::sub(verb), on(ActsOn::Plan),
                           cl::value_desc("N")};
  cl::opt<uint64_t> seed{"seed", cl::sub(verb), on(ActsOn::Plan),
                         cl::value_desc("SEED")};
  cl::list<std::string> dims{"dim", cl::sub(verb), on(ActsOn::Import),
                             cl::value_desc("NAME=N")};
  cl::opt<bool> json{"json", cl::sub(verb), on(ActsOn::Answer)};
  OutputFlag output{verb, "OUT", cl::desc("where")};
  LimitFlags limits{verb, ActsOn::Plan, 77};
};

} // namespace

/// LLVM's parser keeps what it has heard of, so there is one for all tests.
static Probe &probe() {
  static auto *probe = new Probe;
  return *probe;
}

static std::string mistakesOf(std::vector<const char *> arguments) {
  return checkArguments(probe().verb, arguments).message();
}

static void parse(std::vector<const char *> arguments) {
  cl::ResetAllOptionOccurrences();
  arguments.insert(arguments.begin(), {"divisi", "probe"});
  ASSERT_TRUE(
      cl::ParseCommandLineOptions(int(arguments.size()), arguments.data(), ""));
}

TEST(CommandLine, RightOnesPass) {
  for (std::vector<const char *> arguments :
       {std::vector<const char *>{"a"},
        {"a", "--devices", "4", "--dim", "b=2", "--dim", "c=3"},
        {"-devices=4", "a", "--json", "--output", "x"},
        {"--json=true", "-o", "-", "-"},
        {"--time-limit", "1.5", "--seed=18446744073709551615", "a"},
        {"--", "-a"},
        {"--help"}}) {
    EXPECT_EQ(mistakesOf(arguments), "");
  }
}

TEST(CommandLine, EveryMistakeIsSaidOnce) {
  const std::pair<std::vector<const char *>, const char *> kRows[] = {
      {{"a", "--device", "2"},
       "unknown option '--device'; did you mean '--devices'?"},
      {{"a", "--outptu=2"},
       "unknown option '--outptu'; did you mean '--output'?"},
      {{"a", "--time", "2"},
       "unknown option '--time'; did you mean '--time-limit'?"},
      {{"a", "--frobnicate"}, "unknown option '--frobnicate'"},
      {{"a", "--jsom", "--sed", "3"},
       "unknown option '--jsom'; did you mean '--json'?; unknown option "
       "'--sed'; did you mean '--seed'?"},
      {{}, "probe needs an input, FILE"},
      {{"a", "b"}, "probe takes one input, FILE, got 'a' and 'b'"},
      {{"a", "--devices"}, "--devices needs a value, N"},
      {{"a", "--devices", "two"}, "--devices 'two': expected a whole number"},
      {{"a", "--devices=1e3"}, "--devices '1e3': expected a whole number"},
      {{"a", "--seed", "-1"},
       "--seed '-1': expected a whole number of at least 0"},
      {{"a", "--time-limit=soon"},
       "--time-limit 'soon': expected a number of seconds"},
      {{"a", "--json=maybe"}, "--json takes no value, got 'maybe'"},
  };
  for (const auto &[arguments, message] : kRows) {
    EXPECT_EQ(mistakesOf(arguments), message);
    EXPECT_EQ(checkArguments(probe().verb, arguments).code(), ExitCode::Usage);
  }
}

TEST(CommandLine, WhatTakesOneValueIsGivenOnce) {
  parse({"a", "--devices=2", "--dim=x=1", "--dim=y=2", "-o=x"});
  EXPECT_TRUE(checkGivenOnce(probe().verb).isOk());
  parse({"a", "--devices=2", "--devices=3", "-o=x", "--output=y"});
  EXPECT_EQ(checkGivenOnce(probe().verb).message(),
            "--devices, -o are given more than once");
}

TEST(CommandLine, TheLongNameIsTheSameOption) {
  parse({"a", "--output", "x"});
  EXPECT_EQ(probe().output.getValue(), "x");
}

TEST(Suggest, NamesWhatIsNearAndNothingElse) {
  std::vector<std::string> verbs = {"compile", "plan", "run"};
  EXPECT_EQ(suggest("compil", verbs), "; did you mean 'compile'?");
  EXPECT_EQ(suggest("paln", verbs), "");
  EXPECT_EQ(suggest("plam", verbs), "; did you mean 'plan'?");
  EXPECT_EQ(suggest("xyz", verbs), "");
}

TEST(LimitFlags, TimeAloneLeavesWorkWithoutEnd) {
  LimitFlags &limits = probe().limits;
  parse({"a"});
  EXPECT_EQ(limits.given().workOr(77), 77);
  EXPECT_EQ(limits.given().seconds, std::nullopt);
  parse({"a", "--time-limit=3"});
  EXPECT_EQ(limits.given().workOr(77), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(limits.given().seconds, 3);
  parse({"a", "--time-limit=3", "--work-limit=5"});
  EXPECT_EQ(limits.given().workOr(77), 5);
  EXPECT_TRUE(limits.given().check().isOk());
  parse({"a", "--time-limit=0"});
  EXPECT_EQ(limits.given().check().message(),
            "--time-limit is 0.000000, expected seconds above 0");
  parse({"a", "--work-limit=-1"});
  EXPECT_EQ(limits.given().check().message(),
            "--work-limit is -1, expected 0 or more");
}

TEST(ActsOn, OptionsOfOurVerbsSayIt) {
  for (auto *make : {&makeSolveVerb, &makeVersionVerb}) {
    std::unique_ptr<Verb> verb = make();
    EXPECT_GT(verb->command.OptionsMap.size(), 0u);
    for (auto [name, option] : verb->command.OptionsMap) {
      bool isGeneric =
          option->Categories.front()->getName() == "Generic Options";
      EXPECT_TRUE(isGeneric || stepOf(*option)) << name.str();
    }
    verb.release(); // LLVM's parser knows its options.
  }
}
