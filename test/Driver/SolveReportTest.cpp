//===- SolveReportTest.cpp ------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/SolveReport.h"

#include "llvm/Support/JSON.h"

#include <gmock/gmock.h>

using namespace divisi;
using testing::HasSubstr;

static SolveProgress quietProgress() {
  return SolveProgress(search::SolutionFile(), nullptr, /*quiet=*/true);
}

TEST(SolveProgress, TraceKeepsEveryCostAndAFewOfManyBounds) {
  SolveProgress progress = quietProgress();
  EXPECT_EQ(progress.firstAnswer(), std::nullopt);
  progress({.seconds = 1, .work = 10, .lowerBound = 50});
  EXPECT_EQ(progress.firstAnswer(), std::nullopt);
  progress({.seconds = 2, .work = 20, .cost = 1000, .lowerBound = 50});
  progress({.seconds = 3, .work = 30, .cost = 999, .lowerBound = 50});
  EXPECT_EQ(progress.firstAnswer(), 2);
  EXPECT_EQ(progress.trace().size(), 3u);
  for (int64_t bound = 51; bound <= 999; ++bound) {
    progress({.seconds = 4, .work = 40, .cost = 999, .lowerBound = bound});
  }
  size_t kept = progress.trace().size();
  EXPECT_GT(kept, 100u);
  EXPECT_LT(kept, 700u);
  EXPECT_EQ(progress.trace().back().lowerBound, 999);
  // What is no news is not kept.
  progress({.seconds = 5, .work = 50, .cost = 999, .lowerBound = 999});
  EXPECT_EQ(progress.trace().size(), kept);
}

TEST(SolveProgress, EndAddsWhatWasNotKnown) {
  SolveProgress progress = quietProgress();
  search::Outcome outcome;
  outcome.verdict = search::Verdict::Solved;
  outcome.solution.cost = 10;
  outcome.solution.lowerBound = 9;
  outcome.work = 77;
  progress.end(outcome, 3);
  ASSERT_EQ(progress.trace().size(), 1u);
  EXPECT_EQ(progress.trace().back(), (search::TraceEntry{3, 77, 10, 9, "end"}));
  progress.end(outcome, 4);
  EXPECT_EQ(progress.trace().size(), 1u);
}

TEST(SolveReport, IntegersAreExact) {
  search::Problem problem;
  problem.name = "quote \" and \\";
  problem.usageLimit = 7;
  search::SolutionFile file;
  search::Wide large = (search::Wide(1) << 100) + 1;
  file.solution.cost = large;
  file.solution.lowerBound = -large;
  file.seed = ~uint64_t(0);
  search::Outcome outcome;
  outcome.verdict = search::Verdict::Solved;
  std::vector<search::TraceEntry> trace = {{1.5, 3, large, {}, "x"}};
  std::string text;
  llvm::raw_string_ostream os(text);
  printResultJSON({problem, file, outcome, trace, 1, 2.5, 1.5}, os);
  EXPECT_TRUE(bool(llvm::json::parse(text))) << text;
  EXPECT_THAT(text, HasSubstr("\"cost\":1267650600228229401496703205377,"));
  EXPECT_THAT(text, HasSubstr("\"bound\":-1267650600228229401496703205377,"));
  EXPECT_THAT(text, HasSubstr("\"seed\":18446744073709551615,"));
  EXPECT_THAT(text, HasSubstr("{\"seconds\":1.500,\"work\":3,\"cost\":"
                              "1267650600228229401496703205377,\"by\":\"x\"}"));
}
