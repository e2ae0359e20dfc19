//===- CommConformanceTest.cpp - What every communicator owes -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/comm/CommWorld.h"
#include "test/runtime/device/BoxValues.h"

#include <array>
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

/// Runs `step` on vectors, by party, and expects what those here get.
template <typename T>
static void expectResults(const StepDesc &step,
                          const std::vector<std::vector<T>> &sources,
                          const std::vector<std::vector<T>> &expected) {
  std::vector<std::vector<T>> results(sources.size());
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].resize(expected[i].size());
  }
  auto communicator = connectTestRanks();
  for (const Status &status : runOnAll(
           *communicator, step, [&](size_t i) { return sources[i].data(); },
           [&](size_t i) { return results[i].data(); })) {
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (isLocal(step, i)) {
      EXPECT_EQ(results[i], expected[i]) << "party " << i;
    }
  }
}

TEST(CommTest, movesAnyBoxesBetweenAnyParties) {
  Random random(2);
  for (int round = 0; round < 150; ++round) {
    Dims dims(1 + below(random, 3));
    for (int64_t &dim : dims) {
      dim = 1 + below(random, 6);
    }
    StepDesc step;
    step.type = DType::I32;
    step.location = "test";
    size_t parties = 1 + below(random, 4);
    std::vector<std::vector<int32_t>> sources(parties), expected(parties);
    // Somebody holds everything, so that every wish can be met; others hold,
    // and want, what chance says, or nothing.
    size_t owner = below(random, static_cast<int64_t>(parties));
    for (size_t i = 0; i < parties; ++i) {
      StepParty party{testRanks[i], {}, {}};
      if (i == owner) {
        party.source = Box::whole(dims);
      } else if (below(random, 4) != 0) {
        party.source = randomBox(random, dims);
      }
      if (below(random, 4) != 0) {
        party.result = randomBox(random, dims);
        expected[i] = valuesOf(*party.result);
      }
      sources[i] =
          party.source ? valuesOf(*party.source) : std::vector<int32_t>();
      step.parties.push_back(party);
    }
    expectResults(step, sources, expected);
  }
}

TEST(CommTest, combinesAnyPartOfABox) {
  Random random(3);
  for (int round = 0; round < 150; ++round) {
    Dims dims = {1 + below(random, 5), 1 + below(random, 9)};
    Box box = randomBox(random, dims);
    StepDesc step;
    step.type = DType::I32;
    step.location = "test";
    step.reduce = ReduceKind::Sum;
    size_t parties = 1 + below(random, 4);
    std::vector<std::vector<int32_t>> sources, expected;
    for (size_t i = 0; i < parties; ++i) {
      StepParty party{testRanks[i], box,
                      intersect(box, randomBox(random, dims))};
      sources.push_back(valuesOf(box, static_cast<int32_t>(i + 1)));
      expected.push_back(valuesOf(
          *party.result, static_cast<int32_t>(parties * (parties + 1) / 2)));
      step.parties.push_back(party);
    }
    expectResults(step, sources, expected);
  }
}

// Of a size for which transports ask the receiver first, and in rows.
TEST(CommTest, movesAndCombinesWhatIsLarge) {
  constexpr int64_t rows = 512, columns = 1536;
  StepDesc step;
  step.type = DType::I32;
  step.location = "test";
  std::vector<std::vector<int32_t>> sources, expected;
  Box whole = Box::whole({rows, columns});
  for (int64_t i = 0; i < 3; ++i) {
    Box part{{0, columns / 3 * i}, {rows, columns / 3 * (i + 1)}};
    step.parties.push_back({testRanks[i], part, whole});
    sources.push_back(valuesOf(part));
    expected.push_back(valuesOf(whole));
  }
  expectResults(step, sources, expected);
  step.reduce = ReduceKind::Sum;
  for (size_t i = 0; i < 3; ++i) {
    std::swap(step.parties[i].source, step.parties[i].result);
    sources[i] = valuesOf(whole, static_cast<int32_t>(i + 1));
    expected[i] = valuesOf(*step.parties[i].result, 6);
  }
  expectResults(step, sources, expected);
}

/// What each party of an all-reduce of f32 holds.
static std::vector<std::vector<float>> randomFloats(size_t parties,
                                                    int64_t count) {
  Random random(4);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::vector<float>> values(parties);
  for (auto &own : values) {
    for (int64_t k = 0; k < count; ++k) {
      own.push_back(uniform(random));
    }
  }
  return values;
}

