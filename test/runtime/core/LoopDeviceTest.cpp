//===- LoopDeviceTest.cpp - Loops whose bodies work on a device -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/verify/Verify.h"
#include "test/runtime/core/LoopEntries.h"
#include "test/runtime/device/TestDevice.h"

#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

/// What the loop of loopManifest() names, in the order of its buffers, and what
/// its body does.
enum Buffers : uint32_t { N, X, F, Y, ThereX, ThereF, ThereY, Spare, Arena };
enum BodyBuffers : uint32_t { I, BodyX, BodyF, BodyY };

static void after(pb::Program &program, int index, const Axes &others) {
  program.mutable_instructions(index)->mutable_after()->Assign(others.begin(),
                                                               others.end());
}

/// y = x + n * f, in n iterations of `x + f` on a device of each of two ranks.
/// If it `meets`, ranks gather in the body what they add.
static pb::Manifest loopManifest(bool meets = false) {
  ManifestBuilder b(2);
  b.manifest.add_spaces(std::string(TestDevice::name));
  LoopEntries entries(b);
  const auto &[g, count, t, whole, entry, body] = entries;
  ProgramBuilder p(b.manifest, entry, {0, 1}), q(b.manifest, body, {0, 1});
  q.input(0, count);
  q.input(1, t);
  q.input(2, t);
  q.alloc(t);
  q.call("test.add", {BodyX, BodyF}, BodyY);
  q.output(BodyY, 0);
  if (meets) {
    q.collective("all_gather", {0}, BodyY, q.alloc(whole), 7);
  }
  p.input(0, count);
  p.input(1, t);
  p.input(2, t);
  p.alloc(t);
  int64_t host = p.program.arena_bytes();
  for (int64_t place = 0; place < 4; ++place) {
    p.alloc(t, 64 * place);
  }
  p.alloc(b.tensor(g, {q.program.arena_bytes()}, {{}}, {}, "", "i8"), 256);
  p.copy(X, ThereX);
  p.copy(F, ThereF);
  addLoop(p.program, 10, N, ThereX, ThereF, ThereY, Spare)
      .set_device_arena(Arena);
  p.copy(ThereY, Y);
  p.output(Y, 0);
  int64_t inBody = q.program.arena_bytes(), all = p.program.arena_bytes();
  pb::Manifest manifest = inOneOrder(b.manifest);
  pb::Program &outer = *manifest.mutable_entries(0)->mutable_programs(0),
              &inner = *manifest.mutable_entries(1)->mutable_programs(0);
  outer.set_arena_bytes(host);
  outer.add_device_arena_bytes(all);
  inner.set_arena_bytes(0);
  inner.add_device_arena_bytes(inBody);
  for (uint32_t buffer : {ThereX, ThereF, ThereY, Spare, Arena}) {
    outer.mutable_buffers(int(buffer))->set_space(1);
  }
  for (int buffer = BodyX; buffer < inner.buffers_size(); ++buffer) {
    inner.mutable_buffers(buffer)->set_space(1);
  }
  inner.mutable_instructions(0)->mutable_call()->set_space(1);
  for (int copy : {0, 1, 3}) {
    outer.mutable_instructions(copy)->set_queue(1);
  }
  after(outer, 2, {1});
  after(outer, 3, {2});
  after(outer, 4, {3});
  return manifest;
}

namespace {

class LoopDeviceTest : public testing::Test {
protected:
  LoopDeviceTest() {
    options_.backends.push_back(&onDevice_);
    options_.timeout = std::chrono::seconds(5);
    options_.device = [this](uint32_t, std::string_view space) {
      return Expected<std::shared_ptr<Device>>(
          space == TestDevice::name ? device_ : nullptr);
    };
  }

  std::shared_ptr<TestDevice> device_ = std::make_shared<TestDevice>();
  TestDeviceBackend onDevice_;
  SessionOptions options_ = testOptions();
};

} // namespace

TEST_F(LoopDeviceTest, whatIsCarriedStaysThere) {
  device_->copyDelay = std::chrono::milliseconds(1);
  auto session = openSession(loopManifest(), {}, options_);
  ASSERT_TRUE(session) << session.status().message();
  for (int64_t count : {3, 0, 1, 2, 10}) {
    device_->numCopies = 0;
    auto y = (*session)->run("f", loopInputs(count));
    ASSERT_TRUE(y) << y.status().message();
    EXPECT_EQ(valuesOf(y->front()), loopOutput(count)) << count;
    // Of each rank: two there, one to where the first iteration reads, one of
    // each iteration to where the next one does, one back.
    EXPECT_EQ(device_->numCopies, 2 * (4 + count));
  }
  EXPECT_TRUE(device_->isPoisoned());
  SpaceCopies copies{3, 3 * 2 * 4};
  EXPECT_THAT((*session)->spaceCopies("f"), ElementsAre(copies, copies));
}

