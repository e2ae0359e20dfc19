//===- SessionOutputTest.cpp - Tests of where outputs are computed --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// And of what calls may say beside operands: code, formats.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/core/TestSession.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

static TensorView viewOf(float *data, int64_t count) {
  return {data, DType::F32, {count}};
}

static OutputBytes bytesOf(const Session &session) {
  return session.outputBytes("f").front();
}

TEST(SessionOutputTest, aDenseOutputIsComputedWhereTheCallerHasIt) {
  OneRank one(16);
  uint32_t sum = one.p.alloc(one.t), y = one.p.alloc(one.t, 0);
  one.p.call("test.add", {one.x, one.x}, sum);
  one.p.call("test.relu", {sum}, y); // in place in the arena
  one.p.output(y, 0);
  auto session = openSession(one.manifest());
  ASSERT_TRUE(session) << session.status().message();
  alignas(64) float x[16], out[64];
  std::iota(x, x + 16, -8.f);
  std::vector<float> expected;
  for (float value : x) {
    expected.push_back(std::max(2 * value, 0.f));
  }
  const OutputBytes inPlace{64, 0}, copied{0, 64};
  // At the places of the caller's choice, one after the other.
  for (auto [offset, bytes] : {std::pair(0, inPlace), std::pair(16, inPlace),
                               std::pair(5, copied), std::pair(0, inPlace)}) {
    std::fill_n(out, 64, 7.f);
    std::vector<TensorArgument> from = {viewOf(x, 16)},
                                to = {viewOf(out + offset, 16)};
    ASSERT_TRUE((*session)->run("f", from, to).isOk());
    EXPECT_EQ(bytesOf(**session), bytes) << offset;
    EXPECT_EQ(std::vector<float>(out + offset, out + offset + 16), expected);
    EXPECT_EQ(std::count(out, out + offset, 7.f), offset);
    EXPECT_EQ(std::count(out + offset + 16, out + 64, 7.f), 48 - offset);
  }
  // With strides, behind which nothing is written.
  std::fill_n(out, 64, 7.f);
  TensorView strided = viewOf(out, 16);
  strided.strides = {2};
  std::vector<TensorArgument> from = {viewOf(x, 16)}, to = {strided};
  ASSERT_TRUE((*session)->run("f", from, to).isOk());
  EXPECT_EQ(bytesOf(**session), copied);
  EXPECT_EQ(out[30], expected[15]);
  EXPECT_EQ(out[31], 7.f);
  EXPECT_EQ(out[32], 7.f);
}

// y = x + relu(-…) reads x behind what would have written y.
TEST(SessionOutputTest, anOutputOverAnInputIsWrittenLast) {
  OneRank one(16);
  uint32_t first = one.p.alloc(one.t), second = one.p.alloc(one.t);
  one.p.call("test.relu", {one.x}, first);
  one.p.call("test.add", {first, one.x}, second);
  one.p.output(first, 0);
  // A second output that reads x after the first could have been written.
  addValue(one.entry.mutable_outputs(), "z", one.t);
  one.p.output(second, 1);
  auto session = openSession(one.manifest());
  ASSERT_TRUE(session) << session.status().message();
  alignas(64) float x[16], z[16];
  std::iota(x, x + 16, -8.f);
  std::vector<TensorArgument> from = {viewOf(x, 16)},
                              to = {viewOf(x, 16), viewOf(z, 16)};
  ASSERT_TRUE((*session)->run("f", from, to).isOk());
  EXPECT_EQ(bytesOf(**session), (OutputBytes{64, 64}));
  EXPECT_EQ(x[0], 0.f);
  EXPECT_EQ(z[0], -8.f);
  EXPECT_EQ(z[15], 14.f);
}

TEST(SessionOutputTest, oneOfTwoOutputsOfAValueIsCopied) {
  OneRank one(16);
  addValue(one.entry.mutable_outputs(), "z", one.t);
  uint32_t y = one.p.alloc(one.t);
  one.p.call("test.relu", {one.x}, y);
  one.p.output(y, 0);
  one.p.output(y, 1);
  auto session = openSession(one.manifest());
  ASSERT_TRUE(session);
  auto out = (*session)->run("f", listOf(makeTensor({16}, counting(16))));
  ASSERT_TRUE(out);
  EXPECT_EQ(bytesOf(**session), (OutputBytes{64, 64}));
  EXPECT_EQ(valuesOf((*out)[0]), counting(16));
  EXPECT_EQ(valuesOf((*out)[1]), counting(16));
}

