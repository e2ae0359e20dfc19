//===- PackedWeightsTest.cpp - Constants that are packed in boxes ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/PackedWeights.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace divisi::rt;
using namespace divisi::rt::cpu;

namespace {

/// Has bytes, and knows how many of them were asked for at a time.
class CountingReader final : public ConstantReader {
public:
  explicit CountingReader(std::vector<float> values)
      : values_(std::move(values)) {}
  bool read(int64_t begin, int64_t count, std::byte *to) override {
    EXPECT_LE(begin + count, bytes());
    std::memcpy(to, reinterpret_cast<const std::byte *>(values_.data()) + begin,
                size_t(count));
    asked += count;
    most = std::max(most, count);
    return begin < fails;
  }
  int64_t bytes() const { return int64_t(values_.size() * sizeof(float)); }

  int64_t asked = 0, most = 0;
  int64_t fails = std::numeric_limits<int64_t>::max(); ///< From there on.

private:
  std::vector<float> values_;
};

} // namespace

static MemoryDesc tagged(const Dims &dims, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t desc = nullptr;
  EXPECT_EQ(dnnl_memory_desc_create_with_tag(&desc, int(dims.size()),
                                             dims.data(), dnnl_f32, tag),
            dnnl_success);
  return MemoryDesc(desc);
}

static CountingReader randomReader(int64_t count) {
  std::minstd_rand random;
  std::vector<float> values(static_cast<size_t>(count));
  std::ranges::generate(values, [&] { return float(random() % 1000); });
  return CountingReader(std::move(values));
}

/// The same by one reorder of everything.
static std::vector<std::byte> packWhole(CountingReader &reader,
                                        const_dnnl_memory_desc_t from,
                                        const_dnnl_memory_desc_t to) {
  std::vector<std::byte> all(static_cast<size_t>(reader.bytes()));
  EXPECT_TRUE(reader.read(0, reader.bytes(), all.data()));
  std::vector<std::byte> packed(dnnl_memory_desc_get_size(to));
  PrimitiveDesc desc = describeReorder(from, to);
  Primitive reorder = makeReorder(desc, from, to);
  Bytes scratchpad(size_t(scratchpadBytes(desc.get())));
  EXPECT_TRUE(reorder.run({all.data(), packed.data()}, scratchpad.data()));
  return packed;
}

/// As rows, as columns, with channels last, in whole blocks and not; of one
/// that takes a box alone, and of several.
TEST(PackedWeights, boxesMakeWhatOneCopyMakes) {
  struct {
    Dims dims, strides;
    dnnl_format_tag_t to;
  } cases[] = {
      {{1000, 700}, {700, 1}, dnnl_BA16a64b},
      {{1000, 700}, {1, 1000}, dnnl_BA16a64b},
      {{1024, 2048}, {2048, 1}, dnnl_AB16b64a},
      {{10, 70000}, {70000, 1}, dnnl_AB16b64a},
      {{70000, 10}, {10, 1}, dnnl_AB16b64a},
      {{70001, 5}, {1, 70001}, dnnl_BA16a64b},
      {{100, 30}, {30, 1}, dnnl_BA16a64b},
      {{130, 300, 3, 3}, {2700, 9, 3, 1}, dnnl_ABcd16b16a},
      {{130, 300, 3, 3}, {2700, 1, 900, 300}, dnnl_ABcd16b16a},
      {{600, 700}, {700, 1}, dnnl_ba},
  };
  for (auto &[dims, strides, tag] : cases) {
    SCOPED_TRACE(std::to_string(dims[0]) + " x " + std::to_string(dims[1]));
    MemoryDesc from = describe(dims, strides), to = tagged(dims, tag);
    int64_t count = 1;
    for (int64_t extent : dims) {
      count *= extent;
    }
    CountingReader reader = randomReader(count);
    std::vector<std::byte> expected = packWhole(reader, from.get(), to.get());
    reader.asked = reader.most = 0;
    GivenWeights given{from.get()};
    PackedWeights packed(Constant(reader, nullptr), given, "w", to.get());
    ASSERT_TRUE(packed);
    EXPECT_EQ(std::memcmp(packed.data(), expected.data(), expected.size()), 0);
    // Each byte once, and never many.
    EXPECT_EQ(reader.asked, reader.bytes());
    int64_t scratch = packingBytes(given, to.get());
    EXPECT_LE(reader.most, scratch);
    EXPECT_LE(scratch, std::min<int64_t>(reader.bytes(), 1 << 20));
  }
}

TEST(PackedWeights, whatCannotBeReadIsNotPacked) {
  MemoryDesc from = describe({1000, 700}, {700, 1});
  MemoryDesc to = tagged({1000, 700}, dnnl_BA16a64b);
  CountingReader reader = randomReader(700000);
  reader.fails = 1 << 20;
  PackedForms forms;
  EXPECT_FALSE(
      PackedWeights(Constant(reader, &forms), {from.get()}, "w", to.get()));
  reader.fails = reader.bytes();
  EXPECT_TRUE(
      PackedWeights(Constant(reader, &forms), {from.get()}, "w", to.get()));
}

/// What is foretold of it is what it is.
TEST(PackedWeights, aFormHasTheNameAndTheSizeOfItsBytes) {
  MemoryDesc from = describe({100, 70}, {70, 1});
  MemoryDesc to = tagged({100, 70}, dnnl_BA16a64b);
  CountingReader reader = randomReader(7000);
  PackedWeights packed(Constant(reader, nullptr), {from.get()}, "w", to.get());
  PackedForm form = PackedWeights::formOf(3, "w", to.get(), 9);
  EXPECT_EQ(form.operand, 3);
  EXPECT_EQ(form.bytes, packed.list().at(0).bytes);
  EXPECT_EQ(form.scratch, 9);
  EXPECT_EQ(form.name, "w" + nameOfLayout(to.get()));
  // A layout of other elements is another one.
  EXPECT_NE(nameOfLayout(describe({4, 4}, {4, 1}, dnnl_f32).get()),
            nameOfLayout(describe({4, 4}, {4, 1}, dnnl_bf16).get()));
}
