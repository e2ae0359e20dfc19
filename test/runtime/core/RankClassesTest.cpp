//===- RankClassesTest.cpp - Ranks that hold as much ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs on two grids, cut unevenly, some ranks with empty boxes and
// some without a program: what is counted once for many ranks is what is
// counted rank by rank.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankClasses.h"
#include "runtime/comm/Messages.h"
#include "runtime/comm/QueuedShape.h"
#include "test/runtime/core/LoopEntries.h"

#include <gtest/gtest.h>
#include <random>

using namespace divisi;
using namespace divisi::rt;

namespace {

/// Kernels that want what depends on where boxes lie, and on constants.
class FussyBackend final : public Backend {
public:
  std::string_view name() const override { return "fussy"; }
  std::span<const Kernel> kernels() const override {
    static const std::vector<Kernel> table = {
        {"test.fussy", 1, KernelUse::Whole, query, nullptr}};
    return table;
  }

private:
  static KernelQuery query(const CallSite &site) {
    KernelQuery query;
    const TensorInfo &x = site.operands[0];
    query.workspaceBytes = 64 * (x.offset[0] % 3) + 128 * x.extents[1];
    for (size_t o = 0; o < site.operands.size(); ++o) {
      query.inPlace.emplace_back(int(o), 0);
      if (site.constants[o]) {
        query.unread.push_back(int(o));
        query.packed.push_back({int(o), "turned", site.operands[o].bytes() + 8,
                                site.operands[o].offset[1] * 16});
      }
    }
    return query;
  }
};

/// A random program for 12 ranks: 0 to 5 on one grid, 6 to 9 on another, and
/// two that have none.
class RandomManifest {
public:
  explicit RandomManifest(unsigned seed) : random_(seed) {
    grids_[0] = b_.grid("a", {2, 3}, {0, 1, 2, 3, 4, 5});
    grids_[1] = b_.grid("b", {4}, {9, 7, 8, 6});
    for (uint32_t kind = 0; kind < 3; ++kind) {
      weights_.push_back(split(kind == 2 ? 1 : 0));
      globals_.push_back(b_.global("w" + std::to_string(kind),
                                   kind == 1 ? "state" : "parameter",
                                   weights_.back()));
    }
    pb::Entry *entry = b_.manifest.add_entries();
    pb::Entry *body = b_.manifest.add_entries();
    entry = b_.manifest.mutable_entries(0);
    entry->set_name("f");
    body->set_name("step");
    body->set_is_body(true);
    TensorRef x = split(0), y = split(1), n = count();
    addValue(entry->mutable_inputs(), "x", x);
    addValue(entry->mutable_inputs(), "y", y);
    addValue(entry->mutable_inputs(), "n", n);
    addValue(body->mutable_inputs(), "n", n);
    addValue(body->mutable_inputs(), "x", x);
    addValue(body->mutable_inputs(), "f", x);
    addValue(body->mutable_outputs(), "z", x);
    ProgramBuilder a(b_.manifest, *entry, {0, 1, 2, 3, 4, 5});
    ProgramBuilder c(b_.manifest, *entry, {6, 7, 8, 9});
    uint32_t first = a.input(0, x), second = c.input(1, y);
    addSteps(a, 0, first, x);
    addLoopTo(a, x, n, first);
    addTransfers(a, c);
    addSteps(c, 1, second, y);
    uint32_t updated = a.newGlobal(globals_[1], weights_[1]);
    a.call("test.fussy", {a.global(globals_[1], weights_[1])}, updated);
    a.commit();
    c.commit();
    ProgramBuilder inside(b_.manifest, *body, {0, 1, 2, 3, 4, 5});
    addSteps(inside, 0, inside.input(1, x), x);
  }

  pb::Manifest take() {
    for (pb::Global &global : *b_.manifest.mutable_globals()) {
      global.set_bytes(4 * 7 * 9); // as many as the type says
    }
    return inOneOrder(std::move(b_.manifest));
  }

private:
  int64_t draw(int64_t count) {
    return std::uniform_int_distribution<int64_t>(0, count - 1)(random_);
  }
  TensorRef count() { return b_.tensor(grids_[0], {}, {}, {}, "", "i64"); }

