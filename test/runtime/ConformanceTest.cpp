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

#include "test/runtime/ConformanceCases.h"
#include "test/runtime/Tensors.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace divisi::rt;
using namespace divisi::rt::test;

namespace {

/// A backend under test.
struct Subject {
  const char *name;
  const Backend &(*get)();
  int threads;
  /// {operator whose NaN tests are skipped, reason}.
  std::vector<std::pair<std::string, std::string>> nanSkips = {};
};

void PrintTo(const Subject &subject, std::ostream *out) {
  *out << subject.name;
}

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

static std::vector<Subject> subjects() {
  std::vector<std::pair<std::string, std::string>> oneDnn = {
      {"nn.softmax", "in a row with NaN, oneDNN makes only that element NaN"}};
  return {
      {"reference", referenceBackend, 1},
      {"cpu", cpuBackend, 1, oneDnn},
      {"cpuThreads", cpuBackend, 2, oneDnn},
  };
}

static Tensor randomTensor(const TensorInfo &info, const Case &test,
                           std::mt19937 &random) {
  Tensor tensor(info);
  for (int64_t i = 0; i < info.count(); ++i) {
    int64_t integer =
        std::uniform_int_distribution<int64_t>(test.low, test.high - 1)(random);
    // Away from 0, so that logarithms and quotients stay moderate.
    float real = std::uniform_real_distribution<float>(0.25f, 2)(random);
    std::byte *at = tensor.data.data() + i * byteWidth(info.type);
    uint8_t flag = integer & 1;
    int32_t narrow = int32_t(integer);
    const void *value = info.type == DType::F32   ? (const void *)&real
                        : info.type == DType::I32 ? (const void *)&narrow
                        : info.type == DType::I64 ? (const void *)&integer
                                                  : (const void *)&flag;
    std::memcpy(at, value, byteWidth(info.type));
  }
  return tensor;
}

static std::vector<Tensor> randomOperands(const Case &test) {
  std::mt19937 random(7);
  std::vector<Tensor> operands;
  for (const TensorInfo &info : test.operands) {
    operands.push_back(randomTensor(info, test, random));
  }
  // Signs matter to most operators, not only large magnitudes.
  for (Tensor &operand : operands) {
    bool roots = test.op == "nn.sqrt" || test.op == "nn.rsqrt" ||
                 test.op == "nn.log" || test.op == "nn.pow";
    if (operand.info.type == DType::F32 && !roots) {
      auto *values = reinterpret_cast<float *>(operand.data.data());
      for (int64_t i = 0; i < operand.info.count(); i += 3) {
        values[i] = -values[i];
      }
    }
  }
  return operands;
}

/// The part of a whole tensor that a box holds.
static Tensor cut(const Tensor &whole, const TensorInfo &box) {
  Tensor part(box);
  int64_t width = byteWidth(box.type);
  for (int64_t i = 0; i < box.count(); ++i) {
    int64_t rest = i, from = 0, stride = 1;
    for (size_t d = box.rank(); d-- > 0;) {
      from += (rest % box.extents[d] + box.offset[d]) * stride;
      rest /= box.extents[d];
      stride *= box.global[d];
    }
    std::memcpy(part.data.data() + i * width, whole.data.data() + from * width,
                width);
  }
  return part;
}

static const Kernel *findKernel(const Subject &subject, const CallSite &site) {
  const Kernel *kernel = subject.get().find(site);
  return kernel ? kernel : referenceBackend().find(site);
}

static bool canPrepare(const Subject &subject, const Case &test,
                       const std::vector<TensorInfo> &operands,
                       const TensorInfo &result) {
  CallSite site{test.op, test.attributes, operands, {&result, 1}};
  std::string error;
  return referenceBackend().find(site)->prepare(site, error) != nullptr;
}

namespace {
/// How a call is made.
struct CallKind {
  bool constants = false, checksIndices = true;
};
/// What it ends with.
struct CallEnd {
  Tensor result;
  std::optional<BadIndex> badIndex;
};
} // namespace

/// Runs on boxes. Memory is filled with rubbish first.
static CallEnd callOnBoxes(const Subject &subject, const Case &test,
                           const std::vector<TensorInfo> &boxes,
                           const TensorInfo &resultBox,
                           const std::vector<Tensor> &wholes, CallKind kind) {
  std::vector<Tensor> operands;
  std::vector<const void *> pointers;
  for (size_t i = 0; i < boxes.size(); ++i) {
    operands.push_back(cut(wholes[i], boxes[i]));
  }
  for (const Tensor &operand : operands) {
    pointers.push_back(operand.data.data());
  }
  CallEnd end{Tensor(resultBox), {}};
  std::fill(end.result.data.begin(), end.result.data.end(), std::byte(0xff));
  CallSite site{test.op, test.attributes, boxes, {&resultBox, 1}};
  site.threads = subject.threads;
  site.checksIndices = kind.checksIndices;
  if (kind.constants) {
    site.constants = pointers;
  }
  const Kernel *kernel = findKernel(subject, site);
  std::string error;
  auto prepared = kernel->prepare(site, error);
  EXPECT_TRUE(prepared) << error;
  if (!prepared || end.result.data.empty()) {
    return end;
  }
  std::vector<std::byte> workspace(kernel->query(site).workspaceBytes,
                                   std::byte(0xff));
  void *data = end.result.data.data();
  // Twice: a kernel has no state that a launch uses up.
  for (int i = 0; i < 2; ++i) {
    LaunchContext context{pointers, {&data, 1}, workspace.data()};
    EXPECT_TRUE(prepared->launch(context).isOk());
    end.badIndex = context.badIndex;
  }
  return end;
}

/// The same where no index is bad.
static Tensor runBoxes(const Subject &subject, const Case &test,
                       const std::vector<TensorInfo> &boxes,
                       const TensorInfo &resultBox,
                       const std::vector<Tensor> &wholes,
                       bool constants = false) {
  CallEnd end =
      callOnBoxes(subject, test, boxes, resultBox, wholes, {constants, true});
  EXPECT_FALSE(end.badIndex) << end.badIndex->message();
  return end.result;
}

template <typename T>
static void expectEqual(const Tensor &got, const Tensor &expected) {
  std::vector<T> a = got.values<T>(), b = expected.values<T>();
  ASSERT_EQ(a.size(), b.size());
  double largest = 0;
  for (T value : b) {
    largest = std::max(
        largest, std::isfinite(double(value)) ? std::fabs(double(value)) : 0.0);
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (a[i] != a[i] && b[i] != b[i])) {
      continue;
    }
    double limit = std::is_floating_point_v<T>
                       ? 1e-5 * largest + 1e-4 * std::fabs(double(b[i]))
                       : 0;
    ASSERT_LE(std::fabs(double(a[i]) - double(b[i])), limit)
        << "at element " << i << ": got " << +a[i] << ", expected " << +b[i];
  }
}

