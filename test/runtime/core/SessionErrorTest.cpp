//===- SessionErrorTest.cpp - Runs that fail, and options -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/core/TestSession.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

/// Axis a of 2: the first rank computes slowly, then all gather.
static pb::Manifest slowManifest() {
  ManifestBuilder b(2);
  uint32_t g = b.grid({2});
  TensorRef part = b.tensor(g, {4}, {DimSplit({0})}),
            whole = b.tensor(g, {4}, {{}});
  uint32_t m = b.global("m", "state", whole);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", part);
  addValue(entry.mutable_outputs(), "y", whole);
  ProgramBuilder p(b.manifest, entry, {0, 1});
  uint32_t x = p.input(0, part), slow = p.alloc(part), y = p.alloc(whole);
  p.call("test.slow", {x}, slow);
  p.collective("all_gather", {0}, slow, y, 5);
  uint32_t newM = p.newGlobal(m, whole);
  p.commit();
  p.copy(y, newM);
  p.output(y, 0);
  return inOneOrder(b.manifest);
}

TEST(SessionTest, aRankThatDoesNotComeEndsTheRunButNotTheSession) {
  SessionOptions options = testOptions();
  options.timeout = std::chrono::milliseconds(50);
  options.lateness = std::chrono::minutes(5);
  auto session = openSession(slowManifest(), {{}}, options);
  ASSERT_TRUE(session) << session.status().message();
  TestBackend::gate.close();
  std::thread opener([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    TestBackend::gate.open();
  });
  auto y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  opener.join();
  ASSERT_FALSE(y);
  EXPECT_EQ(y.status().code(), ExitCode::Device);
  EXPECT_THAT(y.status().message(),
              HasSubstr("rank 1 waited 50 ms in all_gather of 'move' (tag 5) "
                        "for rank 0"));
  EXPECT_THAT(valuesOf(*(*session)->readGlobal("m")), ElementsAre(0, 0, 0, 0));
  y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_EQ(valuesOf(y->front()), counting(4));
  EXPECT_EQ(valuesOf(*(*session)->readGlobal("m")), counting(4));
}

// The time-outs are long apart, so that which of them ends the run is certain.
TEST(SessionTest, aKernelThatNeverReturnsEndsTheSession) {
  SessionOptions options = testOptions();
  options.timeout = std::chrono::milliseconds(100);
  options.trace = true;
  auto session = openSession(slowManifest(), {{}}, options);
  ASSERT_TRUE(session) << session.status().message();
  TestBackend::gate.close();
  auto begin = std::chrono::steady_clock::now();
  auto y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << "given up after " << took.count() << " s of 1.1\n";
  ASSERT_FALSE(y);
  EXPECT_EQ(y.status().code(), ExitCode::Device);
  EXPECT_THAT(y.status().message(),
              HasSubstr("program 0, instruction 0 (node of test.slow), rank 0: "
                        "the kernel has not returned for 100 ms and is given "
                        "up with the session"));
  const char *dead = "the session is dead: a kernel of an earlier run has not "
                     "returned; open the artifact again";
  y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  EXPECT_EQ(y.status().message(), dead);
  EXPECT_EQ((*session)->readGlobal("m").status().message(), dead);
  EXPECT_EQ((*session)->reloadState().message(), dead);
  EXPECT_EQ((*session)->writeTrace(temporaryFile("dead")).message(), dead);
  // The kernel goes on in the memory of the session that is gone, and returns.
  session = makeError(ExitCode::Usage, "closed");
  TestBackend::gate.open();
}

// Nobody waits for the only rank but run() itself.
TEST(SessionTest, aKernelOfOneRankIsGivenUpToo) {
  pb::Manifest manifest = matmulManifest(1, MatmulSplit::M);
  pb::Program &program = *manifest.mutable_entries(0)->mutable_programs(0);
  pb::Call &call = *program.mutable_instructions(0)->mutable_call();
  call.set_op(operatorNumber(manifest, "test.slow"));
  SessionOptions options = testOptions();
  options.timeout = options.lateness = std::chrono::milliseconds(50);
  options.loneRankHasThread = true;
  auto session = openSession(manifest, {counting(30)}, options);
  ASSERT_TRUE(session) << session.status().message();
  TestBackend::gate.close();
  auto y = (*session)->run("forward", listOf(makeTensor({4, 6}, counting(24))));
  session = makeError(ExitCode::Usage, "closed");
  TestBackend::gate.open();
  EXPECT_EQ(y.status().code(), ExitCode::Device);
}

