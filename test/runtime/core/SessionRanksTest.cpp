//===- SessionRanksTest.cpp - Sessions of some ranks, and views -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "test/runtime/core/TestSession.h"

#include <gmock/gmock.h>
#include <thread>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Sessions of one artifact that share a communicator, each with some ranks.
class Sessions {
public:
  Sessions(const pb::Manifest &manifest,
           const std::vector<std::vector<float>> &globals,
           const std::vector<std::vector<uint32_t>> &ranks,
           std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    std::shared_ptr<Communicator> shared = makeInprocCommunicator(timeout);
    for (const std::vector<uint32_t> &local : ranks) {
      SessionOptions options = testOptions();
      options.timeout = timeout;
      options.localRanks = local;
      options.communicator = [shared](const CommunicatorRequest &) {
        return shared;
      };
      auto session = openSession(manifest, globals, options);
      EXPECT_TRUE(session) << session.status().message();
      all.push_back(std::move(*session));
    }
  }

  /// Calls `run` with each session's number, all at the same time.
  template <typename Run> void runAll(Run run) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < all.size(); ++i) {
      threads.emplace_back([&, i] { run(i); });
    }
    for (std::thread &thread : threads) {
      thread.join();
    }
  }

  std::vector<std::unique_ptr<Session>> all;
};

} // namespace

TEST(SessionRanksTest, halvesGiveWhatTheWholeGives) {
  std::vector<float> x = counting(24), w = counting(30, -7);
  for (MatmulSplit split : {MatmulSplit::M, MatmulSplit::N, MatmulSplit::K}) {
    pb::Manifest manifest = matmulManifest(4, split);
    auto whole = openSession(manifest, {w});
    ASSERT_TRUE(whole) << whole.status().message();
    auto expected = (*whole)->run("forward", listOf(makeTensor({4, 6}, x)));
    ASSERT_TRUE(expected);
    Sessions halves(manifest, {w}, {{3, 0}, {1, 2}});
    EXPECT_THAT(halves.all[0]->localRanks(), ElementsAre(0, 3));
    for (int run = 0; run < 5; ++run) {
      halves.runAll([&](size_t i) {
        auto y = halves.all[i]->run("forward", listOf(makeTensor({4, 6}, x)));
        ASSERT_TRUE(y) << y.status().message();
        EXPECT_EQ(valuesOf(y->front()), valuesOf(expected->front()));
      });
    }
    std::vector<RankMemory> all = (*whole)->memory(),
                            half = halves.all[1]->memory();
    for (uint32_t rank = 0; rank < 4; ++rank) {
      bool isLocal = rank == 1 || rank == 2;
      EXPECT_EQ(half[rank].total(), isLocal ? all[rank].total() : 0);
    }
  }
}

/// y = relu(x), both [4, 6], of which each of four ranks has three columns of
/// two rows.
static pb::Manifest boxManifest() {
  ManifestBuilder b(4);
  uint32_t g = b.grid({2, 2});
  TensorRef t = b.tensor(g, {4, 6}, {DimSplit({0}), DimSplit({1})});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", t);
  addValue(entry.mutable_outputs(), "y", t);
  ProgramBuilder p(b.manifest, entry, {0, 1, 2, 3});
  uint32_t x = p.input(0, t), y = p.alloc(t);
  p.call("test.relu", {x}, y);
  p.output(y, 0);
  return inOneOrder(b.manifest);
}

