//===- SessionTest.cpp - Tests of running artifacts -----------------------===//
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
using testing::HasSubstr;

TEST(SessionTest, matmulGivesTheSameOnAnyNumberOfRanks) {
  std::vector<float> x = counting(24), w = counting(30, -7);
  for (int64_t ranks : {1, 2, 3, 4, 8}) {
    for (MatmulSplit split : {MatmulSplit::M, MatmulSplit::N, MatmulSplit::K}) {
      auto session = openSession(matmulManifest(ranks, split), {w});
      ASSERT_TRUE(session) << session.status().message();
      for (int run = 0; run < 3; ++run) {
        auto outputs =
            (*session)->run("forward", listOf(makeTensor({4, 6}, x)));
        ASSERT_TRUE(outputs) << outputs.status().message();
        EXPECT_EQ(outputs->front().name(), "y");
        EXPECT_EQ(valuesOf(outputs->front()), product(x, w));
      }
    }
  }
}

TEST(SessionTest, referenceKernelsRunTheSameProgram) {
  std::vector<float> x = counting(24), w = counting(30, -7);
  SessionOptions options = testOptions();
  options.backends.push_back(&referenceBackend());
  for (MatmulSplit split : {MatmulSplit::M, MatmulSplit::N, MatmulSplit::K}) {
    pb::Manifest manifest = matmulManifest(3, split);
    pb::Call &call = *manifest.mutable_entries(0)
                          ->mutable_programs(0)
                          ->mutable_instructions(0)
                          ->mutable_call();
    call.set_op(operatorNumber(manifest, "nn.matmul"));
    pb::Attribute &labels = *ownOperator(manifest, call).add_attributes();
    labels.set_name("labels");
    labels.set_s("mk,kn->mn");
    auto session = openSession(manifest, {w}, options);
    ASSERT_TRUE(session) << session.status().message();
    auto outputs = (*session)->run("forward", listOf(makeTensor({4, 6}, x)));
    ASSERT_TRUE(outputs) << outputs.status().message();
    EXPECT_EQ(valuesOf(outputs->front()), product(x, w));

    // A shape that the labels do not fit is the artifact's fault.
    labels.set_s("mk,kn->nm");
    session = openSession(manifest, {w}, options);
    ASSERT_FALSE(session);
    EXPECT_THAT(session.status().message(), HasSubstr("nn.matmul"));
  }
}

// The second backend takes what the first does not have; a view is no call.
TEST(SessionTest, saysWhichBackendTakesWhichCalls) {
  ManifestBuilder b(3);
  uint32_t g = b.grid({3});
  TensorRef t = b.tensor(g, {2}, {DimSplit({0})}); // rank 2 has none
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", t);
  addValue(entry.mutable_outputs(), "y", t);
  ProgramBuilder p(b.manifest, entry, {0, 1, 2});
  uint32_t x = p.input(0, t), first = p.alloc(t), second = p.alloc(t);
  uint32_t third = p.alloc(t);
  uint32_t view = p.alloc(t, p.program.buffers(third).arena_offset());
  p.call("test.relu", {x}, first);
  p.call("nn.neg", {first}, second);
  p.call("nn.neg", {second}, third);
  p.call("test.reshape", {third}, view);
  p.output(view, 0);
  SessionOptions options = testOptions();
  options.backends.push_back(&referenceBackend());
  auto session = openSession(inOneOrder(b.manifest), {}, options);
  ASSERT_TRUE(session) << session.status().message();
  std::vector<std::string> lines;
  for (const KernelCalls &calls : (*session)->kernelCalls()) {
    lines.push_back(calls.entry + " " + std::to_string(calls.rank) + " " +
                    calls.op + " " + calls.backend + " " +
                    std::to_string(calls.calls));
  }
  EXPECT_THAT(lines,
              ElementsAre("f 0 nn.neg reference 2", "f 0 test.relu test 1",
                          "f 1 nn.neg reference 2", "f 1 test.relu test 1"));
}

//===----------------------------------------------------------------------===//
// Two grids, state, views, empty boxes
//===----------------------------------------------------------------------===//

