//===- DeviceTest.cpp - Tests of programs on devices ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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

/// Programs whose kernels are partly on a device, run by 2 ranks.
class DeviceTest : public testing::Test {
protected:
  DeviceTest() {
    options_.backends.push_back(&onDevice_);
    options_.device = [this](uint32_t, std::string_view space) {
      return Expected<std::shared_ptr<Device>>(
          space == TestDevice::name ? device_ : nullptr);
    };
  }

  /// relu(x) * w on the host or the device, and sum of the parts on the host.
  static pb::Manifest manifest(bool usesDevice);
  Expected<std::unique_ptr<Session>> open(const pb::Manifest &manifest) {
    return openSession(manifest, {weights_}, options_);
  }
  static Status verify(pb::Manifest manifest) {
    manifest.mutable_globals(0)->set_bytes(6 * 5 * 4);
    TestDeviceBackend onDevice;
    TestBackend host;
    const Backend *backends[] = {&host, &onDevice};
    return verifyManifest(manifest, backends);
  }

  std::shared_ptr<TestDevice> device_ = std::make_shared<TestDevice>();
  TestDeviceBackend onDevice_;
  SessionOptions options_ = testOptions();
  std::vector<float> weights_ = counting(30, -7);
};

/// Lets instructions come after others.
void after(pb::Program &program, int index, const Axes &others) {
  program.mutable_instructions(index)->mutable_after()->Assign(others.begin(),
                                                               others.end());
}

} // namespace

/// On the device, by instructions:
///
///   0 copy x -> dx      copy
///   1 relu dx -> dx     compute, device   after 0
///   2 scratch dx -> dr  compute, device
///   3 matmul dr, w -> dy      compute, device
///   4 copy dy -> y      copy              after 3
///   5 all_reduce y -> z communicator      after 4
///   6 relu z -> out     compute           after 5
///   7 output out        compute
pb::Manifest DeviceTest::manifest(bool usesDevice) {
  ManifestBuilder b(2);
  if (usesDevice) {
    b.manifest.add_spaces(std::string(TestDevice::name));
  }
  uint32_t g = b.grid({2});
  TensorRef xs = b.tensor(g, {4, 6}, {{}, DimSplit({0})});
  TensorRef ws = b.tensor(g, {6, 5}, {DimSplit({0}), {}});
  TensorRef partial = b.tensor(g, {4, 5}, {{}, {}}, {0});
  TensorRef whole = b.tensor(g, {4, 5}, {{}, {}});
  uint32_t w = b.global("w", "parameter", ws);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", xs);
  addValue(entry.mutable_outputs(), "y", whole);
  ProgramBuilder p(b.manifest, entry, {0, 1});
  uint32_t x = p.input(0, xs), weight = p.global(w, ws);
  uint32_t y = p.alloc(partial), z = p.alloc(whole), out = p.alloc(whole);
  auto local = [&](const TensorRef &tensor, int64_t at) {
    uint32_t buffer = p.alloc(tensor, at);
    if (usesDevice) {
      p.program.mutable_buffers(int(buffer))->set_space(1);
    }
    return buffer;
  };
  // Places of the device's arena; those of the host's lie behind the others.
  int64_t base = usesDevice ? 0 : p.program.arena_bytes();
  uint32_t dx = local(xs, base), reluX = local(xs, base);
  uint32_t dr = local(xs, base + 128), dy = local(partial, base + 256);
  p.program.set_arena_bytes(1024);
  p.copy(x, dx);
  p.call("test.relu", {dx}, reluX);
  pb::Call &scratch = p.call("test.scratch", {reluX}, dr);
  scratch.set_workspace_offset(base + 384);
  scratch.set_workspace_bytes(256);
  p.call("test.matmul", {dr, weight}, dy);
  p.copy(dy, y);
  p.collective("all_reduce", {0}, y, z, 1);
  p.call("test.relu", {z}, out);
  p.output(out, 0);
  pb::Manifest manifest = inOneOrder(b.manifest);
  if (!usesDevice) {
    return manifest;
  }
  pb::Program &program = *manifest.mutable_entries(0)->mutable_programs(0);
  program.add_device_arena_bytes(640);
  program.mutable_buffers(int(weight))->set_space(1); // a copy of it
  for (int call : {1, 2, 3}) {
    program.mutable_instructions(call)->mutable_call()->set_space(1);
  }
  for (int copy : {0, 4}) {
    program.mutable_instructions(copy)->set_queue(1);
  }
  after(program, 1, {0});
  after(program, 4, {3});
  after(program, 5, {4});
  return manifest;
}

