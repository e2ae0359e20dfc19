//===- NcclTest.cpp - Steps between emulated GPUs -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclWorld.h"

#include "runtime/comm/QueuedShape.h"
#include "runtime/comm/nccl/NcclTypes.h"
#include "test/emulator/NcclState.h"

#include <cuda.h>
#include <gmock/gmock.h>
#include <set>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

/// What threads of the host make of the step.
static std::vector<Bytes> byHost(const StepDesc &step,
                                 const std::vector<Bytes> &sources) {
  auto communicator = makeInprocCommunicator(std::chrono::seconds(20));
  std::vector<Bytes> results(step.parties.size());
  std::vector<std::thread> threads;
  for (size_t party = 0; party < step.parties.size(); ++party) {
    results[party] = Bytes(bytesOf(step, step.parties[party].result));
    threads.emplace_back([&, party] {
      auto share = LoneStep::prepare(*communicator, step, party);
      Status status = runStep(*communicator, **share, sources[party].data(),
                              results[party].data());
      EXPECT_TRUE(status.isOk()) << status.message();
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  return results;
}

static void expectAsByHost(NcclWorld &world, const StepDesc &step,
                           Random &random) {
  std::vector<Bytes> sources;
  for (const StepParty &party : step.parties) {
    sources.push_back(party.source
                          ? drawElements(step, party.source->count(), random)
                          : Bytes());
  }
  std::vector<Bytes> results;
  for (const Status &status : world.run(step, sources, results)) {
    ASSERT_TRUE(status.isOk()) << status.message();
  }
  EXPECT_EQ(results, byHost(step, sources)) << step.location;
}

/// Some ranks, in any order.
static std::vector<uint32_t> drawGroup(Random &random) {
  std::vector<uint32_t> ranks = {0, 1, 2, 3};
  std::shuffle(ranks.begin(), ranks.end(), random);
  ranks.resize(size_t(draw(random, 1, 4)));
  return ranks;
}

static Box drawBox(Random &random, const Dims &dims) {
  Box box = Box::whole(dims);
  for (size_t d = 0; d < dims.size(); ++d) {
    box.begin[d] = draw(random, 0, dims[d]);
    box.end[d] = draw(random, box.begin[d], dims[d]);
  }
  return box;
}

static Dims drawDims(Random &random) {
  Dims dims(size_t(draw(random, 1, 3)));
  for (int64_t &dim : dims) {
    dim = draw(random, 1, 9);
  }
  return dims;
}

/// Equal parts of a box along one dimension, by party.
static std::vector<Box> cut(const Box &box, size_t dim, size_t parts) {
  std::vector<Box> boxes(parts, box);
  int64_t size = (box.end[dim] - box.begin[dim]) / int64_t(parts);
  for (size_t i = 0; i < parts; ++i) {
    boxes[i].begin[dim] = box.begin[dim] + int64_t(i) * size;
    boxes[i].end[dim] = boxes[i].begin[dim] + size;
  }
  return boxes;
}

TEST(NcclTest, everyTypeAndKindIsSaidAlike) {
  Random random(1);
  NcclWorld world;
  int numCombined = 0;
  for (unsigned t = 0; t < numDTypes; ++t) {
    for (int k = 0; k < 6; ++k) {
      auto type = DType(t);
      auto kind = ReduceKind(k);
      ASSERT_EQ(combineQueued(type, kind),
                nccl::findReduction(type, kind).has_value())
          << stringify(kind) << " of " << stringify(type);
      if (!combineQueued(type, kind)) {
        continue;
      }
      ++numCombined;
      StepDesc step;
      step.type = type;
      step.reduce = kind;
      step.location =
          std::string(stringify(kind)) + " of " + std::string(stringify(type));
      for (uint32_t rank : {2, 0, 3, 1}) {
        step.parties.push_back({rank, Box::whole({37}), Box::whole({37})});
      }
      expectAsByHost(world, step, random);
    }
  }
  EXPECT_EQ(numCombined, 4 * 2 + 6 * 4 + 4);
}

TEST(NcclTest, anyBoxesMoveBetweenAnyParties) {
  Random random(2);
  NcclWorld world;
  std::set<QueuedForm> forms;
  for (int round = 0; round < 60; ++round) {
    Dims dims = drawDims(random);
    StepDesc step;
    step.type = std::array{DType::F32, DType::I16, DType::Bool,
                           DType::F64}[size_t(draw(random, 0, 3))];
    step.location = "move " + std::to_string(round);
    std::vector<uint32_t> group = drawGroup(random);
    size_t dim = size_t(draw(random, 0, int64_t(dims.size()) - 1));
    bool gathers = draw(random, 0, 2) == 0;
    dims[dim] *= gathers ? int64_t(group.size()) : 1;
    std::vector<Box> parts = cut(Box::whole(dims), dim, group.size());
    size_t owner = size_t(draw(random, 0, int64_t(group.size()) - 1));
    for (size_t i = 0; i < group.size(); ++i) {
      StepParty party{group[i], {}, {}};
      if (gathers) {
        party.source = parts[i];
        party.result = Box::whole(dims);
      } else {
        party.source = i == owner ? Box::whole(dims) : drawBox(random, dims);
        party.result = drawBox(random, dims);
        if (i != owner && draw(random, 0, 3) == 0) {
          (draw(random, 0, 1) ? party.source : party.result).reset();
        }
      }
      step.parties.push_back(party);
    }
    forms.insert(planQueued(step, 0).form);
    expectAsByHost(world, step, random);
  }
  EXPECT_THAT(forms, testing::UnorderedElementsAre(QueuedForm::AllGather,
                                                   QueuedForm::Exchange));
}

TEST(NcclTest, anyPartOfABoxIsCombined) {
  Random random(3);
  NcclWorld world;
  std::set<QueuedForm> forms;
  for (int round = 0; round < 60; ++round) {
    StepDesc step;
    step.type = std::array{DType::F32, DType::BF16, DType::F16,
                           DType::I32}[size_t(draw(random, 0, 3))];
    step.reduce = ReduceKind::Sum;
    step.location = "reduction " + std::to_string(round);
    std::vector<uint32_t> group = drawGroup(random);
    Dims dims = drawDims(random);
    size_t dim = size_t(draw(random, 0, int64_t(dims.size()) - 1));
    int64_t way = draw(random, 0, 2);
    dims[dim] *= int64_t(group.size());
    Box box = way == 0 ? drawBox(random, dims) : Box::whole(dims);
    std::vector<Box> parts = cut(box, dim, group.size());
    for (size_t i = 0; i < group.size(); ++i) {
      Box own = way == 0   ? intersect(box, drawBox(random, dims))
                : way == 1 ? parts[i]
                           : box;
      step.parties.push_back({group[i], box, own});
    }
    forms.insert(planQueued(step, 0).form);
    expectAsByHost(world, step, random);
  }
  EXPECT_THAT(forms, testing::UnorderedElementsAre(QueuedForm::AllReduce,
                                                   QueuedForm::ReduceScatter,
                                                   QueuedForm::ReduceEach));
}

TEST(NcclTest, whatNcclDoesNotCombineIsRefused) {
  NcclWorld world;
  StepDesc step;
  step.reduce = ReduceKind::Max;
  step.location = "all_reduce of 'fc1'";
  step.parties = {{0, Box::whole({2}), Box::whole({2})}};
  auto share =
      world.communicator->prepareQueued(step, 0, *world.gpus[0].device);
  EXPECT_EQ(share.status().code(), ExitCode::Unsupported);
  EXPECT_THAT(share.status().message(),
              testing::HasSubstr("all_reduce of 'fc1': NCCL has no max of f32 "
                                 "as the model requires it"));
}

/// Communicators and streams of somebody else's, of rank `numberOf(rank)` each.
static std::map<uint32_t, NcclHandles>
makeHandles(const std::function<int(int)> &numberOf) {
  std::map<uint32_t, NcclHandles> handles;
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  for (int rank = 0; rank < 4; ++rank) {
    CUcontext context = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, rank), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    CUstream stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t communicator = nullptr;
    EXPECT_EQ(
        ncclCommInitRankConfig(&communicator, 4, id, numberOf(rank), &config),
        ncclInProgress);
    handles[uint32_t(rank)] = {communicator, stream};
  }
  for (auto &[rank, own] : handles) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) {
      EXPECT_EQ(ncclCommGetAsyncError(static_cast<ncclComm_t>(own.communicator),
                                      &state),
                ncclSuccess);
    }
  }
  return handles;
}

