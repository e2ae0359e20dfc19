//===- DnnProblem.h - What cuDNN is asked for -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph of operations as its descriptors say it: a convolution, or its
// gradient by data, and pointwise operations behind it. What is wrong with it
// by the documentation ("Graph API", "cudnn_graph Library"), and what it means,
// evaluated in f64.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_DNNPROBLEM_H
#define DIVISI_TEST_EMULATOR_DNNPROBLEM_H

#include "test/emulator/DeviceNumbers.h"

#include <cudnn_graph.h>

namespace divisi::emulator {

/// A tensor of a graph.
struct DnnTensor {
  int64_t number = 0;
  rt::DType type = rt::DType::F32;
  std::vector<int64_t> dims, strides;
  int64_t alignment = 1;
  bool isVirtual = false;

  friend bool operator==(const DnnTensor &, const DnnTensor &) = default;
  int64_t count() const;
  /// Bytes from the first element to the end of the last one.
  uint64_t span() const;
  /// Whether it has neither gaps nor elements that share a place.
  bool isDense() const;
};

/// An operation, which makes `result` of the numbers of other tensors.
struct DnnOperation {
  enum class Kind : uint8_t { Forward, Gradient, Pointwise } kind;
  int64_t left = 0, right = 0; ///< Data, and filter; pointwise: 0 is none.
  int64_t result = 0;
  /// Of a window, by spatial dimension.
  std::vector<int64_t> strides, dilations, before, after;
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_IDENTITY;
  bool keepsNan = false;
};

/// How an engine computes.
struct DnnArithmetic {
  bool roundsToTf32 = false;
  bool dropsNan = false; ///< Where it compares.
  bool isWrong = false;  ///< Who used it did not look at its notes.
};

/// A graph.
struct DnnProblem {
  std::map<int64_t, DnnTensor> tensors; ///< By number.
  std::vector<DnnOperation>
      operations; ///< Values are made before they are read.

  /// Why the library would refuse it; nothing: it would not.
  std::optional<std::string> refusal() const;
  /// The tensors that lie in memory.
  std::vector<int64_t> inMemory() const;
  int64_t groups() const;
  /// All that it is, as numbers.
  std::vector<uint64_t> key() const;

  /// Does it on the memory of `gpus`, with tensors at those addresses; what is
  /// wrong, if something is.
  std::optional<std::string> run(const std::map<int64_t, uint64_t> &addresses,
                                 const DnnArithmetic &arithmetic, Gpus &gpus,
                                 Touched &touched) const;

private:
  std::optional<std::string> refusal(const DnnOperation &window) const;
  std::optional<std::string> pointwiseRefusal(const DnnOperation &step) const;
};

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_DNNPROBLEM_H
