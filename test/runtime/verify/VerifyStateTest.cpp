//===- VerifyStateTest.cpp - Programs that write globals ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/verify/Verify.h"
#include "test/runtime/artifact/ManifestBuilder.h"
#include "test/runtime/core/TestBackend.h"

using namespace divisi;
using namespace divisi::rt;

static Status verify(const pb::Manifest &manifest) {
  static const TestBackend backend;
  const Backend *backends[] = {&backend};
  return verifyManifest(manifest, backends);
}

/// A program of one rank that makes one state from another and itself.
static pb::Manifest overwritingManifest() {
  ManifestBuilder b(1);
  uint32_t g = b.grid({1});
  TensorRef t = b.tensor(g, {4}, {{}});
  uint32_t m = b.global("m", "state", t), n = b.global("n", "state", t);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  ProgramBuilder p(b.manifest, entry, {0});
  uint32_t oldM = p.global(m, t), oldN = p.global(n, t);
  uint32_t newM = p.newGlobal(m, t), newN = p.newGlobal(n, t);
  p.commit();
  p.call("test.add", {oldM, oldN}, newN);
  p.call("test.relu", {oldM}, newM);
  return inOneOrder(b.manifest);
}

TEST(VerifyTest, aGlobalIsWrittenByAllThatHoldIt) {
  ManifestBuilder b(2);
  uint32_t g = b.grid({2});
  TensorRef t = b.tensor(g, {4}, {{}});
  uint32_t m = b.global("m", "state", t);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  ProgramBuilder p(b.manifest, entry, {0}), q(b.manifest, entry, {1});
  uint32_t oldM = p.global(m, t), newM = p.newGlobal(m, t);
  p.commit();
  p.call("test.relu", {oldM}, newM);
  q.commit();
  EXPECT_EQ(verify(inOneOrder(b.manifest)).message(),
            "entry 'f': global 0: rank 1 does not write it, but is in its "
            "grid");
}

TEST(VerifyTest, anOldValueIsGoneOnceItIsWrittenOver) {
  EXPECT_EQ(verify(overwritingManifest()).message(), "");
  pb::Manifest manifest = overwritingManifest();
  pb::Program &program = *manifest.mutable_entries(0)->mutable_programs(0);
  program.mutable_instructions()->SwapElements(1, 2);
  EXPECT_EQ(verify(manifest).message(),
            "entry 'f', program 0, instruction 2 (node of test.add): it reads "
            "buffer 0, which has not been written, or has been overwritten");
  program.mutable_instructions(2)->mutable_call()->set_operands(0, 1);
  sayInPlace(program);
  EXPECT_EQ(verify(manifest).message(), "");
}

TEST(VerifyTest, moreGlobalsThanCanBeCounted) {
  ManifestBuilder b(1);
  uint32_t g = b.grid({1});
  TensorRef t = b.tensor(g, {int64_t(1) << 39, 1 << 21}, {{}, {}});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  ProgramBuilder p(b.manifest, entry, {0});
  for (const char *name : {"a", "b", "c"}) {
    p.newGlobal(b.global(name, "state", t), t);
  }
  EXPECT_EQ(verify(b.manifest).message(),
            "entry 'f': program 0: what it writes has more than 2^63 bytes");
}
