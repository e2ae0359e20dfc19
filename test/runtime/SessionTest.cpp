//===- SessionTest.cpp - Tests of running artifacts -----------------------===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManifestBuilder.h"
#include "TestBackend.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <random>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

static TestBackend testBackend;

static SessionOptions testOptions() {
  SessionOptions options;
  options.backends = {&testBackend};
  options.timeout = std::chrono::seconds(20);
  return options;
}

/// Writes the artifact and opens it; the file is gone afterwards, which mapped
/// bytes survive.
static Expected<std::unique_ptr<Session>>
openSession(const pb::Manifest &manifest,
            const std::vector<std::vector<float>> &globals = {},
            const SessionOptions &options = testOptions()) {
  std::vector<GlobalData> data;
  for (const std::vector<float> &values : globals) {
    data.push_back({std::as_bytes(std::span<const float>(values)), {}, 0});
  }
  std::string path = temporaryFile("session.divisi");
  if (auto written = writeArtifact(path, manifest, data); !written) {
    return written.status();
  }
  auto session = Session::open(path, options);
  std::filesystem::remove(path);
  return session;
}

static std::vector<float> counting(int64_t count, float start = 1) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), start);
  return values;
}

/// x[4, 6] * w[6, 5] by plain loops.
static std::vector<float> product(const std::vector<float> &x,
                                  const std::vector<float> &w) {
  std::vector<float> y(20, 0.f);
  for (int m = 0; m < 4; ++m) {
    for (int k = 0; k < 6; ++k) {
      for (int n = 0; n < 5; ++n) {
        y[m * 5 + n] += x[m * 6 + k] * w[k * 5 + n];
      }
    }
  }
  return y;
}

/// How a matmul is split over the one axis of the grid.
enum class MatmulSplit { M, N, K };

static pb::Manifest matmulManifest(int64_t ranks, MatmulSplit split) {
  ManifestBuilder b(static_cast<uint32_t>(ranks));
  uint32_t g = b.grid({ranks});
  DimSplit m, n, k;
  (split == MatmulSplit::M ? m : split == MatmulSplit::N ? n : k).axes = {0};
  pb::Tensor x = b.tensor(g, {4, 6}, {m, k});
  pb::Tensor w = b.tensor(g, {6, 5}, {k, n});
  pb::Tensor whole = b.tensor(g, {4, 5}, {{}, {}});
  pb::Tensor y = split == MatmulSplit::K ? b.tensor(g, {4, 5}, {{}, {}}, {0})
                                         : b.tensor(g, {4, 5}, {m, n});
  uint32_t weight = b.global("w", "parameter", w);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("forward");
  addValue(entry.mutable_inputs(), "x", x);
  addValue(entry.mutable_outputs(), "y", whole);
  Axes all(ranks);
  std::iota(all.begin(), all.end(), 0);
  ProgramBuilder p(entry, all);
  uint32_t in = p.input(0, x), weights = p.global(weight, w);
  uint32_t local = p.alloc(y), out = p.alloc(whole);
  p.call("test.matmul", {in, weights}, local);
  p.collective(split == MatmulSplit::K ? "all_reduce" : "all_gather", {0},
               local, out, 1);
  p.output(out, 0);
  return b.manifest;
}

TEST(SessionTest, matmulGivesTheSameOnAnyNumberOfRanks) {
  std::vector<float> x = counting(24), w = counting(30, -7);
  for (int64_t ranks : {1, 2, 3, 4, 8}) {
    for (MatmulSplit split : {MatmulSplit::M, MatmulSplit::N, MatmulSplit::K}) {
      auto session = openSession(matmulManifest(ranks, split), {w});
      ASSERT_TRUE(session) << session.status().message();
      for (int run = 0; run < 3; ++run) {
        auto outputs =
            (*session)->run("forward", listOf(makeTensor({4, 6}, x)));
        ASSERT_TRUE(outputs) << outputs.status().message();
        EXPECT_EQ(outputs->front().name(), "y");
        EXPECT_EQ(valuesOf(outputs->front()), product(x, w));
      }
    }
  }
}

