//===- DeviceStateTest.cpp - Tests of globals updated on devices ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/training/StateCopy.h"
#include "divisi/runtime/verify/Verify.h"
#include "test/runtime/core/TestSession.h"
#include "test/runtime/device/TestDevice.h"

#include <filesystem>
#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Two globals that rest on the devices of 2 ranks: one entry updates them,
/// another reads one of them.
class DeviceStateTest : public testing::Test {
protected:
  DeviceStateTest() {
    options_.backends.push_back(&onDevice_);
    options_.device = [this](uint32_t, std::string_view space) {
      return Expected<std::shared_ptr<Device>>(
          space == TestDevice::name ? device_ : nullptr);
    };
  }
  ~DeviceStateTest() override { TestBackend::extent = 1e30f; }

  static pb::Manifest manifest();
  std::unique_ptr<Session> open() {
    auto session = openSession(manifest(), {{5, 5, 5, 5}, {}}, options_);
    EXPECT_TRUE(session) << session.status().message();
    return session ? std::move(*session) : nullptr;
  }
  static Expected<std::vector<HostTensor>> step(Session &session,
                                                std::vector<float> x) {
    return session.run("f", listOf(makeTensor({4}, x)));
  }
  static void expectStates(Session &session, const std::vector<float> &m,
                           const std::vector<float> &n) {
    EXPECT_EQ(valuesOf(*session.readGlobal("m")), m);
    EXPECT_EQ(valuesOf(*session.readGlobal("n")), n);
    auto read = session.run("g", std::span<const HostTensor>());
    ASSERT_TRUE(read) << read.status().message();
    EXPECT_EQ(valuesOf(read->front()), m);
  }

  std::shared_ptr<TestDevice> device_ = std::make_shared<TestDevice>();
  TestDeviceBackend onDevice_;
  SessionOptions options_ = testOptions();
};

} // namespace

/// f: m = relu(x + m), n = x + m, and y is what m becomes; by instructions:
///
///   0 copy x -> dx           copy
///   1 add dx, m -> sum       compute, device   after 0
///   2 commit                 compute
///   3 relu sum -> new m      compute, device
///   4 copy sum -> new n      compute, device
///   5 copy new m -> y        copy              after 4
///   6 output y               compute           after 5
///
/// g: y is m.
pb::Manifest DeviceStateTest::manifest() {
  ManifestBuilder b(2);
  b.manifest.add_spaces(std::string(TestDevice::name));
  TensorRef t = b.tensor(b.grid({2}), {4}, {DimSplit({0})});
  uint32_t m = b.global("m", "state", t), n = b.global("n", "state", t);
  auto addEntry = [&](const char *name) -> pb::Entry & {
    pb::Entry &entry = *b.manifest.add_entries();
    entry.set_name(name);
    addValue(entry.mutable_outputs(), "y", t);
    return entry;
  };
  pb::Entry &f = addEntry("f");
  addValue(f.mutable_inputs(), "x", t);
  ProgramBuilder p(b.manifest, f, {0, 1});
  uint32_t x = p.input(0, t), y = p.alloc(t, 0);
  uint32_t dx = p.alloc(t, 0), sum = p.alloc(t, 64);
  uint32_t oldM = p.global(m, t), newM = p.newGlobal(m, t),
           newN = p.newGlobal(n, t);
  p.copy(x, dx);
  p.call("test.add", {dx, oldM}, sum);
  p.commit();
  p.call("test.relu", {sum}, newM);
  p.copy(sum, newN);
  p.copy(newM, y);
  p.output(y, 0);
  ProgramBuilder q(b.manifest, addEntry("g"), {0, 1});
  uint32_t read = q.global(m, t), z = q.alloc(t, 0);
  q.copy(read, z);
  q.output(z, 0);
  pb::Manifest manifest = inOneOrder(b.manifest);
  auto &stepped = *manifest.mutable_entries(0)->mutable_programs(0);
  auto &peeked = *manifest.mutable_entries(1)->mutable_programs(0);
  stepped.add_device_arena_bytes(128);
  for (uint32_t buffer : {dx, sum, oldM, newM, newN}) {
    stepped.mutable_buffers(int(buffer))->set_space(1);
  }
  peeked.mutable_buffers(int(read))->set_space(1);
  for (int call : {1, 3}) {
    stepped.mutable_instructions(call)->mutable_call()->set_space(1);
  }
  stepped.mutable_instructions(0)->set_queue(1);
  stepped.mutable_instructions(5)->set_queue(1);
  stepped.mutable_instructions(1)->add_after(0);
  stepped.mutable_instructions(5)->add_after(4);
  stepped.mutable_instructions(6)->add_after(5);
  peeked.mutable_instructions(0)->set_queue(1);
  peeked.mutable_instructions(1)->add_after(0);
  return manifest;
}

