//===- VerifyTest.cpp - Tests that damage a valid artifact ----------------===//
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

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

static TestBackend testBackend;

static Status verify(const pb::Manifest &manifest) {
  const Backend *backends[] = {&testBackend};
  return verifyManifest(manifest, backends);
}

/// Two ranks and one: a relu with workspace, an all-gather, a copy, a transfer
/// to rank 2, which writes the output, and the new value of a global.
///
///   program 0 (ranks 0, 1)                    program 1 (rank 2)
///   0 call test.relu(0) -> 2                  0 transfer -> 0, tag 2
///   1 collective all_gather 2 -> 3, tag 1     1 output 0
///   2 copy 3 -> 4                             2 commit
///   3 transfer 4 ->, tag 2
///   4 commit
///   5 copy 4 -> 5, the new value of m
static pb::Manifest validManifest() {
  ManifestBuilder b(3);
  uint32_t g = b.grid("pair", {2}, {0, 1}), h = b.grid("one", {1}, {2});
  TensorRef split = b.tensor(g, {5, 3}, {DimSplit({0}), {}});
  TensorRef whole = b.tensor(g, {5, 3}, {{}, {}});
  TensorRef there = b.tensor(h, {5, 3}, {{}, {}});
  uint32_t m = b.global("m", "state", whole);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", split);
  addValue(entry.mutable_outputs(), "y", there);
  ProgramBuilder p(b.manifest, entry, {0, 1});
  uint32_t x = p.input(0, split);
  p.global(m, whole);
  uint32_t r = p.alloc(split), y = p.alloc(whole), z = p.alloc(whole);
  pb::Call &call = p.call("test.relu", {x}, r);
  call.set_workspace_offset(p.program.arena_bytes());
  call.set_workspace_bytes(64);
  p.program.set_arena_bytes(p.program.arena_bytes() + 64);
  p.collective("all_gather", {0}, r, y, 1);
  p.copy(y, z);
  uint32_t newM = p.newGlobal(m, whole);
  p.transfer(whole, there, z, {}, 2);
  p.commit();
  p.copy(z, newM);
  ProgramBuilder q(b.manifest, entry, {2});
  uint32_t out = q.alloc(there);
  q.transfer(whole, there, {}, out, 2);
  q.output(out, 0);
  q.commit();
  return inOneOrder(b.manifest);
}

namespace {

/// Shortcuts into a manifest that is about to be damaged.
struct Victim {
  pb::Manifest &manifest;
  pb::Program &program(int p = 0) {
    return *manifest.mutable_entries(0)->mutable_programs(p);
  }
  pb::Buffer &buffer(int i, int p = 0) {
    return *program(p).mutable_buffers(i);
  }
  pb::Instruction &instruction(int i, int p = 0) {
    return *program(p).mutable_instructions(i);
  }
  pb::Call &call() { return *instruction(0).mutable_call(); }
  pb::Collective &collective() { return *instruction(1).mutable_collective(); }
  /// What a transfer comes from, by its own telling alone.
  pb::Tensor &from(int i, int p = 0) {
    pb::Transfer &transfer = *instruction(i, p).mutable_transfer();
    transfer.set_from(copyTensor(manifest, transfer.from()));
    return *manifest.mutable_tensors(static_cast<int>(transfer.from()));
  }
  /// The same of what it goes to.
  pb::Tensor &to(int i) {
    pb::Transfer &transfer = *instruction(i).mutable_transfer();
    transfer.set_to(copyTensor(manifest, transfer.to()));
    return *manifest.mutable_tensors(static_cast<int>(transfer.to()));
  }
  /// That of the buffer alone.
  pb::Tensor &tensor(int i) { return ownTensor(manifest, buffer(i)); }
  pb::Layout &layout(int i) { return *tensor(i).mutable_layout(); }
};

struct Damage {
  const char *message;
  std::function<void(Victim)> apply;
  ExitCode code = ExitCode::Invalid;
};

} // namespace

