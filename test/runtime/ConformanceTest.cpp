//===- ConformanceTest.cpp - Backends against the reference kernels -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every call, on every backend:
//   Whole     the result is the reference's on whole tensors;
//   Boxes     cut along every dimension of the result, with operand boxes as
//             small as the kernel accepts, the parts make up the whole;
//   Partials  cut along a summed or indexed loop, the partial results combine
//             to the whole.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/ConformanceCalls.h"
#include "test/runtime/Tensors.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace divisi::rt;
using namespace divisi::rt::test;

namespace {

class Conformance : public testing::TestWithParam<std::tuple<Subject, Case>> {};
/// The cases whose result has a dimension to cut.
class ConformanceOfBoxes : public Conformance {};
/// The cases that split a dimension into partial results.
class ConformanceOfPartials : public Conformance {};
/// The cases from floats to floats.
class ConformanceOfFloats : public Conformance {};
/// The cases with an operand of indices.
class ConformanceOfIndices : public Conformance {};

} // namespace

static Tensor expectedResult(const Case &test,
                             const std::vector<Tensor> &operands) {
  static const Subject reference{"reference", referenceBackend, 1};
  return runBoxes(reference, test, test.operands, test.result, operands);
}

TEST_P(Conformance, Whole) {
  const auto &[subject, test] = GetParam();
  std::vector<Tensor> operands = randomOperands(test);
  Tensor expected = expectedResult(test, operands);
  for (bool constants : {false, true}) {
    expectSame(runBoxes(subject, test, test.operands, test.result, operands,
                        constants),
               expected);
  }
}

TEST_P(ConformanceOfBoxes, AreCutOut) {
  const auto &[subject, test] = GetParam();
  std::vector<Tensor> operands = randomOperands(test);
  Tensor expected = expectedResult(test, operands);
  size_t numBoxes = 0;
  for (size_t d = 0; d < test.result.rank(); ++d) {
    int64_t extent = test.result.global[d];
    for (auto [begin, end] :
         {std::pair<int64_t, int64_t>{0, extent / 2}, {extent / 2, extent}}) {
      TensorInfo box = test.result;
      box.offset[d] = begin;
      box.extents[d] = end - begin;
      // Softmax's own axis is never cut.
      if (box.count() == 0 || box.count() > 20000 ||
          !canPrepare(subject, test, test.operands, box)) {
        continue;
      }
      SCOPED_TRACE("dimension " + std::to_string(d) + " from " +
                   std::to_string(begin));
      ++numBoxes;
      auto boxes = trimOperands(subject, test, box);
      expectSame(runBoxes(subject, test, boxes, box, operands),
                 cut(expected, box));
    }
  }
  EXPECT_GT(numBoxes, 0u);
}

template <typename T>
static void combine(const std::string &kind, Tensor &into, const Tensor &from) {
  auto *a = reinterpret_cast<T *>(into.data.data());
  std::vector<T> b = from.values<T>();
  for (size_t i = 0; i < b.size(); ++i) {
    a[i] = kind == "sum"                   ? a[i] + b[i]
           : kind == "prod"                ? a[i] * b[i]
           : kind == "max" || kind == "or" ? std::max(a[i], b[i])
                                           : std::min(a[i], b[i]);
  }
}

TEST_P(ConformanceOfPartials, AddUp) {
  const auto &[subject, test] = GetParam();
  std::vector<Tensor> operands = randomOperands(test);
  Tensor expected = expectedResult(test, operands);
  auto [first, dim] = test.partial[0];
  int64_t extent = test.operands[first].global[dim];
  Tensor sum;
  // Unequal parts, one of them empty.
  int64_t bounds[] = {0, 1, 1, extent};
  for (size_t i = 0; i < 3; ++i) {
    std::vector<TensorInfo> boxes = test.operands;
    for (auto [operand, d] : test.partial) {
      boxes[operand].offset[d] = bounds[i];
      boxes[operand].extents[d] = bounds[i + 1] - bounds[i];
    }
    Tensor part = runBoxes(subject, test, boxes, test.result, operands);
    if (i == 0) {
      sum = part;
    } else if (sum.info.type == DType::F32) {
      combine<float>(test.combine, sum, part);
    } else if (sum.info.type == DType::I32) {
      combine<int32_t>(test.combine, sum, part);
    } else if (sum.info.type == DType::I64) {
      combine<int64_t>(test.combine, sum, part);
    } else {
      combine<uint8_t>(test.combine, sum, part);
    }
  }
  expectSame(sum, expected);
}

TEST_P(ConformanceOfFloats, KeepsNaN) {
  const auto &[subject, test] = GetParam();
  for (const auto &[op, reason] : subject.nanSkips) {
    if (op == test.op) {
      GTEST_SKIP() << reason;
    }
  }
  std::vector<Tensor> operands = randomOperands(test);
  reinterpret_cast<float *>(operands[0].data.data())[0] =
      std::numeric_limits<float>::quiet_NaN();
  expectSame(runBoxes(subject, test, test.operands, test.result, operands),
             expectedResult(test, operands));
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
    Tensor &indices = operands.back();
    int64_t first = random() % (indices.info.count() - 1);
    setIndex(indices, first, value);
    setIndex(indices, first + 1, -value);
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

/// Unchecked, a bad index is not told, and reads nothing but zeros.
TEST_P(ConformanceOfIndices, UncheckedBadOnesAreSafe) {
  const auto &[subject, test] = GetParam();
  std::vector<Tensor> operands = randomOperands(test);
  Tensor &indices = operands.back();
  for (int64_t i = 0; i < indices.info.count(); ++i) {
    setIndex(indices, i, i % 2 ? test.indexed + i : -test.indexed - 1 - i);
  }
  CallEnd end = callOnBoxes(subject, test, test.operands, test.result, operands,
                            {false, false});
  EXPECT_FALSE(end.badIndex);
  EXPECT_TRUE(std::ranges::all_of(
      end.result.data, [](std::byte byte) { return byte == std::byte(0); }));
}

static std::vector<Case> casesThat(bool (*hold)(const Case &)) {
  std::vector<Case> cases = conformanceCases();
  std::erase_if(cases, [&](const Case &test) { return !hold(test); });
  return cases;
}

static std::string
nameOf(const testing::TestParamInfo<std::tuple<Subject, Case>> &info) {
  return std::string(std::get<0>(info.param).name) + "_" +
         std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(
    , Conformance,
    testing::Combine(testing::ValuesIn(subjects()),
                     testing::ValuesIn(conformanceCases())),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    , ConformanceOfBoxes,
    testing::Combine(testing::ValuesIn(subjects()),
                     testing::ValuesIn(casesThat([](const Case &test) {
                       return test.result.rank() > 0;
                     }))),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    , ConformanceOfPartials,
    testing::Combine(testing::ValuesIn(subjects()),
                     testing::ValuesIn(casesThat([](const Case &test) {
                       return !test.partial.empty();
                     }))),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    , ConformanceOfFloats,
    testing::Combine(testing::ValuesIn(subjects()),
                     testing::ValuesIn(casesThat([](const Case &test) {
                       return !test.operands.empty() &&
                              test.operands[0].type == DType::F32 &&
                              test.result.type == DType::F32;
                     }))),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    , ConformanceOfIndices,
    testing::Combine(testing::ValuesIn(subjects()),
                     testing::ValuesIn(casesThat([](const Case &test) {
                       return test.indexed != 0;
                     }))),
    nameOf);