static void expectSame(const Tensor &got, const Tensor &expected) {
  switch (expected.info.type) {
  case DType::F32:
    return expectEqual<float>(got, expected);
  case DType::I32:
    return expectEqual<int32_t>(got, expected);
  case DType::I64:
    return expectEqual<int64_t>(got, expected);
  default:
    return expectEqual<uint8_t>(got, expected);
  }
}

static bool contains(const std::vector<std::pair<size_t, size_t>> &dims,
                     size_t operand, size_t dim) {
  return std::find(dims.begin(), dims.end(), std::pair(operand, dim)) !=
         dims.end();
}

/// Trims the operands' boxes, from both ends of every dimension that is not
/// partial, to what the kernel needs for `result`.
static std::vector<TensorInfo> trimOperands(const Subject &subject,
                                            const Case &test,
                                            const TensorInfo &result) {
  std::vector<TensorInfo> boxes = test.operands;
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (size_t d = 0; d < boxes[i].rank(); ++d) {
      if (contains(test.partial, i, d) || contains(test.kept, i, d)) {
        continue;
      }
      for (int64_t front : {1, 0}) {
        while (boxes[i].extents[d] > 0) {
          TensorInfo before = boxes[i];
          boxes[i].extents[d] -= 1;
          boxes[i].offset[d] += front;
          if (!canPrepare(subject, test, boxes, result)) {
            boxes[i] = before;
            break;
          }
        }
      }
    }
  }
  return boxes;
}

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
