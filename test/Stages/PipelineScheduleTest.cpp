//===- PipelineScheduleTest.cpp -------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The closed forms are those that the papers of the schedules state, for stages
// that are all equal and links that take no time: p stages, m micro-batches, v
// chunks per stage, times F, I and W of a step.
//
//===----------------------------------------------------------------------===//

#include "divisi/Stages/PipelineTimes.h"

#include "gmock/gmock.h"

#include <algorithm>
#include <functional>
#include <random>

using namespace divisi;
using testing::HasSubstr;

/// All chunks alike; each keeps one byte.
static std::vector<ChunkCost> alike(const PipelineSchedule &schedule, int64_t f,
                                    int64_t i, int64_t w) {
  return std::vector<ChunkCost>(schedule.numChunks(), {f, i, w, 0, 0, 1});
}

/// All small sizes, and some larger ones.
static void forSizes(const std::function<void(int64_t, int64_t)> &use) {
  for (int64_t p = 1; p <= 6; ++p) {
    for (int64_t m = 1; m <= 3 * p + 1; ++m) {
      use(p, m);
    }
  }
  use(8, 16);
  use(8, 32);
  use(16, 64);
}

TEST(PipelineScheduleTest, allOrdersAreRight) {
  forSizes([](int64_t p, int64_t m) {
    for (const PipelineSchedule &schedule :
         {makeStream(p, m), makeGPipe(p, m), make1F1B(p, m),
          makeInterleaved(p, 2, m), makeInterleaved(p, 3, m),
          makeInterleaved(p, 4, m), makeZeroBubbleH1(p, m),
          makeZeroBubbleH2(p, m)}) {
      EXPECT_EQ(validate(schedule), std::nullopt)
          << schedule.name << ' ' << p << ' ' << m;
    }
  });
}

/// Both idle (p - 1) (F + B); what a stage holds is where they differ.
TEST(PipelineScheduleTest, gpipeAnd1F1BAreIdleAlike) {
  forSizes([](int64_t p, int64_t m) {
    PipelineSchedule gpipe = makeGPipe(p, m), inTurn = make1F1B(p, m);
    PipelineTimes all = simulate(gpipe, alike(gpipe, 3, 4, 2));
    PipelineTimes few = simulate(inTurn, alike(inTurn, 3, 4, 2));
    EXPECT_EQ(all.nanoseconds, (m + p - 1) * 9);
    EXPECT_EQ(few.nanoseconds, (m + p - 1) * 9);
    EXPECT_NEAR(few.bubble(), double(p - 1) / double(m + p - 1), 1e-12);
    for (int64_t stage = 0; stage < p; ++stage) {
      EXPECT_EQ(all.stages[stage].peakBytes, m);
      EXPECT_EQ(few.stages[stage].peakBytes, std::min(p - stage, m));
      EXPECT_EQ(few.stages[stage].busy, m * 9);
    }
  });
}

/// (p - 1) / (v m + p - 1) where m is a multiple of p; stage 0 holds
/// p v + p - 1 chunks where m >= 2 p.
TEST(PipelineScheduleTest, interleavedIdlesLess) {
  for (int64_t p : {2, 3, 4, 8}) {
    for (int64_t v : {2, 3, 4}) {
      for (int64_t m : {p, 2 * p, 4 * p}) {
        PipelineSchedule schedule = makeInterleaved(p, v, m);
        PipelineTimes times = simulate(schedule, alike(schedule, 3, 4, 2));
        EXPECT_NEAR(times.bubble(), double(p - 1) / double(v * m + p - 1),
                    1e-12);
        EXPECT_EQ(times.stages[0].peakBytes, m == p ? p * v : p * v + p - 1);
      }
    }
  }
}

/// Where F, I and W take 1: 3 m + p - 1, as no stage waits but at the begin.
TEST(PipelineScheduleTest, zeroBubbleIdlesAtTheBeginAlone) {
  forSizes([](int64_t p, int64_t m) {
    if (m < p) {
      return;
    }
    PipelineSchedule half = makeZeroBubbleH1(p, m);
    PipelineTimes times = simulate(half, alike(half, 1, 1, 1));
    EXPECT_EQ(times.nanoseconds, 3 * m + p - 1) << p << ' ' << m;
    for (const StageUse &stage : times.stages) {
      EXPECT_EQ(stage.peakBytes, p);
    }
    if (m >= 2 * p - 1) {
      PipelineSchedule full = makeZeroBubbleH2(p, m);
      PipelineTimes more = simulate(full, alike(full, 1, 1, 1));
      EXPECT_EQ(more.nanoseconds, 3 * m + p - 1) << p << ' ' << m;
      EXPECT_EQ(more.stages[0].peakBytes, 2 * p - 1);
    }
  });
}

/// (p - 1) (F + I - W), where W is not larger than F or I.
TEST(PipelineScheduleTest, zeroBubbleOfUnequalStepsIdlesForTheDifference) {
  for (int64_t p : {2, 3, 4, 8}) {
    for (int64_t m : {p, 2 * p, 4 * p}) {
      PipelineSchedule half = makeZeroBubbleH1(p, m);
      PipelineTimes times = simulate(half, alike(half, 3, 3, 2));
      EXPECT_EQ(times.nanoseconds, m * 8 + (p - 1) * 4) << p << ' ' << m;
    }
  }
}