TEST(SessionTest, referenceKernelsRunTheSameProgram) {
  std::vector<float> x = counting(24), w = counting(30, -7);
  SessionOptions options = testOptions();
  options.backends = {&testBackend, &referenceBackend()};
  for (MatmulSplit split : {MatmulSplit::M, MatmulSplit::N, MatmulSplit::K}) {
    pb::Manifest manifest = matmulManifest(3, split);
    pb::Call &call = *manifest.mutable_entries(0)
                          ->mutable_programs(0)
                          ->mutable_instructions(0)
                          ->mutable_call();
    call.set_op("nn.matmul");
    pb::Attribute &labels = *call.add_attributes();
    labels.set_name("labels");
    labels.set_s("mk,kn->mn");
    auto session = openSession(manifest, {w}, options);
    ASSERT_TRUE(session) << session.status().message();
    auto outputs = (*session)->run("forward", listOf(makeTensor({4, 6}, x)));
    ASSERT_TRUE(outputs) << outputs.status().message();
    EXPECT_EQ(valuesOf(outputs->front()), product(x, w));

    // A shape that the labels do not fit is the artifact's fault.
    labels.set_s("mk,kn->nm");
    session = openSession(manifest, {w}, options);
    ASSERT_FALSE(session);
    EXPECT_THAT(session.status().message(), HasSubstr("nn.matmul"));
  }
}

//===----------------------------------------------------------------------===//
// Collectives on random layouts
//===----------------------------------------------------------------------===//

using Random = std::mt19937;

static int64_t below(Random &random, int64_t bound) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
}

/// Uneven bounds that cover [0, extent), some empty, some overlapping.
static Bounds randomBounds(Random &random, int64_t shards, int64_t extent) {
  std::vector<int64_t> cuts = {0, extent};
  for (int64_t i = 1; i < shards; ++i) {
    cuts.push_back(below(random, extent + 1));
  }
  std::sort(cuts.begin(), cuts.end());
  Bounds bounds;
  for (int64_t i = 0; i < shards; ++i) {
    int64_t halo = below(random, 3) == 0 ? 1 : 0;
    bounds.push_back(std::max<int64_t>(0, cuts[i] - halo));
    bounds.push_back(std::min(extent, cuts[i + 1] + halo));
  }
  return bounds;
}

namespace {

/// A random tensor and grid, and layouts of one on the other.
struct RandomCase {
  explicit RandomCase(Random &random) : random(random), builder(1) {
    sizes.resize(1 + below(random, 2));
    for (int64_t &size : sizes) {
      size = 1 + below(random, 3);
    }
    dims.resize(1 + below(random, 3));
    for (int64_t &dim : dims) {
      dim = 1 + below(random, 6);
    }
    builder.manifest.set_num_ranks(numElements(sizes));
    builder.grid(sizes);
  }

  /// Each of `axes` splits some dimension or, by chance, none.
  std::vector<DimSplit> splits(Axes axes) {
    std::vector<DimSplit> splits(dims.size());
    std::shuffle(axes.begin(), axes.end(), random);
    for (uint32_t axis : axes) {
      if (below(random, 4) != 0) {
        splits[below(random, static_cast<int64_t>(dims.size()))].axes.push_back(
            axis);
      }
    }
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t shards = 1;
      for (uint32_t axis : splits[d].axes) {
        shards *= sizes[axis];
      }
      if (!splits[d].axes.empty()) {
        splits[d].bounds = randomBounds(random, shards, dims[d]);
      }
    }
    return splits;
  }

  pb::Tensor tensor(const std::vector<DimSplit> &splits,
                    const Axes &partial = {}) {
    return builder.tensor(0, dims, splits, partial);
  }
  Axes allAxes() const {
    Axes axes(sizes.size());
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
  }
  Axes allRanks() const {
    Axes ranks(numElements(sizes));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  /// An entry x -> y of these layouts.
  pb::Entry &entry(const pb::Tensor &x, const pb::Tensor &y) {
    pb::Entry &entry = *builder.manifest.add_entries();
    entry.set_name("f");
    addValue(entry.mutable_inputs(), "x", x);
    addValue(entry.mutable_outputs(), "y", y);
    return entry;
  }
  /// Runs the entry and compares y with x * factor.
  void check(float factor, std::vector<HostTensor> moreInputs = {}) {
    std::vector<float> x = counting(numElements(dims)), expected = x;
    for (float &value : expected) {
      value *= factor;
    }
    auto session = openSession(builder.manifest);
    ASSERT_TRUE(session) << session.status().message() << "\n"
                         << builder.manifest.DebugString();
    std::vector<HostTensor> inputs = listOf(makeTensor(dims, x));
    for (HostTensor &tensor : moreInputs) {
      inputs.push_back(std::move(tensor));
    }
    auto outputs = (*session)->run("f", inputs);
    ASSERT_TRUE(outputs) << outputs.status().message();
    EXPECT_EQ(valuesOf(outputs->front()), expected)
        << builder.manifest.DebugString();
  }

  Random &random;
  ManifestBuilder builder;
  Dims sizes, dims;
};

} // namespace

