//===- ConformanceCases.h - Calls for every backend -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_BACKENDS_CPU_CONFORMANCECASES_H
#define DIVISI_TEST_RUNTIME_BACKENDS_CPU_CONFORMANCECASES_H

#include "divisi/runtime/kernels/Kernel.h"

#include <ostream>

namespace divisi::rt::test {

/// A call on whole tensors.
struct Case {
  std::string name;
  std::string op;
  Attributes attributes;
  std::vector<TensorInfo> operands;
  TensorInfo result;
  /// Dimensions {operand, dim} of one summed or indexed loop. A box of them
  /// gives a partial result; all others follow from the result's box.
  std::vector<std::pair<size_t, size_t>> partial = {};
  /// How partial results combine: sum, max, or.
  std::string combine = "sum";
  /// Integer operands lie in [low, high).
  int64_t low = -4, high = 5;
  /// If not 0, the last operand has indices into a dimension of that extent.
  int64_t indexed = 0;
  /// More dimensions that the result's box says nothing of; never cut.
  std::vector<std::pair<size_t, size_t>> kept = {};
  /// Operands that are sums of elements, with which narrow ones stay f32, and
  /// whether the result is one.
  std::vector<size_t> sums = {};
  bool resultIsSum = false;
};

/// Whole tensors of one type.
inline TensorInfo f32(Dims dims) {
  return TensorInfo::whole(DType::F32, std::move(dims));
}
inline TensorInfo i32(Dims dims) {
  return TensorInfo::whole(DType::I32, std::move(dims));
}
inline TensorInfo i64(Dims dims) {
  return TensorInfo::whole(DType::I64, std::move(dims));
}

/// For GoogleTest's messages.
inline void PrintTo(const Case &test, std::ostream *out) { *out << test.name; }

/// Cases of operators that order, accumulate or scatter.
void addOrder(std::vector<Case> &cases);
/// Cases of attention, transposed convolution and quantization.
void addAttention(std::vector<Case> &cases);
/// Cases of products of bytes.
void addIntegers(std::vector<Case> &cases);
/// Small cases over f32 also over the other floats, the field and what is
/// stored only, those over i32 alone over the other integers.
void addTypes(std::vector<Case> &cases);

/// All of them.
std::vector<Case> conformanceCases();

} // namespace divisi::rt::test

#endif // DIVISI_TEST_RUNTIME_BACKENDS_CPU_CONFORMANCECASES_H