/// Requests follow each other: (m + p - 1) F, and a transfer per stage once.
TEST(PipelineScheduleTest, streamsArePipelined) {
  forSizes([](int64_t p, int64_t m) {
    PipelineSchedule schedule = makeStream(p, m);
    std::vector<ChunkCost> costs(p, {10, 0, 0, 3, 0, 1});
    PipelineTimes times = simulate(schedule, costs);
    EXPECT_EQ(times.nanoseconds, (m + p - 1) * 10 + (p - 1) * 3);
    EXPECT_EQ(times.stages[0].peakBytes, 1);
    costs.assign(p, {10, 0, 0, 30, 0, 1}); // the first link is the bottleneck
    times = simulate(schedule, costs);
    EXPECT_EQ(times.nanoseconds,
              p == 1 ? m * 10 : 10 * p + 30 * (p - 1) + 30 * (m - 1));
  });
}

TEST(PipelineScheduleTest, wavesTurnRound) {
  EXPECT_THAT(waveStages(3, 1), testing::ElementsAre(0, 1, 2, 2, 1, 0));
  EXPECT_THAT(waveStages(2, 2), testing::ElementsAre(0, 1, 1, 0, 0, 1, 1, 0));
  EXPECT_THAT(roundStages(2, 2), testing::ElementsAre(0, 1, 0, 1));
}

/// What a schedule lacks, has twice, or has where it may not be.
TEST(PipelineScheduleTest, stepsAreReadAsWritten) {
  for (Phase phase : {Phase::Forward, Phase::Backward, Phase::InputGradient,
                      Phase::WeightGradient}) {
    PipelineStep step{12, 345, phase};
    EXPECT_EQ(parseStep(toString(step, true)), step);
  }
  for (const char *text : {"", "F0", "0.", "0.F", "0.G1", "0.F1x", "0.F1 ",
                           ".F1", "-1.F0", "0.F-1", "0F1", "0..F1",
                           "99999999999999999999.F0"}) {
    EXPECT_EQ(parseStep(text), std::nullopt) << text;
  }
}

TEST(PipelineScheduleTest, wrongStepsAreNamed) {
  PipelineSchedule schedule = make1F1B(2, 2);
  auto wrongOf = [&](auto change) {
    PipelineSchedule changed = schedule;
    change(changed);
    return validate(changed).value_or("");
  };
  EXPECT_EQ(wrongOf([](auto &s) { s.stageOf[1] = 2; }),
            "chunk 1 is on stage 2 of 2");
  EXPECT_EQ(wrongOf([](auto &s) { s.order[0].push_back(s.order[1][0]); }),
            "stage 0 has no step 1.F0");
  EXPECT_EQ(wrongOf([](auto &s) { s.order[0].push_back(s.order[0][0]); }),
            "stage 0 runs 0.F0 twice");
  EXPECT_EQ(wrongOf([](auto &s) { s.order[0].erase(s.order[0].begin()); }),
            "micro-batch 0 of chunk 0 has no forward step");
  EXPECT_EQ(wrongOf([](auto &s) { s.order[0].pop_back(); }),
            "micro-batch 1 of chunk 0 lacks a backward step");
  EXPECT_EQ(wrongOf([](auto &s) {
              s.order[0].push_back({0, 0, Phase::InputGradient});
            }),
            "micro-batch 0 of chunk 0 has a backward step both whole and "
            "split");
}

TEST(PipelineScheduleTest, cyclesAreNamed) {
  PipelineSchedule schedule = make1F1B(2, 2); // F0 F1 B0 B1 | F0 B0 F1 B1
  std::swap(schedule.order[0][1], schedule.order[0][2]); // F0 B0 F1 B1
  EXPECT_EQ(validate(schedule), std::nullopt);
  std::swap(schedule.order[1][0], schedule.order[1][2]); // F1 B0 F0 B1
  EXPECT_THAT(validate(schedule).value_or(""),
              testing::AllOf(HasSubstr("steps wait for each other: "),
                             HasSubstr("0.B0 of stage 0 waits for 1.B0 of "
                                       "stage 1")));
}

/// Whether stages that run their orders, one after the other, all end.
static bool ends(const PipelineSchedule &schedule) {
  std::vector<size_t> at(schedule.numStages());
  std::vector<PipelineStep> done;
  auto isDone = [&](size_t chunk, size_t micro, Phase phase) {
    return std::ranges::find(done, PipelineStep{chunk, micro, phase}) !=
           done.end();
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t stage = 0; stage < at.size(); ++stage) {
      if (at[stage] == schedule.order[stage].size()) {
        continue;
      }
      auto [chunk, micro, phase] = schedule.order[stage][at[stage]];
      bool ready = phase == Phase::Forward
                       ? chunk == 0 || isDone(chunk - 1, micro, phase)
                       : isDone(chunk, micro, Phase::Forward) &&
                             (chunk + 1 == schedule.numChunks() ||
                              isDone(chunk + 1, micro, phase));
      if (ready) {
        done.push_back(schedule.order[stage][at[stage]++]);
        moved = true;
      }
    }
  }
  for (size_t stage = 0; stage < at.size(); ++stage) {
    if (at[stage] < schedule.order[stage].size()) {
      return false;
    }
  }
  return true;
}

/// Random orders: those that are refused are those that come to a stop.
TEST(PipelineScheduleTest, refusedAreThoseThatStop) {
  std::mt19937 random(7);
  int right = 0, stopped = 0;
  for (int round = 0; round < 2000; ++round) {
    size_t stages = 1 + random() % 3, micro = 1 + random() % 3;
    PipelineSchedule schedule = round % 2 == 0
                                    ? makeGPipe(stages, micro)
                                    : makeInterleaved(stages, 2, micro);
    for (auto &order : schedule.order) {
      for (unsigned swaps = random() % 4; swaps > 0; --swaps) {
        std::swap(order[random() % order.size()],
                  order[random() % order.size()]);
      }
    }
    bool isRight = !validate(schedule).has_value();
    EXPECT_EQ(isRight, ends(schedule));
    ++(isRight ? right : stopped);
  }
  EXPECT_GT(right, 400);
  EXPECT_GT(stopped, 400);
}
