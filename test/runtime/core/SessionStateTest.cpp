//===- SessionStateTest.cpp - Commits, and state that is lost -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/core/TestSession.h"

#include <gmock/gmock.h>
#include <thread>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

/// m becomes relu(m + x), written over the old m; then it is copied, slowly,
/// and gathered. In two ranks, with a kernel before the commit and one behind.
static pb::Manifest overwritingManifest() {
  ManifestBuilder b(2);
  uint32_t g = b.grid({2});
  TensorRef part = b.tensor(g, {4}, {DimSplit({0})}),
            whole = b.tensor(g, {4}, {{}});
  uint32_t m = b.global("m", "state", part), n = b.global("n", "state", part);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", part);
  addValue(entry.mutable_outputs(), "y", whole);
  ProgramBuilder p(b.manifest, entry, {0, 1});
  uint32_t x = p.input(0, part), oldM = p.global(m, part),
           newM = p.newGlobal(m, part), newN = p.newGlobal(n, part);
  uint32_t sum = p.alloc(part), slow = p.alloc(part), y = p.alloc(whole);
  p.call("test.add", {x, oldM}, sum);
  p.commit();
  p.call("test.relu", {sum}, newM);
  p.call("test.slow", {newM}, slow);
  p.collective("all_gather", {0}, slow, y, 0);
  p.copy(sum, newN);
  p.output(y, 0);
  return inOneOrder(b.manifest);
}

TEST(SessionTest, newValuesAreWrittenInPlaceOrCopied) {
  auto session = openSession(overwritingManifest(), {{}, {}});
  ASSERT_TRUE(session) << session.status().message();
  EXPECT_EQ((*session)->stateBytes("f"),
            std::vector<StateBytes>(2, StateBytes{8, 8}));
  EXPECT_EQ((*session)->stateBytes("g"), std::vector<StateBytes>(2));
  for (float sum : {1, 2, 3}) {
    auto y = (*session)->run("f", listOf(makeTensor({4}, {1, 1, 1, -1})));
    ASSERT_TRUE(y) << y.status().message();
    EXPECT_THAT(valuesOf(y->front()), ElementsAre(sum, sum, sum, 0));
    EXPECT_THAT(valuesOf(*(*session)->readGlobal("m")),
                ElementsAre(sum, sum, sum, 0));
    EXPECT_THAT(valuesOf(*(*session)->readGlobal("n")),
                ElementsAre(sum, sum, sum, -1));
  }
}

/// Expects that the state of `session` is lost, loads it again, and expects
/// that a run then begins where the first one did.
static void expectLostState(Session &session) {
  const char *lost = "the state of the session is lost: an earlier run failed "
                     "after its commit; load the state again";
  auto inputs = listOf(makeTensor({4}, counting(4)));
  auto y = session.run("f", inputs);
  EXPECT_EQ(y.status().code(), ExitCode::Device);
  EXPECT_EQ(y.status().message(), lost);
  EXPECT_EQ(session.readGlobal("m").status().message(), lost);
  ASSERT_TRUE(session.reloadState().isOk());
  EXPECT_THAT(valuesOf(*session.readGlobal("m")), ElementsAre(5, 5, 5, 5));
  EXPECT_THAT(valuesOf(*session.readGlobal("n")), ElementsAre(0, 0, 0, 0));
  y = session.run("f", inputs);
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_THAT(valuesOf(y->front()), ElementsAre(6, 7, 8, 9));
}

TEST(SessionTest, aTimeOutAfterTheCommitLosesTheState) {
  SessionOptions options = testOptions();
  options.timeout = std::chrono::milliseconds(50);
  options.lateness = std::chrono::minutes(5);
  auto session =
      openSession(overwritingManifest(), {{5, 5, 5, 5}, {}}, options);
  ASSERT_TRUE(session) << session.status().message();
  TestBackend::gate.close();
  std::thread opener([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    TestBackend::gate.open();
  });
  auto y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  opener.join();
  EXPECT_THAT(y.status().message(),
              HasSubstr("waited 50 ms in all_gather of 'move'"));
  expectLostState(**session);
}

TEST(SessionTest, aBadIndexAfterTheCommitLosesTheState) {
  auto session = openSession(overwritingManifest(), {{5, 5, 5, 5}, {}});
  ASSERT_TRUE(session) << session.status().message();
  TestBackend::extent = 7;
  auto y = (*session)->run("f", listOf(makeTensor({4}, {1, 1, 1, 4})));
  TestBackend::extent = 1e30f;
  EXPECT_EQ(y.status().code(), ExitCode::Invalid);
  EXPECT_THAT(y.status().message(), HasSubstr("index 9 at [3] is outside"));
  expectLostState(**session);
}

TEST(SessionTest, whatFailsBeforeTheCommitChangesNothing) {
  auto session = openSession(overwritingManifest(), {{5, 5, 5, 5}, {}});
  ASSERT_TRUE(session) << session.status().message();
  auto expectOld = [&] {
    EXPECT_THAT(valuesOf(*(*session)->readGlobal("m")),
                ElementsAre(5, 5, 5, 5));
    EXPECT_THAT(valuesOf(*(*session)->readGlobal("n")),
                ElementsAre(0, 0, 0, 0));
  };
  for (int i = 0; i < 20; ++i) { // a bad index of rank 1, and one of rank 0
    TestBackend::extent = 3;
    std::vector<float> x = {1, 1, 1, 1};
    x[i % 4] = 3;
    auto y = (*session)->run("f", listOf(makeTensor({4}, x)));
    EXPECT_EQ(y.status().code(), ExitCode::Invalid);
    EXPECT_THAT(y.status().message(), HasSubstr("index 3 at ["));
    TestBackend::extent = 1e30f;
    expectOld();
  }
  TestBackend::fails = true;
  auto y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  TestBackend::fails = false;
  EXPECT_EQ(y.status().code(), ExitCode::Device);
  expectOld();
  y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_THAT(valuesOf(y->front()), ElementsAre(6, 7, 8, 9));
}