// Each box is read from columns, and written with gaps around each element.
TEST(SessionRanksTest, boxesAreReadAndWrittenWhereTheyLie) {
  Sessions halves(boxManifest(), {}, {{0, 1}, {2, 3}});
  for (int run = 0; run < 3; ++run) {
    halves.runAll([&](size_t i) {
      std::vector<std::vector<float>> in(2), out(2);
      std::vector<TensorView> x, y;
      const EntryInfo &entry = *halves.all[i]->findEntry("f");
      for (size_t local = 0; local < 2; ++local) {
        const Box &box = *entry.inputs[0].boxes[local];
        ASSERT_EQ(box.extents(), Dims({2, 3}));
        in[local].assign(7, -100);
        for (int64_t m = 0; m < 2; ++m) {
          for (int64_t n = 0; n < 3; ++n) {
            in[local][1 + n * 2 + m] =
                float((box.begin[0] + m) * 6 + box.begin[1] + n - 10 - run);
          }
        }
        out[local].assign(16, -1);
        x.push_back({in[local].data(), DType::F32, {2, 3}, {1, 2}, 4});
        y.push_back({out[local].data(), DType::F32, {2, 3}, {7, 2}, 8});
      }
      TensorArgument from(x), to(y);
      Status status = halves.all[i]->run("f", {&from, 1}, {&to, 1});
      ASSERT_TRUE(status.isOk()) << status.message();
      for (size_t local = 0; local < 2; ++local) {
        const Box &box = *entry.outputs[0].boxes[local];
        std::vector<float> expected(16, -1);
        for (int64_t m = 0; m < 2; ++m) {
          for (int64_t n = 0; n < 3; ++n) {
            expected[2 + m * 7 + n * 2] = std::max<float>(
                0, float((box.begin[0] + m) * 6 + box.begin[1] + n - 10 - run));
          }
        }
        EXPECT_EQ(out[local], expected);
      }
    });
  }
}

// Views and boxes take turns, and no byte is written that is nobody's.
TEST(SessionRanksTest, wholeTensorsMayHaveAnyStrides) {
  auto session = openSession(boxManifest());
  ASSERT_TRUE(session) << session.status().message();
  std::vector<float> x = counting(24, -9), turned(24), wide(48, -1);
  for (int64_t m = 0; m < 4; ++m) {
    for (int64_t n = 0; n < 6; ++n) {
      turned[n * 4 + m] = x[m * 6 + n];
    }
  }
  std::vector<float> expected = x;
  for (float &value : expected) {
    value = std::max(value, 0.f);
  }
  for (int run = 0; run < 2; ++run) {
    std::vector<float> dense(24, -1);
    TensorArgument from(TensorView{turned.data(), DType::F32, {4, 6}, {1, 4}}),
        to(TensorView{dense.data(), DType::F32, {4, 6}});
    ASSERT_TRUE((*session)->run("f", {&from, 1}, {&to, 1}).isOk());
    EXPECT_EQ(dense, expected);
    wide.assign(48, -1);
    from = TensorView{x.data(), DType::F32, {4, 6}};
    to = TensorView{wide.data(), DType::F32, {4, 6}, {12, -1}, 20};
    ASSERT_TRUE((*session)->run("f", {&from, 1}, {&to, 1}).isOk());
    for (int64_t m = 0; m < 4; ++m) {
      for (int64_t n = 0; n < 12; ++n) {
        EXPECT_EQ(wide[m * 12 + n], n < 6 ? expected[m * 6 + 5 - n] : -1);
      }
    }
    auto y = (*session)->run("f", listOf(makeTensor({4, 6}, x)));
    ASSERT_TRUE(y);
    EXPECT_EQ(valuesOf(y->front()), expected);
  }
}

TEST(SessionRanksTest, viewsThatDoNotFitAreRefused) {
  auto session = openSession(boxManifest());
  ASSERT_TRUE(session);
  std::vector<float> memory(24);
  TensorView good{memory.data(), DType::F32, {4, 6}};
  auto message = [&](TensorArgument x, TensorArgument y) {
    Status status = (*session)->run("f", {&x, 1}, {&y, 1});
    EXPECT_EQ(status.code(), ExitCode::Invalid);
    return status.message();
  };
  TensorView view = good;
  view.strides = {6};
  EXPECT_EQ(message(view, good), "input 'x': got 1 strides for 2 dimensions");
  view.strides = {0, 0};
  EXPECT_EQ(message(good, view),
            "output 'y': a stride of 0 makes several elements share memory");
  view = good;
  view.data = nullptr;
  EXPECT_EQ(message(good, view), "output 'y': it has no memory");
  EXPECT_EQ(message(TensorArgument(std::vector{good}), good),
            "input 'x': got 1 boxes, expected one for each of the session's 4 "
            "ranks");
  view = {memory.data(), DType::F32, {2, 3}};
  EXPECT_EQ(message(TensorArgument(std::vector{view, view, good, view}), good),
            "input 'x': got f32[4, 6], expected f32[2, 3]");
  TensorArgument argument(good);
  EXPECT_EQ((*session)->run("f", {&argument, 1}, {}).message(),
            "got 0 outputs for entry 'f', expected 1: 'y'");
  EXPECT_EQ((*session)->run("g", {}, {}).code(), ExitCode::Usage);
}