TEST_F(DeviceTest, givesTheBitsOfTheHost) {
  device_->copyDelay = std::chrono::milliseconds(2);
  auto host = open(manifest(false)), mixed = open(manifest(true));
  ASSERT_TRUE(host) << host.status().message();
  ASSERT_TRUE(mixed) << mixed.status().message();
  for (int run = 0; run < 3; ++run) {
    std::vector<HostTensor> x = listOf(makeTensor({4, 6}, counting(24, -9)));
    auto expected = (*host)->run("f", x), got = (*mixed)->run("f", x);
    ASSERT_TRUE(expected) << expected.status().message();
    ASSERT_TRUE(got) << got.status().message();
    EXPECT_EQ(valuesOf(got->front()), valuesOf(expected->front()));
  }
  EXPECT_TRUE(device_->isPoisoned());
  // A kernel waits for its copy, and a copy for its kernel, on the device.
  EXPECT_EQ(device_->numWaits, 3 * 2 * 2);
  // Each rank's arena of the host is reached by its copies, as two pieces are
  // for those of globals.
  EXPECT_EQ(device_->numPinned, 2 * (1 + 2));
}

TEST_F(DeviceTest, tellsWhatIsCopiedAndHeld) {
  auto host = open(manifest(false)), mixed = open(manifest(true));
  ASSERT_TRUE(host && mixed);
  EXPECT_THAT((*host)->spaceCopies("f"),
              ElementsAre(SpaceCopies(), SpaceCopies()));
  SpaceCopies copies{2, (4 * 3 + 4 * 5) * 4};
  EXPECT_THAT((*mixed)->spaceCopies("f"), ElementsAre(copies, copies));
  for (const auto &session : {&host, &mixed}) {
    auto predicted = (**session)->predictedMemory();
    ASSERT_TRUE(predicted);
    EXPECT_EQ((**session)->memory(), *predicted);
  }
  // The arena, with its workspace, and a rank's rows of w.
  EXPECT_EQ((*mixed)->memory()[0].device, 640 + 15 * 4);
  EXPECT_EQ((*host)->memory()[0].device, 0);
}

// Arenas are each session's own.
TEST_F(DeviceTest, sessionsShareWeightsInOneMemory) {
  std::string path = temporaryFile("shared.divisi");
  std::vector<GlobalData> data = {
      {std::as_bytes(std::span<const float>(weights_)), {}, 0}};
  ASSERT_TRUE(writeArtifact(path, manifest(true), data));
  auto artifact = LoadedArtifact::open(path, options_);
  ASSERT_TRUE(artifact) << artifact.status().message();
  std::filesystem::remove(path);
  std::vector<HostTensor> x = listOf(makeTensor({4, 6}, counting(24, -9)));
  auto host = open(manifest(false));
  auto expected = valuesOf((*host)->run("f", x)->front());
  auto openOne = [&](int allocations, int copies) {
    int allocated = device_->numAllocations, copied = device_->numCopies;
    auto session = Session::open(*artifact, options_);
    EXPECT_TRUE(session) << session.status().message();
    EXPECT_EQ(device_->numAllocations - allocated, allocations);
    EXPECT_EQ(device_->numCopies - copied, copies);
    EXPECT_EQ((*session)->memory()[0].device, 640 + 15 * 4);
    return std::move(*session);
  };
  auto give = [&](Session &session) {
    return valuesOf(session.run("f", x)->front());
  };
  openOne(2 * 2, 2); // an arena and weights, on 2 ranks
  openOne(2 * 2, 2);
  device_->sharesAs = device_.get();
  for (int round = 0; round < 2; ++round) { // also once all have gone
    auto first = openOne(2 * 2, 2), second = openOne(2, 0);
    EXPECT_EQ(give(*first), expected);
    EXPECT_EQ(give(*second), expected);
    first.reset();
    auto third = openOne(2, 0);
    EXPECT_EQ(give(*second), expected);
    EXPECT_EQ(give(*third), expected);
  }
}