TEST(CollectiveTest, exchangeLeadsFromAnyLayoutToAnyOther) {
  Random random(5);
  for (int round = 0; round < 120; ++round) {
    RandomCase c(random);
    pb::Tensor x = c.tensor(c.splits(c.allAxes()));
    pb::Tensor y = c.tensor(c.splits(c.allAxes()));
    ProgramBuilder p(c.entry(x, y), c.allRanks());
    uint32_t in = p.input(0, x), out = p.alloc(y);
    p.collective("exchange", c.allAxes(), in, out, 0);
    p.output(out, 0);
    c.check(1);
  }
}

TEST(CollectiveTest, allGatherUndoesSlice) {
  Random random(6);
  for (int round = 0; round < 80; ++round) {
    RandomCase c(random);
    pb::Tensor whole = c.tensor(std::vector<DimSplit>(c.dims.size()));
    pb::Tensor split = c.tensor(c.splits(c.allAxes()));
    ProgramBuilder p(c.entry(whole, whole), c.allRanks());
    uint32_t in = p.input(0, whole), part = p.alloc(split),
             out = p.alloc(whole);
    p.collective("slice", c.allAxes(), in, part, 0);
    p.collective("all_gather", c.allAxes(), part, out, 3);
    p.output(out, 0);
    c.check(1);
  }
}

TEST(CollectiveTest, allToAllMovesAnAxisBetweenDimensions) {
  ManifestBuilder b(3);
  uint32_t g = b.grid({3});
  pb::Tensor rows = b.tensor(g, {5, 4}, {{0}, {}});
  pb::Tensor columns = b.tensor(g, {5, 4}, {{}, {0}});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", rows);
  addValue(entry.mutable_outputs(), "y", columns);
  ProgramBuilder p(entry, {0, 1, 2});
  uint32_t in = p.input(0, rows), out = p.alloc(columns);
  p.collective("all_to_all", {0}, in, out, 0);
  p.output(out, 0);
  auto session = openSession(b.manifest);
  ASSERT_TRUE(session) << session.status().message();
  auto y = (*session)->run("f", listOf(makeTensor({5, 4}, counting(20))));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_EQ(valuesOf(y->front()), counting(20));
}

TEST(CollectiveTest, partialSumsCombineOnAnyLayout) {
  Random random(7);
  for (int round = 0; round < 120; ++round) {
    RandomCase c(random);
    // Axis 0 is partial: its position i holds x times the i-th weight.
    Axes rest = c.allAxes();
    rest.erase(rest.begin());
    std::vector<DimSplit> splits = c.splits(rest);
    bool scatters = below(random, 2) == 0;
    std::vector<DimSplit> finer = splits;
    if (scatters) {
      DimSplit &dim = finer[below(random, int64_t(c.dims.size()))];
      dim.bounds.clear();
      dim.axes.push_back(0);
      // Nested bounds of the coarse split, so that parts stay inside.
      for (size_t d = 0; d < finer.size(); ++d) {
        finer[d].bounds.clear();
        splits[d].bounds.clear();
      }
    }
    pb::Tensor x = c.tensor(splits), partial = c.tensor(splits, {0});
    pb::Tensor y = c.tensor(finer);
    pb::Tensor weights = c.builder.tensor(0, {c.sizes[0]}, {DimSplit({0})});
    pb::Entry &entry = c.entry(x, y);
    addValue(entry.mutable_inputs(), "weights", weights);
    ProgramBuilder p(entry, c.allRanks());
    uint32_t in = p.input(0, x), weight = p.input(1, weights);
    uint32_t summand = p.alloc(partial), out = p.alloc(y);
    p.call("test.scale", {in, weight}, summand);
    p.collective(scatters ? "reduce_scatter" : "all_reduce", {0}, summand, out,
                 9);
    p.output(out, 0);
    std::vector<float> values = counting(c.sizes[0]);
    float total = std::accumulate(values.begin(), values.end(), 0.f);
    c.check(total, listOf(makeTensor({c.sizes[0]}, values)));
  }
}