TEST_F(LoopDeviceTest, aLostDeviceEndsTheRun) {
  auto session = openSession(loopManifest(), {}, options_);
  ASSERT_TRUE(session) << session.status().message();
  device_->isLost = true;
  EXPECT_EQ((*session)->run("f", loopInputs(2)).status().code(),
            ExitCode::Device);
}

/// What is wrong with a manifest, and what is said of it.
struct LoopDamage {
  const char *message;
  void (*apply)(pb::Manifest &manifest, pb::Loop &loop, pb::Program &body);
};

TEST_F(LoopDeviceTest, whatDoesNotFitTheBodyIsRefused) {
  static const TestBackend host;
  const Backend *backends[] = {&host, &onDevice_};
  EXPECT_EQ(verifyManifest(loopManifest(), backends).message(), "");
  const LoopDamage damages[] = {
      {"buffer 1 does not have the layout of the body's",
       [](auto &, auto &loop, auto &) { loop.set_carried(0, X); }},
      {"buffer 2 does not have the layout of the body's",
       [](auto &, auto &loop, auto &) { loop.set_given(0, F); }},
      {"buffer 3 does not have the layout of the body's",
       [](auto &, auto &loop, auto &) { loop.set_results(0, Y); }},
      {"the body needs an arena of 64 bytes in 'test' on rank 0, got 0",
       [](auto &, auto &loop, auto &) { loop.clear_device_arena(); }},
      {"it writes buffer 8, which overlaps buffer 7 of its own",
       [](auto &m, auto &, auto &) {
         pb::Program &p = *m.mutable_entries(0)->mutable_programs(0);
         p.mutable_buffers(Arena)->set_arena_offset(
             p.buffers(Spare).arena_offset());
       }},
      {"the body has its iteration in the memory of a device",
       [](auto &, auto &, auto &body) {
         body.mutable_buffers(I)->set_space(1);
       }},
      {"input 2 of the body lies in two memory spaces",
       [](auto &, auto &, auto &body) {
         *body.add_buffers() = body.buffers(BodyF);
         body.mutable_buffers(BodyF)->set_space(0);
       }},
      {"output 0 of the body lies in another memory space than the input that "
       "it becomes",
       [](auto &, auto &, auto &body) {
         body.mutable_instructions(1)->mutable_output()->set_source(I);
       }},
      {"a body works in the memory of one device, not in 'test' and 'other'",
       [](auto &manifest, auto &, auto &body) {
         manifest.add_spaces("other");
         pb::Global &global = *manifest.add_globals();
         global.set_name("w");
         global.set_kind("parameter");
         global.set_tensor(body.buffers(BodyX).tensor());
         global.set_bytes(16);
         pb::Buffer &buffer = *body.add_buffers();
         buffer.set_tensor(global.tensor());
         buffer.set_global(0);
         buffer.set_space(2);
       }},
  };
  for (const LoopDamage &damage : damages) {
    pb::Manifest m = loopManifest();
    damage.apply(m,
                 *m.mutable_entries(0)
                      ->mutable_programs(0)
                      ->mutable_instructions(2)
                      ->mutable_loop(),
                 *m.mutable_entries(1)->mutable_programs(0));
    EXPECT_THAT(verifyManifest(m, backends).message(),
                HasSubstr(damage.message));
  }
}

TEST_F(LoopDeviceTest, devicesMeetInABodyIfTheCommunicatorReachesThem) {
  static const TestBackend host;
  const Backend *backends[] = {&host, &onDevice_};
  pb::Manifest manifest = loopManifest(/*meets=*/true);
  EXPECT_EQ(verifyManifest(manifest, backends).message(), "");
  Status status = openSession(manifest, {}, options_).status();
  EXPECT_EQ(status.code(), ExitCode::Unsupported);
  EXPECT_THAT(status.message(),
              HasSubstr("the communicator does not reach memory space 'test'"));
}

TEST_F(LoopDeviceTest, aDamagedManifestIsRefusedOrRuns) {
  int refused = countRefusedLoops("loops on devices", options_,
                                  [] { return loopManifest(); });
  EXPECT_GT(refused, 200);
}
