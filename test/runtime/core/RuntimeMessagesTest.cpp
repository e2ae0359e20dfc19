//===- RuntimeMessagesTest.cpp - What the runtime says of wrong programs --===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// VerifyTest damages a manifest in every field; here is what else is said of
// manifests, and what sessions, writers and readers of tensors say.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "divisi/runtime/core/Session.h"
#include "divisi/runtime/tensors/TensorFile.h"
#include "test/runtime/artifact/ManifestBuilder.h"
#include "test/runtime/core/TestBackend.h"

#include <filesystem>
#include <gmock/gmock.h>

using namespace divisi::rt;
using testing::HasSubstr;

static TestBackend testBackend;

/// Two ranks, each in two grids: a relu with workspace and a transfer.
///
///   0 call test.relu(0) -> 1
///   1 transfer 1 -> 2, tag 1
///   2 output 2
static pb::Manifest validManifest() {
  ManifestBuilder b(2);
  uint32_t g = b.grid("g", {2}, {0, 1}), h = b.grid("h", {2}, {1, 0});
  TensorRef here = b.tensor(g, {4}, {DimSplit({0})});
  TensorRef there = b.tensor(h, {4}, {DimSplit({0})});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", here);
  addValue(entry.mutable_outputs(), "y", there);
  ProgramBuilder p(b.manifest, entry, {0, 1});
  uint32_t x = p.input(0, here), r = p.alloc(here), y = p.alloc(there);
  pb::Call &call = p.call("test.relu", {x}, r);
  call.set_workspace_offset(p.program.arena_bytes());
  call.set_workspace_bytes(64);
  p.program.set_arena_bytes(p.program.arena_bytes() + 64);
  p.transfer(here, there, r, y, 1);
  p.output(y, 0);
  return inOneOrder(b.manifest);
}

static SessionOptions testOptions() {
  SessionOptions options;
  options.backends = {&testBackend};
  return options;
}

/// The session of an artifact without globals.
static auto openSession(const pb::Manifest &manifest,
                        const SessionOptions &options = testOptions()) {
  std::string path = temporaryFile("messages.divisi");
  auto written = writeArtifact(path, manifest, {});
  EXPECT_TRUE(written) << written.status().message();
  auto session = Session::open(path, options);
  std::filesystem::remove(path);
  return session;
}

static pb::Program &program(pb::Manifest &manifest) {
  return *manifest.mutable_entries(0)->mutable_programs(0);
}

/// What is said of the manifest after `damage`.
template <typename Damage> static std::string refusal(Damage damage) {
  pb::Manifest manifest = validManifest();
  damage(manifest);
  auto session = openSession(manifest);
  return session ? "none" : session.status().message();
}

TEST(RuntimeMessages, TheUndamagedManifestRuns) {
  auto session = openSession(validManifest());
  ASSERT_TRUE(session) << session.status().message();
  auto y = (*session)->run("f", listOf(makeTensor({4}, {-1, 2, -3, 4})));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_EQ(valuesOf(y->front()), (std::vector<float>{0, 2, 0, 4}));
}

TEST(RuntimeMessages, OfRanksAndGrids) {
  EXPECT_THAT(refusal([](pb::Manifest &m) { m.set_num_ranks(0); }),
              HasSubstr("got 0 ranks, expected 1 to "));
  EXPECT_THAT(refusal([](pb::Manifest &m) {
                *m.mutable_grids(0)->add_axes() = m.grids(0).axes(0);
              }),
              HasSubstr("it has more positions than the 2 ranks"));
  EXPECT_THAT(refusal([](pb::Manifest &m) { m.set_num_ranks(513); }),
              HasSubstr("the session is for 513 ranks; one process runs at "
                        "most 512"));
  EXPECT_THAT(refusal([](pb::Manifest &m) { program(m).set_arena_bytes(-64); }),
              HasSubstr("it has an arena of -64 bytes and 2 ranks"));
  EXPECT_THAT(refusal([](pb::Manifest &m) {
                program(m).set_arena_bytes(int64_t(1) << 60);
              }),
              HasSubstr("the arena of rank 0: no memory for "
                        "1152921504606846976 bytes"));
}

TEST(RuntimeMessages, OfBuffers) {
  EXPECT_THAT(refusal([](pb::Manifest &m) {
                program(m).mutable_buffers(1)->set_arena_offset(32);
              }),
              HasSubstr("; expected a multiple of 64 and inside of it"));
  EXPECT_THAT(refusal([](pb::Manifest &m) {
                program(m).mutable_buffers(2)->set_view(1);
              }),
              HasSubstr("a view on another grid"));
  EXPECT_THAT(
      refusal([](pb::Manifest &m) {
        pb::Tensor &tensor = ownTensor(m, *program(m).mutable_buffers(1));
        tensor.mutable_layout()->mutable_dims(0)->mutable_bounds()->Truncate(2);
      }),
      HasSubstr("got 2 bounds for 2 shards, expected two each"));
}