TEST_F(DeviceStateTest, stepsUpdateThemThere) {
  auto session = open();
  ASSERT_TRUE(session);
  expectStates(*session, {5, 5, 5, 5}, {0, 0, 0, 0});
  for (float sum : {6, 7, 8}) {
    auto y = step(*session, {1, 1, 1, -1 - sum});
    ASSERT_TRUE(y) << y.status().message();
    EXPECT_THAT(valuesOf(y->front()), ElementsAre(sum, sum, sum, 0));
    float last = sum == 6 ? -2 : -1 - sum;
    expectStates(*session, {sum, sum, sum, 0}, {sum, sum, sum, last});
  }
  EXPECT_EQ(session->stateBytes("f"),
            std::vector<StateBytes>(2, StateBytes{8, 8}));
  // An input and an output, of two elements each.
  EXPECT_THAT(session->spaceCopies("f"),
              ElementsAre(SpaceCopies{2, 16}, SpaceCopies{2, 16}));
}

TEST_F(DeviceStateTest, theyAreInTheMemoryOfDevicesAlone) {
  auto session = open();
  ASSERT_TRUE(session);
  for (const RankMemory &rank : session->memory()) {
    EXPECT_EQ(rank.weights, 0);
    EXPECT_EQ(rank.device, 128 + 2 * 8);
  }
  auto predicted = session->predictedMemory();
  ASSERT_TRUE(predicted) << predicted.status().message();
  EXPECT_EQ(session->memory(), *predicted);
}

TEST_F(DeviceStateTest, theyAreReadAndLoaded) {
  auto session = open();
  ASSERT_TRUE(session);
  ASSERT_TRUE(step(*session, {1, 2, 3, 4}));
  StateCopy copy(*session);
  ASSERT_TRUE(copy.take().isOk());
  ASSERT_TRUE(step(*session, {1, 1, 1, 1}));
  expectStates(*session, {7, 8, 9, 10}, {7, 8, 9, 10});
  ASSERT_TRUE(copy.restore().isOk());
  expectStates(*session, {6, 7, 8, 9}, {6, 7, 8, 9});
  ASSERT_TRUE(session->reloadState().isOk());
  expectStates(*session, {5, 5, 5, 5}, {0, 0, 0, 0});
  EXPECT_TRUE(device_->isPoisoned()); // the host has written nothing there
}

TEST_F(DeviceStateTest, sessionsHaveTheirOwn) {
  device_->sharesAs = device_.get();
  std::string path = temporaryFile("states.divisi");
  std::vector<float> m(4, 5);
  std::vector<GlobalData> data = {
      {std::as_bytes(std::span<const float>(m)), {}, 0}, {}};
  auto written = writeArtifact(path, manifest(), data);
  ASSERT_TRUE(written) << written.status().message();
  auto artifact = LoadedArtifact::open(path, options_);
  ASSERT_TRUE(artifact) << artifact.status().message();
  auto first = Session::open(*artifact, options_);
  auto second = Session::open(*artifact, options_);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(step(**first, {1, 1, 1, 1}));
  expectStates(**first, {6, 6, 6, 6}, {6, 6, 6, 6});
  expectStates(**second, {5, 5, 5, 5}, {0, 0, 0, 0});
  std::filesystem::remove(path);
}