// Against the sum in the order of the parties: not only equal everywhere, but
// the same by every communicator.
TEST(CommTest, allReduceGivesTheSameBitsEverywhereAndAlways) {
  for (size_t parties : {1, 2, 3, 4, 5, 6}) {
    for (int64_t count : {1, 15, 64, 5000, 300000}) {
      auto sources = randomFloats(parties, count);
      StepDesc step;
      step.location = "test";
      step.reduce = ReduceKind::Sum;
      std::vector<float> sum = sources[0];
      Box box = Box::whole({count});
      for (size_t i = 0; i < parties; ++i) {
        step.parties.push_back({testRanks[i], box, box});
        for (int64_t k = 0; i != 0 && k < count; ++k) {
          sum[k] += sources[i][k];
        }
      }
      expectResults(step, sources, {parties, sum});
      auto communicator = connectTestRanks();
      auto inPlace = [&](size_t i) { return sources[i].data(); };
      for (const Status &status :
           runOnAll(*communicator, step, inPlace, inPlace)) {
        EXPECT_TRUE(status.isOk()) << status.message();
      }
      for (size_t i = 0; i < parties; ++i) {
        EXPECT_TRUE(!isLocal(step, i) || sources[i] == sum);
      }
    }
  }
}

// Who is done begins again at once, whatever the others still do.
TEST(CommTest, aStepRunsAgainAndAgain) {
  StepDesc step = gatherStep({0, 5, 2});
  auto communicator = connectTestRanks();
  std::array<std::vector<float>, 3> last;
  onLocal(step, [&](size_t party) {
    auto share = LoneStep::prepare(*communicator, step, party);
    ASSERT_TRUE(share) << share.status().message();
    std::vector<float> result(3);
    for (int run = 0; run < 300; ++run) {
      auto source = static_cast<float>(10 * run) + static_cast<float>(party);
      Status status = runStep(*communicator, **share, &source, result.data());
      ASSERT_TRUE(status.isOk()) << status.message();
      for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(result[i], static_cast<float>(10 * run + i));
      }
    }
  });
}

// Rank 0 starts a before b, rank 5 b before a: who blocked in the first would
// wait for ever.
TEST(CommTest, stepsInFlightGoOnInAnyOrder) {
  auto communicator = connectTestRanks();
  std::array<std::array<std::vector<float>, 2>, 2> results;
  onLocal(gatherStep({0, 5}), [&](size_t self) {
    std::array<LoneStep, 2> shares;
    std::array<float, 2> sources;
    for (uint32_t tag : {0, 1}) {
      StepDesc step = gatherStep({0, 5});
      step.tag = tag;
      shares[tag] = std::move(*LoneStep::prepare(*communicator, step, self));
      sources[tag] = static_cast<float>(10 * tag + self);
      results[self][tag].resize(2);
    }
    std::vector<CommStep *> inFlight;
    for (size_t i : {self, 1 - self}) {
      EXPECT_TRUE(
          shares[i]->start(&sources[i], results[self][i].data()).isOk());
      inFlight.push_back(shares[i].get());
    }
    while (!inFlight.empty()) {
      communicator->wait(inFlight);
      std::erase_if(inFlight, [](CommStep *step) {
        Expected<bool> isDone = step->poll();
        return !isDone || *isDone;
      });
    }
    EXPECT_THAT(results[self][0], testing::ElementsAre(0, 1));
    EXPECT_THAT(results[self][1], testing::ElementsAre(10, 11));
  });
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

TEST(CommTest, whoDoesNotComeIsNamed) {
  auto communicator = connectTestRanks(std::chrono::milliseconds(500));
  StepDesc step = gatherStep({0, 3, 5});
  step.tag = 7;
  std::vector<Status> statuses(3);
  float source = 0;
  onLocal(step, [&](size_t party) {
    if (party != 2) {
      std::vector<float> results(3);
      auto share = LoneStep::prepare(*communicator, step, party);
      statuses[party] =
          runStep(*communicator, **share, &source, results.data());
    }
  });
  for (size_t party : {0, 1}) {
    if (isLocal(step, party)) {
      EXPECT_EQ(statuses[party].code(), ExitCode::Device);
      EXPECT_THAT(
          statuses[party].message(),
          HasSubstr("all_gather of 'fc1' (tag 7) for rank 5, which did not "
                    "come; raise the timeout if it is busy"));
    }
  }
}

// In a vote all wait for the last party, which counts, and is not missing.
TEST(CommTest, whoHasComeIsNotBlamed) {
  auto communicator = connectTestRanks(std::chrono::milliseconds(500));
  StepDesc step;
  step.location = "the vote";
  step.reduce = ReduceKind::Sum;
  for (uint32_t rank : {0, 2, 3, 5}) {
    step.parties.push_back({rank, Box::whole({1}), Box::whole({1})});
  }
  onLocal(step, [&](size_t party) {
    if (party == 2) {
      return;
    }
    if (party == 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
    }
    float source = 0, result = 0;
    auto share = LoneStep::prepare(*communicator, step, party);
    Status status = runStep(*communicator, **share, &source, &result);
    EXPECT_EQ(status.code(), ExitCode::Device);
    EXPECT_THAT(status.message(), HasSubstr("for rank 3, which did not come"));
  });
}

// Rank 5 gives up first, on rank 0, which waits for rank 3 in another step.
TEST(CommTest, whoWaitsElsewhereIsNotBlamed) {
  auto communicator = connectTestRanks(std::chrono::milliseconds(500));
  if (!communicator->sendsMessages()) {
    GTEST_SKIP() << "only processes stop one by one";
  }
  StepDesc other = gatherStep({0, 3}), step = gatherStep({0, 5});
  other.tag = 6;
  step.tag = 7;
  onLocal(gatherStep({0, 5, 3}), [&](size_t party) {
    const StepDesc &own = party == 0 ? other : step;
    if (party != 1) {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(party == 0 ? 250 : 1200));
    }
    if (party == 2) { // its process is there, but does not come
      return;
    }
    float source = 0;
    std::vector<float> results(2);
    auto share = LoneStep::prepare(*communicator, own, party);
    ASSERT_TRUE(share) << share.status().message();
    Status status = runStep(*communicator, **share, &source, results.data());
    EXPECT_EQ(status.code(), ExitCode::Device);
    EXPECT_THAT(status.message(),
                HasSubstr("(tag 7) for rank 3, which did not come"));
  });
}

