//===- BlasProduct.cpp - One product by cuBLASLt --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/BlasProduct.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

std::optional<ProductTypes> ProductTypes::of(DType operand, DType result,
                                             bool mayRound) {
  bool isNarrow = operand == DType::F16 || operand == DType::BF16;
  cudaDataType_t type = operand == DType::F16    ? CUDA_R_16F
                        : operand == DType::BF16 ? CUDA_R_16BF
                        : operand == DType::F64  ? CUDA_R_64F
                                                 : CUDA_R_32F;
  if (operand == result && operand == DType::F64) {
    return ProductTypes{type, type, CUBLAS_COMPUTE_64F, CUDA_R_64F};
  }
  if (operand == result && operand == DType::F32) {
    return ProductTypes{type, type,
                        mayRound ? CUBLAS_COMPUTE_32F_FAST_TF32
                                 : CUBLAS_COMPUTE_32F,
                        CUDA_R_32F};
  }
  if (isNarrow && (result == operand || result == DType::F32)) {
    return ProductTypes{type, result == DType::F32 ? CUDA_R_32F : type,
                        CUBLAS_COMPUTE_32F, CUDA_R_32F};
  }
  return std::nullopt;
}

BlasProduct::BlasProduct(const BlasHandle &blas, const ProductTypes &types,
                         const ProductEnd &end, int64_t workspaceBytes)
    : blas_(blas), types_(types), end_(end),
      workspaceBytes_(uint64_t(workspaceBytes)),
      desc_(nullptr, blas.library().descDestroy), algorithm_() {}

template <typename T>
Status BlasProduct::set(cublasLtMatmulDescAttributes_t attribute, T value) {
  return blas_.check(blas_.library().descSetAttribute(desc_.get(), attribute,
                                                      &value, sizeof(value)),
                     "describe a product");
}

/// How a tensor lies, as columns.
Status BlasProduct::addLayout(const StridedProduct &product, size_t tensor) {
  const BlasLibrary &library = blas_.library();
  const StridedProduct::Matrix &matrix = product.matrices[tensor];
  auto rows = uint64_t(tensor == RightMatrix ? product.k : product.m);
  auto columns = uint64_t(tensor == LeftMatrix ? product.k : product.n);
  if (!matrix.columnsFirst) {
    std::swap(rows, columns); // the transpose
  }
  cublasLtMatrixLayout_t made = nullptr;
  cublasStatus_t result = library.layoutCreate(
      &made, tensor == ResultMatrix ? types_.result : types_.operand, rows,
      columns, matrix.leading);
  layouts_.emplace_back(made, library.layoutDestroy);
  auto batch = int32_t(product.batch);
  if (result == CUBLAS_STATUS_SUCCESS) {
    result = library.layoutSetAttribute(
        made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch));
  }
  if (result == CUBLAS_STATUS_SUCCESS) {
    result = library.layoutSetAttribute(
        made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.batchStride,
        sizeof(matrix.batchStride));
  }
  for (auto number :
       {rows, columns, uint64_t(matrix.leading), uint64_t(batch),
        uint64_t(matrix.batchStride), uint64_t(matrix.columnsFirst)}) {
    text_ += std::to_string(number) + " ";
  }
  return blas_.check(result, "describe a matrix");
}

Status BlasProduct::describe(const StridedProduct &product,
                             const std::array<uint32_t, 3> &alignments) {
  cublasLtMatmulDesc_t made = nullptr;
  Status status = blas_.check(
      blas_.library().descCreate(&made, types_.compute, types_.scale),
      "describe a product");
  desc_.reset(made);
  auto operation = [&](size_t tensor) {
    return product.matrices[tensor].columnsFirst ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  uint32_t epilogue = end_.hasGelu && end_.hasBias ? CUBLASLT_EPILOGUE_GELU_BIAS
                      : end_.hasGelu               ? CUBLASLT_EPILOGUE_GELU
                      : end_.hasBias               ? CUBLASLT_EPILOGUE_BIAS
                                                   : CUBLASLT_EPILOGUE_DEFAULT;
  for (auto number : {int(types_.operand), int(types_.result),
                      int(types_.compute), int(end_.adds), int(epilogue)}) {
    text_ += std::to_string(number) + " ";
  }
  for (size_t t = 0; t < 3 && status.isOk(); ++t) {
    text_ += std::to_string(alignments[t]) + " ";
    status = addLayout(product, t);
  }
  if (status.isOk()) {
    status = set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t(operation(RightMatrix)));
  }
  if (status.isOk()) {
    status = set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t(operation(LeftMatrix)));
  }
  return status.isOk() ? set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue) : status;
}

