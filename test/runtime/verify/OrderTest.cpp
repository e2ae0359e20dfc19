//===- OrderTest.cpp - Programs on several queues -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/verify/Verify.h"
#include "runtime/verify/VerifyOrder.h"
#include "test/runtime/core/TestSession.h"

#include <array>
#include <gmock/gmock.h>
#include <iostream>

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

static Status verify(const pb::Manifest &manifest) {
  static const TestBackend backend;
  const Backend *backends[] = {&backend};
  return verifyManifest(manifest, backends);
}

/// What an instruction of a program is on, and comes after.
static void order(pb::Program &program, int instruction, uint32_t queue,
                  const Axes &after = {}) {
  pb::Instruction &message = *program.mutable_instructions(instruction);
  message.set_queue(queue);
  message.mutable_after()->Assign(after.begin(), after.end());
}

static void addCommunicator(pb::Manifest &manifest, const std::string &name,
                            uint32_t grid, std::optional<uint32_t> target,
                            const Axes &axes = {}) {
  pb::Communicator &communicator = *manifest.add_communicators();
  communicator.set_name(name);
  communicator.set_grid(grid);
  communicator.mutable_axes()->Assign(axes.begin(), axes.end());
  if (target) {
    communicator.set_target(*target);
  }
}

/// Two stages and two micro-batches x0, x1: rank 0 computes F(x) = relu(x) and
/// B(g) = g + F(x), rank 1 between them G(f) = f + f. Rank 0 does F0 F1 B0 B1,
/// rank 1 F0 B0 F1 B1: the activations of batch 1 and the gradients of batch 0
/// (tags 1 and 2) come in different orders. What is left in one arena of three
/// tensors a rank is written over.
///
///   rank 0                        rank 1
///   0 call F0        -> a         0 transfer tag 0 -> a
///   1 transfer tag 0 a            1 call G0        a -> b
///   2 call F1        -> b         2 transfer tag 2 b
///   3 transfer tag 1 b            3 transfer tag 1 -> a
///   4 transfer tag 2 -> c         4 call G1        a -> b
///   5 call B0        c, a -> c    5 transfer tag 3 b
///   6 output 0 c
///   7 transfer tag 3 -> a
///   8 call B1        a, b -> a
///   9 output 1 a
static pb::Manifest oneForwardOneBackward() {
  ManifestBuilder b(2);
  uint32_t g = b.grid("first", {1}, {0}), h = b.grid("second", {1}, {1});
  addCommunicator(b.manifest, "forward", g, h);
  addCommunicator(b.manifest, "backward", h, g);
  TensorRef here = b.tensor(g, {4}, {{}}), there = b.tensor(h, {4}, {{}});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("step");
  for (const char *name : {"0", "1"}) {
    addValue(entry.mutable_inputs(), std::string("x") + name, here);
    addValue(entry.mutable_outputs(), std::string("y") + name, here);
  }
  ProgramBuilder p(b.manifest, entry, {0});
  uint32_t x0 = p.input(0, here), x1 = p.input(1, here);
  uint32_t f0 = p.alloc(here), f1 = p.alloc(here), g0 = p.alloc(here);
  uint32_t b0 = p.alloc(here, 128), g1 = p.alloc(here, 0);
  uint32_t b1 = p.alloc(here, 0);
  p.call("test.relu", {x0}, f0);
  p.transfer(here, there, f0, {}, 0);
  p.call("test.relu", {x1}, f1);
  p.transfer(here, there, f1, {}, 1);
  p.transfer(there, here, {}, g0, 2);
  p.call("test.relu", {g0}, b0);
  p.output(b0, 0);
  p.transfer(there, here, {}, g1, 3);
  p.call("test.relu", {g1}, b1);
  p.output(b1, 1);
  for (auto [instruction, queue, after] :
       std::initializer_list<std::tuple<int, uint32_t, Axes>>{{1, 2, {0}},
                                                              {3, 2, {2}},
                                                              {4, 3, {}},
                                                              {5, 0, {4}},
                                                              {7, 3, {1}},
                                                              {8, 0, {7}}}) {
    order(p.program, instruction, queue, after);
  }
  ProgramBuilder q(b.manifest, entry, {1});
  uint32_t a0 = q.alloc(there), c0 = q.alloc(there);
  uint32_t a1 = q.alloc(there, 0), c1 = q.alloc(there, 64);
  q.transfer(here, there, {}, a0, 0);
  q.call("test.add", {a0, a0}, c0);
  q.transfer(there, here, c0, {}, 2);
  q.transfer(here, there, {}, a1, 1);
  q.call("test.add", {a1, a1}, c1);
  q.transfer(there, here, c1, {}, 3);
  for (auto [instruction, queue, after] :
       std::initializer_list<std::tuple<int, uint32_t, Axes>>{{0, 2, {}},
                                                              {1, 0, {0}},
                                                              {2, 3, {1}},
                                                              {3, 2, {1}},
                                                              {4, 0, {2, 3}},
                                                              {5, 3, {4}}}) {
    order(q.program, instruction, queue, after);
  }
  sayInPlace(p.program);
  sayInPlace(q.program);
  return b.manifest;
}

