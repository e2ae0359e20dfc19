//===- SolutionIOTest.cpp - Reading and writing solutions -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaseCount.h"
#include "RandomCertificate.h"

#include "divisi/Search/SolutionIO.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace divisi;
using namespace divisi::search;

static constexpr Wide kMost = Wide(~static_cast<unsigned __int128>(0) >> 1);

static void expectEqual(const SolutionFile &a, const SolutionFile &b) {
  EXPECT_EQ(a.problem, b.problem);
  EXPECT_EQ(a.solver, b.solver);
  EXPECT_EQ(a.stopped, b.stopped);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.trace, b.trace);
  EXPECT_EQ(a.solution.assignment, b.solution.assignment);
  EXPECT_EQ(toString(a.solution.cost), toString(b.solution.cost));
  EXPECT_EQ(toString(a.solution.peak), toString(b.solution.peak));
  EXPECT_EQ(a.solution.peakTime, b.solution.peakTime);
  EXPECT_EQ(toString(a.solution.lowerBound), toString(b.solution.lowerBound));
  EXPECT_TRUE(a.solution.certificate == b.solution.certificate);
}

/// Every field has a value that its type only just holds.
static SolutionFile extremes() {
  SolutionFile file;
  file.problem = "a \"name\"\\ with\nall";
  file.solver = "auto";
  file.stopped = "finished";
  file.seed = UINT64_MAX;
  file.solution.assignment = {0, UINT32_MAX};
  file.solution.cost = kMost;
  file.solution.peak = -kMost - 1;
  file.solution.peakTime = INT64_MIN;
  file.solution.lowerBound = 0;
  file.trace = {{0.1, INT64_MAX, Wide(7), std::nullopt, "a"},
                {std::nullopt, 0, std::nullopt, -kMost, ""}};
  Certificate &certificate = file.solution.certificate;
  certificate.priceBits = INT32_MAX;
  certificate.potentialBits = INT32_MIN;
  certificate.cutoff = -kMost - 1;
  certificate.deductions = {{Deduction::Kind::Drop, UINT32_MAX, 0, 7},
                            {Deduction::Kind::Follow, 1, UINT32_MAX, 0}};
  BoundNode root, child, leaf;
  root.bounds = root.fixes = true;
  root.prices = {{INT64_MIN, INT64_MAX}, {INT64_MAX, INT64_MIN}};
  root.potentials = {INT32_MIN, INT32_MAX, 0, -1};
  child.parent = 0;
  child.variable = UINT32_MAX;
  child.kept = {0, UINT32_MAX};
  leaf = child;
  leaf.parent = 1;
  leaf.bounds = true;
  leaf.potentials = {INT32_MAX, INT32_MIN, 1, -1};
  BoundNode other = leaf;
  other.potentials = {5}; // Of another size than those above.
  BoundNode empty = leaf;
  empty.potentials = {};
  certificate.tree = {root, child, leaf, other, empty};
  return file;
}

static std::string errorOf(std::string_view json) {
  Expected<SolutionFile> file = readSolution(json);
  return file ? "none" : file.status().message();
}

TEST(SolutionIO, ExtremesComeBack) {
  SolutionFile file = extremes();
  Expected<SolutionFile> back = readSolution(writeSolution(file));
  ASSERT_TRUE(bool(back)) << back.status().message();
  expectEqual(file, *back);
}

TEST(SolutionIO, RandomCertificatesComeBack) {
  CaseCount cases("certificates written and read");
  for (unsigned seed = 0; seed != 300; ++seed, ++cases) {
    CertifiedCase given(seed);
    SolutionFile file;
    file.solution = evaluate(
        given.problem, std::vector<uint32_t>(given.problem.nodes.size(), 0));
    file.solution.certificate = given.made.certificate;
    Expected<SolutionFile> back = readSolution(writeSolution(file));
    ASSERT_TRUE(bool(back)) << back.status().message();
    expectEqual(file, *back);
  }
}

