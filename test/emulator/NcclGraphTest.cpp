//===- NcclGraphTest.cpp - Collectives in graphs, on the emulator ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// That what is recorded gives the same bytes each time: NcclTest.cpp, of all
// steps. Here, what must not be done with it.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclWorld.h"

#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;
using testing::HasSubstr;

namespace {

/// A sum of all ranks, of whom each is a party.
struct Sum {
  explicit Sum(uint32_t entry) {
    step.entry = entry;
    step.reduce = ReduceKind::Sum;
    step.location = "all_reduce of 'fc1'";
    for (uint32_t rank : NcclWorld::ranks) {
      step.parties.push_back({rank, Box::whole({100}), Box::whole({100})});
    }
    shares.resize(step.parties.size());
  }

  /// Once by each rank, the first time one by one; then recorded where
  /// `records` holds.
  std::vector<Status> begin(NcclWorld &world,
                            const std::function<bool(size_t)> &records) {
    return world.onEach(step, [&, records](size_t party) {
      auto share = world.prepare(step, party, Bytes(400), 400);
      Status status = share.status();
      if (share) {
        shares[party] = std::move(*share);
        status = world.begin(step, party, shares[party]).status();
      }
      NcclWorld::Gpu &gpu = world.gpus[party];
      if (status.isOk()) {
        status = NcclWorld::put(shares[party], gpu);
      }
      if (status.isOk()) {
        status = NcclWorld::finish(shares[party], gpu);
      }
      return status.isOk() && records(party)
                 ? world.record(shares[party], gpu, uint32_t(party))
                 : status;
    });
  }

  StepDesc step;
  std::vector<NcclWorld::Share> shares;
};

} // namespace

static void expectOk(const std::vector<Status> &statuses) {
  for (const Status &status : statuses) {
    EXPECT_TRUE(status.isOk()) << status.message();
  }
}

/// NCCL would wait for the graph for ever.
TEST(NcclGraph, endsBeforeItsCommunicator) {
  NcclWorld world;
  Sum sum(0);
  expectOk(sum.begin(world, [](size_t) { return true; }));
  expectOk(world.onEach(sum.step, [&](size_t party) {
    return NcclWorld::runGraph(sum.shares[party], world.gpus[party]);
  }));
  for (uint32_t rank : NcclWorld::ranks) { // while it runs, maybe
    EXPECT_TRUE(*sum.shares[rank].graph);
    world.communicator->endQueued(rank);
    EXPECT_FALSE(*sum.shares[rank].graph);
  }
  for (NcclWorld::Gpu &gpu : world.gpus) {
    EXPECT_TRUE(gpu.finish().isOk());
  }
}

/// The ranks begin to count anew when they are connected anew.
TEST(NcclGraph, isRecordedInTheSecondRunOfAllOrNone) {
  NcclWorld world;
  Sum sum(0);
  auto numbers = [&](bool mayAll) {
    std::vector<uint64_t> numbers(4);
    expectOk(world.onEach(sum.step, [&](size_t party) {
      auto number = world.communicator->beginRun(
          0, NcclWorld::ranks, uint32_t(party), mayAll || party != 2);
      numbers[party] = number ? *number : 99;
      return number.status();
    }));
    return numbers;
  };
  expectOk(sum.begin(world, [](size_t) { return false; }));
  using testing::ElementsAre;
  EXPECT_THAT(numbers(true), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(numbers(true), ElementsAre(3, 3, 3, 3));
  world.communicator->abort(makeError(ExitCode::Device, "a rank has failed"));
  world.communicator->reset();
  EXPECT_THAT(numbers(false), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(numbers(false), ElementsAre(0, 0, 0, 0));
}

/// The first call connects ranks.
TEST(NcclGraph, doesNotConnectRanks) {
  NcclWorld world;
  Sum sum(0);
  for (const Status &status : world.onEach(sum.step, [&](size_t party) {
         auto share = world.prepare(sum.step, party, Bytes(400), 400);
         EXPECT_TRUE(world.begin(sum.step, party, *share));
         return world.record(*share, world.gpus[party], uint32_t(party));
       })) {
    EXPECT_THAT(status.message(),
                HasSubstr("first calls of a communicator in a capture"));
  }
}

/// Comes last: what is wrong with devices stays wrong.
TEST(NcclGraphRefusal, isThatOfCallsThatSomeRanksHaveRecorded) {
  NcclWorld world(std::chrono::seconds(2));
  Sum sum(0);
  expectOk(sum.begin(world, [](size_t party) { return party != 1; }));
  std::vector<Status> statuses = world.onEach(sum.step, [&](size_t party) {
    NcclWorld::Share &share = sum.shares[party];
    NcclWorld::Gpu &gpu = world.gpus[party];
    Status status = share.graph ? NcclWorld::runGraph(share, gpu)
                                : NcclWorld::put(share, gpu);
    status = status.isOk() ? NcclWorld::finish(share, gpu) : status;
    world.communicator->endQueued(uint32_t(party));
    return status;
  });
  EXPECT_TRUE(std::ranges::any_of(statuses, [](const Status &status) {
    return status.message().find("recorded as number 1, where rank") !=
               std::string::npos ||
           status.message().find("elements of type 7 by reduction 0 in "
                                 "registered memory, recorded as number 1,") !=
               std::string::npos;
  }));
}
