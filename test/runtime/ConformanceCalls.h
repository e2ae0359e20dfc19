//===- ConformanceCalls.h - Calls of kernels under test ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a case on boxes of its tensors, by any backend.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_CONFORMANCECALLS_H
#define DIVISI_TEST_RUNTIME_CONFORMANCECALLS_H

#include "test/runtime/ConformanceCases.h"
#include "test/runtime/Tensors.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace divisi::rt::test {

/// A backend under test.
struct Subject {
  const char *name;
  const Backend &(*get)();
  int threads;
  /// {operator whose NaN tests are skipped, reason}.
  std::vector<std::pair<std::string, std::string>> nanSkips = {};
};

inline void PrintTo(const Subject &subject, std::ostream *out) {
  *out << subject.name;
}

inline std::vector<Subject> subjects() {
  std::vector<std::pair<std::string, std::string>> oneDnn = {
      {"nn.softmax", "in a row with NaN, oneDNN makes only that element NaN"}};
  return {
      {"reference", referenceBackend, 1},
      {"cpu", cpuBackend, 1, oneDnn},
      {"cpuThreads", cpuBackend, 2, oneDnn},
  };
}

inline Tensor randomTensor(const TensorInfo &info, const Case &test,
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

inline std::vector<Tensor> randomOperands(const Case &test) {
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
inline Tensor cut(const Tensor &whole, const TensorInfo &box) {
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

inline const Kernel *findKernel(const Subject &subject, const CallSite &site) {
  const Kernel *kernel = subject.get().find(site);
  return kernel ? kernel : referenceBackend().find(site);
}

inline bool canPrepare(const Subject &subject, const Case &test,
                       const std::vector<TensorInfo> &operands,
                       const TensorInfo &result) {
  CallSite site{test.op, test.attributes, operands, {&result, 1}};
  std::string error;
  return referenceBackend().find(site)->prepare(site, error) != nullptr;
}

/// How a call is made.
struct CallKind {
  bool constants = false, checksIndices = true;
};
/// What it ends with.
struct CallEnd {
  Tensor result;
  std::optional<BadIndex> badIndex;
};

/// Bytes aligned to 64, with a mark behind them.
class Workspace {
public:
  explicit Workspace(int64_t bytes)
      : bytes_(size_t(bytes)), memory_(bytes_ + 128, std::byte(0xff)) {}
  std::byte *data() {
    auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (-address & 63);
  }
  bool isIntact() {
    return std::all_of(data() + bytes_, data() + bytes_ + 64,
                       [](std::byte byte) { return byte == std::byte(0xff); });
  }

private:
  size_t bytes_;
  std::vector<std::byte> memory_;
};

/// Runs on boxes. Memory is filled with rubbish first.
inline CallEnd callOnBoxes(const Subject &subject, const Case &test,
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
  KernelQuery query = kernel->query(site);
  EXPECT_EQ(prepared->packedBytes(), query.packedBytes);
  // What lies behind it is not the kernel's.
  Workspace workspace(query.workspaceBytes);
  void *data = end.result.data.data();
  // Twice: a kernel has no state that a launch uses up.
  for (int i = 0; i < 2; ++i) {
    LaunchContext context{pointers, {&data, 1}, workspace.data()};
    EXPECT_TRUE(prepared->launch(context).isOk());
    end.badIndex = context.badIndex;
  }
  EXPECT_TRUE(workspace.isIntact());
  return end;
}

/// The same where no index is bad.
inline Tensor runBoxes(const Subject &subject, const Case &test,
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
void expectEqual(const Tensor &got, const Tensor &expected) {
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

inline void expectSame(const Tensor &got, const Tensor &expected) {
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

inline bool contains(const std::vector<std::pair<size_t, size_t>> &dims,
                     size_t operand, size_t dim) {
  return std::find(dims.begin(), dims.end(), std::pair(operand, dim)) !=
         dims.end();
}

/// Trims the operands' boxes, from both ends of every dimension that is not
/// partial, to what the kernel needs for `result`.
inline std::vector<TensorInfo> trimOperands(const Subject &subject,
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

} // namespace divisi::rt::test

#endif // DIVISI_TEST_RUNTIME_CONFORMANCECALLS_H