TEST(SessionRanksTest, aLoneRankWorksOnTheCallersThread) {
  for (bool hasThread : {false, true}) {
    SessionOptions options = testOptions();
    options.loneRankHasThread = hasThread;
    auto session =
        openSession(matmulManifest(1, MatmulSplit::M), {counting(30)}, options);
    ASSERT_TRUE(session) << session.status().message();
    ASSERT_TRUE(
        (*session)->run("forward", listOf(makeTensor({4, 6}, counting(24)))));
    EXPECT_EQ(TestBackend::lastThread == std::this_thread::get_id(),
              !hasThread);
  }
}

//===----------------------------------------------------------------------===//
// What others have
//===----------------------------------------------------------------------===//

TEST(SessionRanksTest, localRanksAreRanksAndHaveACommunicator) {
  auto refusal = [](std::vector<uint32_t> ranks) {
    SessionOptions options = testOptions();
    options.localRanks = std::move(ranks);
    auto session = openSession(boxManifest(), {}, options);
    EXPECT_EQ(session.status().code(), ExitCode::Usage);
    return session.status().message();
  };
  EXPECT_THAT(refusal({0, 1, 0}), HasSubstr("a local rank is named twice"));
  EXPECT_THAT(refusal({0, 4}),
              HasSubstr("local rank 4: the artifact has 4 ranks"));
  EXPECT_THAT(refusal({0, 1}), HasSubstr("a session of some ranks needs a "
                                         "communicator to others"));
  SessionOptions options = testOptions();
  options.communicator = [](const CommunicatorRequest &request)
      -> Expected<std::shared_ptr<Communicator>> {
    EXPECT_EQ(request.numRanks, 4u);
    EXPECT_THAT(request.localRanks, ElementsAre(0, 1, 2, 3));
    return makeError(ExitCode::Device, "nobody there");
  };
  EXPECT_THAT(openSession(boxManifest(), {}, options).status().message(),
              HasSubstr("nobody there"));
}

TEST(SessionRanksTest, aPartIsNotSoldAsTheWhole) {
  Sessions halves(boxManifest(), {}, {{0, 1}, {2, 3}});
  auto y = halves.all[0]->run("f", listOf(makeTensor({4, 6}, counting(24))));
  EXPECT_EQ(y.status().code(), ExitCode::Usage);
  EXPECT_EQ(y.status().message(), "output 'y' lies partly on ranks of other "
                                  "sessions; give memory for the boxes of this "
                                  "one");
  Sessions ranks(stateManifest(), {{}, {1, 2, 3}}, {{0}, {1}});
  auto n = ranks.all[1]->readGlobal("n");
  EXPECT_EQ(n.status().code(), ExitCode::Usage);
  EXPECT_EQ(n.status().message(),
            "global 'n' lies partly on ranks of other sessions");
}

TEST(SessionRanksTest, anotherArtifactIsNoticed) {
  std::shared_ptr<Communicator> shared =
      makeInprocCommunicator(std::chrono::seconds(20));
  SessionOptions options = testOptions();
  options.communicator = [&](const CommunicatorRequest &) { return shared; };
  options.localRanks = {0};
  auto first =
      openSession(matmulManifest(2, MatmulSplit::M), {counting(30)}, options);
  ASSERT_TRUE(first);
  options.localRanks = {1};
  auto second =
      openSession(matmulManifest(2, MatmulSplit::N), {counting(30)}, options);
  EXPECT_EQ(second.status().code(), ExitCode::Invalid);
  EXPECT_THAT(second.status().message(),
              HasSubstr("another session has another step there; do all have "
                        "the same artifact?"));
}

/// y = m + x becomes m; both ranks have all of it.
static pb::Manifest addManifest() {
  ManifestBuilder b(2);
  TensorRef t = b.tensor(b.grid({2}), {2}, {{}});
  uint32_t m = b.global("m", "state", t);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", t);
  addValue(entry.mutable_outputs(), "y", t);
  ProgramBuilder p(b.manifest, entry, {0, 1});
  uint32_t x = p.input(0, t), old = p.global(m, t), sum = p.alloc(t);
  p.call("test.add", {x, old}, sum);
  p.output(sum, 0);
  p.commit();
  p.copy(sum, p.newGlobal(m, t));
  return inOneOrder(b.manifest);
}

