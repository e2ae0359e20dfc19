//===- OrderMutationTest.cpp - Programs whose order is damaged ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles models and programs, damages what orders their instructions, one
// thing at a time, and asks whether that is refused before anything runs.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/runtime/kernels/HostTensor.h"
#include "divisi/runtime/verify/Verify.h"
#include "lib/Artifact/Manifest.h"
#include "test/runtime/device/TestDevice.h"

#include <gmock/gmock.h>

using namespace divisi;
namespace pb = divisi::artifact;

namespace {

/// What is compiled, and how.
struct Case {
  const char *name;
  std::string path;
  std::optional<int64_t> devices, tensorParallel;
  std::map<std::string, std::vector<int64_t>> shapes;
  bool overlaps = true; ///< Whether its programs have an order made for that.
  bool usesDevice = false; ///< For one with memory of its own, and all kernels.
};

class OrderMutationTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override;
  static void TearDownTestSuite();

  /// Expects that `manifest` is refused.
  void expectRefused(const pb::Manifest &manifest);
  pb::Program &program(pb::Manifest &manifest, int entry, int program) const {
    return *manifest.mutable_entries(entry)->mutable_programs(program);
  }
  /// Calls `body(entry, program, instruction)` for all that there are.
  template <typename Body> void forEachInstruction(Body body) {
    for (int e = 0; e < valid.entries_size(); ++e) {
      for (int p = 0; p < valid.entries(e).programs_size(); ++p) {
        int size = valid.entries(e).programs(p).instructions_size();
        for (int i = 0; i < size; ++i) {
          body(e, p, i);
        }
      }
    }
  }

  /// Says what has been refused in this program.
  void note(const std::string &damage);

  pb::Manifest valid;
  int count = 0;

private:
  static std::map<std::string, int> &totals();
};

/// Bytes of an arena or a global.
struct Access {
  int64_t begin, end;
  bool writes;
};

} // namespace

static const rt::Backend &device() {
  static const rt::TestDeviceBackend backend(rt::referenceBackend());
  return backend;
}

static Status verify(const pb::Manifest &manifest) {
  const rt::Backend *const backends[] = {&rt::referenceBackend(), &device()};
  return rt::verifyManifest(manifest, backends);
}

void OrderMutationTest::SetUp() {
  const Case &param = GetParam();
  CompileOptions options;
  options.report = false;
  options.plan.grid.devices = param.devices;
  options.plan.grid.tensorParallel = param.tensorParallel;
  options.device.backend = param.usesDevice ? &device() : nullptr;
  for (const auto &[name, dims] : param.shapes) {
    options.import.inputs[name] = {dims, std::nullopt};
  }
  Compilation compilation(std::move(options));
  Status status = compilation.load(param.path);
  if (status.isOk()) {
    status = compilation.advanceTo(Stage::Lower);
  }
  ASSERT_TRUE(status.isOk()) << status.message();
  for (auto program : compilation.module().getOps<exec::ProgramOp>()) {
    EXPECT_EQ(program.getOverlap(), param.overlaps);
  }
  Expected<ManifestDraft> draft = draftManifest(compilation.module());
  ASSERT_TRUE(draft) << draft.status().message();
  valid = std::move(draft->manifest);
  // The data is not needed, and not looked at.
  for (pb::Global &global : *valid.mutable_globals()) {
    const pb::Tensor &tensor = valid.tensors(int(global.tensor()));
    global.set_bytes(*rt::checkedBytes(
        *rt::parseDType(tensor.dtype()),
        rt::Dims(tensor.dims().begin(), tensor.dims().end())));
  }
  status = verify(valid);
  ASSERT_TRUE(status.isOk()) << status.message();
}

/// Refused in all programs, by damage.
std::map<std::string, int> &OrderMutationTest::totals() {
  static std::map<std::string, int> totals;
  return totals;
}

void OrderMutationTest::note(const std::string &damage) {
  std::cout << GetParam().name << ": " << count << " " << damage << "\n";
  totals()[damage] += count;
}

