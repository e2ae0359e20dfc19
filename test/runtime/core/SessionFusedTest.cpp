//===- SessionFusedTest.cpp - Fused calls of artifacts --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/artifact/Damager.h"
#include "test/runtime/core/TestBackend.h"
#include "test/runtime/core/TestSession.h"

#include <filesystem>
#include <functional>
#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

static pb::Part &addPart(pb::Operator &fused, uint32_t op, const Axes &operands,
                         const TensorRef &result) {
  pb::Part &part = *fused.add_parts();
  part.set_op(op);
  part.mutable_operands()->Assign(operands.begin(), operands.end());
  part.add_results(result.number);
  return part;
}

/// Two ranks, each with its part of x: y = -(x + x) * x, twice by one operator.
///
///   operator 0 nn.add, 1 nn.neg, 2 nn.mul, 3 fused
///   0 call 3 (0) -> 1
///   1 call 3 (1) -> 2
///   2 output 2
static pb::Manifest fusedManifest() {
  ManifestBuilder b(2);
  uint32_t g = b.grid({2});
  b.grid("one", {1}, {1});
  TensorRef t = b.tensor(g, {5}, {DimSplit({0})});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", t);
  addValue(entry.mutable_outputs(), "y", t);
  uint32_t add = operatorNumber(b.manifest, "nn.add");
  uint32_t neg = operatorNumber(b.manifest, "nn.neg");
  uint32_t mul = operatorNumber(b.manifest, "nn.mul");
  pb::Operator &fused = *b.manifest.add_operators();
  fused.set_op("fused");
  fused.set_version(1);
  fused.set_num_operands(1);
  addPart(fused, add, {0, 0}, t);
  addPart(fused, neg, {1}, t);
  addPart(fused, mul, {2, 0}, t);
  fused.add_results(3);
  ProgramBuilder p(b.manifest, entry, {0, 1});
  uint32_t x = p.input(0, t), y = p.alloc(t), z = p.alloc(t);
  p.call("fused", {x}, y);
  p.call("fused", {y}, z);
  p.output(z, 0);
  return inOneOrder(b.manifest);
}

static SessionOptions options() {
  SessionOptions options = testOptions();
  options.backends = {&referenceBackend()};
  return options;
}

TEST(SessionFusedTest, partsRunOnEachRanksBox) {
  auto session = openSession(fusedManifest(), {}, options());
  ASSERT_TRUE(session) << session.status().message();
  auto y = (*session)->run("f", listOf(makeTensor({5}, {1, 2, 3, 4, 5})));
  ASSERT_TRUE(y) << y.status().message();
  // -2 x^2, of that again.
  EXPECT_THAT(valuesOf(y->front()), ElementsAre(-8, -128, -648, -2048, -5000));
}

// Two parts, of which the second may write over the first one's result, so that
// the call may write over its operand.
TEST(SessionFusedTest, aResultMayLieOverAnOperand) {
  pb::Manifest manifest = fusedManifest();
  pb::Operator &fused = *manifest.mutable_operators(3);
  fused.mutable_parts()->RemoveLast();
  fused.set_results(0, 2);
  pb::Program &program = *manifest.mutable_entries(0)->mutable_programs(0);
  program.mutable_buffers(2)->set_arena_offset(
      program.buffers(1).arena_offset());
  program.mutable_instructions(1)->mutable_call()->add_in_place();
  // add reads its operand twice, and so may not.
  EXPECT_THAT(openSession(manifest, {}, options()).status().message(),
              HasSubstr("cannot write a result over its operand"));
  fused.mutable_parts(0)->set_op(1);
  fused.mutable_parts(0)->mutable_operands()->Truncate(1);
  auto session = openSession(manifest, {}, options());
  ASSERT_TRUE(session) << session.status().message();
  auto y = (*session)->run("f", listOf(makeTensor({5}, {1, 2, 3, 4, 5})));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_THAT(valuesOf(y->front()), ElementsAre(1, 2, 3, 4, 5));
}