  /// [0, extent) cut anywhere, so that parts may be empty.
  Bounds cut(int64_t extent, int64_t parts) {
    std::vector<int64_t> ends = {0, extent};
    for (int64_t i = 1; i < parts; ++i) {
      ends.push_back(draw(extent + 1));
    }
    std::ranges::sort(ends);
    Bounds bounds;
    for (int64_t i = 0; i < parts; ++i) {
      bounds.insert(bounds.end(), {ends[size_t(i)], ends[size_t(i) + 1]});
    }
    return bounds;
  }
  DimSplit splitOver(uint32_t grid, uint32_t axis, int64_t extent) {
    const pb::Grid &message = b_.manifest.grids(int(grid));
    return {Axes{axis}, cut(extent, message.axes(int(axis)).size())};
  }
  TensorRef make(uint32_t grid, std::optional<uint32_t> rows,
                 std::optional<uint32_t> columns, const Axes &partial = {}) {
    std::vector<DimSplit> splits(2);
    splits[0] = rows ? splitOver(grid, *rows, 7) : DimSplit();
    splits[1] = columns ? splitOver(grid, *columns, 9) : DimSplit();
    return b_.tensor(grids_[grid], {7, 9}, splits, partial);
  }
  TensorRef split(uint32_t grid) {
    return grid == 1 ? make(1, {}, 0)
           : draw(2) == 0
               ? make(0, 0, 1)
               : make(0, 1, draw(2) == 0 ? std::optional(0u) : std::nullopt);
  }

  /// Calls, and every kind of collective.
  void addSteps(ProgramBuilder &p, uint32_t grid, uint32_t given,
                const TensorRef &x) {
    uint32_t weight = p.global(globals_[grid * 2], weights_[grid * 2]);
    for (int i = 0; i < 6; ++i) {
      auto axis = uint32_t(draw(grid == 0 ? 2 : 1));
      TensorRef whole = make(grid, {}, {}), part = make(grid, axis, {});
      TensorRef columns = make(grid, {}, axis);
      TensorRef partial = make(grid, {}, {}, {axis});
      uint32_t parts = p.alloc(part), all = p.alloc(whole);
      uint32_t summands = p.alloc(partial), some = p.alloc(columns);
      p.call("test.fussy", {given, weight}, parts);
      p.collective("all_gather", {axis}, parts, all, tag_++);
      p.collective("exchange", {axis}, parts, some, tag_++);
      p.call("test.fussy", {some, parts}, summands);
      p.collective("reduce_scatter", {axis}, summands, p.alloc(part), tag_++);
      p.collective("all_reduce", {axis}, summands, all, tag_++);
      given = p.alloc(x);
      p.call("test.fussy", {all}, given);
      if (draw(2) == 0) { // the same again
        p.call("test.fussy", {all}, p.alloc(x));
        p.collective("all_gather", {axis}, parts, p.alloc(whole), tag_++);
      }
    }
  }
  void addTransfers(ProgramBuilder &a, ProgramBuilder &c) {
    for (int i = 0; i < 3; ++i) {
      TensorRef from = split(0), to = split(1);
      a.transfer(from, to, a.alloc(from), {}, tag_);
      c.transfer(from, to, {}, c.alloc(to), tag_++);
      a.transfer(to, from, {}, a.alloc(from), tag_);
      c.transfer(to, from, c.alloc(to), {}, tag_++);
    }
  }
  void addLoopTo(ProgramBuilder &p, const TensorRef &x, const TensorRef &n,
                 uint32_t given) {
    uint32_t times = p.input(2, n), carried = p.alloc(x);
    addLoop(p.program, 3, times, carried, given, p.alloc(x), p.alloc(x));
  }

  std::mt19937 random_;
  ManifestBuilder b_{12};
  uint32_t grids_[2];
  std::vector<TensorRef> weights_;
  std::vector<uint32_t> globals_;
  uint32_t tag_ = 0;
};

} // namespace

/// predictMemory, with nothing that one rank has from another.
static std::vector<RankMemory>
countEach(const ResolvedManifest &resolved,
          std::span<const Backend *const> backends) {
  std::vector<RankMemory> ranks(resolved.manifest->num_ranks());
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    SpacePlan plan = planSpaces(resolved, rank);
    ranks[rank].arena = plan.arenas[hostSpaceNumber];
    ranks[rank].device = plan.deviceBytes();
    SharedMemory shared;
    shared.packing = plan.stagingBytes();
    std::set<uint32_t> globals;
    for (size_t e = 0; e < resolved.entries.size(); ++e) {
      const ResolvedEntry &entry = resolved.entries[e];
      if (!entry.isBody() && entry.programOfRank.contains(rank)) {
        auto program = RankProgram::predict(
            {resolved, e, rank, nullptr, nullptr, nullptr, backends, 1});
        if (!program) {
          ADD_FAILURE() << program.status().message();
          continue;
        }
        addMemory(ranks[rank], *program);
        shared.raise(*program);
        globals.insert(program->globals.begin(), program->globals.end());
      }
    }
    countWeights(resolved, rank, globals, ranks[rank]);
    addShared(ranks[rank], shared);
  }
  return ranks;
}

