//===- BadProblemTest.cpp - One case per message of the reader ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProblemTexts.h"

#include "divisi/Search/ProblemIO.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace divisi::search;
using divisi::ExitCode;
using divisi::Expected;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// What readProblem says is wrong with `bytes`.
static std::string errorOf(std::string_view bytes) {
  Expected<Problem> problem = readProblem(bytes);
  if (problem) {
    return "no error";
  }
  EXPECT_EQ(problem.status().code(), ExitCode::Invalid);
  return problem.status().message();
}

/// A file with `bytes`, for as long as this lives.
struct TemporaryFile {
  std::string path = testing::TempDir() + "divisi-problem-io-" +
                     std::to_string(getpid()) + ".json";
  explicit TemporaryFile(std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
};

namespace {
/// kBase is wrong with `from` replaced.
struct Case {
  std::string_view from, to, error;
};
} // namespace

static void expectErrors(std::initializer_list<Case> cases) {
  for (const Case &each : cases) {
    EXPECT_EQ(errorOf(with(each.from, each.to)), each.error)
        << each.from << " -> " << each.to;
  }
}

TEST(BadProblem, TheBaseIsRight) {
  auto problem = readProblem(kBase);
  EXPECT_TRUE(problem) << problem.status().message();
}

TEST(BadProblem, JsonThatIsMalformedOrOfAnotherForm) {
  expectErrors({
      {"\"p\"", "3",
       "line 1, column 22: problem.name: expected a string, got '3'"},
      {"\"p\"", "{}",
       "line 1, column 22: problem.name: expected a string, got '{'"},
      {"\"p\"", "\"\\x\"",
       "line 1, column 22: problem.name: an escape in this string is "
       "malformed"},
      {"\"p\"", "\"\\ud800\"",
       "line 1, column 22: problem.name: an escape in this string is "
       "malformed"},
      {"\"name\"", "\"n\\ame\"",
       "line 1, column 14: problem: an escape in this key is malformed"},
      {"\"name\"", "\"name\": \"\", \"name\"",
       "line 1, column 26: problem.name: this key occurs twice"},
      {"\"name\"", "name",
       "line 1, column 14: problem: expected a key with ':', ',' or '}', got "
       "'name'"},
      {"\"name\"", "\"x\": [1 2], \"name\"",
       "line 1, column 22: problem.x: expected ',' or ']', got '2'"},
      {"\"name\"", "\"x\": {\"y\": tru}, \"name\"",
       "line 1, column 25: problem.x.y: expected a value, got 'tru'"},
      {"\"name\"", "\"x\": {\"y\": 1 \"z\": 2}, \"name\"",
       "line 1, column 27: problem.x: expected a key with ':', ',' or '}', got "
       "'\"z\"'"},
      {"\"name\"", "\"x\": nul, \"name\"",
       "line 1, column 19: problem.x: expected a value, got 'nul'"},
      {"\"name\"", "\"x\": 1.e, \"name\"",
       "line 1, column 19: problem.x: expected a value, got '1.e'"},
      {"\"name\"", "\"x\": [,], \"name\"",
       "line 1, column 20: problem.x[0]: expected a value, got ','"},
      {"\"name\"", "\"x\": {\"\\q\": 1}, \"name\"",
       "line 1, column 20: problem.x: an escape in this key is malformed"},
      {"\"p\"", "\"p", "line 1, column 25: a string is not closed"},
      {"\"p\"", "\"p\x01\"",
       "line 1, column 24: a control character in a string; write it as an "
       "escape"},
      {"\"p\"", "\"p\xff\"", "line 1, column 24: the text is not UTF-8"},
      {"[0, 2]", "[0 2]",
       "line 2, column 30: problem.nodes.intervals[0]: expected ',' or ']', "
       "got '2'"},
      {"[0, 2]", "[0, 2}",
       "line 2, column 32: problem.nodes.intervals[0]: expected ',' or ']', "
       "got '}'"},
      {"9}}", "9}",
       "line 5, column 20: expected a key with ':', ',' or '}', got the end of "
       "the text"},
      {"9}}", "9",
       "line 5, column 19: the text does not end with '}'; it is cut off, or "
       "something follows"},
      {"9}}", "9}} {",
       "line 5, column 23: the text does not end with '}'; it is cut off, or "
       "something follows"},
      {"9}}", "9}}}",
       "line 5, column 21: expected the end of the text, got '}'"},
      {": 9}}", ":",
       "line 5, column 17: the text does not end with '}'; it is cut off, or "
       "something follows"},
      {": 9}}", "}",
       "line 5, column 16: problem: expected a key with ':', ',' or '}', got "
       "'}'"},
      {"\"problem\"", "\"other\"",
       "line 1, column 1: this object has no key \"problem\""},
  });
}

TEST(BadProblem, NumbersThatAreNoIntegersOf64Bits) {
  expectErrors({
      {"[1, 2]", "[1, 2.5]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '2.5'"},
      {"[1, 2]", "[1, 2e19]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '2e19'"},
      {"[1, 2]", "[1, 9223372036854775808]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '9223372036854775808'"},
      {"[1, 2]", "[1, -9223372036854775809]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '-9223372036854775809'"},
      {"[1, 2]", "[1, 12345678901234567890123456]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '123456789012345678901234...'"},
      {"[1, 2]", "[1, 1e999999999999]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '1e999999999999'"},
      {"[1, 2]", "[1, 1e-999999999999]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '1e-999999999999'"},
      {"[1, 2]", "[1, 02]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '02'"},
      {"[1, 2]", "[1, -]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '-'"},
      {"[1, 2]", "[1, +2]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '+2'"},
      {"[1, 2]", "[1, 2x]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '2x'"},
      {"[1, 2]", "[1, \"2\"]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '\"2\"'"},
      {"[1, 2]", "[1, null]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got 'null'"},
      {"[1, 2]", "[1, [2]]",
       "line 2, column 58: problem.nodes.costs[0][1]: expected an integer of "
       "64 bits, got '['"},
      {"[0, 2]", "[0, 9223372036854775808]",
       "line 2, column 31: problem.nodes.intervals[0][1]: expected an integer "
       "of 64 bits, got '9223372036854775808'"},
      {"9}}", "null}}",
       "line 5, column 18: problem.usage_limit: expected an integer of 64 "
       "bits, got 'null'"},
  });
}

TEST(BadProblem, NodesThatDoNotFit) {
  expectErrors({
      {"\"name\"", "\"nodes\": 3, \"name\"",
       "line 1, column 23: problem.nodes: expected an object, got '3'"},
      {"[0, 2]", "[0, 2",
       "line 2, column 34: problem.nodes.intervals[0][2]: expected two "
       "numbers, got a third"},
      {"[0, 2]", "[0, 2,]",
       "line 2, column 33: problem.nodes.intervals[0][2]: expected two "
       "numbers, got a third"},
      {"[0, 2]", "0",
       "line 2, column 27: problem.nodes.intervals[0]: expected a list, got "
       "'0'"},
      {"[0, 2]", "[-1, 2]",
       "line 2, column 27: problem.nodes.intervals[0]: this interval begins at "
       "-1; expected no time below zero"},
      {"[0, 2]", "[2, 1]",
       "line 2, column 27: problem.nodes.intervals[0]: this interval ends at "
       "1, before it begins at 2"},
      {"[0, 2]", "[1]",
       "line 2, column 27: problem.nodes.intervals[0]: expected two numbers, "
       "got 1"},
      {"[0, 2]", "[]",
       "line 2, column 27: problem.nodes.intervals[0]: expected two numbers, "
       "got 0"},
      {"[0, 2]", "[0, 1, 2]",
       "line 2, column 34: problem.nodes.intervals[0][2]: expected two "
       "numbers, got a third"},
      {"[0, 2], ", "",
       "line 2, column 26: problem.nodes.intervals: this list has 1 entries; "
       "expected 2"},
      {"[1, 2], [3]", "[], [3]",
       "line 2, column 54: problem.nodes.costs[0]: node 0 has no strategy; "
       "expected a cost for each"},
      {"[1, 2], [3]", "[1, 2, 3], [3]",
       "line 3, column 24: problem.nodes.usages[0]: node 0 has 2 usages; "
       "expected 3, one a strategy"},
      {"[1, 2], [3]", "[1, 2], 3",
       "line 2, column 62: problem.nodes.costs[1]: expected a list, got '3'"},
      {"[1, 2]", "[1, -1000000000000000000]",
       "line 2, column 58: problem.nodes.costs[0][1]: a cost of "
       "-1000000000000000000; expected it above -1000000000000000000"},
      {"[4, 5]", "[4, -5]",
       "line 3, column 28: problem.nodes.usages[0][1]: a usage of -5; expected "
       "none below zero"},
      {"[4, 5]", "[4]",
       "line 3, column 24: problem.nodes.usages[0]: node 0 has 1 usages; "
       "expected 2, one a strategy"},
      {"[4, 5], ", "",
       "line 3, column 23: problem.nodes.usages: this list has 1 entries; "
       "expected 2"},
      {"\"usages\"", "\"names\": [\"a\"], \"usages\"",
       "line 3, column 22: problem.nodes.names: this list has 1 entries; "
       "expected 2"},
      {"\"usages\"", "\"strategies\": [[\"a\"]], \"usages\"",
       "line 3, column 27: problem.nodes.strategies: this list has 1 entries; "
       "expected 2"},
      {"\"usages\"", "\"strategies\": [[\"a\"], []], \"usages\"",
       "line 3, column 28: problem.nodes.strategies[0]: node 0 has 1 names of "
       "strategies; expected 2, or none"},
      {"\"usages\"", "\"strategies\": [[\"a\", 1], []], \"usages\"",
       "line 3, column 34: problem.nodes.strategies[0][1]: expected a string, "
       "got '1'"},
      {"\"usages\"", "\"names\": [\"a\", null], \"usages\"",
       "line 3, column 28: problem.nodes.names[1]: expected a string, got "
       "'null'"},
      {"\"intervals\"", "\"other\"",
       "line 2, column 12: problem.nodes: this object has no key "
       "\"intervals\""},
  });
}

TEST(BadProblem, EdgesThatDoNotFit) {
  expectErrors({
      {"[[0, 1]]", "[[0, 2]]",
       "line 4, column 23: problem.edges.nodes[0]: edge 0 joins nodes 0 and 2, "
       "of 2"},
      {"[[0, 1]]", "[[-1, 0]]",
       "line 4, column 23: problem.edges.nodes[0]: edge 0 joins nodes -1 and "
       "0, of 2"},
      {"[[0, 1]]", "[[0, 4294967296]]",
       "line 4, column 23: problem.edges.nodes[0]: edge 0 joins nodes 0 and "
       "4294967296, of 2"},
      {"[[0, 1]]", "[[0, 0]]",
       "line 4, column 42: problem.edges.costs[0]: edge 0 of nodes 0 and 0 has "
       "2 entries; expected 2 x 2"},
      {"[[0, 1]]", "[[0, 1], [0, 1]]",
       "line 4, column 49: problem.edges.costs: this list has 1 entries; "
       "expected 2"},
      {"[7, 8]", "[7, -9223372036854775808]",
       "line 4, column 46: problem.edges.costs[0][1]: a cost of "
       "-9223372036854775808; expected it above -1000000000000000000"},
      {"[7, 8]]", "[7, 8], [7, 8] [7, 8]]",
       "line 4, column 57: problem.edges.costs: expected ',' or ']', got '['"},
      {"[7, 8]]", "[7, 8], [7, 8], [7, x8]]",
       "line 4, column 62: problem.edges.costs[2][1]: expected an integer of "
       "64 bits, got 'x8'"},
      {"[7, 8]", "[7]",
       "line 4, column 42: problem.edges.costs[0]: edge 0 of nodes 0 and 1 has "
       "1 entries; expected 2 x 1"},
      {"[7, 8]]", "[7, 8]], \"usages\": [[1, 2]]",
       "line 4, column 61: problem.edges: edges have \"usages\" or "
       "\"intervals\" alone; expected both or neither"},
      {"[7, 8]]", "[7, 8]], \"intervals\": [[1, 2]]",
       "line 4, column 64: problem.edges: edges have \"usages\" or "
       "\"intervals\" alone; expected both or neither"},
      {"[7, 8]]", "[7, 8]], \"usages\": [], \"intervals\": []",
       "line 4, column 61: problem.edges.usages: this list has 0 entries; "
       "expected 1"},
      {"[7, 8]]", "[7, 8]], \"usages\": [[]], \"intervals\": []",
       "line 4, column 80: problem.edges.intervals: this list has 0 entries; "
       "expected 1"},
      {"[7, 8]]", "[7, 8]], \"usages\": [[1]], \"intervals\": [[0, 1]]",
       "line 4, column 62: problem.edges.usages[0]: edge 0 of nodes 0 and 1 "
       "has 1 entries; expected 2 x 1"},
      {"[7, 8]]", "[7, 8]], \"usages\": [[1, -1]], \"intervals\": [[0, 1]]",
       "line 4, column 66: problem.edges.usages[0][1]: a usage of -1; expected "
       "none below zero"},
      {"[7, 8]]", "[7, 8]], \"usages\": [[1, 1]], \"intervals\": [[1, 0]]",
       "line 4, column 85: problem.edges.intervals[0]: this interval ends at "
       "0, before it begins at 1"},
      {"[0, 1]], \"costs\": [[7, 8]]",
       "[0, 0]], \"costs\": [[7, 8, 9, 9]], \"usages\": [[1, 1, 1, 1]], "
       "\"intervals\": [[0, 1]]",
       "line 4, column 68: problem.edges.usages[0]: edge 0 joins node 0 with "
       "itself; give its usages to the node"},
  });
}

TEST(BadProblem, TextsThatAreNoObject) {
  EXPECT_EQ(errorOf(""), "line 1, column 1: the text is empty; expected '{'");
  EXPECT_EQ(errorOf(" \n"),
            "line 1, column 1: the text is empty; expected '{'");
  EXPECT_EQ(errorOf(" \n [1]"), "line 2, column 2: expected '{', got '['");
  EXPECT_EQ(errorOf("17"), "line 1, column 1: expected '{', got '17'");
  EXPECT_EQ(errorOf(std::string_view("\0", 1)),
            "line 1, column 1: expected '{', got '?'");
  EXPECT_EQ(errorOf("{\"problem\"}"),
            "line 1, column 11: expected a key with ':', ',' or '}', got '}'");
  EXPECT_EQ(errorOf("\xEF\xBB\xBF{}"), "line 1, column 1: the text begins with "
                                       "a byte order mark; remove it");
  EXPECT_EQ(errorOf(std::string("\xFF\xFE{\0", 4)),
            "line 1, column 1: the text is not UTF-8");
}

TEST(BadProblem, NulBytes) {
  std::string text(kBase);
  text += '\0';
  EXPECT_THAT(errorOf(text), EndsWith("the text does not end with '}'; it is "
                                      "cut off, or something follows"));
  text = kBase;
  text[text.find(", 2")] = '\0';
  EXPECT_EQ(errorOf(text), "line 2, column 28: problem.nodes.intervals[0][0]: "
                           "expected an integer of 64 bits, got '0?'");
}

// What is skipped is looked at as well, to a bounded depth.
TEST(BadProblem, DeepNestingIsAnErrorWhereverItStands) {
  for (std::string_view open : {"[", "{\"a\":"}) {
    std::string deep;
    for (int i = 0; i != 100000; ++i) {
      deep += open;
    }
    EXPECT_THAT(errorOf(with("\"name\"", "\"x\": " + deep + "1, \"name\"")),
                EndsWith("values are nested more than 64 deep"));
    EXPECT_THAT(errorOf(with("[[0, 2]", deep)), HasSubstr("problem.nodes"));
    EXPECT_THAT(errorOf(deep), HasSubstr("column"));
  }
}

// Wherever the text ends early, it is an error, and one of the text's end or
// before.
TEST(BadProblem, EveryPrefix) {
  for (size_t size = 0; size != kBase.size(); ++size) {
    EXPECT_THAT(errorOf(kBase.substr(0, size)), StartsWith("line ")) << size;
  }
}

TEST(BadProblem, DamagedGzip) {
  std::string packed = gzip(kBase);
  constexpr std::string_view damaged = "the gzip data that begins at byte 0 of "
                                       "the file is damaged or ends early";
  for (size_t size = 2; size != packed.size(); ++size) {
    EXPECT_EQ(errorOf(packed.substr(0, size)), damaged) << size;
  }
  for (size_t at : {packed.size() - 1, packed.size() - 5, size_t(12)}) {
    std::string flipped = packed;
    flipped[at] ^= 0x10;
    EXPECT_EQ(errorOf(flipped), damaged) << at;
  }
  std::string size = std::to_string(packed.size());
  EXPECT_EQ(errorOf(packed + "x"), "what follows the gzip data at byte " +
                                       size +
                                       " of the file is not gzip; remove it");
  EXPECT_EQ(errorOf(packed + packed.substr(0, 9)),
            "the gzip data that begins at byte " + size +
                " of the file is damaged or ends early");
  EXPECT_THAT(errorOf(packed + packed), EndsWith("got '{'"));
  EXPECT_EQ(errorOf(gzip("")), "line 1, column 1: the text is empty; "
                               "expected '{'");
}

// A thousandth of what it holds, which real problems never shrink to.
TEST(BadProblem, BombOfGzip) {
  std::string packed = gzip(std::string((64u << 20) + 1, ' '));
  EXPECT_EQ(errorOf(packed), "the gzip data holds more than 67108864 bytes, "
                             "which is implausible for a file of " +
                                 std::to_string(packed.size()) +
                                 "; if it is right, decompress it first");
  packed.clear();
  std::string part = gzip(std::string(1u << 20, ' '));
  for (int i = 0; i != 65; ++i) {
    packed += part;
  }
  EXPECT_THAT(errorOf(packed), StartsWith("the gzip data holds more than"));
}

/// What readProblemFile says.
static std::string errorOfFile(const std::string &path, ExitCode code) {
  Expected<Problem> problem = readProblemFile(path);
  if (problem) {
    return "no error";
  }
  EXPECT_EQ(problem.status().code(), code);
  return problem.status().message();
}

TEST(BadProblem, FilesThatCannotBeRead) {
  EXPECT_EQ(errorOfFile("/nonexistent/file", ExitCode::File),
            "cannot read '/nonexistent/file': No such file or directory");
  EXPECT_EQ(errorOfFile("/", ExitCode::File),
            "cannot read '/': Is a directory");
}

TEST(BadProblem, FilesAreNamedInErrorsOfTheirContent) {
  TemporaryFile file("{}");
  EXPECT_EQ(errorOfFile(file.path, ExitCode::Invalid),
            file.path +
                ": line 1, column 1: this object has no key \"problem\"");
  TemporaryFile damaged(gzip("{}").substr(0, 12));
  EXPECT_THAT(errorOfFile(damaged.path, ExitCode::Invalid),
              StartsWith(damaged.path + ": the gzip data"));
}

// The file is sparse; nobody reads so much.
TEST(BadProblem, FilesOfMoreThanFourGibibytes) {
  TemporaryFile file("{}");
  std::filesystem::resize_file(file.path, uintmax_t(4) << 30);
  EXPECT_EQ(errorOfFile(file.path, ExitCode::Invalid),
            file.path + ": the text is longer than 4294963200 bytes, which is "
                        "the most that is read");
}
