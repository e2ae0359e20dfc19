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
//             to the whole;
//   Types     the reference's result over a narrow type is that over f64 or
//             i64, rounded or wrapped.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Element.h"
#include "test/runtime/backends/cpu/ConformanceRun.h"

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
/// Those over other types than f64 and i64.
class ConformanceOfTypes : public Conformance {};

} // namespace

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
    auto x = load(a[i]), y = load(b[i]);
    a[i] = T(kind == "sum"                   ? x + y
             : kind == "prod"                ? x * y
             : kind == "max" || kind == "or" ? std::max(x, y)
                                             : std::min(x, y));
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
    } else {
      dispatch<AllTypes>(sum.info.type, [&](auto zero) {
        combine<decltype(zero)>(test.combine, sum, part);
      });
    }
  }
  expectSame(sum, expected);
}

TEST_P(ConformanceOfFloats, KeepsNaN) {
  const auto &[subject, test] = GetParam();
  std::vector<Tensor> operands = randomOperands(test);
  dispatch<Floats>(operands[0].info.type, [&](auto zero) {
    using T = decltype(zero);
    reinterpret_cast<T *>(operands[0].data.data())[0] = T(NAN);
  });
  expectSame(runBoxes(subject, test, test.operands, test.result, operands),
             expectedResult(test, operands));
}

static Tensor converted(const Tensor &tensor, DType type) {
  Tensor result(TensorInfo::whole(type, tensor.info.extents));
  dispatch<AllTypes>(tensor.info.type, [&](auto from) {
    dispatch<AllTypes>(type, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      std::vector<From> values = tensor.values<From>();
      std::transform(values.begin(), values.end(),
                     reinterpret_cast<To *>(result.data.data()),
                     [](From value) { return convertElement<To>(value); });
    });
  });
  return result;
}

/// The type that holds every value of `type`; u64 has none.
static DType wideType(DType type) {
  bool isInt = (typeBit(type) & Ints) != 0 && type != DType::U64;
  return isFloatType(type) ? DType::F64 : isInt ? DType::I64 : type;
}

TEST_P(ConformanceOfTypes, AgreeWithWideOnes) {
  const Case &test = std::get<1>(GetParam());
  std::vector<Tensor> operands = randomOperands(test);
  Tensor narrow = expectedResult(test, operands);
  Case wide = test;
  wide.result.type = wideType(wide.result.type);
  for (size_t i = 0; i < operands.size(); ++i) {
    wide.operands[i].type = wideType(wide.operands[i].type);
    operands[i] = converted(operands[i], wide.operands[i].type);
  }
  expectSame(narrow,
             converted(expectedResult(wide, operands), test.result.type));
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
                              isFloatType(test.operands[0].type) &&
                              !isStoredType(test.operands[0].type) &&
                              isFloatType(test.result.type);
                     }))),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    , ConformanceOfTypes,
    testing::Combine(testing::Values(subjects().front()),
                     testing::ValuesIn(casesThat([](const Case &test) {
                       // A shift means the width; sums of bytes are i32.
                       return test.result.count() < 2000 &&
                              test.op != "nn.shift" &&
                              !test.op.ends_with("_integer") &&
                              wideType(test.result.type) != test.result.type;
                     }))),
    nameOf);
