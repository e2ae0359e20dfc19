//===- ConformanceRun.cpp - Run a case by a backend -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/backends/cpu/ConformanceRun.h"

#include "divisi/runtime/kernels/Element.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace divisi::rt::test {

std::vector<Subject> subjects() {
  return {
      {"reference", referenceBackend, 1},
      {"cpu", cpuBackend, 1},
      {"cpuThreads", cpuBackend, 2},
  };
}

static Tensor randomTensor(const TensorInfo &info, const Case &test,
                           std::mt19937 &random) {
  Tensor tensor(info);
  bool roots = test.op == "nn.sqrt" || test.op == "nn.rsqrt" ||
               test.op == "nn.log" || test.op == "nn.pow";
  dispatch<AllTypes>(info.type, [&](auto zero) {
    using T = decltype(zero);
    auto *values = reinterpret_cast<T *>(tensor.data.data());
    for (int64_t i = 0; i < info.count(); ++i) {
      std::uniform_int_distribution<int64_t> whole(test.low, test.high - 1);
      int64_t integer = whole(random);
      // Away from 0, so that logarithms and quotients stay moderate. Signs
      // matter to most operators, not only large magnitudes.
      float real = std::uniform_real_distribution<float>(0.25f, 2)(random);
      real = i % 3 == 0 && !roots ? -real : real;
      if constexpr (isFloat<T> || isField<T>) {
        values[i] = convertElement<T>(real);
      } else if constexpr (std::is_same_v<T, Flag>) {
        values[i] = Flag((integer & 1) != 0);
      } else {
        values[i] = T(integer);
      }
    }
  });
  return tensor;
}

std::vector<Tensor> randomOperands(const Case &test) {
  std::mt19937 random(7);
  std::vector<Tensor> operands;
  for (const TensorInfo &info : test.operands) {
    operands.push_back(randomTensor(info, test, random));
  }
  return operands;
}

Tensor cut(const Tensor &whole, const TensorInfo &box) {
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

bool canPrepare(const Subject &subject, const Case &test,
                const std::vector<TensorInfo> &operands,
                const TensorInfo &result) {
  CallSite site{test.op, test.attributes, operands, {&result, 1}};
  std::string error;
  return referenceBackend().find(site)->prepare(site, error) != nullptr;
}

CallEnd callOnBoxes(const Subject &subject, const Case &test,
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
  std::vector<PackedForms> forms(operands.size());
  std::vector<Constant> constants;
  if (kind.constants) {
    for (size_t i = 0; i < operands.size(); ++i) {
      constants.emplace_back(pointers[i], &forms[i]);
    }
    site.constants = constants;
  }
  const Kernel *kernel = findKernel(subject, site);
  std::string error;
  // What the one has packed the other one has, too.
  auto first = kernel->prepare(site, error);
  auto prepared = kernel->prepare(site, error);
  EXPECT_TRUE(prepared) << error;
  if (!prepared || end.result.data.empty()) {
    return end;
  }
  std::vector<std::byte> workspace(kernel->query(site).workspaceBytes,
                                   std::byte(0xff));
  void *data = end.result.data.data();
  dropUnread(*prepared, pointers);
  // Twice: a kernel has no state that a launch uses up.
  for (int i = 0; i < 2; ++i) {
    LaunchContext context{pointers, {&data, 1}, workspace.data(), site.threads};
    EXPECT_TRUE(prepared->launch(context).isOk());
    end.badIndex = context.badIndex;
  }
  return end;
}

Tensor runBoxes(const Subject &subject, const Case &test,
                const std::vector<TensorInfo> &boxes,
                const TensorInfo &resultBox, const std::vector<Tensor> &wholes,
                bool constants) {
  CallEnd end =
      callOnBoxes(subject, test, boxes, resultBox, wholes, {constants, true});
  EXPECT_FALSE(end.badIndex) << end.badIndex->message();
  return end.result;
}

/// How far apart two ways of rounding may be: a share of the largest element,
/// and one of the element itself.
template <typename T> static std::pair<double, double> tolerances() {
  if constexpr (std::is_same_v<T, double>) {
    return {1e-12, 1e-11};
  } else if constexpr (std::is_same_v<T, float>) {
    return {1e-5, 1e-4};
  } else if constexpr (isFloat<T>) {
    double unit = std::is_same_v<T, Half> ? 0x1p-10 : 0x1p-7;
    return {2 * unit, 2 * unit};
  } else {
    return {0, 0};
  }
}

template <typename T>
static void expectEqual(const Tensor &got, const Tensor &expected) {
  std::vector<T> a = got.values<T>(), b = expected.values<T>();
  ASSERT_EQ(a.size(), b.size());
  double largest = 0;
  for (T element : b) {
    double value = double(load(element));
    largest = std::max(largest, std::isfinite(value) ? std::fabs(value) : 0.0);
  }
  auto [ofLargest, ofElement] = tolerances<T>();
  for (size_t i = 0; i < a.size(); ++i) {
    auto x = load(a[i]), y = load(b[i]);
    if (x == y || (x != x && y != y)) {
      continue;
    }
    double limit = ofLargest * largest + ofElement * std::fabs(double(y));
    ASSERT_LE(std::fabs(double(x) - double(y)), limit)
        << "at element " << i << ": got " << +x << ", expected " << +y;
  }
}

void expectSame(const Tensor &got, const Tensor &expected) {
  if (expected.info.type == DType::Field) {
    EXPECT_EQ(got.values<FieldElement>(), expected.values<FieldElement>());
    return;
  }
  constexpr unsigned others = unsigned(AllTypes) & ~typeBit(DType::Field);
  dispatch<others>(expected.info.type, [&](auto zero) {
    expectEqual<decltype(zero)>(got, expected);
  });
}

static bool contains(const std::vector<std::pair<size_t, size_t>> &dims,
                     size_t operand, size_t dim) {
  return std::find(dims.begin(), dims.end(), std::pair(operand, dim)) !=
         dims.end();
}

std::vector<TensorInfo> trimOperands(const Subject &subject, const Case &test,
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

Tensor expectedResult(const Case &test, const std::vector<Tensor> &operands) {
  static const Subject reference{"reference", referenceBackend, 1};
  return runBoxes(reference, test, test.operands, test.result, operands);
}

std::vector<Case> casesThat(bool (*hold)(const Case &)) {
  std::vector<Case> cases = conformanceCases();
  std::erase_if(cases, [&](const Case &test) { return !hold(test); });
  return cases;
}

std::string
nameOf(const testing::TestParamInfo<std::tuple<Subject, Case>> &info) {
  return std::string(std::get<0>(info.param).name) + "_" +
         std::get<1>(info.param).name;
}

} // namespace divisi::rt::test