TEST(CollectiveTest, maskMakesASumOfOneSummand) {
  Random random(8);
  for (int round = 0; round < 60; ++round) {
    RandomCase c(random);
    Axes rest = c.allAxes();
    rest.erase(rest.begin());
    std::vector<DimSplit> splits = c.splits(rest);
    pb::Tensor x = c.tensor(splits), partial = c.tensor(splits, {0});
    ProgramBuilder p(c.entry(x, x), c.allRanks());
    uint32_t in = p.input(0, x), masked = p.alloc(partial);
    uint32_t out = p.alloc(x, p.program.buffers(masked).arena_offset());
    p.collective("mask", {0}, in, masked, 0);
    p.collective("all_reduce", {0}, masked, out, 0); // in place
    p.output(out, 0);
    c.check(1);
  }
}

//===----------------------------------------------------------------------===//
// Two grids, state, views, empty boxes
//===----------------------------------------------------------------------===//

TEST(SessionTest, valuesGoToAnotherGridAndBack) {
  ManifestBuilder b(4);
  uint32_t one = b.grid("one", {1}, {0}),
           three = b.grid("three", {3}, {1, 2, 3});
  pb::Tensor x = b.tensor(one, {7, 2}, {{}, {}});
  pb::Tensor split = b.tensor(three, {7, 2}, {DimSplit({0}), {}});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", x);
  addValue(entry.mutable_outputs(), "y", x);
  ProgramBuilder p(entry, {0});
  uint32_t in = p.input(0, x), out = p.alloc(x);
  p.transfer(x, split, in, {}, 0);
  p.transfer(split, x, {}, out, 1);
  p.output(out, 0);
  ProgramBuilder q(entry, {1, 2, 3});
  uint32_t here = q.alloc(split);
  uint32_t done = q.alloc(split, q.program.buffers(here).arena_offset());
  q.transfer(x, split, {}, here, 0);
  q.call("test.relu", {here}, done); // in place
  q.transfer(split, x, done, {}, 1);
  auto session = openSession(b.manifest);
  ASSERT_TRUE(session) << session.status().message();
  std::vector<float> values = counting(14, -5), expected = values;
  for (float &value : expected) {
    value = std::max(value, 0.f);
  }
  for (int run = 0; run < 3; ++run) {
    auto y = (*session)->run("f", listOf(makeTensor({7, 2}, values)));
    ASSERT_TRUE(y) << y.status().message();
    EXPECT_EQ(valuesOf(y->front()), expected);
  }
}

TEST(SessionTest, gridsMayShareRanks) {
  ManifestBuilder b(3);
  uint32_t left = b.grid("left", {2}, {1, 0}),
           right = b.grid("right", {2}, {2, 0});
  pb::Tensor x = b.tensor(left, {5}, {DimSplit({0})});
  pb::Tensor y = b.tensor(right, {5}, {DimSplit({0}, {0, 2, 1, 5})});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", x);
  addValue(entry.mutable_outputs(), "y", y);
  // Rank 0 belongs to both grids, so it has a program of its own: buffers of a
  // program lie on grids that have all of its ranks.
  ProgramBuilder both(entry, {0}), from(entry, {1}), to(entry, {2});
  uint32_t source = both.input(0, x), result = both.alloc(y);
  both.transfer(x, y, source, result, 0);
  both.output(result, 0);
  from.transfer(x, y, from.input(0, x), {}, 0);
  uint32_t out = to.alloc(y);
  to.transfer(x, y, {}, out, 0);
  to.output(out, 0);
  auto session = openSession(b.manifest);
  ASSERT_TRUE(session) << session.status().message();
  auto outputs = (*session)->run("f", listOf(makeTensor({5}, counting(5))));
  ASSERT_TRUE(outputs) << outputs.status().message();
  EXPECT_EQ(valuesOf(outputs->front()), counting(5));
}

