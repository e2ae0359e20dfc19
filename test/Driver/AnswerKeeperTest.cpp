//===- AnswerKeeperTest.cpp -----------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/AnswerKeeper.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>

using namespace divisi;
using testing::HasSubstr;

namespace {

/// One node whose strategy s costs 1000 - s: later answers are better.
class AnswerKeeperTest : public testing::Test {
protected:
  AnswerKeeperTest() {
    search::Node &node = problem_.nodes.emplace_back();
    node.live = {0, 1};
    for (int64_t s = 0; s < 1000; ++s) {
      node.costs.push_back(1000 - s);
      node.usages.push_back(1);
    }
    std::filesystem::create_directories(folder_);
  }
  ~AnswerKeeperTest() override { std::filesystem::remove_all(folder_); }

  search::SolutionFile answer(uint32_t strategy) const {
    search::SolutionFile file;
    file.solution = search::evaluate(problem_, {strategy});
    file.problem = "p";
    file.solver = "auto";
    file.stopped = "running";
    return file;
  }

  /// The strategy on disk, of an answer that check accepts; -1 if there is no
  /// file.
  int64_t onDisk() const {
    if (!std::filesystem::exists(path_)) {
      return -1;
    }
    auto file = search::readSolutionFile(path_);
    EXPECT_TRUE(bool(file)) << file.status().message();
    EXPECT_EQ(search::check(problem_, file->solution), std::nullopt);
    return file->solution.assignment[0];
  }

  bool waitUntilOnDisk(int64_t strategy) const {
    for (int i = 0; i < 6000 && onDisk() != strategy; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return onDisk() == strategy;
  }

  search::Problem problem_;
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      ("AnswerKeeperTest" + std::to_string(getpid()));
  std::string path_ = folder_ / "s.json";
};

} // namespace

TEST_F(AnswerKeeperTest, FirstAnswerIsThereBeforeTheSolverGoesOn) {
  AnswerKeeper writer(path_, problem_);
  EXPECT_EQ(onDisk(), -1);
  EXPECT_TRUE(writer.offer(answer(3)).isOk());
  EXPECT_EQ(onDisk(), 3);
}

TEST_F(AnswerKeeperTest, NewestFollowsEvenIfNothingElseHappens) {
  AnswerKeeper writer(path_, problem_, /*pause=*/0);
  for (uint32_t s = 0; s < 1000; ++s) {
    EXPECT_TRUE(writer.offer(answer(s)).isOk());
  }
  EXPECT_TRUE(waitUntilOnDisk(999));
}

TEST_F(AnswerKeeperTest, NothingIsWrittenWithinThePause) {
  AnswerKeeper writer(path_, problem_, /*pause=*/1e6);
  for (uint32_t s = 0; s < 1000; ++s) {
    EXPECT_TRUE(writer.offer(answer(s)).isOk());
  }
  EXPECT_EQ(onDisk(), 0);
}

TEST_F(AnswerKeeperTest, WhatWaitsIsWrittenInTheEnd) {
  {
    AnswerKeeper writer(path_, problem_);
    EXPECT_TRUE(writer.offer(answer(1)).isOk());
    EXPECT_TRUE(writer.offer(answer(2)).isOk());
  }
  EXPECT_EQ(onDisk(), 2);
}

TEST_F(AnswerKeeperTest, FinishIsTheLastWord) {
  {
    AnswerKeeper writer(path_, problem_);
    EXPECT_TRUE(writer.offer(answer(1)).isOk());
    EXPECT_TRUE(writer.offer(answer(2)).isOk());
    EXPECT_TRUE(writer.finish(answer(7)).isOk());
  }
  EXPECT_EQ(onDisk(), 7);
}

TEST_F(AnswerKeeperTest, FinishNeedsNoAnswerOnTheWay) {
  AnswerKeeper writer(path_, problem_);
  EXPECT_TRUE(writer.finish(answer(7)).isOk());
  EXPECT_EQ(onDisk(), 7);
}

TEST_F(AnswerKeeperTest, WrongAnswersAreNotWritten) {
  AnswerKeeper writer(path_, problem_);
  search::SolutionFile wrong = answer(4);
  wrong.solution.cost -= 1;
  Status status = writer.offer(wrong);
  EXPECT_EQ(status.code(), ExitCode::Internal);
  EXPECT_THAT(status.message(), HasSubstr("wrong"));
  EXPECT_EQ(onDisk(), -1);
  // Told once; the next is as good as a first.
  EXPECT_TRUE(writer.offer(answer(5)).isOk());
  EXPECT_EQ(onDisk(), 5);
}

TEST_F(AnswerKeeperTest, BoundsThatNothingProvesAreLowered) {
  AnswerKeeper writer(path_, problem_);
  search::SolutionFile bold = answer(4);
  bold.solution.lowerBound = 900;
  EXPECT_TRUE(writer.offer(bold).isOk());
  EXPECT_EQ(onDisk(), 4);
  EXPECT_EQ(search::readSolutionFile(path_)->solution.lowerBound, 1);
}

TEST_F(AnswerKeeperTest, FailuresAreTold) {
  path_ = folder_ / "no" / "s.json";
  AnswerKeeper writer(path_, problem_);
  EXPECT_EQ(writer.offer(answer(0)).code(), ExitCode::File);
  EXPECT_EQ(writer.finish(answer(1)).code(), ExitCode::File);
}
