//===- LoopTest.cpp - Loops of programs -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "divisi/runtime/verify/Verify.h"
#include "test/runtime/core/LoopEntries.h"

#include <gmock/gmock.h>
#include <thread>

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

static constexpr int64_t most = 10;
/// What the loop of loopManifest() names, in the order of its buffers.
enum Buffers : uint32_t { N, X, F, Y, Spare, Arena };

/// y = x + n * f, in n iterations of `x + f` on two ranks. What a rank adds is
/// gathered and sliced again, so that ranks meet in the body.
static pb::Manifest loopManifest() {
  ManifestBuilder b(2);
  LoopEntries entries(b);
  const auto &[g, count, t, whole, entry, body] = entries;
  ProgramBuilder p(b.manifest, entry, {0, 1}), q(b.manifest, body, {0, 1});
  uint32_t x = q.input(1, t), f = q.input(2, t), sum = q.alloc(t);
  uint32_t all = q.alloc(whole), y = q.alloc(t);
  q.call("test.add", {x, f}, sum);
  q.collective("all_gather", {0}, sum, all, 7);
  q.collective("slice", {0}, all, y, 0);
  q.output(y, 0);
  p.input(0, count);
  p.input(1, t);
  p.input(2, t);
  p.alloc(t);
  p.alloc(t);
  p.alloc(b.tensor(g, {q.program.arena_bytes()}, {{}}, {}, "", "i8"));
  addLoop(p.program, most, N, X, F, Y, Spare).set_arena(Arena);
  p.output(Y, 0);
  return inOneOrder(b.manifest);
}

static pb::Program &program(pb::Manifest &manifest, int entry = 0) {
  return *manifest.mutable_entries(entry)->mutable_programs(0);
}
static pb::Loop &loop(pb::Manifest &manifest) {
  return *program(manifest).mutable_instructions(0)->mutable_loop();
}

TEST(LoopTest, runsAsOftenAsTheCountSays) {
  auto session = openSession(loopManifest());
  ASSERT_TRUE(session) << session.status().message();
  EXPECT_EQ((*session)->entries().size(), 1U);
  for (int64_t count : {3, 0, 1, 2, 10}) {
    auto y = (*session)->run("f", loopInputs(count));
    ASSERT_TRUE(y) << y.status().message();
    EXPECT_EQ(valuesOf(y->front()), loopOutput(count)) << count;
  }
  EXPECT_EQ((*session)->kernelCalls().front().entry, "f");
}

TEST(LoopTest, aCountOutOfRangeIsAnErrorAndTheSessionLives) {
  auto session = openSession(loopManifest());
  ASSERT_TRUE(session);
  for (int64_t count : {int64_t(-1), most + 1, INT64_MIN, INT64_MAX}) {
    auto y = (*session)->run("f", loopInputs(count));
    ASSERT_FALSE(y);
    EXPECT_EQ(y.status().message(),
              "entry 'f': node 'again' (nn.loop) is to run " +
                  std::to_string(count) + " times, expected 0 to 10");
    EXPECT_EQ(y.status().code(), ExitCode::Invalid);
    EXPECT_TRUE((*session)->run("f", loopInputs(2)));
  }
}