TEST(OrderTest, stagesThatMeetInDifferentOrdersRun) {
  auto session = openSession(oneForwardOneBackward());
  ASSERT_TRUE(session) << session.status().message();
  for (float start : {1.f, 100.f}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(makeTensor({4}, counting(4, start)));
    inputs.push_back(makeTensor({4}, counting(4, start + 10)));
    auto outputs = (*session)->run("step", inputs);
    ASSERT_TRUE(outputs) << outputs.status().message();
    for (int y : {0, 1}) {
      std::vector<float> expected = counting(4, start + 10 * y);
      for (float &value : expected) {
        value *= 2;
      }
      EXPECT_EQ(valuesOf((*outputs)[y]), expected);
    }
  }
}

/// Rank 0 is held in its first call until rank 1 has made its second, which
/// comes after the gather in the list and has nothing to do with it.
static pb::Manifest gatherBesideACall() {
  ManifestBuilder b(2);
  uint32_t g = b.grid({2});
  addCommunicator(b.manifest, "all", g, {}, {0});
  TensorRef part = b.tensor(g, {4}, {DimSplit({0})});
  TensorRef whole = b.tensor(g, {4}, {{}});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", part);
  addValue(entry.mutable_outputs(), "y", whole);
  ProgramBuilder p(b.manifest, entry, {0, 1});
  uint32_t x = p.input(0, part), slow = p.alloc(part), y = p.alloc(whole);
  uint32_t free = p.alloc(part);
  p.call("test.slow", {x}, slow);
  p.collective("all_gather", {0}, slow, y, 0);
  p.call("test.open", {x}, free);
  p.output(y, 0);
  order(p.program, 1, 2, {0});
  order(p.program, 3, 0, {1});
  return b.manifest;
}

TEST(OrderTest, aRankComputesWhileItsCollectiveWaits) {
  auto session = openSession(gatherBesideACall());
  ASSERT_TRUE(session) << session.status().message();
  TestBackend::gate.close();
  auto y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  TestBackend::gate.open();
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_EQ(valuesOf(y->front()), counting(4));
}

TEST(OrderTest, oneQueueForAllOfItWouldBlock) {
  pb::Manifest manifest = oneForwardOneBackward();
  for (pb::Program &program :
       *manifest.mutable_entries(0)->mutable_programs()) {
    for (int i = 1; i < program.instructions_size(); ++i) {
      program.mutable_instructions(i)->add_after(i - 1);
    }
  }
  Status status = verify(manifest);
  EXPECT_EQ(status.code(), ExitCode::Invalid);
  EXPECT_THAT(status.message(),
              HasSubstr("ranks would wait for each other: entry 'step', "
                        "program "));
  EXPECT_THAT(status.message(), HasSubstr(", which waits for entry 'step', "));
}