TEST(SessionTest, aKernelThatFailsEndsTheRunButNotTheSession) {
  auto session = openSession(slowManifest(), {{}}, testOptions());
  ASSERT_TRUE(session) << session.status().message();
  TestBackend::fails = true;
  auto y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  TestBackend::fails = false;
  ASSERT_FALSE(y);
  EXPECT_EQ(y.status().code(), ExitCode::Device);
  EXPECT_THAT(y.status().message(),
              HasSubstr("rank 0: the kernel failed; no result of this run "
                        "is valid"));
  EXPECT_THAT(valuesOf(*(*session)->readGlobal("m")), ElementsAre(0, 0, 0, 0));
  y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_EQ(valuesOf(y->front()), counting(4));
}

// Rank 1 is long done when rank 0 finds the index that comes first.
TEST(SessionTest, theFirstBadIndexOfAllRanksEndsTheRunAndUpdatesNothing) {
  auto session = openSession(slowManifest(), {{}}, testOptions());
  ASSERT_TRUE(session) << session.status().message();
  TestBackend::extent = 5;
  TestBackend::gate.close();
  std::thread opener([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    TestBackend::gate.open();
  });
  auto y = (*session)->run("f", listOf(makeTensor({4}, {0, 6, 7, 8})));
  opener.join();
  ASSERT_FALSE(y);
  EXPECT_EQ(y.status().code(), ExitCode::Invalid);
  EXPECT_EQ(y.status().message(),
            "entry 'f': node 'node of test.slow' (test.slow): index 6 at [1] "
            "is outside of an extent of 5; expected -5 to 4");
  EXPECT_THAT(valuesOf(*(*session)->readGlobal("m")), ElementsAre(0, 0, 0, 0));
  y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  EXPECT_TRUE(y) << y.status().message();
  TestBackend::extent = 1e30f;
}

/// The product's code, message and values once the artifact of `content` runs.
static Expected<std::vector<HostTensor>>
runContent(const std::string &content) {
  std::string path = temporaryFile("damaged.divisi");
  std::ofstream(path, std::ios::binary) << content;
  auto session = Session::open(path, testOptions());
  std::filesystem::remove(path);
  if (!session) {
    return session.status();
  }
  return (*session)->run("forward", listOf(makeTensor({4, 6}, counting(24))));
}

// The parameter is split over rows, over columns (and copied), or not at all.
TEST(SessionTest, noDamagedByteGoesUnseenThatARankReads) {
  size_t unseen = 0;
  for (auto split : {MatmulSplit::M, MatmulSplit::N, MatmulSplit::K}) {
    std::vector<float> weights = counting(30);
    GlobalData data{std::as_bytes(std::span<const float>(weights)), {}, 0};
    std::string path = temporaryFile("whole.divisi");
    ASSERT_TRUE(writeArtifact(path, matmulManifest(2, split), {&data, 1}));
    std::stringstream whole;
    whole << std::ifstream(path, std::ios::binary).rdbuf();
    std::filesystem::remove(path);
    std::string good = whole.str();
    uint32_t manifestBytes;
    std::memcpy(&manifestBytes, good.data() + 12, 4);
    for (size_t i = 0; i < good.size(); i += i < 4000 ? 7 : 1) {
      bool isPadding = i >= 144 + manifestBytes && i < 4096;
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
      auto y = runContent(bad);
      unseen += bool(y);
      EXPECT_EQ(bool(y), isPadding) << i << ": " << y.status().message();
      if (i >= 4096) {
        EXPECT_THAT(y.status().message(),
                    HasSubstr("damaged artifact: global 'w' does not have the "
                              "checksum of its bytes from 0 on"));
      }
    }
  }
  EXPECT_GT(unseen, 0u); // padding is not looked at
}