// A barrier is passed by all or by none: one who comes when another has given
// up fails, too.
TEST(CommTest, whoComesLateFailsToo) {
  auto communicator = connectTestRanks(std::chrono::milliseconds(100));
  StepDesc barrier;
  barrier.location = "the end";
  barrier.parties = {{0, {}, {}}, {5, {}, {}}};
  std::atomic<bool> hasGivenUp = false;
  onLocal(barrier, [&](size_t party) {
    auto share = LoneStep::prepare(*communicator, barrier, party);
    ASSERT_TRUE(share) << share.status().message();
    if (party == 1 && isLocal(barrier, 0)) {
      hasGivenUp.wait(false);
    } else if (party == 1) { // of a process that sees no other
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    Status status = runStep(*communicator, **share, nullptr, nullptr);
    hasGivenUp = true;
    hasGivenUp.notify_all();
    EXPECT_EQ(status.code(), ExitCode::Device);
    EXPECT_THAT(status.message(), HasSubstr("rank 0 waited 100 ms in the end"));
  });
}

TEST(CommTest, aBarrierIsPassedWhenAllHaveCome) {
  auto communicator = connectTestRanks();
  StepDesc barrier;
  barrier.location = "the end";
  barrier.parties = {{0, {}, {}}, {5, {}, {}}, {3, {}, {}}};
  std::atomic<int> come = 0;
  onLocal(barrier, [&](size_t party) {
    auto share = LoneStep::prepare(*communicator, barrier, party);
    int local = 0;
    for (size_t i = 0; i < 3; ++i) {
      local += isLocal(barrier, i) ? 1 : 0;
    }
    for (int round = 1; round <= 20; ++round) {
      ++come;
      Status status = runStep(*communicator, **share, nullptr, nullptr);
      EXPECT_TRUE(status.isOk()) << status.message();
      EXPECT_GE(come, local * round);
    }
  });
}

TEST(CommTest, abortEndsAWait) {
  auto communicator = connectTestRanks();
  onLocal(gatherStep({0, 5}), [&](size_t party) {
    StepDesc step = gatherStep({0, 5});
    if (party == 1) {
      communicator->abort(Status(ExitCode::Internal, "rank 5 failed"));
      return;
    }
    std::vector<float> results(2);
    float source = 0;
    auto share = LoneStep::prepare(*communicator, step, 0);
    Status status = runStep(*communicator, **share, &source, results.data());
    EXPECT_EQ(status.code(), ExitCode::Internal);
    EXPECT_EQ(status.message(), "rank 5 failed");
  });
}

TEST(CommTest, aStepThatCannotBeDoneIsRefused) {
  auto communicator = connectTestRanks();
  StepDesc step;
  step.location = "test";
  step.parties = {{0, Box::whole({2}), Box::whole({3})}};
  auto share = LoneStep::prepare(*communicator, step, 0);
  ASSERT_FALSE(share);
  EXPECT_THAT(share.status().message(),
              HasSubstr("no rank of its group holds"));
  step.reduce = ReduceKind::And;
  step.parties[0].result = Box::whole({2});
  share = LoneStep::prepare(*communicator, step, 0);
  ASSERT_FALSE(share);
  EXPECT_EQ(share.status().code(), ExitCode::Unsupported);
}

// When a step is prepared, or when it runs, on both.
TEST(CommTest, anotherStepIsNoticed) {
  auto communicator = connectTestRanks();
  onLocal(gatherStep({0, 5}), [&](size_t party) {
    StepDesc step = gatherStep({0, 5});
    if (party == 1) {
      step.location = "all_gather of 'fc2'";
    }
    std::vector<float> results(2);
    float source = 0;
    auto share = LoneStep::prepare(*communicator, step, party);
    Status status =
        share ? runStep(*communicator, **share, &source, results.data())
              : share.status();
    communicator->abort(status);
    EXPECT_EQ(status.code(), ExitCode::Invalid);
    EXPECT_THAT(status.message(),
                HasSubstr("another session has another step there; do all have "
                          "the same artifact?"));
  });
}
