//===- CollectiveTest.cpp - Collectives on random layouts -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/core/TestSession.h"

#include <gmock/gmock.h>
#include <random>

using namespace divisi;
using namespace divisi::rt;

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

/// With `pack`, too.
static Expected<std::unique_ptr<Session>> open(const pb::Manifest &manifest) {
  SessionOptions options = testOptions();
  options.backends.push_back(&referenceBackend());
  return openSession(inOneOrder(manifest), {}, options);
}

namespace {

/// A random tensor and grid, and layouts of one on the other.
struct RandomCase {
  explicit RandomCase(Random &random, int64_t leastRank = 1)
      : random(random), builder(1) {
    sizes.resize(1 + below(random, 2));
    for (int64_t &size : sizes) {
      size = 1 + below(random, 3);
    }
    dims.resize(leastRank + below(random, 3));
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

  TensorRef tensor(const std::vector<DimSplit> &splits,
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
  pb::Entry &entry(const TensorRef &x, const TensorRef &y) {
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
    auto session = open(builder.manifest);
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
    TensorRef x = c.tensor(c.splits(c.allAxes()));
    TensorRef y = c.tensor(c.splits(c.allAxes()));
    ProgramBuilder p(c.builder.manifest, c.entry(x, y), c.allRanks());
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
    TensorRef whole = c.tensor(std::vector<DimSplit>(c.dims.size()));
    TensorRef split = c.tensor(c.splits(c.allAxes()));
    ProgramBuilder p(c.builder.manifest, c.entry(whole, whole), c.allRanks());
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
  TensorRef rows = b.tensor(g, {5, 4}, {{0}, {}});
  TensorRef columns = b.tensor(g, {5, 4}, {{}, {0}});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", rows);
  addValue(entry.mutable_outputs(), "y", columns);
  ProgramBuilder p(b.manifest, entry, {0, 1, 2});
  uint32_t in = p.input(0, rows), out = p.alloc(columns);
  p.collective("all_to_all", {0}, in, out, 0);
  p.output(out, 0);
  auto session = openSession(inOneOrder(b.manifest));
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
    TensorRef x = c.tensor(splits), partial = c.tensor(splits, {0});
    TensorRef y = c.tensor(finer);
    TensorRef weights = c.builder.tensor(0, {c.sizes[0]}, {DimSplit({0})});
    pb::Entry &entry = c.entry(x, y);
    addValue(entry.mutable_inputs(), "weights", weights);
    ProgramBuilder p(c.builder.manifest, entry, c.allRanks());
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
    TensorRef x = c.tensor(splits), partial = c.tensor(splits, {0});
    ProgramBuilder p(c.builder.manifest, c.entry(x, x), c.allRanks());
    uint32_t in = p.input(0, x), masked = p.alloc(partial);
    uint32_t out = p.alloc(x, p.program.buffers(masked).arena_offset());
    p.collective("mask", {0}, in, masked, 0);
    p.collective("all_reduce", {0}, masked, out, 0); // in place
    p.output(out, 0);
    c.check(1);
  }
}

// What moves and what is combined follow from how the elements are stored.
TEST(CollectiveTest, tensorsMayHaveTheirChannelsLast) {
  Random random(9);
  for (int round = 0; round < 120; ++round) {
    RandomCase c(random, 3);
    TensorRef x = c.tensor(c.splits(c.allAxes()));
    TensorRef y = c.tensor(c.splits(c.allAxes()));
    ProgramBuilder p(c.builder.manifest, c.entry(x, y), c.allRanks());
    uint32_t in = p.input(0, x), from = p.allocChannelsLast(x);
    uint32_t to = p.allocChannelsLast(y), out = p.alloc(y);
    p.call("pack", {in}, from);
    p.collective("exchange", c.allAxes(), from, to, 0);
    p.call("pack", {to}, out);
    p.output(out, 0);
    c.check(1);
  }
}

TEST(CollectiveTest, sumsMayHaveTheirChannelsLast) {
  Random random(10);
  for (int round = 0; round < 60; ++round) {
    RandomCase c(random, 3);
    std::vector<DimSplit> whole(c.dims.size()), split = whole;
    split[below(random, int64_t(c.dims.size()))].axes = {0};
    TensorRef x = c.tensor(whole), part = c.tensor(split);
    TensorRef partial = c.tensor(whole, {0});
    ProgramBuilder p(c.builder.manifest, c.entry(x, x), c.allRanks());
    uint32_t in = p.input(0, x), from = p.allocChannelsLast(x);
    uint32_t masked = p.allocChannelsLast(partial);
    uint32_t sum = p.allocChannelsLast(part), again = p.allocChannelsLast(part);
    uint32_t all = p.allocChannelsLast(x), out = p.alloc(x);
    p.call("pack", {in}, from);
    p.collective("mask", {0}, from, masked, 0);
    p.collective("reduce_scatter", {0}, masked, sum, 0);
    p.collective("slice", {0}, from, again, 0);
    p.collective("all_gather", {0}, round % 2 == 0 ? sum : again, all, 1);
    p.call("pack", {all}, out);
    p.output(out, 0);
    c.check(1);
  }
}

TEST(CollectiveTest, bothSidesHaveTheFormatThatAllKnow) {
  auto statusOf = [](const char *source, const char *result, Dims dims) {
    ManifestBuilder b(2);
    uint32_t g = b.grid({2});
    std::vector<DimSplit> splits(dims.size());
    TensorRef whole = b.tensor(g, dims, splits);
    splits[0].axes = {0};
    TensorRef part = b.tensor(g, dims, splits);
    pb::Entry &entry = *b.manifest.add_entries();
    entry.set_name("f");
    addValue(entry.mutable_inputs(), "x", part);
    addValue(entry.mutable_outputs(), "y", whole);
    ProgramBuilder p(b.manifest, entry, {0, 1});
    uint32_t in = p.input(0, part), from = p.alloc(part), to = p.alloc(whole);
    p.program.mutable_buffers(int(from))->set_format(source);
    p.program.mutable_buffers(int(to))->set_format(result);
    p.call("pack", {in}, from);
    p.collective("all_gather", {0}, from, to, 0);
    p.call("pack", {to}, p.alloc(whole));
    p.output(to + 1, 0);
    return open(b.manifest).status().message();
  };
  using testing::HasSubstr;
  EXPECT_EQ(statusOf("channels_last", "channels_last", {4, 3, 2}), "");
  EXPECT_THAT(statusOf("channels_last", "", {4, 3, 2}),
              HasSubstr("one of buffers 1 and 2 has its channels last, but the "
                        "other does not: it must be packed"));
  EXPECT_THAT(
      statusOf("blocked8", "blocked8", {4, 3, 2}),
      HasSubstr(
          "buffer 1 has the format 'blocked8', which only calls support"));
  EXPECT_THAT(statusOf("channels_last", "channels_last", {4, 3}),
              HasSubstr("which only calls support"));
}