// The format is a promise to other programs.
TEST(SolutionIO, TheTextIsAsDocumented) {
  SolutionFile file;
  file.problem = "A";
  file.solver = "auto";
  file.stopped = "work";
  file.solution.assignment = {0, 3};
  file.solution.cost = 4;
  file.solution.lowerBound = 3;
  file.solution.peak = 9;
  file.solution.peakTime = 1;
  file.trace = {{0.5, 10, Wide(4), Wide(3), "rounding"}};
  Certificate &certificate = file.solution.certificate;
  certificate.priceBits = 40;
  certificate.cutoff = 4;
  certificate.deductions = {{Deduction::Kind::Drop, 5, 2, 7},
                            {Deduction::Kind::Follow, 5, 8, 0}};
  BoundNode root, child;
  root.bounds = true;
  root.prices = {{12, 55}};
  root.potentials = {5, 5, 5};
  child.parent = 0;
  child.variable = 5;
  child.kept = {1, 2};
  child.bounds = child.fixes = true;
  child.potentials = {5, 4, 105};
  certificate.tree = {root, child};
  // Differences 5, 5, 5 are 0a 0a 0a; 0, -1, 100 are 00 01 c8 01.
  EXPECT_EQ(writeSolution(file), R"({"schema_version": 1,
  "problem": "A",
  "solver": "auto",
  "seed": 0,
  "stopped": "work",
  "assignment": [0, 3],
  "cost": 4,
  "peak": 9,
  "peak_time": 1,
  "lower_bound": 3,
  "gap": 0.25,
  "gap_of": "the declared strategies",
  "trace": [
    {"seconds": 0.5, "work": 10, "cost": 4, "lower_bound": 3, "by": "rounding"}],
  "certificate": {"price_bits": 40,
    "potential_bits": 0,
    "cutoff": 4,
    "steps": [["drop", 5, 2, 7], ["follow", 5, 8]],
    "tree": [
      {"parent": -1, "prices": [[12, 55]], "potentials": "CgoK"},
      {"parent": 0, "variable": 5, "kept": [1, 2], "fixes": true, "potentials": "AAHIAQ=="}]}}
)");
}

/// A solution with `tail` behind the last of what is required.
static std::string with(const std::string &tail) {
  return R"({"schema_version": 1, "assignment": [1], "cost": 2, "peak": 3,
"peak_time": 4, "lower_bound": 5)" +
         tail + "}";
}

static std::string tree(const std::string &node) {
  return with(R"(, "certificate": {"price_bits": 0, "potential_bits": 0,
"steps": [], "tree": [)" +
              node + "]}");
}

TEST(SolutionIO, ErrorsNameThePlace) {
  EXPECT_EQ(errorOf(with("")), "none");
  EXPECT_EQ(errorOf(with(R"(, "unknown": [1.5])")), "none");
  EXPECT_EQ(errorOf("{}"),
            "line 1, column 1: this object has no key \"schema_version\"");
  EXPECT_EQ(errorOf(R"({"schema_version": 2, "new": 1})"),
            "the solution has schema version 2, this program reads 1; use a "
            "newer one");
  EXPECT_EQ(readSolution(R"({"schema_version": 2})").status().code(),
            ExitCode::Version);
  EXPECT_EQ(errorOf(R"({"schema_version": 0})"),
            "line 1, column 20: schema_version: expected 1, got 0");
  EXPECT_EQ(errorOf(R"({"assignment": [1, -1]})"),
            "line 1, column 20: assignment[1]: expected an integer of 32 bits "
            "without sign, got -1");
  EXPECT_EQ(errorOf(R"({"peak_time": 9223372036854775808})"),
            "line 1, column 15: peak_time: expected an integer of 64 bits, got "
            "9223372036854775808");
  std::string plain = "expected a plain integer of 128 bits, got ";
  EXPECT_EQ(errorOf(R"({"cost": 170141183460469231731687303715884105728})"),
            "line 1, column 10: cost: " + plain +
                "'170141183460469231731687...'");
  for (std::string bad : {"1.0", "1e3", "01", "-", "+1", "1x", "-01", "1_0"}) {
    EXPECT_EQ(errorOf("{\"cost\": " + bad + "}"),
              "line 1, column 10: cost: " + plain + "'" + bad + "'");
  }
}

