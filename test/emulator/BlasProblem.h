//===- BlasProblem.h - What cuBLASLt is asked for ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The descriptors of a product, what is wrong with them by the documentation
// ("cublasLtMatmul()" in cuBLAS's, with its table of types), and what they
// mean, evaluated in f64.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_BLASPROBLEM_H
#define DIVISI_TEST_EMULATOR_BLASPROBLEM_H

#include "test/emulator/Gpu.h"

#include <cublasLt.h>
#include <optional>
#include <string>

namespace divisi::emulator {

/// A matrix by columns, or a batch of them.
struct BlasLayout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t batchStride = 0;

  friend bool operator==(const BlasLayout &, const BlasLayout &) = default;
  uint64_t width() const;
  /// Column `column` of matrix `number`, in bytes behind the first element.
  uint64_t offset(uint64_t column, int number) const;
};

/// What is done with matrices.
struct BlasDescription {
  cublasComputeType_t compute;
  cudaDataType scale;
  int32_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  uint64_t bias = 0; ///< An address.

  bool hasBias() const { return (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }
  bool hasGelu() const { return (epilogue & CUBLASLT_EPILOGUE_GELU) != 0; }
};

/// One product.
struct BlasProblem {
  BlasDescription what;
  BlasLayout a, b, c, d;

  /// Why the library would refuse it; nothing: it would not.
  std::optional<std::string> refusal() const;
  /// All that an algorithm is chosen by, but how tensors are aligned.
  std::string text() const;

  /// Where tensors begin, by addresses of the device, and factors.
  struct Arguments {
    uint64_t a, b, c, d;
    double alpha, beta;
  };
  /// Does it on the memory of `gpus`; what is wrong, if something is.
  std::optional<std::string> run(const Arguments &arguments, Gpus &gpus,
                                 Touched &touched) const;
};

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_BLASPROBLEM_H