void OrderMutationTest::TearDownTestSuite() {
  for (const auto &[what, count] : totals()) {
    std::cout << "counted: refused of all programs: " << count << " " << what
              << "\n";
  }
}

void OrderMutationTest::expectRefused(const pb::Manifest &manifest) {
  EXPECT_EQ(verify(manifest).code(), ExitCode::Invalid);
  ++count;
}

/// Of the arena in a memory space: far behind the host's, and globals.
static int64_t beginOf(uint32_t space) { return int64_t(space) << 56; }

/// The buffer whose bytes `buffer` shows.
static const pb::Buffer &rootOf(const pb::Program &program, uint32_t buffer) {
  const pb::Buffer *bytes = &program.buffers(static_cast<int>(buffer));
  while (bytes->where_case() == pb::Buffer::kView) {
    bytes = &program.buffers(static_cast<int>(bytes->view()));
  }
  return *bytes;
}

static bool leadsBetweenSpaces(const pb::Program &program,
                               const pb::Copy &copy) {
  return rootOf(program, copy.source()).space() !=
         rootOf(program, copy.result()).space();
}

static void addAccess(const pb::Program &program, uint32_t buffer, bool writes,
                      std::vector<Access> &accesses) {
  const pb::Buffer &bytes = rootOf(program, buffer);
  int64_t begin = beginOf(bytes.space()) + bytes.arena_offset();
  // Old value and new one, far from the arena.
  int64_t number = 1 + int64_t(bytes.global()) + bytes.new_global() +
                   bytes.input() + bytes.new_input();
  if (!bytes.has_arena_offset()) {
    begin = number << (bytes.has_global() || bytes.has_new_global() ? 40 : 48);
  }
  accesses.push_back({begin, begin + bytes.bytes(), writes});
}

/// What an instruction touches while it runs.
static std::vector<Access> accessesOf(const pb::Program &program,
                                      const pb::Instruction &instruction) {
  std::vector<Access> accesses;
  auto read = [&](uint32_t buffer) {
    addAccess(program, buffer, /*writes=*/false, accesses);
  };
  auto write = [&](uint32_t buffer) {
    addAccess(program, buffer, /*writes=*/true, accesses);
  };
  llvm::for_each(instruction.call().operands(), read);
  llvm::for_each(instruction.call().results(), write);
  if (const pb::Call &call = instruction.call(); call.workspace_bytes() > 0) {
    int64_t begin = beginOf(call.space()) + call.workspace_offset();
    accesses.push_back(
        {begin, begin + call.workspace_bytes(), /*writes=*/true});
  }
  if (instruction.has_collective()) {
    read(instruction.collective().source());
    write(instruction.collective().result());
  }
  if (instruction.transfer().has_source()) {
    read(instruction.transfer().source());
  }
  if (instruction.transfer().has_result()) {
    write(instruction.transfer().result());
  }
  if (instruction.has_output()) {
    read(instruction.output().source());
  }
  if (instruction.has_copy()) {
    read(instruction.copy().source());
    write(instruction.copy().result());
  }
  llvm::for_each(instruction.loop().carried(), read);
  llvm::for_each(instruction.loop().given(), read);
  llvm::for_each(instruction.loop().results(), write);
  llvm::for_each(instruction.loop().spares(), write);
  if (instruction.has_loop()) {
    read(instruction.loop().count());
  }
  if (instruction.loop().has_arena()) {
    write(instruction.loop().arena());
  }
  // A loop is beside nothing.
  constexpr int64_t apart = int64_t(1) << 60;
  accesses.push_back({apart, apart + 1, instruction.has_loop()});
  for (int b = 0; instruction.has_commit() && b < program.buffers_size(); ++b) {
    if (program.buffers(b).has_new_global()) {
      read(b); // whoever writes it comes after the commit
    }
  }
  return accesses;
}

