//===- SpacesTest.cpp - Programs compiled for a device --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models are compiled for the host, and for a device that has kernels for all
// operators, or for some of them drawn at random. Both give the same bits. What
// is copied is counted from the operators and moves alone:
//
//   one copy to the device   of what is not made there, and read there
//   one copy to the host     of what is made there, and read with the host
//
//===----------------------------------------------------------------------===//

#include "SpacesFixture.h"

using namespace divisi;
using namespace divisi::exec;

namespace {
class SpacesTest : public SpacesFixture,
                   public testing::WithParamInterface<SpacesCase> {
protected:
  void SetUp() override { prepare(GetParam()); }
};
} // namespace

TEST_P(SpacesTest, givesTheBitsOfTheHostWithAllOnTheDevice) {
  Counted copies = expectSameBits(all(), /*seed=*/1, /*isReached=*/false);
  if (GetParam().devices == 1) {
    // Alone, it is passed what it reads, and passes on what it makes.
    const rt::EntryInfo &entry = host().entries()[0];
    EXPECT_EQ(copies.toDevice, int64_t(entry.inputs.size()) + numUpdated());
    EXPECT_EQ(copies.toHost, int64_t(entry.outputs.size()) + numUpdated());
  }
}

TEST_P(SpacesTest, copiesNothingForCollectivesThatReachTheDevice) {
  Counted apart = expectSameBits(all(), /*seed=*/2, /*isReached=*/false);
  Counted reached = expectSameBits(all(), /*seed=*/3, /*isReached=*/true);
  EXPECT_LE(reached.toHost, apart.toHost);
  if (numMeetings() == 0) {
    EXPECT_EQ(reached.toDevice, apart.toDevice);
    EXPECT_EQ(reached.toHost, apart.toHost);
  }
}

TEST_P(SpacesTest, givesTheBitsOfTheHostWithSomeOnTheDevice) {
  std::mt19937 random(7);
  for (uint32_t seed = 10; seed < 14; ++seed) {
    std::set<std::string> some;
    for (const std::string &op : all()) {
      if (random() % 2 == 0) {
        some.insert(op);
      }
    }
    expectSameBits(some, seed, /*isReached=*/seed % 2 == 0);
  }
  // A device whose queues keep step with each other shows nothing.
  EXPECT_EQ(numOvertaken() > 0, !GetParam().isChain);
}

TEST_P(SpacesTest, aDeviceWithoutKernelsChangesNothing) {
  rt::TestDeviceBackend none(rt::referenceBackend(),
                             [](std::string_view) { return false; });
  EXPECT_EQ(loweredText({.backend = &none}), loweredText({}));
}

INSTANTIATE_TEST_SUITE_P(
    Models, SpacesTest,
    testing::Values(SpacesCase{"gpt2", 1}, SpacesCase{"gpt2", 2},
                    SpacesCase{"gpt2", 4}, SpacesCase{"resnet", 1},
                    SpacesCase{"resnet", 2}, SpacesCase{"resnet", 4},
                    SpacesCase{"train_step", 1}, SpacesCase{"train_step", 2},
                    SpacesCase{"train_step", 4}, SpacesCase{"loop", 2},
                    SpacesCase{"two_grids", 4, /*isChain=*/true}),
    [](const auto &info) {
      return info.param.model + "_" + std::to_string(info.param.devices);
    });