/// Runs `session` on x, as the box of its rank.
static Status runBox(Session &session, std::vector<float> x,
                     std::vector<float> &y) {
  y.assign(2, -1);
  TensorArgument from(std::vector<TensorView>{{x.data(), DType::F32, {2}}}),
      to(std::vector<TensorView>{{y.data(), DType::F32, {2}}});
  return session.run("f", {&from, 1}, {&to, 1});
}

static const char *const cutOff =
    "the session is dead: an earlier run has failed, and other sessions had a "
    "part in it; open all of them again";

// The index that rank 1 reads is bad, and rank 0 updates nothing either.
TEST(SessionRanksTest, aBadIndexStopsTheRunOfAllSessions) {
  Sessions ranks(addManifest(), {{}}, {{0}, {1}});
  std::vector<std::vector<float>> y(2);
  std::vector<Status> statuses(2);
  for (float sum : {1, 2}) {
    ranks.runAll(
        [&](size_t i) { statuses[i] = runBox(*ranks.all[i], {1, 2}, y[i]); });
    for (size_t i : {0, 1}) {
      EXPECT_TRUE(statuses[i].isOk()) << statuses[i].message();
      EXPECT_THAT(y[i], ElementsAre(sum, 2 * sum));
    }
  }
  TestBackend::extent = 5;
  ranks.runAll([&](size_t i) {
    statuses[i] = runBox(*ranks.all[i], {1, i == 0 ? 2.f : 7.f}, y[i]);
  });
  TestBackend::extent = 1e30f;
  EXPECT_EQ(statuses[0].message(),
            "entry 'f': an index in the data is bad; the session of the rank "
            "that read it says which");
  EXPECT_THAT(statuses[1].message(), HasSubstr("index 7 at [1]"));
  for (auto &session : ranks.all) {
    EXPECT_THAT(valuesOf(*session->readGlobal("m")), ElementsAre(2, 4));
    EXPECT_EQ(runBox(*session, {1, 2}, y[0]).message(), cutOff);
  }
}

// Without a commit all learn of it at the end.
TEST(SessionRanksTest, aBadIndexIsTheRunsOfAllSessions) {
  Sessions halves(boxManifest(), {}, {{0, 1}, {2, 3}});
  std::vector<float> x = counting(24), memory(48);
  std::vector<Status> statuses(2);
  TestBackend::extent = 24; // the last element, of rank 3
  halves.runAll([&](size_t i) {
    TensorArgument from(TensorView{x.data(), DType::F32, {4, 6}}),
        to(TensorView{&memory[24 * i], DType::F32, {4, 6}});
    statuses[i] = halves.all[i]->run("f", {&from, 1}, {&to, 1});
  });
  TestBackend::extent = 1e30f;
  EXPECT_THAT(statuses[0].message(), HasSubstr("an index in the data is bad"));
  EXPECT_THAT(statuses[1].message(), HasSubstr("index 24 at ["));
}

TEST(SessionRanksTest, aKernelThatFailsEndsAllSessions) {
  Sessions ranks(addManifest(), {{}}, {{0}, {1}});
  std::vector<Status> statuses(2);
  auto run = [&](size_t i) {
    std::vector<float> y;
    statuses[i] = runBox(*ranks.all[i], {1, 2}, y);
  };
  TestBackend::fails = true;
  run(0); // on both ranks it would be a question which is first
  TestBackend::fails = false;
  run(1);
  for (const Status &status : statuses) {
    EXPECT_EQ(status.code(), ExitCode::Device);
    EXPECT_THAT(status.message(), HasSubstr("rank 0: the kernel failed"));
  }
  ranks.runAll(run);
  for (const Status &status : statuses) {
    EXPECT_EQ(status.message(), cutOff);
  }
}

TEST(SessionRanksTest, aSessionThatDoesNotRunIsNamedByItsRank) {
  Sessions ranks(matmulManifest(2, MatmulSplit::K), {counting(30)}, {{0}, {1}},
                 std::chrono::milliseconds(100));
  auto y =
      ranks.all[0]->run("forward", listOf(makeTensor({4, 6}, counting(24))));
  EXPECT_EQ(y.status().code(), ExitCode::Device);
  EXPECT_THAT(y.status().message(),
              HasSubstr("for rank 1, which did not come"));
}