TEST(RuntimeMessages, OfInstructions) {
  auto call = [](pb::Manifest &m) -> pb::Call & {
    return *program(m).mutable_instructions(0)->mutable_call();
  };
  EXPECT_THAT(
      refusal([&](pb::Manifest &m) { ownOperator(m, call(m)).set_version(7); }),
      HasSubstr("version 7 of kernel 'test.relu' is called, there is "
                "1; compile the model again"));
  EXPECT_THAT(
      refusal([&](pb::Manifest &m) { call(m).set_workspace_offset(32); }),
      HasSubstr("its workspace is at bytes 32 + 64 of an arena of "));
  EXPECT_THAT(refusal([&](pb::Manifest &m) {
                ownOperator(m, call(m)).add_attributes()->set_name("k");
              }),
              HasSubstr("attribute 'k' has no value"));
  EXPECT_THAT(refusal([](pb::Manifest &m) {
                program(m).mutable_buffers(2)->set_arena_offset(
                    program(m).buffers(1).arena_offset());
              }),
              HasSubstr("the result of the transfer overlaps its source"));
  pb::Manifest manifest = validManifest();
  call(manifest).set_op(operatorNumber(manifest, "test.refused"));
  SessionOptions options = testOptions();
  options.backends.push_back(&referenceBackend());
  EXPECT_THAT(openSession(manifest, options).status().message(),
              HasSubstr("no backend can do 'test.refused'; backend 'test': it "
                        "never can; backend 'reference' has no kernel for it"));
}

TEST(RuntimeMessages, OfRuns) {
  SessionOptions none;
  EXPECT_EQ(openSession(validManifest(), none).status().message(),
            "no backend was chosen");
  auto session = openSession(validManifest());
  ASSERT_TRUE(session) << session.status().message();
  EXPECT_EQ((*session)->run("g", {}).status().message(),
            "the artifact has no entry 'g'");
  EXPECT_EQ((*session)->readGlobal("w").status().message(),
            "the artifact has no global 'w'");
  EXPECT_EQ((*session)->writeTrace(temporaryFile("trace")).message(),
            "the session was opened without recording a trace");
  TestBackend::fails = true;
  auto y = (*session)->run("f", listOf(makeTensor({4}, {1, 2, 3, 4})));
  TestBackend::fails = false;
  EXPECT_THAT(y.status().message(),
              HasSubstr("rank 0: the kernel failed; no result of this run is "
                        "valid"));
}

TEST(RuntimeMessages, OfSums) {
  auto communicator = makeInprocCommunicator(std::chrono::seconds(5));
  StepDesc step;
  step.location = "test";
  step.reduce = ReduceKind::Sum;
  step.parties = {{0, Box::whole({2}), Box::whole({2})},
                  {1, Box::whole({3}), Box::whole({3})}};
  EXPECT_EQ(communicator->prepare(step, 0).status().message(),
            "test: the ranks of a group hold different boxes of the value that "
            "they combine");
  step.parties = {{0, Box::whole({2}), Box::whole({3})},
                  {1, Box::whole({2}), Box::whole({2})}};
  EXPECT_EQ(communicator->prepare(step, 0).status().message(),
            "test: rank 0 wants elements outside of what its group holds");
}

TEST(RuntimeMessages, OfWriters) {
  std::string path = temporaryFile("messages.npz");
  HostTensor tensor = makeTensor({1}, {1});
  const HostTensor *tensors[] = {&tensor};
  EXPECT_THAT(writeNpz(path, tensors).message(),
              HasSubstr("a tensor without a name cannot stand in an .npz"));
  tensor.setName(std::string(70000, 'x'));
  EXPECT_THAT(writeNpz(path, tensors).message(),
              HasSubstr("a tensor's name has 70004 bytes; an archive holds at "
                        "most 65535"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RuntimeMessages, OfGlobalsThatAreWritten) {
  ManifestBuilder b(1);
  uint32_t g = b.grid({1});
  b.global("w", "parameter", b.tensor(g, {2}, {{}}));
  std::string path = temporaryFile("messages.divisi");
  EXPECT_EQ(writeArtifact(path, b.manifest, {}).status().message(),
            "got data of 0 globals, expected 1");
  float one = 1;
  GlobalData data{std::as_bytes(std::span<const float>(&one, 1)), {}, 0};
  EXPECT_EQ(writeArtifact(path, b.manifest, {&data, 1}).status().message(),
            "global 'w' has 4 bytes, which does not fit its type");
}
