//===- CommTest.cpp - Tests of steps between ranks ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/Element.h"
#include "divisi/runtime/InprocCommunicator.h"

#include <array>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

using Random = std::mt19937;

static int64_t below(Random &random, int64_t bound) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
}

static Box randomBox(Random &random, const Dims &dims) {
  Box box;
  for (int64_t dim : dims) {
    int64_t a = below(random, dim + 1), b = below(random, dim + 1);
    box.begin.push_back(std::min(a, b));
    box.end.push_back(std::max(a, b));
  }
  return box;
}

/// Calls `body(index)` for every index of the box, row-major.
template <typename Body> static void forEachIndex(const Box &box, Body body) {
  Dims extents = box.extents();
  for (int64_t i = 0; i < box.count(); ++i) {
    Dims index = box.begin;
    int64_t rest = i;
    for (size_t d = box.rank(); d-- > 0;) {
      index[d] += rest % extents[d];
      rest /= extents[d];
    }
    body(index);
  }
}

static bool holds(const Box &box, const Dims &index) {
  for (size_t d = 0; d < index.size(); ++d) {
    if (index[d] < box.begin[d] || index[d] >= box.end[d]) {
      return false;
    }
  }
  return true;
}

/// A different number for every index of a tensor.
static int32_t valueAt(const Dims &index) {
  int32_t value = 1;
  for (int64_t i : index) {
    value = value * 31 + static_cast<int32_t>(i);
  }
  return value;
}

static std::vector<int32_t> valuesOf(const Box &box, int32_t factor = 1) {
  std::vector<int32_t> values;
  forEachIndex(box, [&](const Dims &index) {
    values.push_back(valueAt(index) * factor);
  });
  return values;
}