static StepDesc sumOfAll() {
  StepDesc step;
  step.reduce = ReduceKind::Sum;
  step.location = "all_reduce of 'fc1'";
  for (uint32_t rank : {3, 1, 0, 2}) {
    step.parties.push_back({rank, Box::whole({100}), Box::whole({100})});
  }
  return step;
}

TEST(NcclTest, whatTheCallerHasIsUsedAndKept) {
  Random random(4);
  auto handles = makeHandles([](int rank) { return rank; });
  {
    NcclWorld world(std::chrono::seconds(20), handles);
    expectAsByHost(world, sumOfAll(), random);
  }
  for (auto &[rank, own] : handles) {
    int number = -1;
    ncclCommUserRank(static_cast<ncclComm_t>(own.communicator), &number);
    EXPECT_EQ(number, int(rank));
    EXPECT_EQ(ncclCommAbort(static_cast<ncclComm_t>(own.communicator)),
              ncclSuccess);
    EXPECT_EQ(cuStreamDestroy(static_cast<CUstream>(own.stream)), CUDA_SUCCESS);
  }
}

TEST(NcclTest, whatTheCallerHasMustFit) {
  ncclComm_t given[2];
  const int devices[] = {3, 1};
  ASSERT_EQ(ncclCommInitAll(given, 2, devices), ncclSuccess);
  EXPECT_EQ(*gpuOfCommunicator(given[0], 0, 2), 3);
  EXPECT_EQ(*gpuOfCommunicator(given[1], 1, 2), 1);
  for (auto [rank, numRanks] : {std::pair(1U, 2U), {0, 4}}) {
    Status status = gpuOfCommunicator(given[0], rank, numRanks).status();
    EXPECT_EQ(status.code(), ExitCode::Usage);
    EXPECT_EQ(status.message(),
              "rank " + std::to_string(rank) + " of " +
                  std::to_string(numRanks) +
                  " was given a communicator of NCCL's in which it is 0 of 2");
  }
  EXPECT_EQ(ncclCommDestroy(given[0]), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(given[1]), ncclSuccess);
  Status status = gpuOfCommunicator(given[1], 1, 2).status();
  EXPECT_EQ(status.code(), ExitCode::Device);
  EXPECT_THAT(
      status.message(),
      testing::HasSubstr("NCCL cannot tell the rank of the communicator "
                         "that rank 1 was given: "));
}