// What devices do they are given in the order of the list: rank 0 would give
// its device tag 1 before tag 2, which rank 1 gives before tag 1.
TEST(OrderTest, stepsOfDevicesHaveOneOrderInAllLists) {
  pb::Manifest manifest = oneForwardOneBackward();
  auto verifyOrders = [&] {
    auto resolved = resolveManifest(manifest);
    EXPECT_TRUE(resolved) << resolved.status().message();
    return verifyOrder(**resolved, (*resolved)->entries[0]);
  };
  EXPECT_TRUE(verifyOrders().isOk());
  manifest.add_spaces("test");
  for (pb::Program &program :
       *manifest.mutable_entries(0)->mutable_programs()) {
    program.add_device_arena_bytes(program.arena_bytes());
    for (pb::Buffer &buffer : *program.mutable_buffers()) {
      buffer.set_space(buffer.has_arena_offset() ? 1 : 0);
    }
  }
  Status status = verifyOrders();
  EXPECT_EQ(status.code(), ExitCode::Invalid);
  EXPECT_THAT(status.message(), HasSubstr("ranks would wait for each other: "));
  // Nor may what the host does, tag 2 here, stand on the other side of tag 1.
  for (pb::Program &program :
       *manifest.mutable_entries(0)->mutable_programs()) {
    for (const pb::Instruction &instruction : program.instructions()) {
      const pb::Transfer &transfer = instruction.transfer();
      if (instruction.has_transfer() && transfer.tag() >= 2) {
        int moved = static_cast<int>(transfer.has_source() ? transfer.source()
                                                           : transfer.result());
        program.mutable_buffers(moved)->set_space(0);
      }
    }
  }
  EXPECT_THAT(verifyOrders().message(),
              HasSubstr("ranks would wait for each other: "));
}

// Each of them is there for a reason: without it, bytes are read before they
// are written, or written over before they are read.
TEST(OrderTest, everyEdgeIsNeeded) {
  pb::Manifest valid = oneForwardOneBackward();
  ASSERT_TRUE(verify(valid).isOk());
  int dropped = 0;
  for (int p = 0; p < 2; ++p) {
    int size = valid.entries(0).programs(p).instructions_size();
    for (int i = 0; i < size; ++i) {
      int edges = valid.entries(0).programs(p).instructions(i).after_size();
      for (int e = 0; e < edges; ++e) {
        pb::Manifest manifest = valid;
        auto &after = *manifest.mutable_entries(0)
                           ->mutable_programs(p)
                           ->mutable_instructions(i)
                           ->mutable_after();
        after.erase(after.begin() + e);
        Status status = verify(manifest);
        EXPECT_EQ(status.code(), ExitCode::Invalid);
        EXPECT_THAT(status.message(),
                    HasSubstr("of the arena and may run at the same time as "
                              "instruction "));
        ++dropped;
      }
    }
  }
  EXPECT_EQ(dropped, 11);
}

namespace {

struct Damage {
  const char *message;
  void (*apply)(pb::Manifest &manifest, pb::Program &first,
                pb::Program &second);
};

} // namespace

