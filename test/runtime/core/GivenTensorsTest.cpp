//===- GivenTensorsTest.cpp - Tests of which tensor is which input --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/core/GivenTensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;

static const std::vector<TensorSlot> kSlots = {
    {"a", "f32[1]"}, {"b", "f32[2]"}, {"c", "f32[3]"}};

static std::vector<size_t> match(std::vector<TensorLabel> labels) {
  auto slots = matchLabels(labels, kSlots, "inputs", ExitCode::Usage, false);
  EXPECT_TRUE(slots) << slots.status().message();
  return slots ? *slots : std::vector<size_t>();
}

TEST(MatchLabelsTest, namesAndPlaces) {
  EXPECT_THAT(match({{"c"}, {"a"}, {"b"}}), ElementsAre(2, 0, 1));
  EXPECT_THAT(match({{""}, {""}}), ElementsAre(0, 1));
  // Places are those that no name has taken, also by a later one.
  EXPECT_THAT(match({{""}, {"a"}, {""}}), ElementsAre(1, 0, 2));
}

TEST(MatchLabelsTest, numberedOnesGoByNamesOnlyIfAllHaveThem) {
  EXPECT_THAT(match({{"b", true}, {"a", true}}), ElementsAre(1, 0));
  EXPECT_THAT(match({{"b", true}, {"x", true}}), ElementsAre(0, 1));
  EXPECT_THAT(match({{"b", true}, {"b", true}}), ElementsAre(0, 1));
  EXPECT_THAT(match({{"b", true}, {"", true}}), ElementsAre(0, 1));
  EXPECT_THAT(match({{"x", true}, {"a"}}), ElementsAre(1, 0));
}

TEST(MatchLabelsTest, allThatIsWrongIsSaidAtOnce) {
  std::vector<TensorLabel> labels = {{"x"}, {"a"}, {"y"}, {"x"},
                                     {"a"}, {""},  {""},  {""}};
  auto slots =
      matchLabels(labels, kSlots, "inputs of it", ExitCode::Invalid, true);
  ASSERT_FALSE(slots);
  EXPECT_EQ(slots.status().code(), ExitCode::Invalid);
  EXPECT_EQ(slots.status().message(),
            "the tensors do not fit the inputs of it: none is called 'x', 'y'; "
            "more than one tensor is given for 'a'; 1 of the tensors without a "
            "name are too many; expected 'a' f32[1], 'b' f32[2], 'c' f32[3]");
  auto none = matchLabels({}, kSlots, "inputs", ExitCode::Usage, true);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.status().message(),
            "the tensors do not fit the inputs: no tensor is given for 'a', "
            "'b', 'c'; expected 'a' f32[1], 'b' f32[2], 'c' f32[3]");
  EXPECT_TRUE(matchLabels({}, kSlots, "inputs", ExitCode::Usage, false));
  auto some = matchLabels(std::span(labels).first(1), {}, "inputs",
                          ExitCode::Usage, true);
  ASSERT_FALSE(some);
  EXPECT_EQ(some.status().message(), "the tensors do not fit the inputs: none "
                                     "is called 'x'; expected none");
}

/// Of an element without a type the entry says which it is.
TEST(GivenTensorsTest, bytesAreWhatTheEntryTakes) {
  EntryInfo entry{"f", {{"a", DType::I4, {2}}}, {}};
  auto bytes = HostTensor::zeros(DType::F8E4M3FN, {2});
  ASSERT_TRUE(bytes);
  bytes->data()[1] = std::byte(0x0f);
  auto typed = arrangeInputs(entry, {GivenTensor{{"a"}, *bytes}});
  ASSERT_FALSE(typed);
  EXPECT_EQ(typed.status().message(),
            "input 'a': got f8e4m3fn[2], expected i4[2]; convert it, for "
            "example with NumPy's astype");
  bytes->setOpaque();
  auto arranged = arrangeInputs(entry, {GivenTensor{{"a"}, *bytes}});
  ASSERT_TRUE(arranged) << arranged.status().message();
  EXPECT_EQ(arranged->front().type(), DType::I4);
  EXPECT_THAT(arranged->front().toInts(), ElementsAre(0, -1));
}

TEST(GivenTensorsTest, areArrangedAndChecked) {
  EntryInfo entry{"f", {{"a", DType::F32, {1}}, {"b", DType::F32, {1}}}, {}};
  auto given = [](const char *name, Dims dims, float value) {
    std::vector<float> values(numElements(dims), value);
    return GivenTensor{{name}, HostTensor::ofFloats(std::move(dims), values)};
  };
  auto arranged =
      arrangeInputs(entry, {given("b", {1}, 2), given("a", {1}, 1)});
  ASSERT_TRUE(arranged) << arranged.status().message();
  EXPECT_EQ(arranged->front().as<float>()[0], 1);
  auto misfit = arrangeInputs(entry, {given("", {2}, 2), given("", {3}, 1)});
  ASSERT_FALSE(misfit);
  EXPECT_EQ(misfit.status().message(),
            "input 'a': got f32[2], expected f32[1]; input 'b': got f32[3], "
            "expected f32[1]");
  auto outputs = arrangeOutputs(entry, {given("y", {1}, 2)});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.status().message(),
            "the tensors do not fit the outputs of entry 'f': none is called "
            "'y'; expected none");
}