TEST(SessionTest, valuesGoToAnotherGridAndBack) {
  ManifestBuilder b(4);
  uint32_t one = b.grid("one", {1}, {0}),
           three = b.grid("three", {3}, {1, 2, 3});
  TensorRef x = b.tensor(one, {7, 2}, {{}, {}});
  TensorRef split = b.tensor(three, {7, 2}, {DimSplit({0}), {}});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", x);
  addValue(entry.mutable_outputs(), "y", x);
  ProgramBuilder p(b.manifest, entry, {0});
  uint32_t in = p.input(0, x), out = p.alloc(x);
  p.transfer(x, split, in, {}, 0);
  p.transfer(split, x, {}, out, 1);
  p.output(out, 0);
  ProgramBuilder q(b.manifest, entry, {1, 2, 3});
  uint32_t here = q.alloc(split);
  uint32_t done = q.alloc(split, q.program.buffers(here).arena_offset());
  q.transfer(x, split, {}, here, 0);
  q.call("test.relu", {here}, done); // in place
  q.transfer(split, x, done, {}, 1);
  auto session = openSession(inOneOrder(b.manifest));
  ASSERT_TRUE(session) << session.status().message();
  std::vector<float> values = counting(14, -5), expected = values;
  for (float &value : expected) {
    value = std::max(value, 0.f);
  }
  for (int run = 0; run < 3; ++run) {
    auto y = (*session)->run("f", listOf(makeTensor({7, 2}, values)));
    ASSERT_TRUE(y) << y.status().message();
    EXPECT_EQ(valuesOf(y->front()), expected);
  }
}

TEST(SessionTest, gridsMayShareRanks) {
  ManifestBuilder b(3);
  uint32_t left = b.grid("left", {2}, {1, 0}),
           right = b.grid("right", {2}, {2, 0});
  TensorRef x = b.tensor(left, {5}, {DimSplit({0})});
  TensorRef y = b.tensor(right, {5}, {DimSplit({0}, {0, 2, 1, 5})});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", x);
  addValue(entry.mutable_outputs(), "y", y);
  // Rank 0 belongs to both grids, so it has a program of its own: buffers of a
  // program lie on grids that have all of its ranks.
  ProgramBuilder both(b.manifest, entry, {0}), from(b.manifest, entry, {1}),
      to(b.manifest, entry, {2});
  uint32_t source = both.input(0, x), result = both.alloc(y);
  both.transfer(x, y, source, result, 0);
  both.output(result, 0);
  from.transfer(x, y, from.input(0, x), {}, 0);
  uint32_t out = to.alloc(y);
  to.transfer(x, y, {}, out, 0);
  to.output(out, 0);
  auto session = openSession(inOneOrder(b.manifest));
  ASSERT_TRUE(session) << session.status().message();
  auto outputs = (*session)->run("f", listOf(makeTensor({5}, counting(5))));
  ASSERT_TRUE(outputs) << outputs.status().message();
  EXPECT_EQ(valuesOf(outputs->front()), counting(5));
}

TEST(SessionTest, updatesAreSeenByTheNextRun) {
  auto session = openSession(stateManifest(), {{}, {7, 8, 9}});
  ASSERT_TRUE(session) << session.status().message();
  EXPECT_TRUE((*session)->globals()[0].isUpdated);
  auto step = [&] {
    auto y = (*session)->run("step", listOf(makeTensor({3}, {1, 2, 3})));
    EXPECT_TRUE(y) << y.status().message();
    return valuesOf(y->front());
  };
  auto read = [&](const char *name) {
    return valuesOf(*(*session)->readGlobal(name));
  };
  EXPECT_THAT(read("m"), ElementsAre(0, 0, 0));
  EXPECT_THAT(step(), ElementsAre(7, 8, 9));
  EXPECT_THAT(read("m"), ElementsAre(1, 2, 3));
  EXPECT_THAT(read("n"), ElementsAre(0, 0, 0));
  EXPECT_THAT(step(), ElementsAre(0, 0, 0));
  EXPECT_THAT(step(), ElementsAre(1, 2, 3));
  EXPECT_THAT(read("m"), ElementsAre(3, 6, 9));
  EXPECT_EQ((*session)->readGlobal("z").status().code(), ExitCode::Usage);
}

