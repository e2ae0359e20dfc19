//===- ReferenceCalls.h - Calls of the reference kernels --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_KERNELS_REFERENCECALLS_H
#define DIVISI_TEST_RUNTIME_KERNELS_REFERENCECALLS_H

#include "test/runtime/kernels/Tensors.h"

#include <gmock/gmock.h>
#include <limits>

namespace divisi::rt::test {

using F = std::vector<float>;
using I = std::vector<int32_t>;
using L = std::vector<int64_t>;
using B = std::vector<uint8_t>;

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();
inline constexpr int32_t minInt = std::numeric_limits<int32_t>::min();
inline constexpr int32_t maxInt = std::numeric_limits<int32_t>::max();

/// The message of a call that fails, or nothing.
inline std::string tryRun(std::string_view op, const Attributes &attributes,
                          const std::vector<Tensor> &operands, Tensor &result) {
  std::vector<TensorInfo> infos;
  std::vector<const void *> pointers;
  for (const Tensor &operand : operands) {
    infos.push_back(operand.info);
    pointers.push_back(operand.data.data());
  }
  TensorInfo resultInfo = result.info;
  void *resultData = result.data.data();
  return evaluate(op, attributes, infos, pointers, {&resultInfo, 1},
                  {&resultData, 1})
      .message();
}

template <typename T>
std::vector<T> run(std::string_view op, const Attributes &attributes,
                   const std::vector<Tensor> &operands, Dims dims) {
  Tensor result(TensorInfo::whole(dtypeOf<T>, std::move(dims)));
  EXPECT_EQ(tryRun(op, attributes, operands, result), "");
  return result.values<T>();
}

template <typename T>
std::vector<T> unary(std::string_view op, const std::vector<T> &x,
                     const Attributes &attributes = {}) {
  int64_t n = int64_t(x.size());
  return run<T>(op, attributes, {make({n}, x)}, {n});
}

template <typename T>
std::vector<T> binary(std::string_view op, const std::vector<T> &x,
                      const std::vector<T> &y,
                      const Attributes &attributes = {}) {
  int64_t n = int64_t(x.size());
  return run<T>(op, attributes, {make({n}, x), make({n}, y)}, {n});
}

inline auto near(const F &values) {
  return testing::Pointwise(testing::FloatNear(1e-5f), values);
}

} // namespace divisi::rt::test

#endif // DIVISI_TEST_RUNTIME_KERNELS_REFERENCECALLS_H