TEST(OrderTest, whatIsNotInOrderIsRefused) {
  for (const Damage &damage : std::initializer_list<Damage>{
           {"instruction 1: queue 4 of 4",
            [](pb::Manifest &, pb::Program &first, pb::Program &) {
              first.mutable_instructions(1)->set_queue(4);
            }},
           {"instruction 1: it comes after instruction 1, which does not come "
            "before it in the list",
            [](pb::Manifest &, pb::Program &first, pb::Program &) {
              first.mutable_instructions(1)->set_after(0, 1);
            }},
           {"communicator 'forward' names an unknown grid or axis",
            [](pb::Manifest &manifest, pb::Program &, pb::Program &) {
              manifest.mutable_communicators(0)->add_axes(1);
            }},
           {"communicator 'backward' names an unknown grid or axis",
            [](pb::Manifest &manifest, pb::Program &, pb::Program &) {
              manifest.mutable_communicators(1)->set_target(2);
            }},
           {"it is on queue 'copy', expected compute",
            [](pb::Manifest &, pb::Program &first, pb::Program &) {
              first.mutable_instructions(0)->set_queue(1);
            }},
           {"it is on queue 'forward', expected compute or copy",
            [](pb::Manifest &, pb::Program &first, pb::Program &) {
              first.mutable_instructions(6)->set_queue(2);
            }},
           {"it is on queue 'backward', expected that of a communicator of its "
            "ranks",
            [](pb::Manifest &, pb::Program &first, pb::Program &) {
              first.mutable_instructions(1)->set_queue(3);
            }},
           {"it is on queue 'compute', expected that of a communicator of its "
            "ranks",
            [](pb::Manifest &, pb::Program &first, pb::Program &) {
              first.mutable_instructions(1)->set_queue(0);
            }},
           // Nothing says that the copy waits for what it copies.
           {"of the arena and may run at the same time as instruction 5",
            [](pb::Manifest &, pb::Program &first, pb::Program &) {
              first.mutable_instructions(6)->set_queue(1);
            }},
           // Rank 1 has batch 1 first.
           {"tag 1 comes where other ranks of communicator 'forward' have tag "
            "0; all must have one order",
            [](pb::Manifest &, pb::Program &, pb::Program &second) {
              second.mutable_instructions(0)->mutable_transfer()->set_tag(1);
              second.mutable_instructions(3)->mutable_transfer()->set_tag(0);
            }},
           // The same ranks, but another queue there.
           {"under tag 0 another rank does something else",
            [](pb::Manifest &manifest, pb::Program &, pb::Program &second) {
              *manifest.add_communicators() = manifest.communicators(0);
              second.mutable_instructions(0)->set_queue(4);
            }},
       }) {
    pb::Manifest manifest = oneForwardOneBackward();
    pb::Entry &entry = *manifest.mutable_entries(0);
    damage.apply(manifest, *entry.mutable_programs(0),
                 *entry.mutable_programs(1));
    Status status = verify(manifest);
    EXPECT_EQ(status.code(), ExitCode::Invalid) << damage.message;
    EXPECT_THAT(status.message(), HasSubstr(damage.message));
  }
}

TEST(OrderTest, thereIsAnEndToWhatIsChecked) {
  pb::Manifest manifest = oneForwardOneBackward();
  for (int i = 0; i < 998; ++i) {
    *manifest.add_communicators() = manifest.communicators(0);
  }
  pb::Program &program = *manifest.mutable_entries(0)->mutable_programs(0);
  for (uint32_t i = 0; i < 280000; ++i) {
    program.add_instructions()->set_queue(i % 1000);
  }
  EXPECT_THAT(verify(manifest).message(),
              HasSubstr("280010 instructions on 1000 queues are too many to be "
                        "checked"));
  for (int i = 0; i < 25; ++i) {
    *manifest.add_communicators() = manifest.communicators(0);
  }
  EXPECT_THAT(verify(manifest).message(),
              HasSubstr("got 1025 communicators, expected at most 1024"));
}

