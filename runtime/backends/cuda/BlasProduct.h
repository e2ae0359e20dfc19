//===- BlasProduct.h - One product by cuBLASLt ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuBLASLt thinks in columns: what lies row by row here is the transpose of a
// matrix there. So the transpose of the result is asked for, right operand
// first:
//
//   result = left * right        resultᵀ = rightᵀ * leftᵀ
//
// Its bias, one number for each row, then is one for each of our columns.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_BLASPRODUCT_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_BLASPRODUCT_H

#include "runtime/backends/cuda/Blas.h"
#include "runtime/code/StridedProduct.h"

#include <optional>

namespace divisi::rt::cuda {

/// What the library does beside multiplying.
struct ProductEnd {
  bool adds = false;    ///< To what another tensor like the result has.
  bool hasBias = false; ///< A number is added to each row.
  bool hasGelu = false; ///< GELU by tanh comes last.
};

/// Which numbers are multiplied.
struct ProductTypes {
  /// Elements of both matrices, and of the product.
  cudaDataType_t operand, result;
  cublasComputeType_t compute;
  cudaDataType_t scale; ///< Of the factors of product and sum.

  /// Nothing if the library has no such product. Operands of f32 may be rounded
  /// to TF32, 10 bits behind the point, if `mayRound`.
  static std::optional<ProductTypes> of(DType operand, DType result,
                                        bool mayRound);
};

/// A call that is ready to be made.
class BlasProduct {
public:
  /// Of one iteration of `product`, whose tensors all begin at multiples of
  /// `alignments`, in bytes, beyond which the workspace begins at one of 256.
  /// Null if the library has no algorithm for it; Device where it fails.
  static Expected<std::unique_ptr<BlasProduct>>
  make(const BlasHandle &blas, const StridedProduct &product,
       const ProductTypes &types, const ProductEnd &end,
       const std::array<uint32_t, 3> &alignments, int64_t workspaceBytes);

  /// `[4, 8] and [8, 2], 3 times`
  static std::string nameOf(const StridedProduct &product);

  /// Where tensors begin.
  struct Places {
    const void *left, *right;    ///< In the memory of the GPU.
    void *result;                ///< In the memory of the GPU.
    const void *added = nullptr; ///< What is added to, if something is.
    const void *bias = nullptr; ///< What is added to each row, if something is.
    void *workspace = nullptr;  ///< Of the bytes that were asked for.
  };
  /// Puts it on `stream`.
  Status run(const Places &places, cudaStream_t stream);

private:
  template <typename T>
  using Owned = std::unique_ptr<T, cublasStatus_t (*)(T *)>;

  BlasProduct(const BlasHandle &blas, const ProductTypes &types,
              const ProductEnd &end, int64_t workspaceBytes);
  Status describe(const StridedProduct &product,
                  const std::array<uint32_t, 3> &alignments);
  Status addLayout(const StridedProduct &product, size_t tensor);
  Expected<bool> choose(const std::array<uint32_t, 3> &alignments);
  template <typename T>
  Status set(cublasLtMatmulDescAttributes_t attribute, T value);

  const BlasHandle &blas_;
  ProductTypes types_;
  ProductEnd end_;
  uint64_t workspaceBytes_;
  Owned<cublasLtMatmulDescOpaque_t> desc_;
  std::vector<Owned<cublasLtMatrixLayoutOpaque_t>> layouts_; ///< Per tensor.
  cublasLtMatmulAlgo_t algorithm_;
  std::string text_; ///< All that the choice depends on.
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_BLASPRODUCT_H