TEST(SessionOutputTest, whatADroppedCallSharesIsCopied) {
  OneRank one(16);
  uint32_t a = one.p.alloc(one.t), b = one.p.alloc(one.t, 0);
  one.p.call("test.relu", {one.x}, a);
  one.p.call("test.reshape", {a}, b); // a view there: no call
  one.p.output(b, 0);
  auto session = openSession(one.manifest());
  ASSERT_TRUE(session);
  auto out = (*session)->run("f", listOf(makeTensor({16}, counting(16))));
  ASSERT_TRUE(out);
  EXPECT_EQ(bytesOf(**session), (OutputBytes{0, 64}));
  EXPECT_EQ(valuesOf(out->front()), counting(16));
}

// Rows lie in one piece in the whole tensor, columns do not; of what all hold
// the first rank writes.
TEST(SessionOutputTest, ranksWriteTheirPartsInPlaceWhereTheyCan) {
  for (auto [split, inPlace] : {std::pair(0, true), std::pair(1, false)}) {
    ManifestBuilder b(2);
    uint32_t g = b.grid({2});
    std::vector<DimSplit> splits(2);
    splits[split].axes = {0};
    TensorRef t = b.tensor(g, {4, 16}, splits);
    pb::Entry &entry = *b.manifest.add_entries();
    entry.set_name("f");
    addValue(entry.mutable_inputs(), "x", t);
    addValue(entry.mutable_outputs(), "y", t);
    ProgramBuilder p(b.manifest, entry, {0, 1});
    uint32_t x = p.input(0, t), y = p.alloc(t);
    p.call("test.relu", {x}, y);
    p.output(y, 0);
    auto session = openSession(inOneOrder(b.manifest));
    ASSERT_TRUE(session);
    auto out = (*session)->run("f", listOf(makeTensor({4, 16}, counting(64))));
    ASSERT_TRUE(out);
    EXPECT_EQ(valuesOf(out->front()), counting(64));
    OutputBytes part = inPlace ? OutputBytes{128, 0} : OutputBytes{0, 128};
    EXPECT_THAT((*session)->outputBytes("f"), ElementsAre(part, part));
  }
}

//===----------------------------------------------------------------------===//
// Code and formats
//===----------------------------------------------------------------------===//

static Expected<std::unique_ptr<Session>>
openCode(const pb::Manifest &manifest, float number, size_t numCodes = 1) {
  std::span<const std::byte> code = std::as_bytes(std::span(&number, 1));
  std::vector<std::span<const std::byte>> codes(numCodes, code);
  std::string path = temporaryFile("code.divisi");
  auto written = writeArtifact(path, manifest, {}, codes);
  if (!written) {
    return written.status();
  }
  auto session = Session::open(path, testOptions());
  std::filesystem::remove(path);
  return session;
}

static pb::Manifest codeManifest() {
  OneRank one(16);
  one.b.manifest.add_codes()->set_target("test-machine");
  uint32_t y = one.p.alloc(one.t);
  one.p.call("test.code", {one.x}, y).set_code(0);
  one.p.output(y, 0);
  return one.manifest();
}

static pb::Call &firstCall(pb::Manifest &manifest) {
  return *manifest.mutable_entries(0)
              ->mutable_programs(0)
              ->mutable_instructions(0)
              ->mutable_call();
}

TEST(SessionCodeTest, aKernelRunsTheCodeOfTheArtifact) {
  for (float number : {1.f, -2.f}) {
    auto session = openCode(codeManifest(), number);
    ASSERT_TRUE(session) << session.status().message();
    auto y = (*session)->run("f", listOf(makeTensor({16}, counting(16))));
    ASSERT_TRUE(y);
    EXPECT_EQ(valuesOf(y->front()), counting(16, 1 + number));
  }
}