/// m += x, n gets what m was; y is what n was.
static pb::Manifest stateManifest() {
  ManifestBuilder b(2);
  uint32_t g = b.grid({2});
  pb::Tensor t = b.tensor(g, {3}, {DimSplit({0})});
  uint32_t m = b.global("m", "state", t), n = b.global("n", "parameter", t);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("step");
  addValue(entry.mutable_inputs(), "x", t);
  addValue(entry.mutable_outputs(), "y", t);
  ProgramBuilder p(entry, {0, 1});
  uint32_t x = p.input(0, t), oldM = p.global(m, t), oldN = p.global(n, t);
  uint32_t sum = p.alloc(t);
  p.call("test.add", {x, oldM}, sum);
  p.update(sum, m);
  p.update(oldM, n);
  p.output(oldN, 0);
  return b.manifest;
}

TEST(SessionTest, updatesAreSeenByTheNextRun) {
  auto session = openSession(stateManifest(), {{}, {7, 8, 9}});
  ASSERT_TRUE(session) << session.status().message();
  EXPECT_TRUE((*session)->globals()[0].isUpdated);
  auto step = [&] {
    auto y = (*session)->run("step", listOf(makeTensor({3}, {1, 2, 3})));
    EXPECT_TRUE(y) << y.status().message();
    return valuesOf(y->front());
  };
  auto read = [&](const char *name) {
    return valuesOf(*(*session)->readGlobal(name));
  };
  EXPECT_THAT(read("m"), ElementsAre(0, 0, 0));
  EXPECT_THAT(step(), ElementsAre(7, 8, 9));
  EXPECT_THAT(read("m"), ElementsAre(1, 2, 3));
  EXPECT_THAT(read("n"), ElementsAre(0, 0, 0));
  EXPECT_THAT(step(), ElementsAre(0, 0, 0));
  EXPECT_THAT(step(), ElementsAre(1, 2, 3));
  EXPECT_THAT(read("m"), ElementsAre(3, 6, 9));
  EXPECT_EQ((*session)->readGlobal("z").status().code(), ExitCode::Usage);
}

TEST(SessionTest, viewsAndWorkspacesWork) {
  ManifestBuilder b(1);
  uint32_t g = b.grid({1});
  pb::Tensor flat = b.tensor(g, {6}, {{}}),
             square = b.tensor(g, {2, 3}, {{}, {}});
  uint32_t w = b.global("w", "parameter", flat);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", flat);
  addValue(entry.mutable_outputs(), "y", square);
  ProgramBuilder p(entry, {0});
  uint32_t x = p.view(p.input(0, flat), square);
  uint32_t weight = p.view(p.global(w, flat), square);
  uint32_t sum = p.alloc(square);
  p.call("test.add", {x, weight}, sum);
  // A reshape called at its operand's place, and a copy there, do nothing.
  int64_t place = p.program.buffers(sum).arena_offset();
  uint32_t reshaped = p.alloc(square, place), copied = p.alloc(square, place);
  p.call("test.reshape", {sum}, reshaped);
  p.copy(reshaped, copied);
  // One workspace is planned in the arena, the other one is not.
  uint32_t once = p.alloc(square), twice = p.alloc(square);
  pb::Call &planned = p.call("test.scratch", {copied}, once);
  planned.set_workspace_offset(p.program.arena_bytes());
  planned.set_workspace_bytes(256);
  p.program.set_arena_bytes(p.program.arena_bytes() + 256);
  p.call("test.scratch", {once}, twice);
  p.output(twice, 0);
  auto session = openSession(b.manifest, {counting(6, 10)});
  ASSERT_TRUE(session) << session.status().message();
  auto y = (*session)->run("f", listOf(makeTensor({6}, counting(6))));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_THAT(valuesOf(y->front()), ElementsAre(11, 13, 15, 17, 19, 21));
}