TEST(SessionFusedTest, saysWhatIsWrong) {
  auto refusal = [](const std::function<void(pb::Manifest &)> &damage) {
    pb::Manifest manifest = fusedManifest();
    damage(manifest);
    return openSession(manifest, {}, options()).status().message();
  };
  auto fused = [](pb::Manifest &m) -> pb::Operator & {
    return *m.mutable_operators(3);
  };
  auto program = [](pb::Manifest &m) -> pb::Program & {
    return *m.mutable_entries(0)->mutable_programs(0);
  };
  auto call = [&](pb::Manifest &m) -> pb::Call & {
    return *program(m).mutable_instructions(1)->mutable_call();
  };
  EXPECT_THAT(refusal([&](pb::Manifest &m) { call(m).set_op(9); }),
              HasSubstr("instruction 1: operator 9 of 4"));
  EXPECT_THAT(refusal([&](pb::Manifest &m) { call(m).add_operands(1); }),
              HasSubstr("got 2 operands and 1 results, its parts are of 1 and "
                        "1"));
  EXPECT_THAT(refusal([&](pb::Manifest &m) { fused(m).clear_parts(); }),
              HasSubstr("operator 3 ('fused'): got 0 parts of 1 operands, "
                        "expected 1 to 1024 of at most 1024"));
  EXPECT_THAT(refusal([&](pb::Manifest &m) {
                *m.mutable_operators(2)->add_parts() = fused(m).parts(0);
              }),
              HasSubstr("operator 2 ('nn.mul'): got 1 parts of 0 operands, "
                        "expected none"));
  EXPECT_THAT(
      refusal([&](pb::Manifest &m) { fused(m).mutable_parts(1)->set_op(3); }),
      HasSubstr("part 1: operator 3, expected one before it that has no "
                "parts itself"));
  EXPECT_THAT(refusal([&](pb::Manifest &m) {
                fused(m).mutable_parts(1)->set_operands(0, 2);
              }),
              HasSubstr("part 1: value 2 of 2 before it"));
  EXPECT_THAT(refusal([&](pb::Manifest &m) {
                fused(m).mutable_parts(1)->clear_results();
              }),
              HasSubstr("part 1: it has no result"));
  EXPECT_THAT(refusal([&](pb::Manifest &m) { fused(m).set_results(0, 0); }),
              HasSubstr("its result is value 0, expected one of 1 to 4 that is "
                        "no other result"));
  EXPECT_THAT(
      refusal([&](pb::Manifest &m) {
        uint32_t tensor = copyTensor(m, program(m).buffers(1).tensor());
        m.mutable_tensors(int(tensor))->mutable_layout()->Clear();
        m.mutable_tensors(int(tensor))->mutable_layout()->add_dims();
        fused(m).mutable_parts(2)->set_results(0, tensor);
      }),
      HasSubstr("result 0 does not have the layout of its parts' result"));
  EXPECT_THAT(
      refusal([&](pb::Manifest &m) {
        uint32_t tensor = copyTensor(m, program(m).buffers(1).tensor());
        pb::Tensor &moved = *m.mutable_tensors(int(tensor));
        moved.set_grid(1);
        moved.mutable_layout()->Clear();
        moved.mutable_layout()->add_dims();
        fused(m).mutable_parts(1)->set_results(0, tensor);
      }),
      HasSubstr("one of its parts is on grid 'one', which does not have "
                "rank 0 of the program"));
  EXPECT_THAT(
      refusal([&](pb::Manifest &m) { m.mutable_operators(1)->set_version(5); }),
      HasSubstr("no backend can do 'fused'; backend 'reference' has no "
                "kernel for it"));
}

TEST(SessionFusedTest, aDamagedManifestIsRefusedOrRuns) {
  SessionOptions limited = options();
  limited.timeout = std::chrono::seconds(5);
  int refused = countRefused(
      "fused calls", 600, limited, fusedManifest,
      // Half of the time, what is damaged is an operator.
      [](pb::Manifest &manifest, uint32_t seed) -> google::protobuf::Message & {
        return seed % 2 == 0
                   ? static_cast<google::protobuf::Message &>(manifest)
                   : *manifest.mutable_operators(3);
      },
      [](Session &session, const EntryInfo &entry) {
        return entry.inputs.size() == 1 && entry.inputs[0].dims == Dims{5}
                   ? session.run("f", listOf(makeTensor({5}, {1, 2, 3, 4, 5})))
                         .status()
                   : Status();
      });
  EXPECT_GT(refused, 300);
}