// Two programs that share no group of a communicator may differ in its order:
// axis a of 2 joins ranks 0 and 2, 1 and 3; the programs are of 0, 2 and 1, 3.
TEST(OrderTest, groupsOfACommunicatorHaveOrdersOfTheirOwn) {
  ManifestBuilder b(4);
  uint32_t g = b.grid({2, 2});
  addCommunicator(b.manifest, "a", g, {}, {0});
  TensorRef split = b.tensor(g, {4}, {DimSplit({0})});
  TensorRef whole = b.tensor(g, {4}, {{}});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", split);
  addValue(entry.mutable_outputs(), "y", whole);
  for (bool second : {false, true}) {
    ProgramBuilder p(b.manifest, entry, second ? Axes{1, 3} : Axes{0, 2});
    uint32_t x = p.input(0, split), y = p.alloc(whole), z = p.alloc(whole);
    p.collective("all_gather", {0}, x, y, second ? 1 : 0);
    p.collective("all_gather", {0}, x, z, second ? 0 : 1);
    p.output(z, 0);
    order(p.program, 0, 2);
    order(p.program, 1, 2);
    order(p.program, 2, 0, {1});
  }
  EXPECT_TRUE(verify(b.manifest).isOk()) << verify(b.manifest).message();
  auto session = openSession(b.manifest);
  ASSERT_TRUE(session) << session.status().message();
  auto y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_EQ(valuesOf(y->front()), counting(4));
  // Ranks 0 and 1, 2 and 3 meet across the programs.
  entry.mutable_programs(0)->set_ranks(1, 1);
  entry.mutable_programs(1)->set_ranks(0, 2);
  EXPECT_THAT(verify(b.manifest).message(),
              HasSubstr("tag 1 comes where other ranks of communicator 'a' "));
}

/// Layers of calls and collectives on a grid of 64 x 8 ranks, in as many
/// programs, each of the ranks that are `programs` apart.
static pb::Manifest manyRanks(uint32_t programs, int layers) {
  constexpr uint32_t ranks = 512;
  ManifestBuilder b(ranks);
  uint32_t g = b.grid({64, 8});
  TensorRef whole = b.tensor(g, {64, 8}, {{}, {}});
  TensorRef rows = b.tensor(g, {64, 8}, {DimSplit({0}), {}});
  TensorRef partial = b.tensor(g, {64, 8}, {DimSplit({0}), {}}, {1});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", rows);
  addValue(entry.mutable_outputs(), "y", rows);
  for (uint32_t first = 0; first < programs; ++first) {
    Axes own;
    for (uint32_t rank = first; rank < ranks; rank += programs) {
      own.push_back(rank);
    }
    ProgramBuilder p(b.manifest, entry, own);
    uint32_t x = p.input(0, rows), gathered = p.alloc(whole);
    std::array<uint32_t, 2> values = {p.alloc(rows), p.alloc(rows)};
    uint32_t masked = p.alloc(partial);
    for (int layer = 0; layer < layers; ++layer) {
      for (int i = 0; i < 20; ++i) {
        p.call("test.relu", {x}, values[i % 2]);
        x = values[i % 2];
      }
      p.collective("mask", {1}, x, masked, 0);
      p.collective("all_reduce", {1}, masked, values[0], 2 * layer);
      p.collective("all_gather", {0}, values[0], gathered, 2 * layer + 1);
      x = values[0];
    }
    p.output(x, 0);
  }
  return inOneOrder(b.manifest);
}

// What is checked is programs, not ranks.
TEST(OrderTest, manyRanksAndManyProgramsAreCheckedAtOnce) {
  for (uint32_t programs : {1, 512}) {
    pb::Manifest manifest = manyRanks(programs, 8);
    auto begin = std::chrono::steady_clock::now();
    Status status = verify(manifest);
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(status.isOk()) << status.message();
    std::cout << "512 ranks, " << programs << " programs: verified in "
              << took.count() << " s\n";
  }
}

TEST(OrderTest, manyRanksLoadAndRun) {
  auto begin = std::chrono::steady_clock::now();
  auto session = openSession(manyRanks(512, 8));
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(session) << session.status().message();
  std::cout << "512 ranks with a program each: written and loaded in "
            << took.count() << " s\n";
  auto y = (*session)->run("f", listOf(makeTensor({64, 8}, counting(512))));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_EQ(valuesOf(y->front()), counting(512));
}
