//===- MessagesTest.cpp - The memory of messages --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Messages.h"
#include "test/runtime/artifact/ManifestBuilder.h"
#include "test/runtime/core/TestBackend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;

/// Of each party.
static std::vector<int64_t> bytesOf(const StepDesc &step) {
  std::vector<int64_t> bytes;
  for (size_t self = 0; self < step.parties.size(); ++self) {
    bytes.push_back(messageBytes(step, self));
  }
  return bytes;
}

/// 3 ranks have uneven parts of [6, 8], rows or columns, and want all of it.
static StepDesc gather(bool rows) {
  StepDesc step;
  const int64_t bounds[] = {0, 1, 4, 6};
  for (uint32_t i = 0; i < 3; ++i) {
    Box part = Box::whole({6, 8});
    part.begin[rows ? 0 : 1] = bounds[i];
    part.end[rows ? 0 : 1] = rows || i < 2 ? bounds[i + 1] : 8;
    step.parties.push_back({i, part, Box::whole({6, 8})});
  }
  return step;
}

TEST(MessagesTest, onlyWhatIsNotInOnePieceIsPacked) {
  EXPECT_THAT(bytesOf(gather(/*rows=*/true)), ElementsAre(0, 0, 0));
  // Columns of others, 6 rows of 1, 3 and 4 floats, on whole cache lines.
  EXPECT_THAT(bytesOf(gather(/*rows=*/false)),
              ElementsAre(128 + 128, 64 + 128, 64 + 128));
}

TEST(MessagesTest, whatIsCombinedIsReceived) {
  StepDesc step = gather(/*rows=*/true);
  for (StepParty &party : step.parties) {
    std::swap(party.source, party.result);
  }
  step.reduce = ReduceKind::Sum;
  // Own rows of two others, one's where the result will be.
  EXPECT_THAT(bytesOf(step), ElementsAre(64, 128, 64));
  for (StepParty &party : step.parties) {
    party.result = party.rank == 1 ? party.source : Box{{0, 0}, {0, 8}};
  }
  // Of one that wants all of it the result may be the source.
  EXPECT_THAT(bytesOf(step), ElementsAre(0, 2 * 192, 0));
  for (StepParty &party : step.parties) {
    party.source = party.result = Box::whole({256});
  }
  // A chunk, which begins on a cache line's worth of elements, of two others.
  EXPECT_THAT(bytesOf(step), ElementsAre(2 * 256, 2 * 256, 2 * 512));
}

// The last party counts.
TEST(MessagesTest, aBarrierIsAVote) {
  StepDesc step;
  step.parties = {{0, {}, {}}, {3, {}, {}}, {5, {}, {}}};
  EXPECT_THAT(bytesOf(step), ElementsAre(0, 0, 2));
}

/// Gathers columns over one axis, over the other, and over the first again, of
/// 256, 512 and 256 bytes; `after` is what the second and the third come after.
static int64_t memoryOf(const Axes &second, const Axes &third) {
  ManifestBuilder b(4);
  uint32_t g = b.grid({2, 2});
  std::vector<TensorRef> parts, wholes;
  for (uint32_t axis : {0, 1, 0}) {
    Dims dims = {8, 16 * (axis + 1)};
    parts.push_back(b.tensor(g, dims, {DimSplit(), DimSplit({axis})}));
    wholes.push_back(b.tensor(g, dims, {DimSplit(), DimSplit()}));
  }
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  ProgramBuilder p(b.manifest, entry, {0, 1, 2, 3});
  for (uint32_t i = 0; i < 3; ++i) {
    p.collective("all_gather", {i % 2}, p.alloc(parts[i]), p.alloc(wholes[i]),
                 i);
  }
  pb::Manifest manifest = inOneOrder(b.manifest);
  pb::Program &program = *manifest.mutable_entries(0)->mutable_programs(0);
  program.mutable_instructions(1)->mutable_after()->Assign(second.begin(),
                                                           second.end());
  program.mutable_instructions(2)->mutable_after()->Assign(third.begin(),
                                                           third.end());
  TestBackend backend;
  const Backend *backends[] = {&backend};
  auto ranks = predictMemory(manifest, backends);
  EXPECT_TRUE(ranks) << ranks.status().message();
  return ranks ? ranks->front().messages : -1;
}

TEST(MessagesTest, stepsTakeTurnsWhereTheirOrderLetsThem) {
  EXPECT_EQ(memoryOf({0}, {1}), 512);
  // The third has the first one's place, since both are of one queue.
  EXPECT_EQ(memoryOf({}, {}), 256 + 512);
  EXPECT_EQ(memoryOf({0}, {}), 256 + 512);
  EXPECT_EQ(memoryOf({}, {1}), 256 + 512);
}