TEST(SessionTest, inputsThatDoNotFitAreRefused) {
  auto session = openSession(matmulManifest(2, MatmulSplit::M), {counting(30)});
  ASSERT_TRUE(session) << session.status().message();
  Session &s = **session;
  auto message = [&](std::vector<HostTensor> inputs) {
    auto outputs = s.run("forward", inputs);
    EXPECT_EQ(outputs.status().code(), ExitCode::Invalid);
    return outputs.status().message();
  };
  EXPECT_EQ(message({}), "got 0 inputs for entry 'forward', expected 1: 'x'");
  EXPECT_EQ(message(listOf(makeTensor({6, 4}, counting(24)))),
            "input 'x': got f32[6, 4], expected f32[4, 6]");
  EXPECT_EQ(message(listOf(std::move(*HostTensor::zeros(DType::F64, {4, 6})))),
            "input 'x': got f64[4, 6], expected f32[4, 6]; convert it, for "
            "example with NumPy's astype");
  EXPECT_EQ(s.run("backward", {}).status().code(), ExitCode::Usage);
}

TEST(SessionTest, aCallThatNoBackendTakesIsNamed) {
  pb::Manifest manifest = matmulManifest(1, MatmulSplit::M);
  manifest.mutable_entries(0)
      ->mutable_programs(0)
      ->mutable_instructions(0)
      ->mutable_call()
      ->set_op(operatorNumber(manifest, "test.refused"));
  auto session = openSession(manifest, {counting(30)});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.status().code(), ExitCode::Unsupported);
  EXPECT_THAT(session.status().message(),
              HasSubstr("entry 'forward', program 0, instruction 0 (node of "
                        "test.matmul), rank 0: no backend can do "
                        "'test.refused'; backend 'test': it never can"));
}

TEST(SessionTest, writingOverAnOperandNeedsTheKernelsLeave) {
  pb::Manifest manifest = stateManifest();
  pb::Program &program = *manifest.mutable_entries(0)->mutable_programs(0);
  // sum = x + m; twice = sum + sum at the place of sum, buffer 5.
  *program.add_buffers() = program.buffers(5);
  pb::Instruction twice = program.instructions(0);
  twice.mutable_call()->set_operands(0, 5);
  twice.mutable_call()->set_operands(1, 5);
  twice.mutable_call()->set_results(0, 6);
  pb::Instruction first = program.instructions(0);
  program.clear_instructions();
  *program.add_instructions() = first;
  *program.add_instructions() = twice;
  program.add_instructions()->mutable_output()->set_source(6);
  sayInPlace(program);
  auto session = openSession(manifest, {{}, {0, 0, 0}});
  ASSERT_FALSE(session);
  EXPECT_THAT(session.status().message(),
              HasSubstr("cannot write a result over its operand"));
}

TEST(SessionTest, backendsAreChosenByName) {
  std::vector<const Backend *> available = testOptions().backends;
  auto chosen = selectBackends("test,test", available);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->size(), 2u);
  auto unknown = selectBackends("test,cuda", available);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.status().message(),
            "no backend is named 'cuda'; there are: test");
}

TEST(SessionTest, aTraceNamesEveryInstruction) {
  SessionOptions options = testOptions();
  options.trace = true;
  auto session =
      openSession(matmulManifest(2, MatmulSplit::K), {counting(30)}, options);
  ASSERT_TRUE(session) << session.status().message();
  ASSERT_TRUE(
      (*session)->run("forward", listOf(makeTensor({4, 6}, counting(24)))));
  std::string path = temporaryFile("trace.json");
  ASSERT_TRUE((*session)->writeTrace(path).isOk());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  for (const char *part : {"\"name\": \"rank 1\"", "\"node of test.matmul\"",
                           "\"cat\": \"all_reduce\"", "\"cat\": \"output\"",
                           "\"args\": {\"instruction\": 2}"}) {
    EXPECT_THAT(text.str(), HasSubstr(part));
  }
}

TEST(SessionTest, anArtifactIsTheOneThatWasAgreedOn) {
  SessionOptions options = testOptions();
  options.artifactHash = std::string(64, '0');
  Status status = openSession(slowManifest(), {{}}, options).status();
  EXPECT_EQ(status.code(), ExitCode::Invalid);
  EXPECT_THAT(status.message(), HasSubstr("was replaced while processes agreed "
                                          "on it; run again"));
}
