//===- CancelTest.cpp - Ending a run from another thread ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/core/TestSession.h"

#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;

namespace {

/// Cancels the run of a session when some rank launches its `count`-th kernel,
/// counted over all ranks from 1 on.
class CancelAt {
public:
  CancelAt(Session &session, int64_t count) {
    TestBackend::launched = [this, &session, count] {
      if (++launches_ == count) {
        session.cancel();
      }
    };
  }
  ~CancelAt() { TestBackend::launched = nullptr; }
  int64_t launches() const { return launches_; }

private:
  std::atomic<int64_t> launches_ = 0;
};

} // namespace

/// y = relu of x, `calls` times, gathered after each of them.
static pb::Manifest chainManifest(int64_t ranks, int calls) {
  ManifestBuilder b(static_cast<uint32_t>(ranks));
  uint32_t g = b.grid({ranks});
  TensorRef part = b.tensor(g, {4}, {DimSplit({0})}),
            whole = b.tensor(g, {4}, {{}});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", part);
  addValue(entry.mutable_outputs(), "y", whole);
  Axes all(ranks);
  std::iota(all.begin(), all.end(), 0);
  ProgramBuilder p(b.manifest, entry, all);
  uint32_t value = p.input(0, part), gathered = 0;
  for (int i = 0; i < calls; ++i) {
    uint32_t next = p.alloc(part);
    gathered = p.alloc(whole);
    p.call("test.relu", {value}, next);
    p.collective("all_gather", {0}, next, gathered, uint32_t(i));
    value = next;
  }
  p.output(gathered, 0);
  return inOneOrder(b.manifest);
}

// Wherever it is cancelled, the run says so, and the next one is right.
TEST(CancelTest, endsARunAtEveryKernel) {
  constexpr int calls = 9;
  for (int64_t ranks : {1, 2, 4}) {
    auto session = openSession(chainManifest(ranks, calls));
    ASSERT_TRUE(session) << session.status().message();
    auto x = listOf(makeTensor({4}, {1, -2, 3, -4}));
    int64_t cancelled = 0;
    for (int64_t at = 1; at <= calls * ranks; ++at) {
      {
        CancelAt cancel(**session, at);
        auto y = (*session)->run("f", x);
        EXPECT_GE(cancel.launches(), at);
        if (!y) {
          ++cancelled;
          EXPECT_EQ(y.status().code(), cancelledCode);
          EXPECT_EQ(y.status().message(), "entry 'f': the run was cancelled");
        }
      }
      auto y = (*session)->run("f", x);
      ASSERT_TRUE(y) << y.status().message();
      EXPECT_THAT(valuesOf(y->front()), ElementsAre(1, 0, 3, 0));
    }
    // Behind the last kernels of all ranks nothing may be left to be ended.
    EXPECT_GE(cancelled, (calls - 1) * ranks) << ranks;
  }
}

// A run that has begun to write globals goes on to its end; one that has not
// has changed nothing.
TEST(CancelTest, neverLosesState) {
  auto session = openSession(stateManifest(), {{1, 2, 3}, {0, 0, 0}});
  ASSERT_TRUE(session) << session.status().message();
  auto x = listOf(makeTensor({3}, {1, 1, 1}));
  float sum = 1;
  for (int64_t at : {1, 2, 3}) {
    CancelAt cancel(**session, at);
    auto y = (*session)->run("step", x);
    EXPECT_TRUE(y || y.status().code() == cancelledCode);
    sum += y ? 1 : 0;
    EXPECT_THAT(valuesOf(*(*session)->readGlobal("m")),
                ElementsAre(sum, sum + 1, sum + 2));
  }
}

TEST(CancelTest, withoutARunDoesNothing) {
  auto session = openSession(chainManifest(2, 2));
  ASSERT_TRUE(session) << session.status().message();
  (*session)->cancel();
  auto y = (*session)->run("f", listOf(makeTensor({4}, {1, 2, 3, 4})));
  ASSERT_TRUE(y) << y.status().message();
  (*session)->cancel();
}

// The others, which may have been told of it, or wait, end, too.
TEST(CancelTest, endsAllRanksWhileOneIsHeldUp) {
  auto session = openSession(chainManifest(4, 3));
  ASSERT_TRUE(session) << session.status().message();
  std::atomic<int> launches = 0;
  TestBackend::launched = [&] {
    if (++launches == 4) { // the last rank to come; the others wait for it
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      (*session)->cancel();
    }
  };
  auto y = (*session)->run("f", listOf(makeTensor({4}, {1, 2, 3, 4})));
  TestBackend::launched = nullptr;
  EXPECT_EQ(y.status().code(), cancelledCode);
}