/// Runs one step with a thread per party and returns the statuses.
template <typename T>
static std::vector<Status> runOnAll(Communicator &communicator,
                                    const StepDesc &step,
                                    const std::vector<std::vector<T>> &sources,
                                    std::vector<std::vector<T>> &results) {
  std::vector<Status> statuses(step.parties.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < step.parties.size(); ++i) {
    threads.emplace_back([&, i] {
      auto share = communicator.prepare(step, i);
      statuses[i] = share ? runStep(communicator, **share, sources[i].data(),
                                    results[i].data())
                          : share.status();
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  return statuses;
}

static auto makeCommunicator() {
  return makeInprocCommunicator(std::chrono::seconds(20));
}

TEST(BoxTest, aPieceIsAsFewRunsAsPossible) {
  struct Case {
    Box piece, source, result;
    int64_t runs;
  };
  Box whole = Box::whole({4, 6});
  for (const Case &c : {Case{whole, whole, whole, 1},
                        Case{{{1, 0}, {3, 6}}, whole, {{1, 0}, {3, 6}}, 1},
                        Case{{{1, 2}, {3, 4}}, whole, {{1, 2}, {3, 4}}, 2},
                        Case{{{1, 2}, {2, 4}}, whole, {{0, 2}, {2, 4}}, 1},
                        Case{{{0, 2}, {0, 4}}, whole, whole, 0}}) {
    BoxCopy copy(4, c.piece, c.source, c.result);
    int64_t runs = 0;
    copy.forEachRun([&](int64_t, int64_t, int64_t) { ++runs; });
    EXPECT_EQ(runs, c.runs);
    EXPECT_EQ(copy.bytes(), c.piece.count() * 4);
  }
}

TEST(BoxTest, subtractLeavesDisjointRest) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    Dims dims = {1 + below(random, 4), 1 + below(random, 4),
                 1 + below(random, 4)};
    Box box = randomBox(random, dims), cut = randomBox(random, dims);
    std::vector<Box> rest;
    subtract(box, cut, rest);
    forEachIndex(Box::whole(dims), [&](const Dims &index) {
      int64_t times = 0;
      for (const Box &piece : rest) {
        times += holds(piece, index);
      }
      EXPECT_EQ(times, holds(box, index) && !holds(cut, index));
    });
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
    std::vector<std::vector<int32_t>> sources(parties), results(parties),
        expected(parties);
    // Somebody holds everything, so that every wish can be met; others hold,
    // and want, what chance says, or nothing.
    size_t owner = below(random, static_cast<int64_t>(parties));
    for (size_t i = 0; i < parties; ++i) {
      StepParty party{static_cast<uint32_t>(i), {}, {}};
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
      results[i].resize(expected[i].size());
      step.parties.push_back(party);
    }
    auto communicator = makeCommunicator();
    for (const Status &status :
         runOnAll(*communicator, step, sources, results)) {
      EXPECT_TRUE(status.isOk()) << status.message();
    }
    EXPECT_EQ(results, expected);
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
    std::vector<std::vector<int32_t>> sources, results, expected;
    for (size_t i = 0; i < parties; ++i) {
      StepParty party{static_cast<uint32_t>(i), box,
                      intersect(box, randomBox(random, dims))};
      sources.push_back(valuesOf(box, static_cast<int32_t>(i + 1)));
      expected.push_back(valuesOf(
          *party.result, static_cast<int32_t>(parties * (parties + 1) / 2)));
      results.emplace_back(expected[i].size());
      step.parties.push_back(party);
    }
    auto communicator = makeCommunicator();
    for (const Status &status :
         runOnAll(*communicator, step, sources, results)) {
      EXPECT_TRUE(status.isOk()) << status.message();
    }
    EXPECT_EQ(results, expected);
  }
}

/// An all-reduce of f32, in place or not, on `parties` threads.
static std::vector<std::vector<float>> allReduce(size_t parties, int64_t count,
                                                 bool inPlace) {
  StepDesc step;
  step.location = "test";
  step.reduce = ReduceKind::Sum;
  Random random(4);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::vector<float>> sources(parties), results(parties);
  for (size_t i = 0; i < parties; ++i) {
    Box box = Box::whole({count});
    step.parties.push_back({static_cast<uint32_t>(i), box, box});
    for (int64_t k = 0; k < count; ++k) {
      sources[i].push_back(uniform(random));
    }
    results[i].resize(count);
  }
  auto communicator = makeCommunicator();
  if (inPlace) {
    results = sources;
    runOnAll(*communicator, step, results, results);
  } else {
    runOnAll(*communicator, step, sources, results);
  }
  return results;
}

TEST(CommTest, allReduceGivesTheSameBitsEverywhereAndAlways) {
  for (size_t parties : {2, 3, 4, 5}) {
    for (int64_t count : {1, 15, 64, 5000}) {
      auto first = allReduce(parties, count, /*inPlace=*/false);
      for (size_t i = 1; i < parties; ++i) {
        EXPECT_EQ(first[i], first[0]);
      }
      EXPECT_EQ(allReduce(parties, count, /*inPlace=*/false), first);
      EXPECT_EQ(allReduce(parties, count, /*inPlace=*/true), first);
    }
  }
}

TEST(ReduceTest, everyKindOfEveryTypeThatHasIt) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  auto combineTwo = [](DType type, ReduceKind kind, auto a, auto b) {
    const std::array<const std::byte *, 2> sources = {
        reinterpret_cast<std::byte *>(&a), reinterpret_cast<std::byte *>(&b)};
    auto result = a;
    findCombine(type, kind)(sources, 0, reinterpret_cast<std::byte *>(&result),
                            0, 1);
    return result;
  };
  EXPECT_EQ(combineTwo(DType::F32, ReduceKind::Sum, 1.5f, 2.f), 3.5f);
  EXPECT_EQ(combineTwo(DType::F32, ReduceKind::Prod, 1.5f, 2.f), 3.f);
  EXPECT_EQ(combineTwo(DType::F32, ReduceKind::Max, 1.5f, 2.f), 2.f);
  EXPECT_EQ(combineTwo(DType::F32, ReduceKind::Min, 1.5f, 2.f), 1.5f);
  EXPECT_TRUE(std::isnan(combineTwo(DType::F32, ReduceKind::Max, nan, 2.f)));
  EXPECT_TRUE(std::isnan(combineTwo(DType::F32, ReduceKind::Min, 2.f, nan)));
  EXPECT_EQ(combineTwo(DType::I8, ReduceKind::Sum, int8_t(127), int8_t(1)),
            -128);
  EXPECT_EQ(combineTwo(DType::I64, ReduceKind::Max, int64_t(-5), int64_t(-9)),
            -5);
  EXPECT_EQ(combineTwo(DType::U16, ReduceKind::Prod, uint16_t(65535),
                       uint16_t(65535)),
            1);
  EXPECT_EQ(combineTwo(DType::I32, ReduceKind::And, 6, 3), 2);
  EXPECT_EQ(combineTwo(DType::Bool, ReduceKind::Or, uint8_t(0), uint8_t(1)), 1);
  EXPECT_EQ(combineTwo(DType::Bool, ReduceKind::And, uint8_t(0), uint8_t(1)),
            0);
  EXPECT_EQ(findCombine(DType::Bool, ReduceKind::Sum), nullptr);
  EXPECT_EQ(findCombine(DType::F32, ReduceKind::And), nullptr);
  EXPECT_EQ(findCombine(DType::BF16, ReduceKind::And), nullptr);
  FieldElement half = 0.5, third = FieldElement(1) / 3;
  EXPECT_EQ(combineTwo(DType::Field, ReduceKind::Sum, half, half), 1);
  EXPECT_EQ(combineTwo(DType::Field, ReduceKind::Prod, third, third) * 9, 1);
  EXPECT_EQ(combineTwo(DType::Field, ReduceKind::Max, FieldElement(-5),
                       FieldElement(3)),
            3);
  EXPECT_EQ(combineTwo(DType::Field, ReduceKind::Min, FieldElement(-5),
                       FieldElement(3)),
            -5);
  EXPECT_EQ(findCombine(DType::Field, ReduceKind::And), nullptr);
  // What is stored only is in one part, and zeros are in the others.
  for (DType type : {DType::I4, DType::U4, DType::F8E4M3FN, DType::F8E5M2}) {
    EXPECT_EQ(combineTwo(type, ReduceKind::Or, uint8_t(0), uint8_t(0xfe)),
              0xfe);
    EXPECT_EQ(findCombine(type, ReduceKind::Sum), nullptr);
  }
}