TEST(SessionCodeTest, codeForAnotherMachineHasNoKernel) {
  pb::Manifest manifest = codeManifest();
  manifest.mutable_codes(0)->set_target("other-machine");
  auto session = openCode(manifest, 1);
  EXPECT_EQ(session.status().code(), ExitCode::Unsupported);
  EXPECT_THAT(session.status().message(),
              HasSubstr("backend 'test' has no kernel for it"));
  // Nor has a kernel without code any use for some, or the other way round.
  manifest = codeManifest();
  firstCall(manifest).set_op(operatorNumber(manifest, "test.relu"));
  EXPECT_EQ(openCode(manifest, 1).status().code(), ExitCode::Unsupported);
  manifest = codeManifest();
  firstCall(manifest).clear_code();
  EXPECT_EQ(openCode(manifest, 1).status().code(), ExitCode::Unsupported);
}

TEST(SessionCodeTest, saysWhatIsWrong) {
  pb::Manifest manifest = codeManifest();
  firstCall(manifest).set_code(3);
  EXPECT_THAT(openCode(manifest, 1).status().message(),
              HasSubstr("instruction 0 (node of test.code): code 3 of 1"));
  manifest = codeManifest();
  firstCall(manifest).set_fallback(0);
  EXPECT_TRUE(openCode(manifest, 1));
  firstCall(manifest).set_fallback(1);
  EXPECT_THAT(openCode(manifest, 1).status().message(),
              HasSubstr("instruction 0 (node of test.code): code 1 of 1"));
  EXPECT_EQ(openCode(codeManifest(), 1, 2).status().message(),
            "got 2 codes, expected 1");
}

TEST(SessionCodeTest, damagedCodeIsNotRun) {
  std::string path = temporaryFile("damaged.divisi");
  float number = 1;
  std::span<const std::byte> code = std::as_bytes(std::span(&number, 1));
  ASSERT_TRUE(writeArtifact(path, codeManifest(), {}, std::span(&code, 1)));
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(-1, std::ios::end)
      .put('x');
  Status status = Session::open(path, testOptions()).status();
  std::filesystem::remove(path);
  EXPECT_EQ(status.code(), ExitCode::Invalid);
  EXPECT_THAT(
      status.message(),
      HasSubstr(
          "damaged artifact: code for 'test-machine' does not match its hash"));
}

/// x -> reversed, with one element more -> y
static pb::Manifest formatManifest() {
  OneRank one(16);
  uint32_t blocked = one.p.alloc(one.t), y = one.p.alloc(one.t);
  pb::Buffer &buffer = *one.p.program.mutable_buffers(int(blocked));
  buffer.set_format("reversed");
  buffer.set_bytes(68);
  buffer.set_arena_offset(128);
  one.p.program.set_arena_bytes(256);
  one.p.call("test.reverse", {one.x}, blocked);
  one.p.call("test.reverse", {blocked}, y);
  one.p.output(y, 0);
  return one.manifest();
}

TEST(SessionFormatTest, callsHandOnFormats) {
  auto session = openSession(formatManifest());
  ASSERT_TRUE(session) << session.status().message();
  auto y = (*session)->run("f", listOf(makeTensor({16}, counting(16))));
  ASSERT_TRUE(y);
  EXPECT_EQ(valuesOf(y->front()), counting(16));
}

TEST(SessionFormatTest, nothingElseKnowsThem) {
  auto refusal = [](auto damage) {
    pb::Manifest manifest = formatManifest();
    operatorNumber(manifest, "test.relu");
    damage(*manifest.mutable_entries(0)->mutable_programs(0));
    return openSession(manifest).status().message();
  };
  EXPECT_THAT(
      refusal([](pb::Program &program) {
        program.mutable_instructions(2)->mutable_output()->set_source(1);
      }),
      HasSubstr(
          "buffer 1 has the format 'reversed', which only calls support"));
  EXPECT_THAT(refusal([](pb::Program &program) {
                program.mutable_buffers(0)->set_format("reversed");
              }),
              HasSubstr("buffer 0: it has the format 'reversed', which only a "
                        "buffer in an arena may have"));
  EXPECT_THAT(refusal([](pb::Program &program) {
                program.mutable_buffers(1)->set_bytes(64);
              }),
              HasSubstr("backend 'test' needs more room for a result in its "
                        "format"));
  EXPECT_THAT(refusal([](pb::Program &program) {
                // 1: test.relu
                program.mutable_instructions(1)->mutable_call()->set_op(1);
              }),
              HasSubstr("backend 'test' has no kernel for it"));
}