TEST(SessionTest, emptyOperandsStillMakeResults) {
  // Three ranks share one row: two sum over nothing, which is 0.
  ManifestBuilder b(3);
  uint32_t g = b.grid({3});
  pb::Tensor x = b.tensor(g, {1}, {DimSplit({0})});
  pb::Tensor partial = b.tensor(g, {}, {}, {0}), total = b.tensor(g, {}, {});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", x);
  addValue(entry.mutable_outputs(), "y", total);
  ProgramBuilder p(entry, {0, 1, 2});
  uint32_t in = p.input(0, x), relu = p.alloc(x), part = p.alloc(partial),
           out = p.alloc(total);
  p.call("test.relu", {in}, relu); // skipped where empty
  p.call("test.sum", {relu}, part);
  p.collective("all_reduce", {0}, part, out, 0);
  p.output(out, 0);
  auto session = openSession(b.manifest);
  ASSERT_TRUE(session) << session.status().message();
  auto y = (*session)->run("f", listOf(makeTensor({1}, {5})));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_THAT(valuesOf(y->front()), ElementsAre(5));
}

//===----------------------------------------------------------------------===//
// Errors and options
//===----------------------------------------------------------------------===//

/// Axis a of 2: the first rank computes slowly, then all gather.
static pb::Manifest slowManifest() {
  ManifestBuilder b(2);
  uint32_t g = b.grid({2});
  pb::Tensor part = b.tensor(g, {4}, {DimSplit({0})}),
             whole = b.tensor(g, {4}, {{}});
  uint32_t m = b.global("m", "state", whole);
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", part);
  addValue(entry.mutable_outputs(), "y", whole);
  ProgramBuilder p(entry, {0, 1});
  uint32_t x = p.input(0, part), slow = p.alloc(part), y = p.alloc(whole);
  p.call("test.slow", {x}, slow);
  p.collective("all_gather", {0}, slow, y, 5);
  p.update(y, m);
  p.output(y, 0);
  return b.manifest;
}

TEST(SessionTest, aRankThatDoesNotComeEndsTheRunButNotTheSession) {
  SessionOptions options = testOptions();
  options.timeout = std::chrono::milliseconds(50);
  auto session = openSession(slowManifest(), {{}}, options);
  ASSERT_TRUE(session) << session.status().message();
  TestBackend::delayMilliseconds = 400;
  auto y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  TestBackend::delayMilliseconds = 0;
  ASSERT_FALSE(y);
  EXPECT_EQ(y.status().code(), ExitCode::Device);
  EXPECT_THAT(y.status().message(),
              HasSubstr("rank 1 waited 50 ms in all_gather of 'move' (tag 5) "
                        "for rank 0"));
  EXPECT_THAT(valuesOf(*(*session)->readGlobal("m")), ElementsAre(0, 0, 0, 0));
  y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_EQ(valuesOf(y->front()), counting(4));
  EXPECT_EQ(valuesOf(*(*session)->readGlobal("m")), counting(4));
}

TEST(SessionTest, aKernelThatFailsEndsTheRunButNotTheSession) {
  auto session = openSession(slowManifest(), {{}}, testOptions());
  ASSERT_TRUE(session) << session.status().message();
  TestBackend::fails = true;
  auto y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  TestBackend::fails = false;
  ASSERT_FALSE(y);
  EXPECT_EQ(y.status().code(), ExitCode::Device);
  EXPECT_THAT(y.status().message(), HasSubstr("rank 0: the kernel failed"));
  EXPECT_THAT(valuesOf(*(*session)->readGlobal("m")), ElementsAre(0, 0, 0, 0));
  y = (*session)->run("f", listOf(makeTensor({4}, counting(4))));
  ASSERT_TRUE(y) << y.status().message();
  EXPECT_EQ(valuesOf(y->front()), counting(4));
}

TEST(SessionTest, inputsThatDoNotFitAreRefused) {
  auto session = openSession(matmulManifest(2, MatmulSplit::M), {counting(30)});
  ASSERT_TRUE(session) << session.status().message();
  Session &s = **session;
  auto message = [&](std::vector<HostTensor> inputs) {
    auto outputs = s.run("forward", inputs);
    EXPECT_EQ(outputs.status().code(), ExitCode::Invalid);
    return outputs.status().message();
  };
  EXPECT_EQ(message({}), "got 0 inputs for entry 'forward', expected 1: 'x'");
  EXPECT_EQ(message(listOf(makeTensor({6, 4}, counting(24)))),
            "input 'x': got f32[6, 4], expected f32[4, 6]");
  EXPECT_EQ(message(listOf(std::move(*HostTensor::zeros(DType::F64, {4, 6})))),
            "input 'x': got f64[4, 6], expected f32[4, 6]; convert it, for "
            "example with NumPy's astype");
  EXPECT_EQ(s.run("backward", {}).status().code(), ExitCode::Usage);
}