TEST(ReduceTest, theNeutralElementChangesNothing) {
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max,
                          ReduceKind::Min, ReduceKind::And, ReduceKind::Or}) {
    EXPECT_EQ(parseReduceKind(stringify(kind)), kind);
    for (int32_t value : {-7, 0, 1, 123456789}) {
      int32_t neutral = 0, result = 0;
      fillNeutral(DType::I32, kind, &neutral, 1);
      const std::array<const std::byte *, 2> sources = {
          reinterpret_cast<std::byte *>(&neutral),
          reinterpret_cast<std::byte *>(&value)};
      findCombine(DType::I32, kind)(
          sources, 0, reinterpret_cast<std::byte *>(&result), 0, 1);
      EXPECT_EQ(result, value) << stringify(kind);
    }
  }
}

TEST(CommTest, whoDoesNotComeIsNamed) {
  auto communicator = makeInprocCommunicator(std::chrono::milliseconds(500));
  StepDesc step;
  step.tag = 7;
  step.location = "all_gather of 'fc1'";
  Box box = Box::whole({1});
  step.parties = {{3, box, box}, {4, box, box}, {5, box, box}};
  std::vector<Status> statuses(2);
  std::vector<std::thread> threads;
  for (size_t i : {0, 1}) {
    threads.emplace_back([&, i] {
      float source = 0, result = 0;
      auto share = communicator->prepare(step, i);
      statuses[i] = runStep(*communicator, **share, &source, &result);
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  for (const Status &status : statuses) {
    EXPECT_EQ(status.code(), ExitCode::Device);
    EXPECT_THAT(status.message(), HasSubstr("all_gather of 'fc1' (tag 7) for "
                                            "rank 5, which did not come"));
  }
  // After reset() the same step works.
  communicator->reset();
  std::vector<std::vector<float>> sources(3, {1.f}), results(3, {0.f});
  for (const Status &status : runOnAll(*communicator, step, sources, results)) {
    EXPECT_TRUE(status.isOk()) << status.message();
  }
}

// A rank that has given up counts as present: the last one must not complete
// the meeting for all but it. This is the barrier before globals are updated.
TEST(CommTest, whoComesAfterATimeoutFailsToo) {
  StepDesc barrier;
  barrier.location = "the end";
  barrier.parties = {{0, {}, {}}, {1, {}, {}}};
  std::unique_ptr<CommStep> late;
  Status lateStatus;
  std::unique_ptr<Communicator> communicator;
  communicator = makeInprocCommunicator(std::chrono::milliseconds(1), {}, [&] {
    lateStatus = runStep(*communicator, *late, nullptr, nullptr);
  });
  late = std::move(*communicator->prepare(barrier, 1));
  std::unique_ptr<CommStep> first =
      std::move(*communicator->prepare(barrier, 0));
  Status firstStatus = runStep(*communicator, *first, nullptr, nullptr);
  EXPECT_EQ(firstStatus.code(), ExitCode::Device);
  EXPECT_EQ(lateStatus.code(), ExitCode::Device);
  EXPECT_EQ(lateStatus.message(), firstStatus.message());
}

// Rank 0 starts a before b, rank 1 b before a: who blocked in the first would
// wait for ever.
TEST(CommTest, stepsInFlightGoOnInAnyOrder) {
  auto communicator = makeCommunicator();
  Box box = Box::whole({1}), both = Box::whole({2});
  Box second{{1}, {2}};
  std::array<std::array<std::vector<float>, 2>, 2> results;
  std::vector<std::thread> threads;
  for (size_t self : {0, 1}) {
    threads.emplace_back([&, self] {
      std::array<std::unique_ptr<CommStep>, 2> shares;
      std::array<float, 2> sources;
      for (uint32_t tag : {0, 1}) {
        StepDesc step;
        step.tag = tag;
        step.location = "test";
        step.parties = {{0, box, both}, {1, second, both}};
        shares[tag] = std::move(*communicator->prepare(step, self));
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
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  for (size_t self : {0, 1}) {
    EXPECT_THAT(results[self][0], testing::ElementsAre(0, 1));
    EXPECT_THAT(results[self][1], testing::ElementsAre(10, 11));
  }
}

TEST(CommTest, abortEndsAWait) {
  auto communicator = makeCommunicator();
  StepDesc step;
  step.location = "test";
  Box box = Box::whole({1});
  step.parties = {{0, box, box}, {1, box, box}};
  Status status;
  std::thread waiter([&] {
    float source = 0, result = 0;
    status = runStep(*communicator, **communicator->prepare(step, 0), &source,
                     &result);
  });
  communicator->abort(Status(ExitCode::Internal, "rank 1 failed"));
  waiter.join();
  EXPECT_EQ(status.message(), "rank 1 failed");
}

TEST(CommTest, aStepThatCannotBeDoneIsRefused) {
  auto communicator = makeCommunicator();
  StepDesc step;
  step.location = "test";
  step.parties = {{0, Box::whole({2}), Box::whole({3})}};
  auto share = communicator->prepare(step, 0);
  ASSERT_FALSE(share);
  EXPECT_THAT(share.status().message(),
              HasSubstr("no rank of its group holds"));
  step.reduce = ReduceKind::And;
  step.parties[0].result = Box::whole({2});
  share = communicator->prepare(step, 0);
  ASSERT_FALSE(share);
  EXPECT_EQ(share.status().code(), ExitCode::Unsupported);
}