TEST(VerifyTest, theUndamagedManifestIsValid) {
  Status status = verify(validManifest());
  EXPECT_TRUE(status.isOk()) << status.message();
}

// What it costs to check is that of the different collectives, not of all: one
// by one these take minutes.
TEST(VerifyTest, manyCollectivesOfManyRanksAreCheckedAtOnce) {
  constexpr uint32_t ranks = 512, rounds = 2000;
  ManifestBuilder b(ranks);
  uint32_t g = b.grid({ranks});
  TensorRef rows = b.tensor(g, {ranks, ranks}, {DimSplit({0}), {}});
  TensorRef columns = b.tensor(g, {ranks, ranks}, {{}, DimSplit({0})});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", rows);
  addValue(entry.mutable_outputs(), "y", rows);
  Axes all(ranks);
  std::iota(all.begin(), all.end(), 0);
  ProgramBuilder p(b.manifest, entry, all);
  uint32_t x = p.input(0, rows), y = p.alloc(columns), z = p.alloc(rows);
  for (uint32_t i = 0; i < rounds; ++i) {
    p.collective("all_to_all", {0}, i == 0 ? x : z, y, 2 * i);
    p.collective("all_to_all", {0}, y, z, 2 * i + 1);
  }
  p.output(z, 0);
  Status status = verify(inOneOrder(b.manifest));
  EXPECT_TRUE(status.isOk()) << status.message();
}

static void expectFound(const std::vector<Damage> &damages) {
  for (const Damage &damage : damages) {
    pb::Manifest manifest = validManifest();
    damage.apply({manifest});
    Status status = verify(manifest);
    EXPECT_EQ(status.code(), damage.code) << damage.message;
    EXPECT_THAT(status.message(), HasSubstr(damage.message));
  }
}

TEST(VerifyTest, gridsAndLayouts) {
  expectFound({
      {"got 0 ranks", [](Victim v) { v.manifest.set_num_ranks(0); }},
      {"grid 'pair': axis 'a' has size 0",
       [](Victim v) {
         v.manifest.mutable_grids(0)->mutable_axes(0)->set_size(0);
       }},
      {"grid 'pair': got 1 devices for 2 positions",
       [](Victim v) {
         v.manifest.mutable_grids(0)->mutable_devices()->RemoveLast();
       }},
      {"grid 'pair': rank 0 is out of range or occurs twice",
       [](Victim v) { v.manifest.mutable_grids(0)->set_devices(1, 0); }},
      {"grid 'one': rank 3 is out of range or occurs twice",
       [](Victim v) { v.manifest.mutable_grids(1)->set_devices(0, 3); }},
      {"grid 9 of 2", [](Victim v) { v.tensor(2).set_grid(9); }},
      {"unknown element type 'f33'",
       [](Victim v) { v.tensor(2).set_dtype("f33"); }},
      {"has a negative dimension",
       [](Victim v) { v.tensor(2).set_dims(0, -1); }},
      {"a layout of 1 dimensions for a tensor of 2",
       [](Victim v) { v.layout(2).mutable_dims()->RemoveLast(); }},
      {"axis 7 of a grid with 1",
       [](Victim v) { v.layout(2).mutable_dims(0)->set_axes(0, 7); }},
      {"axis 0 is used twice",
       [](Victim v) { v.layout(2).add_partial_axes(0); }},
      {"got 3 bounds for 2 shards",
       [](Victim v) {
         v.layout(2).mutable_dims(0)->mutable_bounds()->RemoveLast();
       }},
      {"the shard [3, 6) lies outside of a dimension of 5",
       [](Victim v) { v.layout(2).mutable_dims(0)->set_bounds(3, 6); }},
      {"output 'y' leaves an element unassigned",
       [](Victim v) {
         pb::Entry &entry = *v.manifest.mutable_entries(0);
         pb::DimLayout &dim = *ownTensor(v.manifest, *entry.mutable_outputs(0))
                                   .mutable_layout()
                                   ->mutable_dims(0);
         dim.add_bounds(1);
         dim.add_bounds(5);
       }},
      {"global 'm': a global cannot be partial or leave an element unassigned",
       [](Victim v) {
         pb::DimLayout &dim =
             *ownTensor(v.manifest, *v.manifest.mutable_globals(0))
                  .mutable_layout()
                  ->mutable_dims(0);
         dim.add_bounds(0);
         dim.add_bounds(4);
       }},
      {"values of f32 cannot be partial 'and'",
       [](Victim v) {
         v.layout(3).add_partial_axes(0);
         v.layout(3).set_partial_kind("and");
       }},
      {"input 'x' cannot be partial",
       [](Victim v) {
         pb::Entry &entry = *v.manifest.mutable_entries(0);
         pb::Layout &layout =
             *ownTensor(v.manifest, *entry.mutable_inputs(0)).mutable_layout();
         layout.mutable_dims(0)->Clear();
         layout.add_partial_axes(0);
         layout.set_partial_kind("sum");
       }},
  });
}