TEST(SolutionIO, ErrorsOfCertificatesNameThePlace) {
  auto ends = [](const std::string &json, const std::string &end) {
    std::string error = errorOf(json);
    EXPECT_TRUE(error.ends_with(end)) << error;
  };
  auto step = [](const std::string &text) {
    return R"({"certificate": {"steps": [)" + text + "]}}";
  };
  ends(step(R"(["fold", 1, 2])"),
       "certificate.steps[0][0]: expected \"drop\" or \"follow\"");
  ends(step(R"(["drop", 1, 2])"),
       "certificate.steps[0]: the step has 3 elements, expected 4");
  ends(step(R"(["follow", 1, 2, 3])"),
       "certificate.steps[0][3]: the step has more than 3 elements");
  ends(step("[]"), "certificate.steps[0]: the step has 0 elements, expected 4");
  ends(tree("{}"), "certificate.tree[0]: this object has no key \"parent\"");
  ends(tree(R"({"parent": -1, "prices": [[1]]})"),
       "certificate.tree[0].prices[0]: expected a time and a price, got less");
  ends(tree(R"({"parent": -1, "prices": [[1, 2, 3, 4]]})"),
       "certificate.tree[0].prices[0][3]: expected a time, a price and a "
       "resource, got more");
  ends(R"({"more_peaks": [[1]]})",
       "more_peaks[0]: expected a usage and a time, got less");
  ends(R"({"more_peaks": [[1, 2, 3]]})",
       "more_peaks[0][2]: expected a usage and a time, got more");
  ends(tree(R"({"parent": -1, "fixes": 1})"),
       "certificate.tree[0].fixes: expected true or false, got '1'");
  auto potentials = [&](const std::string &text, const std::string &end) {
    ends(tree(R"({"parent": -1, "potentials": ")" + text + "\"}"),
         "certificate.tree[0].potentials: " + end);
  };
  std::string base64 = "expected base64 (A-Z, a-z, 0-9, +, /) with padding";
  potentials("AAA", base64);
  potentials("A-==", base64);
  potentials("=AAA", base64);
  potentials("AB==", base64); // A bit where padding says that there is none.
  potentials("gA==", "the last integer is cut off");
  potentials("gICAgICAgICAgAAA", "integer 0 has more than 64 bits of LEB128");
  potentials("////////////AQ==", "integer 0 is beyond 2^62");
}