/// How many communicators were made, split, ended and aborted.
static std::array<uint64_t, 4> countCommunicators() {
  std::array<uint64_t, 4> counts{};
  emulatedCommunicators(&counts[0], &counts[1], &counts[2]);
  counts[3] = emulatedAborts();
  return counts;
}

TEST(NcclTest, allIsSplitFromWhatTheCallerHas) {
  Random random(5);
  ncclComm_t given[4];
  ASSERT_EQ(ncclCommInitAll(given, 4, nullptr), ncclSuccess);
  std::map<uint32_t, NcclHandles> handles;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    handles[rank].communicator = given[rank];
  }
  auto before = countCommunicators();
  for (int world = 1; world <= 2; ++world) { // the caller's is as it was
    {
      NcclWorld own(std::chrono::seconds(20), handles);
      expectAsByHost(own, sumOfAll(), random);
      StepDesc ofTwo = sumOfAll(); // no part of it for the others
      ofTwo.parties.resize(2);
      expectAsByHost(own, ofTwo, random);
    }
    auto [made, split, ended, aborted] = countCommunicators();
    EXPECT_EQ(made, before[0]);
    EXPECT_EQ(aborted, before[3]);
    EXPECT_EQ(split, before[1] + uint64_t(world) * (4 + 2));
    EXPECT_EQ(ended - before[2], split - before[1]);
  }
  for (ncclComm_t communicator : given) {
    EXPECT_EQ(ncclCommDestroy(communicator), ncclSuccess);
  }
}