TEST(VerifyTest, buffersAndPrograms) {
  expectFound({
      {"buffer 2: bytes 1 + 60 of an arena",
       [](Victim v) { v.buffer(2).set_arena_offset(1); }},
      {"buffer 2: bytes 4611686018427387904 + 60 of an arena",
       [](Victim v) { v.buffer(2).set_arena_offset(int64_t(1) << 62); }},
      {"buffer 2: bytes -64 + 60 of an arena",
       [](Victim v) { v.buffer(2).set_arena_offset(-64); }},
      {"buffer 2: rank 0 needs 36 bytes, got 35",
       [](Victim v) { v.buffer(2).set_bytes(35); }},
      {"buffer 1: global 4 of 1", [](Victim v) { v.buffer(1).set_global(4); }},
      {"buffer 0: input 4 of 1", [](Victim v) { v.buffer(0).set_input(4); }},
      {"buffer 2: its layout differs from that of its global at rest",
       [](Victim v) { v.buffer(2).set_global(0); }},
      {"buffer 3: its layout differs from that of its input",
       [](Victim v) { v.buffer(3).set_input(0); }},
      {"buffer 2: it has no location",
       [](Victim v) { v.buffer(2).clear_where(); }},
      {"buffer 2: a view of buffer 2, which does not come before it",
       [](Victim v) { v.buffer(2).set_view(2); }},
      {"buffer 4: a view of 60 bytes from byte 0 on of a buffer of 36 at "
       "position 0",
       [](Victim v) { v.buffer(4).set_view(2); }},
      {"its grid 'one' does not have rank 0 of the program",
       [](Victim v) {
         v.layout(3).Clear();
         v.buffer(3).set_tensor(v.buffer(0, 1).tensor());
       }},
      {"rank 0 is out of range or has two programs",
       [](Victim v) { v.program(0).set_ranks(1, 0); }},
      {"two entries are named 'f'",
       [](Victim v) { *v.manifest.add_entries() = v.manifest.entries(0); }},
      {"global 'm': it has 60 bytes of data, expected 0",
       [](Victim v) {
         v.manifest.mutable_globals(0)->set_bytes(60);
         ownTensor(v.manifest, *v.manifest.mutable_globals(0)).set_dims(1, 0);
       }},
  });
}