TEST(SessionTest, inputsAreArrangedByName) {
  EntryInfo entry{"f", {{"a", DType::F32, {1}}, {"b", DType::F32, {1}}}, {}};
  auto pair = [](const char *first, const char *second) {
    std::vector<HostTensor> tensors = listOf(makeTensor({1}, {1}));
    tensors.push_back(makeTensor({1}, {2}));
    tensors[0].setName(first);
    tensors[1].setName(second);
    return tensors;
  };
  auto named = arrangeInputs(entry, pair("b", "a"));
  ASSERT_TRUE(named) << named.status().message();
  EXPECT_EQ(named->front().as<float>()[0], 2);
  auto unnamed = arrangeInputs(entry, pair("", ""));
  ASSERT_TRUE(unnamed);
  EXPECT_EQ(unnamed->front().as<float>()[0], 1);
  EXPECT_EQ(arrangeInputs(entry, {}).status().code(), ExitCode::Invalid);
  EXPECT_EQ(arrangeInputs(entry, pair("a", "c")).status().message(),
            "entry 'f' has no input 'c'; expected 'a', 'b'");
  EXPECT_EQ(arrangeInputs(entry, pair("a", "a")).status().message(),
            "input 'a' is given twice");
}

TEST(SessionTest, aCallThatNoBackendTakesIsNamed) {
  pb::Manifest manifest = matmulManifest(1, MatmulSplit::M);
  manifest.mutable_entries(0)
      ->mutable_programs(0)
      ->mutable_instructions(0)
      ->mutable_call()
      ->set_op("test.refused");
  auto session = openSession(manifest, {counting(30)});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.status().code(), ExitCode::Unsupported);
  EXPECT_THAT(session.status().message(),
              HasSubstr("entry 'forward', program 0, instruction 0 (node of "
                        "test.matmul), rank 0: no backend can do "
                        "'test.refused'; backend 'test': it never can"));
}

TEST(SessionTest, writingOverAnOperandNeedsTheKernelsLeave) {
  pb::Manifest manifest = stateManifest();
  pb::Program &program = *manifest.mutable_entries(0)->mutable_programs(0);
  // sum = x + m; twice = sum + sum at the place of sum.
  *program.add_buffers() = program.buffers(3);
  pb::Instruction twice = program.instructions(0);
  twice.mutable_call()->set_operands(0, 3);
  twice.mutable_call()->set_operands(1, 3);
  twice.mutable_call()->set_results(0, 4);
  pb::Instruction first = program.instructions(0);
  program.clear_instructions();
  *program.add_instructions() = first;
  *program.add_instructions() = twice;
  program.add_instructions()->mutable_output()->set_source(4);
  auto session = openSession(manifest, {{}, {0, 0, 0}});
  ASSERT_FALSE(session);
  EXPECT_THAT(session.status().message(),
              HasSubstr("cannot write a result over its operand"));
}

TEST(SessionTest, backendsAreChosenByName) {
  std::vector<const Backend *> available = {&testBackend};
  auto chosen = selectBackends("test,test", available);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->size(), 2u);
  auto unknown = selectBackends("test,cuda", available);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.status().message(),
            "no backend is named 'cuda'; there are: test");
}

TEST(SessionTest, aTraceNamesEveryInstruction) {
  SessionOptions options = testOptions();
  options.trace = true;
  auto session =
      openSession(matmulManifest(2, MatmulSplit::K), {counting(30)}, options);
  ASSERT_TRUE(session) << session.status().message();
  ASSERT_TRUE(
      (*session)->run("forward", listOf(makeTensor({4, 6}, counting(24)))));
  std::string path = temporaryFile("trace.json");
  ASSERT_TRUE((*session)->writeTrace(path).isOk());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  for (const char *part : {"\"name\": \"rank 1\"", "\"node of test.matmul\"",
                           "\"cat\": \"all_reduce\"", "\"cat\": \"output\"",
                           "\"args\": {\"instruction\": 2}"}) {
    EXPECT_THAT(text.str(), HasSubstr(part));
  }
}