TEST_F(DeviceTest, aWorkspaceThatIsNotPlannedIsTheDevicesToo) {
  pb::Manifest changed = manifest(true);
  pb::Call &call = *changed.mutable_entries(0)
                        ->mutable_programs(0)
                        ->mutable_instructions(2)
                        ->mutable_call();
  call.set_workspace_bytes(0);
  auto session = open(changed);
  ASSERT_TRUE(session) << session.status().message();
  EXPECT_EQ((*session)->memory()[0].device, 640 + 15 * 4 + 256);
  EXPECT_EQ((*session)->memory(), *(*session)->predictedMemory());
  auto x = listOf(makeTensor({4, 6}, counting(24)));
  auto expected = (*open(manifest(false)))->run("f", x);
  auto got = (*session)->run("f", x);
  ASSERT_TRUE(got && expected);
  EXPECT_EQ(valuesOf(got->front()), valuesOf(expected->front()));
  EXPECT_TRUE(device_->isPoisoned());
}

TEST_F(DeviceTest, anIndexThatADeviceFindsBadIsTold) {
  auto session = open(manifest(true));
  ASSERT_TRUE(session);
  auto x = listOf(makeTensor({4, 6}, counting(24)));
  // Kernels of the device meet 23 and 24, and those of the host none.
  TestBackend::extent = 23;
  auto got = (*session)->run("f", x);
  TestBackend::extent = 1e30f;
  ASSERT_FALSE(got);
  EXPECT_THAT(got.status().message(), HasSubstr("(test.relu): index 23"));
  EXPECT_TRUE((*session)->run("f", x));
}

TEST_F(DeviceTest, aCommitComesAfterWhatTheDeviceFinds) {
  // relu(x) on the device, and then m = x, unless that has found an index bad.
  ManifestBuilder b(2);
  b.manifest.add_spaces(std::string(TestDevice::name));
  TensorRef t = b.tensor(b.grid({2}), {8}, {DimSplit({0})});
  uint32_t m = b.global("m", "state", t);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", t);
  addValue(entry.mutable_outputs(), "y", t);
  ProgramBuilder p(b.manifest, entry, {0, 1});
  uint32_t x = p.input(0, t), fresh = p.newGlobal(m, t);
  uint32_t there = p.alloc(t, 0), relu = p.alloc(t, 64);
  p.copy(x, there);
  p.call("test.relu", {there}, relu);
  p.commit();
  p.output(x, 0);
  p.copy(x, fresh);
  pb::Manifest manifest = inOneOrder(b.manifest);
  pb::Program &program = *manifest.mutable_entries(0)->mutable_programs(0);
  program.add_device_arena_bytes(128);
  for (uint32_t buffer : {there, relu}) {
    program.mutable_buffers(int(buffer))->set_space(1);
  }
  program.mutable_instructions(1)->mutable_call()->set_space(1);
  program.mutable_instructions(0)->set_queue(1);
  after(program, 1, {0});
  device_->copyDelay = std::chrono::milliseconds(2);
  auto session = openSession(manifest, {counting(8)}, options_);
  ASSERT_TRUE(session) << session.status().message();
  std::vector<HostTensor> values = listOf(makeTensor({8}, counting(8, 20)));
  TestBackend::extent = 23;
  auto got = (*session)->run("f", values);
  TestBackend::extent = 1e30f;
  EXPECT_THAT(got.status().message(), HasSubstr("index 23"));
  EXPECT_EQ(valuesOf(*(*session)->readGlobal("m")), counting(8));
  ASSERT_TRUE((*session)->run("f", values));
  EXPECT_EQ(valuesOf(*(*session)->readGlobal("m")), counting(8, 20));
}

TEST_F(DeviceTest, aLostDeviceFailsTheRun) {
  auto session = open(manifest(true));
  ASSERT_TRUE(session);
  auto x = listOf(makeTensor({4, 6}, counting(24)));
  device_->isLost = true;
  auto got = (*session)->run("f", x);
  device_->isLost = false;
  ASSERT_FALSE(got);
  EXPECT_EQ(got.status().code(), ExitCode::Device);
  EXPECT_THAT(got.status().message(), HasSubstr("the device is lost"));
}

TEST_F(DeviceTest, aSessionNeedsTheDevicesAndWhatReachesThem) {
  options_.device = nullptr;
  EXPECT_THAT(open(manifest(true)).status().message(),
              HasSubstr("the session has no device with memory space 'test'"));
  EXPECT_TRUE(open(manifest(false)));
}