TEST(VerifyTest, callsAndValues) {
  expectFound({
      {"no backend in use has a kernel 'test.unknown'",
       [](Victim v) {
         ownOperator(v.manifest, v.call()).set_op("test.unknown");
       },
       ExitCode::Unsupported},
      {"version 2 of kernel 'test.relu' is called, there is 1",
       [](Victim v) { ownOperator(v.manifest, v.call()).set_version(2); },
       ExitCode::Unsupported},
      {"entry 'f', program 0, instruction 0 (node of test.relu): buffer 99 of "
       "6",
       [](Victim v) { v.call().set_operands(0, 99); }},
      {"buffer 99 of 6", [](Victim v) { v.call().set_results(0, 99); }},
      {"it writes buffer 1, which neither lies in the arena itself nor is "
       "the new value of a global",
       [](Victim v) { v.call().set_results(0, 1); }},
      {"it reads buffer 4, which has not been written",
       [](Victim v) { v.call().set_operands(0, 4); }},
      {"two results share bytes", [](Victim v) { v.call().add_results(2); }},
      {"result 0 overlaps operand 0, which the call does not declare",
       [](Victim v) {
         pb::Instruction &again = *v.program().add_instructions();
         again = v.program().instructions(0);
         again.mutable_call()->set_operands(0, 4);
         again.mutable_call()->set_results(0, 4);
       }},
      {"it declares that result 0 overlaps operand 0, but it does not",
       [](Victim v) { v.call().add_in_place(); }},
      {"its workspace is at bytes 32 + 64",
       [](Victim v) { v.call().set_workspace_offset(32); }},
      {"its workspace is at bytes -1 + 64",
       [](Victim v) { v.call().set_workspace_offset(-1); }},
      {"its workspace overlaps buffer 2",
       [](Victim v) { v.call().set_workspace_offset(0); }},
      // z written over y's bytes, in part: y is then gone.
      {"the result of a copy overlaps its source",
       [](Victim v) {
         v.program().set_arena_bytes(1024);
         v.buffer(3).set_bytes(128);
         v.buffer(4).set_arena_offset(v.buffer(3).arena_offset() + 64);
       }},
      {"source and result of a copy differ in layout",
       [](Victim v) { v.instruction(2).mutable_copy()->set_result(2); }},
      {"result buffer 6 overlaps operand buffer 4",
       [](Victim v) {
         v.program().set_arena_bytes(1024);
         v.buffer(4).set_bytes(128);
         *v.program().add_buffers() = v.buffer(4);
         v.buffer(6).set_arena_offset(v.buffer(4).arena_offset() + 64);
         pb::Instruction &again = *v.program().add_instructions();
         again = v.program().instructions(0);
         again.mutable_call()->set_operands(0, 4);
         again.mutable_call()->set_results(0, 6);
       }},
      {"unknown instruction", [](Victim v) { v.program().add_instructions(); }},
  });
}

TEST(VerifyTest, collectivesAndTransfers) {
  expectFound({
      {"unknown collective 'gather'",
       [](Victim v) { v.collective().set_kind("gather"); }},
      {"axis 1 is out of range or occurs twice",
       [](Victim v) { v.collective().set_axes(0, 1); }},
      {"position 0 needs elements that its group does not hold",
       [](Victim v) { v.collective().clear_axes(); }},
      {"slice: the result at position 0 is not inside of the source's box",
       [](Victim v) {
         v.collective().set_kind("slice");
         v.instruction(1).set_queue(0);
       }},
      {"all_reduce: the partial axes of source and result do not fit",
       [](Victim v) { v.collective().set_kind("all_reduce"); }},
      {"the result of all_gather overlaps its source",
       [](Victim v) { v.buffer(3).set_arena_offset(0); }},
      {"tag 2 occurs twice in the program",
       [](Victim v) { v.collective().set_tag(2); }},
      {"rank 2 does not take part, but is in its grid",
       [](Victim v) { v.instruction(0, 1).mutable_transfer()->set_tag(3); }},
      {"under tag 2 another rank does something else",
       [](Victim v) {
         auto &axes = *v.from(0, 1).mutable_layout()->mutable_dims(0);
         axes.add_axes(0);
         for (int64_t bound : {0, 5, 0, 5}) {
           axes.add_bounds(bound);
         }
         // The same boxes by other means would be the same step.
         axes.set_bounds(1, 4);
       }},
      {"source and result differ in type or global shape",
       [](Victim v) { v.to(3).set_dims(0, 4); }},
      {"the target needs elements that the source does not hold",
       [](Victim v) {
         pb::DimLayout &dim = *v.from(3).mutable_layout()->mutable_dims(0);
         dim.add_bounds(1);
         dim.add_bounds(5);
       }},
      {"a partial value cannot go to another grid",
       [](Victim v) {
         pb::Layout &layout = *v.from(3).mutable_layout();
         layout.add_partial_axes(0);
         layout.set_partial_kind("sum");
       }},
      {"rank 0 has no source but is in its grid",
       [](Victim v) { v.instruction(3).mutable_transfer()->clear_source(); }},
      {"rank 0 has a result but is not in its grid",
       [](Victim v) { v.instruction(3).mutable_transfer()->set_result(3); }},
      {"the source buffer 2 does not have the layout of the transfer",
       [](Victim v) { v.instruction(3).mutable_transfer()->set_source(2); }},
      {"grid 5 of 2", [](Victim v) { v.to(3).set_grid(5); }},
      {"tensor 99 of 3",
       [](Victim v) { v.instruction(3).mutable_transfer()->set_to(99); }},
  });
}