TEST(RankClassesTest, countRanksAsIfOneByOne) {
  FussyBackend fussy;
  const Backend *backends[] = {&fussy};
  std::set<int64_t> totals, messages, workspaces;
  for (unsigned seed = 0; seed < 40; ++seed) {
    pb::Manifest manifest = RandomManifest(seed).take();
    auto resolved = resolveManifest(manifest);
    ASSERT_TRUE(resolved) << resolved.status().message();
    std::vector<RankMemory> expected = countEach(**resolved, backends);
    auto ranks = predictMemory(manifest, backends);
    ASSERT_TRUE(ranks) << ranks.status().message();
    for (uint32_t rank = 0; rank < expected.size(); ++rank) {
      EXPECT_EQ((*ranks)[rank], expected[rank])
          << "seed " << seed << ", rank " << rank;
      totals.insert(expected[rank].total());
      messages.insert(expected[rank].messages);
      workspaces.insert(expected[rank].workspace);
    }
    EXPECT_EQ((*ranks)[11].total(), 0);
  }
  // Ranks differ, in all that they hold.
  EXPECT_GT(totals.size(), 100u);
  EXPECT_GT(messages.size(), 5u);
  EXPECT_GT(workspaces.size(), 20u);
}

/// Each of six ranks has and wants a random box, or none.
static StepDesc randomMove(std::mt19937 &random) {
  auto draw = [&](int64_t count) {
    return std::uniform_int_distribution<int64_t>(0, count - 1)(random);
  };
  auto drawBox = [&]() -> std::optional<Box> {
    Box box = Box::whole({4, 6});
    for (size_t d = 0; d < 2; ++d) {
      box.begin[d] = draw(box.end[d]);
      box.end[d] = box.begin[d] + draw(box.end[d] - box.begin[d] + 1);
    }
    return draw(4) == 0 ? std::nullopt : std::optional(box);
  };
  StepDesc step;
  for (uint32_t i = 0; i < 6; ++i) {
    step.parties.push_back({i, drawBox(), drawBox()});
  }
  return step;
}

/// Rows of a matrix, even or not, that each of `parties` wants of a sum.
static StepDesc reduction(uint32_t parties, bool isEven) {
  StepDesc step;
  step.reduce = ReduceKind::Sum;
  for (uint32_t i = 0; i < parties; ++i) {
    Box whole = Box::whole({2 * parties, 6}), part = whole;
    part.begin[0] = 2 * i + (!isEven && i == 1 ? 1 : 0);
    part.end[0] = 2 * i + 2 + (!isEven && i == 0 ? 1 : 0);
    step.parties.push_back({i, whole, part});
  }
  return step;
}

TEST(RankClassesTest, allPartiesOfAStepAreToldWhatEachIs) {
  std::mt19937 random(7);
  std::vector<StepDesc> steps = {reduction(3, true), reduction(3, false)};
  for (int i = 0; i < 200; ++i) {
    steps.push_back(randomMove(random));
  }
  for (bool isEven : {true, false}) { // all-gathers, and of uneven parts
    StepDesc step = reduction(4, isEven);
    step.reduce.reset();
    for (StepParty &party : step.parties) {
      std::swap(party.source, party.result);
    }
    steps.push_back(step);
    for (StepParty &party : step.parties) { // columns, which are packed
      std::swap(party.source->begin[0], party.source->begin[1]);
      std::swap(party.source->end[0], party.source->end[1]);
      std::swap(party.result->end[0], party.result->end[1]);
    }
    steps.push_back(step);
  }
  StepDesc barrier;
  barrier.parties = {{0, {}, {}}, {3, {}, {}}, {5, {}, {}}};
  steps.push_back(barrier);
  std::set<int64_t> seen;
  for (const StepDesc &step : steps) {
    std::vector<int64_t> ofMessages = messageBytes(step);
    std::vector<int64_t> ofQueues = queuedBytes(step);
    for (size_t self = 0; self < step.parties.size(); ++self) {
      EXPECT_EQ(ofMessages[self], messageBytes(step, self));
      EXPECT_EQ(ofQueues[self], queuedBytes(step, self));
      seen.insert({ofMessages[self], ofQueues[self]});
    }
  }
  EXPECT_GT(seen.size(), 5u);
}