// The parent may stand behind what is relative to it.
TEST(SolutionIO, KeysMayStandInAnyOrder) {
  Expected<SolutionFile> file =
      readSolution(tree(R"({"potentials": "CgoK", "parent": -1},
              {"potentials": "AAHIAQ==", "kept": [], "parent": 0})"));
  ASSERT_TRUE(bool(file)) << file.status().message();
  EXPECT_EQ(file->solution.certificate.tree[1].potentials,
            (std::vector<int64_t>{5, 4, 105}));
}

// Whatever is done to a text, reading it ends; and what is then still accepted
// of the problem is true of it.
TEST(SolutionIO, DamagedTextsNeverLie) {
  unsigned read = 0, refused = 0, accepted = 0;
  CaseCount cases("damaged texts");
  for (unsigned seed = 0; seed != 300; ++seed) {
    auto [dice, problem, made, best] = CertifiedCase(seed);
    if (!best) {
      continue;
    }
    SolutionFile file;
    file.solution = *best;
    std::string good = writeSolution(file);
    for (unsigned tries = 0; tries != 40; ++tries, ++cases) {
      std::string bad = good;
      for (unsigned times = 1 + dice.below(2); times != 0; --times) {
        size_t at = dice.below(unsigned(bad.size()));
        const char bytes[] = "0123456789-,:[]{}\"eA=. \\\x01\xC3";
        char byte = bytes[dice.below(sizeof(bytes) - 1)];
        switch (dice.below(4)) {
        case 0:
          bad.erase(at, 1 + dice.below(8));
          break;
        case 1:
          bad.insert(at, 1, byte);
          break;
        case 2:
          bad.insert(at, bad.substr(dice.below(unsigned(bad.size())), 20));
          break;
        default: // Another number, or another shape.
          bad[at] =
              isdigit((unsigned char)bad[at]) ? bytes[dice.below(10)] : byte;
        }
        bad += bad.empty() ? "{" : "";
      }
      Expected<SolutionFile> back = readSolution(bad);
      if (!back) {
        ++refused;
        EXPECT_FALSE(back.status().message().empty());
        continue;
      }
      ++read;
      if (check(problem, back->solution)) {
        continue;
      }
      ++accepted;
      EXPECT_LE(back->solution.lowerBound, best->cost) << bad;
      Solution again = evaluate(problem, back->solution.assignment);
      EXPECT_EQ(toString(again.cost), toString(back->solution.cost)) << bad;
    }
  }
  EXPECT_GT(read, 300u);
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(read, accepted);
}

namespace {
/// An empty folder of its own.
class SolutionFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "solution_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char *name) const { return folder_ / name; }
  size_t countFiles() const {
    return size_t(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::filesystem::path folder_;
};
} // namespace

TEST_F(SolutionFileTest, PlainAndGzipFilesComeBack) {
  SolutionFile file = extremes();
  for (const char *name : {"s.json", "s.json.gz"}) {
    Status status = writeSolutionFile(path(name), file);
    ASSERT_TRUE(status.isOk()) << status.message();
    Expected<SolutionFile> back = readSolutionFile(path(name));
    ASSERT_TRUE(bool(back)) << back.status().message();
    expectEqual(file, *back);
  }
  char magic[2] = {};
  std::ifstream(path("s.json.gz")).read(magic, 2);
  EXPECT_EQ(magic[0], '\x1f');
  EXPECT_EQ(countFiles(), 2u);
}

TEST_F(SolutionFileTest, ErrorsNameTheFile) {
  SolutionFile file = extremes();
  std::string missing = path("no") + "/s.json";
  Status status = writeSolutionFile(missing, file);
  EXPECT_EQ(status.code(), ExitCode::File);
  EXPECT_EQ(status.message(),
            "cannot write '" + missing + "': No such file or directory");
  EXPECT_EQ(readSolutionFile(missing).status().code(), ExitCode::File);
  std::ofstream(path("bad")) << "[";
  EXPECT_EQ(readSolutionFile(path("bad")).status().code(), ExitCode::Invalid);
  EXPECT_TRUE(readSolutionFile(path("bad"))
                  .status()
                  .message()
                  .starts_with(path("bad")));
}

// A limit on the size of files stands in for a full disk.
TEST_F(SolutionFileTest, AFailedWriteLeavesWhatWasThere) {
  SolutionFile file = extremes();
  ASSERT_TRUE(writeSolutionFile(path("s"), file).isOk());
  SolutionFile longer = file;
  longer.solution.assignment.assign(100000, 1);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small{4096, before.rlim_max};
  auto handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = writeSolutionFile(path("s"), longer);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(status.message(),
            "cannot write '" + path("s") + "': File too large");
  Expected<SolutionFile> back = readSolutionFile(path("s"));
  ASSERT_TRUE(bool(back)) << back.status().message();
  expectEqual(file, *back);
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(SolutionFileTest, ALinkStaysALink) {
  ASSERT_TRUE(writeSolutionFile(path("s"), {}).isOk());
  std::filesystem::create_symlink(path("s"), path("link"));
  ASSERT_TRUE(writeSolutionFile(path("link"), extremes()).isOk());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  Expected<SolutionFile> back = readSolutionFile(path("s"));
  ASSERT_TRUE(bool(back)) << back.status().message();
  expectEqual(extremes(), *back);
}