TEST(SessionTest, viewsAndWorkspacesWork) {
  ManifestBuilder b(1);
  uint32_t g = b.grid({1});
  TensorRef flat = b.tensor(g, {6}, {{}}),
            square = b.tensor(g, {2, 3}, {{}, {}});
  uint32_t w = b.global("w", "parameter", flat);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", flat);
  addValue(entry.mutable_outputs(), "y", square);
  ProgramBuilder p(b.manifest, entry, {0});
  uint32_t x = p.view(p.input(0, flat), square);
  uint32_t weight = p.view(p.global(w, flat), square);
  uint32_t sum = p.alloc(square);
  p.call("test.add", {x, weight}, sum);
  // A reshape called at its operand's place, and a copy there, do nothing.
  int64_t place = p.program.buffers(sum).arena_offset();
  uint32_t reshaped = p.alloc(square, place), copied = p.alloc(square, place);
  p.call("test.reshape", {sum}, reshaped);
  p.copy(reshaped, copied);
  // One workspace is planned in the arena, the other one is not.
  uint32_t once = p.alloc(square), twice = p.alloc(square);
  pb::Call &planned = p.call("test.scratch", {copied}, once);
  planned.set_workspace_offset(p.program.arena_bytes());
  planned.set_workspace_bytes(256);
  p.program.set_arena_bytes(p.program.arena_bytes() + 256);
  p.call("test.scratch", {once}, twice);
  p.output(twice, 0);
  auto session = openSession(inOneOrder(b.manifest), {counting(6, 10)});
  ASSERT_TRUE(session) << session.status().message();
  auto y = (*session)->run("f", listOf(makeTensor({6}, counting(6))));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_THAT(valuesOf(y->front()), ElementsAre(11, 13, 15, 17, 19, 21));
}

// Of inputs, globals and results; of views; and of what is an output itself.
TEST(SessionTest, viewsOfSomeBytesWork) {
  ManifestBuilder b(1);
  uint32_t g = b.grid({1});
  TensorRef whole = b.tensor(g, {48}, {{}}), part = b.tensor(g, {16}, {{}}),
            two = b.tensor(g, {32}, {{}});
  uint32_t w = b.global("w", "parameter", whole);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", whole);
  for (const char *name : {"sum", "last", "relu"}) {
    addValue(entry.mutable_outputs(), name,
             name == std::string("relu") ? whole : part);
  }
  ProgramBuilder p(b.manifest, entry, {0});
  uint32_t x = p.input(0, whole);
  uint32_t middle = p.view(x, part, 64);
  uint32_t weight = p.view(p.view(p.global(w, whole), two, 64), part, 64);
  uint32_t sum = p.alloc(part), relu = p.alloc(whole);
  p.call("test.add", {middle, weight}, sum);
  p.call("test.relu", {x}, relu);
  p.output(sum, 0);
  p.output(p.view(relu, part, 128), 1);
  p.output(relu, 2);
  auto session = openSession(inOneOrder(b.manifest), {counting(48, 100)});
  ASSERT_TRUE(session) << session.status().message();
  auto y = (*session)->run("f", listOf(makeTensor({48}, counting(48, -20))));
  ASSERT_TRUE(y) << y.status().message();
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(valuesOf((*y)[0])[i], (i - 4) + (i + 132));
    EXPECT_EQ(valuesOf((*y)[1])[i], i + 12);
    EXPECT_EQ(valuesOf((*y)[2])[i], std::max(0, i - 20));
  }
}

TEST(SessionTest, emptyOperandsStillMakeResults) {
  // Three ranks share one row: two sum over nothing, which is 0.
  ManifestBuilder b(3);
  uint32_t g = b.grid({3});
  TensorRef x = b.tensor(g, {1}, {DimSplit({0})});
  TensorRef partial = b.tensor(g, {}, {}, {0}), total = b.tensor(g, {}, {});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", x);
  addValue(entry.mutable_outputs(), "y", total);
  ProgramBuilder p(b.manifest, entry, {0, 1, 2});
  uint32_t in = p.input(0, x), relu = p.alloc(x), part = p.alloc(partial),
           out = p.alloc(total);
  p.call("test.relu", {in}, relu); // skipped where empty
  p.call("test.sum", {relu}, part);
  p.collective("all_reduce", {0}, part, out, 0);
  p.output(out, 0);
  auto session = openSession(inOneOrder(b.manifest));
  ASSERT_TRUE(session) << session.status().message();
  auto y = (*session)->run("f", listOf(makeTensor({1}, {5})));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_THAT(valuesOf(y->front()), ElementsAre(5));
}