TEST_F(DeviceTest, communicatorsSayWhatTheyReach) {
  pb::Manifest changed = manifest(true);
  pb::Program &program = *changed.mutable_entries(0)->mutable_programs(0);
  // Reduces on the device: dy -> another buffer there.
  *program.add_buffers() = program.buffers(3);
  pb::Buffer &there = *program.mutable_buffers(program.buffers_size() - 1);
  there.set_space(1);
  there.set_arena_offset(0);
  pb::Instruction reduce = program.instructions(5);
  reduce.mutable_collective()->set_source(8);
  reduce.mutable_collective()->set_result(program.buffers_size() - 1);
  reduce.mutable_collective()->set_tag(2);
  reduce.clear_after();
  reduce.add_after(3);
  *program.add_instructions() = reduce;
  EXPECT_THAT(open(changed).status().message(),
              HasSubstr("the communicator does not reach memory space 'test'"));
}

namespace {
struct Damage {
  const char *message;
  std::function<void(pb::Manifest &, pb::Program &)> apply;
};
} // namespace

TEST_F(DeviceTest, whatLiesInTheWrongSpaceIsRefused) {
  auto buffer = [](pb::Program &p, int i) -> pb::Buffer & {
    return *p.mutable_buffers(i);
  };
  auto call = [](pb::Program &p, int i) -> pb::Call & {
    return *p.mutable_instructions(i)->mutable_call();
  };
  EXPECT_EQ(verify(manifest(true)).message(), "");
  const std::vector<Damage> damages = {
      {"its kernel works in memory space 'host', and buffer 5 lies in 'test': "
       "it must be copied",
       [&](auto &, auto &p) { call(p, 1).set_space(0); }},
      {"its kernel works in memory space 'test', and buffer 1 lies in 'host': "
       "it must be copied",
       [&](auto &, auto &p) { buffer(p, 1).set_space(0); }},
      {"its kernel works in memory space 'test', and buffer 8 lies in 'host'",
       [&](auto &, auto &p) { buffer(p, 8).set_space(0); }},
      {"instruction 1 (node of test.relu): memory space 2 of 2",
       [&](auto &, auto &p) { call(p, 1).set_space(2); }},
      {"buffer 5: memory space 2 of 2",
       [&](auto &, auto &p) { buffer(p, 5).set_space(2); }},
      {"no backend in use has a kernel 'test.relu' for memory space 'other'",
       [](auto &m, auto &) { m.set_spaces(0, "other"); }},
      {"buffer 0: it is in memory space 'test', where only arenas, globals and "
       "inputs of bodies are",
       [&](auto &, auto &p) { buffer(p, 0).set_space(1); }},
      {"got 1 memory spaces beside the host's, expected at most 16, of "
       "different names",
       [](auto &m, auto &) { m.set_spaces(0, "host"); }},
      {"buffer 5: bytes 0 + 96 of an arena of 0",
       [](auto &, auto &p) { p.clear_device_arena_bytes(); }},
      {"its arenas in memory spaces of devices are more than there are",
       [](auto &, auto &p) { p.add_device_arena_bytes(64); }},
      {"its arenas in memory spaces of devices",
       [](auto &, auto &p) { p.set_device_arena_bytes(0, -64); }},
      {"its workspace is at bytes 448 + 256 of an arena of 640",
       [&](auto &, auto &p) { call(p, 2).set_workspace_offset(448); }},
      {"it outputs buffer 8, which lies in 'test', expected host memory",
       [](auto &, auto &p) {
         p.mutable_instructions(7)->mutable_output()->set_source(8);
       }},
      {"it goes from 'host' to 'test', which only a copy on queue 'copy' may "
       "do",
       [](auto &, auto &p) { p.mutable_instructions(0)->set_queue(0); }},
      {"it goes from 'test' to 'host', which only a copy on queue 'copy' may "
       "do",
       [](auto &, auto &p) {
         p.mutable_instructions(5)->mutable_collective()->set_source(8);
       }},
      {"touches bytes 0 to 96 of the arena in memory space 'test' and may run "
       "at the same time as instruction 0",
       [](auto &, auto &p) { p.mutable_instructions(1)->clear_after(); }},
      {"entry 'f' has global 'w', which is updated, in memory space 'host', "
       "expected 'test', where it lies",
       [](auto &m, auto &p) {
         pb::Buffer &written = *p.add_buffers();
         written = p.buffers(1);
         written.set_space(0);
         written.set_new_global(0);
         (void)m;
       }},
  };
  for (const Damage &damage : damages) {
    pb::Manifest changed = manifest(true);
    damage.apply(changed, *changed.mutable_entries(0)->mutable_programs(0));
    EXPECT_THAT(verify(changed).message(), HasSubstr(damage.message));
  }
}