TEST(VerifyTest, outputs) {
  expectFound({
      {"output 3 of 1",
       [](Victim v) { v.instruction(1, 1).mutable_output()->set_output(3); }},
      {"output 0: rank 2 does not write it, but is in its grid",
       [](Victim v) {
         *v.program(1).mutable_instructions(1) = v.program(1).instructions(2);
         v.program(1).mutable_instructions()->RemoveLast();
       }},
      {"rank 2 writes number 0 twice",
       [](Victim v) {
         *v.program(1).add_instructions() = v.program(1).instructions(1);
       }},
      {"buffer 4 differs in layout from the output",
       [](Victim v) {
         v.program().add_instructions()->mutable_output()->set_source(4);
       }},
  });
}

TEST(VerifyTest, commitsAndGlobals) {
  expectFound({
      {"buffer 5: global 3 of 1",
       [](Victim v) { v.buffer(5).set_new_global(3); }},
      {"buffer 5: its layout differs from that of its global at rest",
       [](Victim v) { v.buffer(5).set_tensor(v.buffer(2).tensor()); }},
      {"a program commits once",
       [](Victim v) {
         *v.program().add_instructions() = v.program().instructions(4);
       }},
      {"it is on queue 'copy', expected compute",
       [](Victim v) { v.instruction(4).set_queue(1); }},
      {"program 1 has no commit, but others have",
       [](Victim v) { v.program(1).mutable_instructions()->RemoveLast(); }},
      {"it writes global 'm', which only what comes after a commit may do",
       [](Victim v) { v.instruction(2).mutable_copy()->set_result(5); }},
      {"it writes buffer 1, which neither lies in the arena itself nor is the "
       "new value of a global",
       [](Victim v) { v.instruction(2).mutable_copy()->set_result(1); }},
      {"it touches bytes 0 to 60 of global 'm' and may run at the same time as "
       "instruction 4",
       [](Victim v) {
         v.instruction(5).set_queue(1);
         v.instruction(5).clear_after();
         v.instruction(5).add_after(2);
       }},
      {"ranks would wait for each other: entry 'f', program 0, instruction",
       [](Victim v) {
         // Rank 2 comes to the commit when it has what is sent after that.
         v.program().mutable_instructions()->SwapElements(3, 4);
         v.instruction(3).clear_after();
         v.instruction(3).add_after(1);
         v.instruction(4).add_after(3);
       }},
  });
}

TEST(VerifyTest, noDamagedFieldCrashes) {
  // Every number in the manifest, one at a time, becomes something else: the
  // answer is yes or no, but there is one.
  std::string valid = validManifest().SerializeAsString();
  google::protobuf::SetLogHandler(
      nullptr); // it reports names that are no UTF-8
  size_t refused = 0;
  for (size_t i = 0; i < valid.size(); ++i) {
    for (unsigned char flip : {0x01, 0x02, 0x10, 0x40, 0x7f, 0x80}) {
      std::string damaged = valid;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      pb::Manifest manifest;
      if (manifest.ParseFromString(damaged)) {
        refused += !verify(manifest).isOk();
      }
    }
  }
  EXPECT_GT(refused, valid.size());
}