/// Lets the library choose, or takes what it has chosen before; false if it has
/// nothing. (cuBLAS, cublasLtMatmulAlgoGetHeuristic:
/// CUBLAS_STATUS_NOT_SUPPORTED "if there is no heuristic function available for
/// the current configuration"; others return success, and no results.)
Expected<bool> BlasProduct::choose(const std::array<uint32_t, 3> &alignments) {
  const BlasLibrary &library = blas_.library();
  if (auto known = blas_.algorithms().find(text_);
      known != blas_.algorithms().end()) {
    algorithm_ = known->second;
    return true;
  }
  cublasLtMatmulPreference_t made = nullptr;
  cublasStatus_t result = library.preferenceCreate(&made);
  Owned<cublasLtMatmulPreferenceOpaque_t> preference(made,
                                                     library.preferenceDestroy);
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                    auto value) {
    if (result == CUBLAS_STATUS_SUCCESS) {
      result = library.preferenceSetAttribute(made, attribute, &value,
                                              sizeof(value));
    }
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspaceBytes_);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments[RightMatrix]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments[LeftMatrix]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments[ResultMatrix]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments[ResultMatrix]);
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  if (result == CUBLAS_STATUS_SUCCESS) {
    cublasLtMatrixLayout_t ofResult = layouts_[ResultMatrix].get();
    result = library.getHeuristic(blas_.handle(), desc_.get(),
                                  layouts_[RightMatrix].get(),
                                  layouts_[LeftMatrix].get(), ofResult,
                                  ofResult, made, 1, &found, &count);
  }
  if (result == CUBLAS_STATUS_SUCCESS) {
    result = count > 0 ? found.state : CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (result == CUBLAS_STATUS_NOT_SUPPORTED) {
    return false;
  }
  if (result != CUBLAS_STATUS_SUCCESS) {
    return blas_.check(result, "find an algorithm for a product");
  }
  algorithm_ = blas_.algorithms()[text_] = found.algo;
  return true;
}

std::string BlasProduct::nameOf(const StridedProduct &product) {
  auto shape = [](int64_t rows, int64_t columns) {
    return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
  };
  return shape(product.m, product.k) + " and " + shape(product.k, product.n) +
         ", " + std::to_string(product.batch) + " times";
}

Expected<std::unique_ptr<BlasProduct>>
BlasProduct::make(const BlasHandle &blas, const StridedProduct &product,
                  const ProductTypes &types, const ProductEnd &end,
                  const std::array<uint32_t, 3> &alignments,
                  int64_t workspaceBytes) {
  std::unique_ptr<BlasProduct> made(
      new BlasProduct(blas, types, end, workspaceBytes));
  made->text_ = std::to_string(workspaceBytes) + " ";
  Status status = made->describe(product, alignments);
  if (status.isOk() && end.hasBias) {
    // Nobody reads there: what counts is that it is aligned as buffers are.
    status = made->set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                       reinterpret_cast<const void *>(uintptr_t(64)));
  }
  auto isFound = status.isOk() ? made->choose(alignments) : status;
  if (!isFound) {
    return isFound.status();
  }
  return *isFound ? std::move(made) : nullptr;
}

Status BlasProduct::run(const Places &places, cudaStream_t stream) {
  Status status;
  if (end_.hasBias) {
    status = set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, places.bias);
  }
  if (!status.isOk()) {
    return status;
  }
  // In the type of the factors, at addresses of the host.
  constexpr float narrow[] = {0, 1};
  constexpr double wide[] = {0, 1};
  auto factor = [&](bool isOne) -> const void * {
    return types_.scale == CUDA_R_64F ? static_cast<const void *>(wide + isOne)
                                      : narrow + isOne;
  };
  return blas_.check(blas_.library().matmul(
                         blas_.handle(), desc_.get(), factor(true),
                         places.right, layouts_[RightMatrix].get(), places.left,
                         layouts_[LeftMatrix].get(), factor(end_.adds),
                         end_.adds ? places.added : places.result,
                         layouts_[ResultMatrix].get(), places.result,
                         layouts_[ResultMatrix].get(), &algorithm_,
                         places.workspace, workspaceBytes_, stream),
                     "do a product");
}
