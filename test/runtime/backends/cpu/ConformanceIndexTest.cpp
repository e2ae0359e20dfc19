//===- ConformanceIndexTest.cpp - Bad indices are told alike by all -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Element.h"
#include "test/runtime/backends/cpu/ConformanceRun.h"

#include <algorithm>
#include <random>

using namespace divisi::rt;
using namespace divisi::rt::test;

namespace {
/// The cases with an operand of indices.
class ConformanceOfIndices
    : public testing::TestWithParam<std::tuple<Subject, Case>> {};
} // namespace

/// The last operand that can hold indices.
static Tensor &indicesOf(std::vector<Tensor> &operands) {
  size_t at = operands.size() - 1;
  while ((typeBit(operands[at].info.type) & Indices) == 0) {
    --at;
  }
  return operands[at];
}

static void setIndex(Tensor &indices, int64_t at, int64_t value) {
  auto narrow = int32_t(value);
  bool isWide = indices.info.type == DType::I64;
  int64_t width = byteWidth(indices.info.type);
  std::memcpy(indices.data.data() + at * width,
              isWide ? (const void *)&value : (const void *)&narrow, width);
}

/// The two halves of `test`'s result along `dim`, where the kernel takes them.
static std::vector<TensorInfo> halves(const Subject &subject, const Case &test,
                                      size_t dim) {
  int64_t middle = test.result.global[dim] / 2;
  std::vector<TensorInfo> boxes = {test.result, test.result};
  boxes[0].extents[dim] = middle;
  boxes[1].offset[dim] = middle;
  boxes[1].extents[dim] -= middle;
  bool fits =
      middle > 0 && std::ranges::all_of(boxes, [&](const TensorInfo &box) {
        return canPrepare(subject, test, test.operands, box);
      });
  return fits ? boxes : std::vector<TensorInfo>();
}

/// Whoever holds which part of the result or of the table: the first bad index
/// is the same, and it is the one that was put there.
TEST_P(ConformanceOfIndices, BadOnesAreTold) {
  const auto &[subject, test] = GetParam();
  const int64_t values[] = {test.indexed, -test.indexed - 1, 1 << 30,
                            -(1 << 30) - 2};
  std::mt19937 random(11);
  for (int64_t value : values) {
    std::vector<Tensor> operands = randomOperands(test);
    Tensor &indices = indicesOf(operands);
    int64_t pairs = indices.info.count() - 1;
    int64_t first = pairs == 0 ? 0 : random() % pairs;
    setIndex(indices, first, value);
    if (pairs != 0) {
      setIndex(indices, first + 1, -value);
    }
    Dims position(indices.info.rank());
    for (int64_t rest = first, d = position.size(); d-- > 0;) {
      position[d] = rest % indices.info.extents[d];
      rest /= indices.info.extents[d];
    }
    auto expectTold = [&](const std::vector<TensorInfo> &boxes) {
      LaunchContext all{};
      for (const TensorInfo &box : boxes) {
        CallEnd end = callOnBoxes(
            subject, test, trimOperands(subject, test, box), box, operands, {});
        if (end.badIndex) {
          all.note(*end.badIndex);
        }
      }
      ASSERT_TRUE(all.badIndex) << value << " passes";
      EXPECT_EQ(all.badIndex->value, value);
      EXPECT_EQ(all.badIndex->extent, test.indexed);
      EXPECT_EQ(all.badIndex->position, position);
    };
    expectTold({test.result});
    for (size_t d = 0; d < test.result.rank(); ++d) {
      if (auto boxes = halves(subject, test, d); !boxes.empty()) {
        SCOPED_TRACE("halves of dimension " + std::to_string(d));
        expectTold(boxes);
      }
    }
    // A part of the table knows as much as all of it, also an empty part.
    for (auto [operand, dim] : test.partial) {
      for (int64_t extent : {int64_t(0), test.indexed / 2}) {
        std::vector<TensorInfo> boxes = test.operands;
        boxes[operand].extents[dim] = extent;
        CallEnd end =
            callOnBoxes(subject, test, boxes, test.result, operands, {});
        ASSERT_TRUE(end.badIndex);
        EXPECT_EQ(end.badIndex->position, position);
      }
    }
  }
}

/// Unchecked, a bad index is not told, reads nothing but zeros, and writes
/// nothing.
TEST_P(ConformanceOfIndices, UncheckedBadOnesAreSafe) {
  const auto &[subject, test] = GetParam();
  std::vector<Tensor> operands = randomOperands(test);
  Tensor &indices = indicesOf(operands);
  for (int64_t i = 0; i < indices.info.count(); ++i) {
    setIndex(indices, i, i % 2 ? test.indexed + i : -test.indexed - 1 - i);
  }
  CallEnd end = callOnBoxes(subject, test, test.operands, test.result, operands,
                            {false, false});
  EXPECT_FALSE(end.badIndex);
  if (test.op == "nn.scatter" || test.op == "nn.insert") {
    EXPECT_EQ(end.result.data, operands[0].data);
    return;
  }
  EXPECT_TRUE(std::ranges::all_of(
      end.result.data, [](std::byte byte) { return byte == std::byte(0); }));
}

INSTANTIATE_TEST_SUITE_P(
    , ConformanceOfIndices,
    testing::Combine(testing::ValuesIn(subjects()),
                     testing::ValuesIn(casesThat([](const Case &test) {
                       return test.indexed != 0;
                     }))),
    nameOf);