TEST_F(DeviceStateTest, whatFailsBeforeTheCommitChangesNothing) {
  auto session = open();
  ASSERT_TRUE(session);
  for (int i = 0; i < 4; ++i) { // of rank 0, and of rank 1
    std::vector<float> x = {1, 1, 1, 1};
    x[i] = 3;
    TestBackend::extent = 3;
    auto y = step(*session, x);
    TestBackend::extent = 1e30f;
    EXPECT_EQ(y.status().code(), ExitCode::Invalid);
    EXPECT_THAT(y.status().message(), HasSubstr("index 3 at ["));
    expectStates(*session, {5, 5, 5, 5}, {0, 0, 0, 0});
  }
  device_->isLost = true; // nobody gets to the commit
  auto y = step(*session, {1, 1, 1, 1});
  device_->isLost = false;
  EXPECT_EQ(y.status().code(), ExitCode::Device);
  expectStates(*session, {5, 5, 5, 5}, {0, 0, 0, 0});
  ASSERT_TRUE(step(*session, {1, 1, 1, 1}));
  expectStates(*session, {6, 6, 6, 6}, {6, 6, 6, 6});
}

TEST_F(DeviceStateTest, whatFailsBehindTheCommitLosesThem) {
  auto session = open();
  ASSERT_TRUE(session);
  // Sums are 6, 6, 6 and 9: only the second kernel meets one of 7 or more.
  TestBackend::extent = 7;
  auto y = step(*session, {1, 1, 1, 4});
  TestBackend::extent = 1e30f;
  EXPECT_EQ(y.status().code(), ExitCode::Invalid);
  const char *lost = "the state of the session is lost: an earlier run failed "
                     "after its commit; load the state again";
  EXPECT_EQ(step(*session, {1, 1, 1, 1}).status().message(), lost);
  EXPECT_EQ(session->readGlobal("m").status().message(), lost);
  ASSERT_TRUE(session->reloadState().isOk());
  expectStates(*session, {5, 5, 5, 5}, {0, 0, 0, 0});
  ASSERT_TRUE(step(*session, {1, 1, 1, 1}));
  expectStates(*session, {6, 6, 6, 6}, {6, 6, 6, 6});
}

TEST_F(DeviceStateTest, aLostDeviceIsToldOfByWhoReads) {
  auto session = open();
  ASSERT_TRUE(session);
  device_->isLost = true;
  EXPECT_EQ(session->readGlobal("m").status().message(),
            "global 'm': the device is lost");
  EXPECT_EQ(session->reloadState().message(), "the device is lost");
  device_->isLost = false;
  // Nobody knows how far it got.
  EXPECT_THAT(session->readGlobal("m").status().message(),
              HasSubstr("the state of the session is lost"));
  ASSERT_TRUE(session->reloadState().isOk());
  expectStates(*session, {5, 5, 5, 5}, {0, 0, 0, 0});
}

TEST_F(DeviceStateTest, allEntriesFindThemInOneMemory) {
  TestBackend host;
  const Backend *backends[] = {&host, &onDevice_};
  pb::Manifest changed = manifest();
  changed.mutable_globals(0)->set_bytes(16);
  EXPECT_TRUE(verifyManifest(changed, backends).isOk());
  auto &peeked = *changed.mutable_entries(1)->mutable_programs(0);
  peeked.mutable_buffers(0)->set_space(0);
  EXPECT_THAT(verifyManifest(changed, backends).message(),
              HasSubstr("entry 'g' has global 'm', which is updated, in memory "
                        "space 'host', expected 'test', where it lies"));
}

// As only a damaged artifact has it: nobody writes what could be written, and
// one rank has no program at all.
TEST_F(DeviceStateTest, aRankWithoutProgramsHasItsPart) {
  ManifestBuilder b(2);
  b.manifest.add_spaces(std::string(TestDevice::name));
  TensorRef t = b.tensor(b.grid({2}), {4}, {DimSplit({0})});
  uint32_t m = b.global("m", "state", t);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  ProgramBuilder p(b.manifest, entry, {0});
  uint32_t fresh = p.newGlobal(m, t);
  p.program.mutable_buffers(int(fresh))->set_space(1);
  auto session = openSession(b.manifest, {{1, 2, 3, 4}}, options_);
  ASSERT_TRUE(session) << session.status().message();
  EXPECT_THAT(valuesOf(*(*session)->readGlobal("m")), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE((*session)->reloadState().isOk());
  EXPECT_EQ((*session)->memory(), *(*session)->predictedMemory());
}