static bool meet(const std::vector<Access> &a, const std::vector<Access> &b) {
  return llvm::any_of(a, [&](const Access &x) {
    return llvm::any_of(b, [&](const Access &y) {
      return x.begin < y.end && y.begin < x.end && (x.writes || y.writes);
    });
  });
}

/// Whether all pairs of instructions that meet in the arena are ordered, by the
/// whole closure of queue order and `after`.
static bool isOrdered(const pb::Program &program) {
  int size = program.instructions_size();
  std::vector<std::vector<bool>> before(size, std::vector<bool>(size, false));
  std::vector<std::vector<Access>> accesses;
  for (int i = 0; i < size; ++i) {
    const pb::Instruction &instruction = program.instructions(i);
    accesses.push_back(accessesOf(program, instruction));
    auto join = [&](int earlier) {
      before[i][earlier] = true;
      for (int j = 0; j < earlier; ++j) {
        before[i][j] = before[i][j] || before[earlier][j];
      }
    };
    for (int j = i - 1; j >= 0; --j) {
      if (program.instructions(j).queue() == instruction.queue()) {
        join(j);
        break;
      }
    }
    llvm::for_each(instruction.after(), join);
    for (int j = 0; j < i; ++j) {
      if (!before[i][j] && meet(accesses[i], accesses[j])) {
        return false;
      }
    }
  }
  return true;
}

TEST_P(OrderMutationTest, everyEdgeIsNeeded) {
  forEachInstruction([&](int e, int p, int i) {
    int edges = valid.entries(e).programs(p).instructions(i).after_size();
    for (int edge = 0; edge < edges; ++edge) {
      pb::Manifest manifest = valid;
      auto &after =
          *program(manifest, e, p).mutable_instructions(i)->mutable_after();
      after.erase(after.begin() + edge);
      EXPECT_FALSE(isOrdered(program(manifest, e, p)));
      expectRefused(manifest);
    }
  });
  note("edges dropped");
  EXPECT_GT(count, 0);
}

static uint32_t tagOf(const pb::Instruction &instruction) {
  return instruction.has_transfer() ? instruction.transfer().tag()
                                    : instruction.collective().tag();
}

static void setTag(pb::Instruction &instruction, uint32_t tag) {
  if (instruction.has_transfer()) {
    instruction.mutable_transfer()->set_tag(tag);
  } else {
    instruction.mutable_collective()->set_tag(tag);
  }
}

/// A program of the last rank alone; the others keep theirs.
static pb::Program &splitLastRank(pb::Entry &entry, int index) {
  pb::Program &program = *entry.mutable_programs(index);
  if (program.ranks_size() == 1) {
    return program;
  }
  pb::Program own = program;
  own.clear_ranks();
  own.add_ranks(program.ranks(program.ranks_size() - 1));
  program.mutable_ranks()->RemoveLast();
  return *entry.add_programs() = std::move(own);
}

TEST_P(OrderMutationTest, everyCommunicatorHasOneOrder) {
  std::map<std::tuple<int, int, uint32_t>, int> last; // by queue
  forEachInstruction([&](int e, int p, int i) {
    uint32_t queue = valid.entries(e).programs(p).instructions(i).queue();
    auto [it, isFirst] = last.try_emplace({e, p, queue}, i);
    int before = std::exchange(it->second, i);
    if (queue < 2 || isFirst) {
      return;
    }
    pb::Manifest manifest = valid;
    pb::Program &own = splitLastRank(*manifest.mutable_entries(e), p);
    EXPECT_TRUE(verify(manifest).isOk());
    uint32_t first = tagOf(own.instructions(before));
    uint32_t second = tagOf(own.instructions(i));
    setTag(*own.mutable_instructions(before), second);
    setTag(*own.mutable_instructions(i), first);
    expectRefused(manifest);
  });
  note("pairs swapped");
}

