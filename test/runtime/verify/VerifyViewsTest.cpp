//===- VerifyViewsTest.cpp - Views of bytes that are not there ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/verify/Verify.h"
#include "test/runtime/artifact/ManifestBuilder.h"
#include "test/runtime/core/TestBackend.h"

#include <functional>
#include <gmock/gmock.h>
#include <limits>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

static TestBackend testBackend;

static Status verify(const pb::Manifest &manifest) {
  const Backend *backends[] = {&testBackend};
  return verifyManifest(manifest, backends);
}

/// Buffers 1, 2 and 3 are 192 bytes, the last 64 of them, and all of these.
static pb::Manifest validManifest() {
  ManifestBuilder b(1);
  uint32_t g = b.grid({1});
  TensorRef whole = b.tensor(g, {48}, {{}}), part = b.tensor(g, {16}, {{}});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", whole);
  addValue(entry.mutable_outputs(), "y", part);
  ProgramBuilder p(b.manifest, entry, {0});
  uint32_t x = p.input(0, whole), r = p.alloc(whole);
  uint32_t last = p.view(p.view(r, part, 128), part, 0);
  p.call("test.relu", {x}, r);
  p.output(last, 0);
  return inOneOrder(b.manifest);
}

TEST(VerifyViewsTest, viewsShowBytesThatAreThere) {
  EXPECT_TRUE(verify(validManifest()).isOk())
      << verify(validManifest()).message();
  using Apply = std::function<void(pb::Program &)>;
  auto at = [](int64_t offset) -> Apply {
    return
        [=](pb::Program &p) { p.mutable_buffers(2)->set_view_offset(offset); };
  };
  constexpr int64_t most = std::numeric_limits<int64_t>::max() - 63;
  const std::pair<const char *, Apply> all[] = {
      {"buffer 2: a view from byte 4 on; expected a multiple of 64", at(4)},
      {"buffer 2: a view from byte -64 on; expected a multiple of 64", at(-64)},
      {"buffer 2: a view of 64 bytes from byte 192 on of a buffer of 192 at "
       "position 0",
       at(192)},
      {"buffer 2: a view of 64 bytes from byte 9223372036854775744 on of a "
       "buffer of 192 at position 0",
       at(most)},
      {"buffer 3: a view of 64 bytes from byte 64 on of a buffer of 64",
       [](pb::Program &p) { p.mutable_buffers(3)->set_view_offset(64); }},
      {"buffer 2: a view of some bytes of a buffer with a format",
       [](pb::Program &p) { p.mutable_buffers(1)->set_format("x"); }},
      {"it reads buffer 3, which has not been written",
       [](pb::Program &p) {
         p.mutable_instructions()->SwapElements(0, 1);
         p.mutable_instructions(0)->clear_after();
         p.mutable_instructions(1)->clear_after();
       }},
  };
  for (const auto &[message, apply] : all) {
    pb::Manifest manifest = validManifest();
    apply(*manifest.mutable_entries(0)->mutable_programs(0));
    Status status = verify(manifest);
    EXPECT_EQ(status.code(), ExitCode::Invalid);
    EXPECT_THAT(status.message(), testing::HasSubstr(message));
  }
}

TEST(VerifyViewsTest, partsOfAnOldValueAreThereUntilItIsWrittenOver) {
  ManifestBuilder b(1);
  uint32_t g = b.grid({1});
  TensorRef whole = b.tensor(g, {48}, {{}}), part = b.tensor(g, {16}, {{}});
  uint32_t m = b.global("m", "state", whole);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  ProgramBuilder p(b.manifest, entry, {0});
  uint32_t old = p.global(m, whole), last = p.view(old, part, 128);
  uint32_t fresh = p.newGlobal(m, whole), r = p.alloc(part);
  p.call("test.relu", {last}, r);
  p.commit();
  p.call("test.relu", {old}, fresh);
  pb::Manifest manifest = inOneOrder(b.manifest);
  EXPECT_EQ(verify(manifest).message(), "");
  pb::Program &program = *manifest.mutable_entries(0)->mutable_programs(0);
  program.mutable_instructions()->SwapElements(0, 2);
  program.mutable_instructions()->SwapElements(0, 1);
  for (pb::Instruction &instruction : *program.mutable_instructions()) {
    instruction.clear_after();
  }
  EXPECT_THAT(verify(manifest).message(),
              testing::HasSubstr("it reads buffer 1, which has not been "
                                 "written, or has been overwritten"));
}