// Each session is given a count of its own.
TEST(LoopTest, aCountThatDiffersByRankIsAnError) {
  std::shared_ptr<Communicator> shared =
      makeInprocCommunicator(std::chrono::seconds(20));
  std::vector<std::unique_ptr<Session>> sessions;
  for (uint32_t rank : {0, 1}) {
    SessionOptions options = testOptions();
    options.localRanks = {rank};
    options.communicator = [shared](const CommunicatorRequest &) {
      return shared;
    };
    auto session = openSession(loopManifest(), {}, options);
    ASSERT_TRUE(session) << session.status().message();
    sessions.push_back(std::move(*session));
  }
  std::vector<std::thread> threads;
  for (size_t rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      std::vector<HostTensor> in = loopInputs(int64_t(2 + rank));
      std::vector<float> out(2);
      std::vector<TensorArgument> from;
      for (HostTensor &tensor : in) {
        from.emplace_back(TensorView::of(tensor));
      }
      TensorArgument to(std::vector<TensorView>{{out.data(), DType::F32, {2}}});
      Status status = sessions[rank]->run("f", from, {&to, 1});
      EXPECT_THAT(status.message(),
                  HasSubstr("node 'again' (nn.loop) is to run 2 times on one "
                            "rank and 3 times on another"));
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
}

static std::string complaint(const pb::Manifest &manifest) {
  static const TestBackend backend;
  const Backend *backends[] = {&backend};
  return verifyManifest(manifest, backends).message();
}

TEST(VerifyLoopTest, theBodyIsBehindTheEntryAndRunOnce) {
  EXPECT_EQ(complaint(loopManifest()), "");
  pb::Manifest m = loopManifest();
  loop(m).set_body(0);
  EXPECT_THAT(
      complaint(m),
      HasSubstr("it runs entry 0, expected a body after its own entry"));
  m = loopManifest();
  m.mutable_entries()->SwapElements(0, 1);
  EXPECT_EQ(complaint(m), "entry 'f' comes after a body, expected bodies last");
  m = loopManifest();
  program(m).mutable_instructions()->DeleteSubrange(0, 1);
  program(m).mutable_instructions(0)->mutable_output()->set_source(X);
  EXPECT_EQ(complaint(m), "body 'step': no loop runs it on rank 0");
  m = loopManifest();
  *program(m).add_instructions() = program(m).instructions(0);
  EXPECT_THAT(complaint(m), HasSubstr("rank 0 runs the body a second time"));
  m = loopManifest();
  pb::Entry second = m.entries(0);
  second.set_name("g");
  *m.add_entries() = second;
  m.mutable_entries()->SwapElements(1, 2);
  for (int e : {0, 1}) {
    program(m, e).mutable_instructions(0)->mutable_loop()->set_body(2);
  }
  EXPECT_EQ(complaint(m), "body 'step' is run by two entries");
}

TEST(VerifyLoopTest, loopsAreNestedAsDeepAsAStackIs) {
  for (int depth : {64, 65}) {
    pb::Manifest m = loopManifest();
    // A body that runs the next, without values.
    pb::Entry chain;
    chain.set_is_body(true);
    chain.add_programs()->add_ranks(0);
    pb::Loop &next =
        *chain.mutable_programs(0)->add_instructions()->mutable_loop();
    for (int i = 1; i <= depth; ++i) {
      chain.set_name("chain" + std::to_string(i));
      next.set_body(2 + i);
      *m.add_entries() = chain;
    }
    m.mutable_entries(1 + depth)->clear_programs();
    program(m, 0).mutable_instructions(0)->mutable_loop()->set_body(2);
    EXPECT_EQ(complaint(m).find("loops are nested more than 64 deep") !=
                  std::string::npos,
              depth == 65)
        << complaint(m);
  }
}

TEST(VerifyLoopTest, theBodyGetsWhatItExpects) {
  pb::Manifest m = loopManifest();
  loop(m).set_most(-1);
  EXPECT_THAT(complaint(m),
              HasSubstr("it carries 1 values and gives 1, for 1 results, 1 "
                        "spares and at most -1 iterations of a body with 3 "
                        "inputs and 1 outputs"));
  m = loopManifest();
  loop(m).set_given(0, N);
  EXPECT_THAT(complaint(m),
              HasSubstr("buffer 0 does not have the layout of the body's"));
  m = loopManifest();
  loop(m).set_given(0, 99);
  EXPECT_THAT(complaint(m), HasSubstr("buffer 99 of 6"));
  m = loopManifest();
  for (int e : {0, 1}) {
    ownTensor(m, *m.mutable_entries(e)->mutable_inputs(0)).set_dtype("f64");
  }
  program(m).mutable_buffers(N)->set_tensor(m.entries(0).inputs(0).tensor());
  EXPECT_THAT(complaint(m),
              HasSubstr("input 0 of the body is not an i64 that counts"));
  // It returns the gathered value.
  m = loopManifest();
  uint32_t whole = program(m, 1).buffers(3).tensor();
  m.mutable_entries(1)->mutable_outputs(0)->set_tensor(whole);
  program(m, 1).mutable_instructions(3)->mutable_output()->set_source(3);
  EXPECT_THAT(complaint(m), HasSubstr("output 0 of the body differs in layout "
                                      "from input 1, which it becomes"));
}

// The body makes its value elsewhere, and only what is carried is overwritten.
TEST(VerifyLoopTest, oneOfItsValuesHasOnePlaceIfTheBodySaysSo) {
  pb::Manifest m = loopManifest();
  loop(m).set_spares(0, Y);
  EXPECT_THAT(
      complaint(m),
      HasSubstr("value 0 has one place, and the body on rank 0 does not "
                "write it over the one before"));
  m = loopManifest();
  program(m, 1).mutable_buffers(0)->set_new_input(9);
  EXPECT_THAT(complaint(m), HasSubstr("the new value of input 9, which is "
                                      "carried by no loop"));
}

TEST(VerifyLoopTest, itsRanksHaveTheBodyAndRoomForIt) {
  pb::Manifest m = loopManifest();
  program(m, 1).mutable_ranks()->RemoveLast();
  EXPECT_THAT(complaint(m), HasSubstr("rank 1 has no program of the body"));
  m = loopManifest();
  program(m, 1).set_arena_bytes(1 << 20);
  EXPECT_THAT(complaint(m), HasSubstr("the body needs an arena of 1048576 "
                                      "bytes in 'host' on rank 0, got 192"));
  m = loopManifest();
  loop(m).clear_arena();
  EXPECT_THAT(complaint(m), HasSubstr("on rank 0, got 0"));
}

TEST(VerifyLoopTest, itWritesBytesThatNobodyElseHas) {
  pb::Manifest m = loopManifest();
  program(m).mutable_buffers(Spare)->set_arena_offset(
      program(m).buffers(Y).arena_offset());
  EXPECT_THAT(complaint(m), HasSubstr("which overlaps buffer 3 of its own"));
  m = loopManifest();
  program(m).mutable_buffers(Arena)->set_arena_offset(
      program(m).buffers(Spare).arena_offset());
  EXPECT_THAT(
      complaint(m),
      HasSubstr("it writes buffer 5, which overlaps buffer 4 of its own"));
  // Spares have no value afterwards.
  m = loopManifest();
  program(m).mutable_instructions(1)->mutable_output()->set_source(Spare);
  EXPECT_THAT(complaint(m), HasSubstr("it reads buffer 4, which has not been "
                                      "written, or has been overwritten"));
}

/// With a global that the entry writes, in what comes behind a commit.
static pb::Manifest withState(pb::Manifest m) {
  pb::Global &global = *m.add_globals();
  global.set_name("s");
  global.set_kind("state");
  global.set_tensor(m.entries(0).inputs(1).tensor());
  pb::Program &p = program(m);
  pb::Buffer &buffer = *p.add_buffers();
  buffer.set_tensor(global.tensor());
  buffer.set_new_global(0);
  p.add_instructions()->mutable_commit();
  pb::Copy &copy = *p.add_instructions()->mutable_copy();
  copy.set_source(Y);
  copy.set_result(6);
  return m;
}

TEST(VerifyLoopTest, bodiesLeaveGlobalsAlone) {
  EXPECT_EQ(complaint(withState(loopManifest())), "");
  pb::Manifest m = withState(loopManifest());
  pb::Buffer &buffer = *program(m, 1).add_buffers();
  buffer.set_tensor(m.globals(0).tensor());
  buffer.set_global(0);
  EXPECT_EQ(complaint(m), "entry 'step': a body touches global 's', which some "
                          "entry writes");
  m = loopManifest();
  program(m, 1).add_instructions()->mutable_commit();
  EXPECT_EQ(complaint(m), "entry 'step': a body cannot commit");
  m = loopManifest();
  m.add_spaces("far");
  pb::Buffer &there = *program(m, 1).add_buffers();
  there = program(m, 1).buffers(3);
  there.set_space(1);
  program(m, 1).add_device_arena_bytes(1024);
  EXPECT_THAT(complaint(m),
              HasSubstr("the body needs an arena of 1024 bytes in "
                        "'far' on rank 0, got 0"));
  // Its results are in the arena.
  m = withState(loopManifest());
  program(m).mutable_instructions()->SwapElements(0, 2);
  program(m).mutable_instructions(2)->mutable_loop()->set_results(0, 6);
  program(m).mutable_instructions()->DeleteSubrange(1, 1);
  program(m).mutable_instructions(0)->mutable_commit();
  EXPECT_THAT(complaint(m),
              HasSubstr("a loop writes in the arena alone, not buffer 6"));
}

TEST(VerifyLoopTest, allElseIsBeforeItOrBehindIt) {
  pb::Manifest m = loopManifest();
  pb::Instruction copy;
  copy.set_queue(1);
  copy.mutable_output()->set_source(Y);
  program(m).mutable_instructions(1)->CopyFrom(copy);
  program(m).mutable_instructions(1)->add_after(0);
  EXPECT_EQ(complaint(m), "");
  // An output that touches no byte of the loop's.
  program(m).mutable_instructions(1)->mutable_output()->set_source(X);
  program(m).mutable_instructions(1)->clear_after();
  EXPECT_THAT(complaint(m),
              HasSubstr("it touches the order of loops and may run at the same "
                        "time as instruction 0 (again), which does, too"));
}

TEST(VerifyLoopTest, moreBytesThanCanBeCounted) {
  pb::Manifest m = loopManifest();
  program(m).set_arena_bytes(INT64_MAX);
  EXPECT_THAT(complaint(m), HasSubstr("it has more than 2^63 bytes"));
}

TEST(VerifyLoopTest, aDamagedManifestIsRefusedOrRuns) {
  SessionOptions options = testOptions();
  options.timeout = std::chrono::seconds(5);
  int refused = countRefusedLoops("loops", options, loopManifest);
  EXPECT_GT(refused, 200);
}