TEST_P(OrderMutationTest, noBufferIsLargerThanNeeded) {
  for (int e = 0; e < valid.entries_size(); ++e) {
    for (int p = 0; p < valid.entries(e).programs_size(); ++p) {
      for (int b = 0; b < valid.entries(e).programs(p).buffers_size(); ++b) {
        pb::Manifest manifest = valid;
        pb::Buffer &buffer = *program(manifest, e, p).mutable_buffers(b);
        if (buffer.where_case() == pb::Buffer::kArenaOffset) {
          buffer.set_bytes(buffer.bytes() - 1);
          expectRefused(manifest);
        }
      }
    }
  }
  note("buffers shrunk");
  EXPECT_GT(count, 0);
}

// What talks to nobody may be on two queues, and some of it is right on both:
// by the closure of all edges. All else is refused on every other queue.
TEST_P(OrderMutationTest, everyQueueIsTheRightOne) {
  forEachInstruction([&](int e, int p, int i) {
    uint32_t queues = 2 + valid.communicators_size();
    const pb::Instruction &instruction =
        valid.entries(e).programs(p).instructions(i);
    for (uint32_t queue = 0; queue < queues; ++queue) {
      if (queue == instruction.queue()) {
        continue;
      }
      pb::Manifest manifest = valid;
      pb::Program &moved = program(manifest, e, p);
      moved.mutable_instructions(i)->set_queue(queue);
      bool isLocal = instruction.queue() < 2 && !instruction.has_call() &&
                     !instruction.has_commit() && !instruction.has_loop() &&
                     !(instruction.has_copy() &&
                       leadsBetweenSpaces(moved, instruction.copy()));
      if (isLocal && queue < 2 && isOrdered(moved)) {
        EXPECT_TRUE(verify(manifest).isOk());
        continue;
      }
      expectRefused(manifest);
    }
  });
  note("instructions moved to another queue");
  EXPECT_GT(count, 0);
}

static std::string model(const char *name) {
  return std::string(DIVISI_MODELS "/") + name + ".onnx";
}

static std::string handWritten(const char *name) {
  return std::string(DIVISI_PROGRAMS "/") + name + ".mlir";
}

INSTANTIATE_TEST_SUITE_P(
    Programs, OrderMutationTest,
    testing::Values(
        Case{"gpt2_tensor_4",
             model("gpt2"),
             4,
             4,
             {{"input_ids", {8, 16}}, {"attention_mask", {8, 16}}},
             /*overlaps=*/false},
        Case{"gpt2_tensor_2_device",
             model("gpt2"),
             2,
             2,
             {{"input_ids", {8, 16}}, {"attention_mask", {8, 16}}},
             /*overlaps=*/true,
             /*usesDevice=*/true},
        Case{"train_step_device",
             handWritten("train_step"),
             4,
             {},
             {},
             /*overlaps=*/true,
             /*usesDevice=*/true},
        Case{"gpt2_data_2_tensor_2",
             model("gpt2"),
             4,
             2,
             {{"input_ids", {8, 16}}, {"attention_mask", {8, 16}}},
             /*overlaps=*/false},
        Case{"llama_tensor_2",
             model("llama"),
             2,
             2,
             {{"input_ids", {8, 16}}, {"attention_mask", {8, 16}}}},
        Case{"t5_tensor_2",
             model("t5"),
             2,
             2,
             {{"input_ids", {8, 16}}, {"decoder_input_ids", {8, 8}}}},
        Case{"resnet_tensor_3",
             model("resnet"),
             3,
             3,
             {{"pixel_values", {8, 3, 64, 64}}}},
        Case{"train_step", handWritten("train_step"), 4, {}, {}},
        Case{"zero_step", handWritten("zero_step"), {}, {}, {}},
        Case{"megatron_step", handWritten("megatron_step"), {}, {}, {}},
        // Entries with loops keep their order.
        Case{"loop", handWritten("loop"), {}, {}, {}, false},
        Case{"two_grids",
             handWritten("two_grids"),
             {},
             {},
             {},
             /*overlaps=*/false},
        Case{"one_forward_one_backward",
             handWritten("one_forward_one_backward"),
             {},
             {},
             {},
             /*overlaps=*/false}),
    [](const auto &info) { return std::string(info.param.name); });
