//===- LoadedArtifactTest.cpp - Sessions that share an artifact -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Sample.h"
#include "test/runtime/core/TestSession.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

/// Writes an artifact of `manifest` and one global to `path`.
static void writeTo(const std::string &path, const pb::Manifest &manifest,
                    const std::vector<std::vector<float>> &globals) {
  std::vector<GlobalData> data;
  for (const std::vector<float> &values : globals) {
    data.push_back({std::as_bytes(std::span<const float>(values)), {}, 0});
  }
  auto written = writeArtifact(path, manifest, data);
  ASSERT_TRUE(written) << written.status().message();
}

TEST(LoadedArtifactTest, tellsWhatItHas) {
  std::string path = temporaryFile("shared.divisi");
  writeTo(path, stateManifest(), {{1, 2, 3}, {0, 0, 0}});
  auto artifact = LoadedArtifact::open(path);
  ASSERT_TRUE(artifact) << artifact.status().message();
  EXPECT_EQ((*artifact)->numRanks(), 2u);
  ASSERT_EQ((*artifact)->entries().size(), 1u);
  EXPECT_EQ((*artifact)->entries()[0].inputs[0].name, "x");
  EXPECT_TRUE((*artifact)->entries()[0].inputs[0].boxes.empty());
  ASSERT_EQ((*artifact)->globals().size(), 2u);
  EXPECT_EQ((*artifact)->globals()[0].value.name, "m");
  EXPECT_TRUE((*artifact)->globals()[0].isUpdated);
  EXPECT_EQ((*artifact)->hash().size(), 64u);
  std::filesystem::remove(path);
}

// What a session has read, another has: the file is not read again.
TEST(LoadedArtifactTest, readsWeightsOnce) {
  std::string path = temporaryFile("shared.divisi");
  std::vector<float> w = counting(30, -7), x = counting(24);
  writeTo(path, matmulManifest(2, MatmulSplit::N), {w});
  auto artifact = LoadedArtifact::open(path);
  ASSERT_TRUE(artifact) << artifact.status().message();
  auto first = Session::open(*artifact, testOptions());
  ASSERT_TRUE(first) << first.status().message();
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file << std::string(std::filesystem::file_size(path), '?');
  file.close();
  auto second = Session::open(*artifact, testOptions());
  ASSERT_TRUE(second) << second.status().message();
  auto input = listOf(makeTensor({4, 6}, x));
  auto one = (*first)->run("forward", input);
  first->reset();
  auto two = (*second)->run("forward", input);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(valuesOf(one->front()), product(x, w));
  EXPECT_EQ(valuesOf(two->front()), product(x, w));
  // The last reader lets go: whoever comes then reads the file.
  second->reset();
  EXPECT_THAT(Session::open(*artifact, testOptions()).status().message(),
              HasSubstr("global 'w'"));
  std::filesystem::remove(path);
}

TEST(LoadedArtifactTest, sessionsHaveStatesOfTheirOwn) {
  std::string path = temporaryFile("shared.divisi");
  writeTo(path, stateManifest(), {{1, 2, 3}, {0, 0, 0}});
  auto artifact = LoadedArtifact::open(path);
  ASSERT_TRUE(artifact) << artifact.status().message();
  auto first = Session::open(*artifact, testOptions());
  auto second = Session::open(*artifact, testOptions());
  artifact->reset(); // sessions keep it
  ASSERT_TRUE(first && second);
  auto x = listOf(makeTensor({3}, {10, 10, 10}));
  ASSERT_TRUE((*first)->run("step", x));
  EXPECT_THAT(valuesOf(*(*first)->readGlobal("m")), ElementsAre(11, 12, 13));
  EXPECT_THAT(valuesOf(*(*second)->readGlobal("m")), ElementsAre(1, 2, 3));
  std::filesystem::remove(path);
}

// Threads that open, run and close sessions of one artifact, and of two.
TEST(LoadedArtifactTest, sessionsRunAtOnce) {
  std::vector<float> w = counting(30, -7);
  std::shared_ptr<LoadedArtifact> artifacts[2];
  std::string path = temporaryFile("shared.divisi");
  for (int i : {0, 1}) {
    writeTo(path, matmulManifest(2, i ? MatmulSplit::K : MatmulSplit::N), {w});
    auto artifact = LoadedArtifact::open(path);
    ASSERT_TRUE(artifact) << artifact.status().message();
    artifacts[i] = *artifact;
    std::filesystem::remove(path);
  }
  std::atomic<int> right = 0;
  constexpr int runs = 10;
  int rounds = test::sampleSize(10);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::vector<float> x = counting(24, float(t));
      for (int round = 0; round < rounds; ++round) {
        auto session = Session::open(artifacts[(t + round) % 2], testOptions());
        for (int i = 0; session && i < runs; ++i) {
          auto y = (*session)->run("forward", listOf(makeTensor({4, 6}, x)));
          right += y && valuesOf(y->front()) == product(x, w);
        }
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 8 * rounds * runs);
}
