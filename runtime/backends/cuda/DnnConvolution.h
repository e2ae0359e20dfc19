//===- DnnConvolution.h - One convolution by cuDNN --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_DNNCONVOLUTION_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_DNNCONVOLUTION_H

#include "runtime/backends/cuda/ConvEpilogue.h"
#include "runtime/backends/cuda/DnnPlan.h"
#include "runtime/kernels/ConvBoxes.h"

namespace divisi::rt::cuda {

/// A tensor as the library is told of it.
struct DnnTensor {
  Dims extents, strides;  ///< With two spatial dimensions at least.
  int64_t alignment = 64; ///< What it begins at a multiple of, in bytes.

  /// One with an extent that makes a plane of a row.
  static DnnTensor of(const ConvBoxes::Side &side, int64_t width);
  /// Whether each element has the place behind another one's.
  bool isDense() const;
};

/// What is asked for.
struct DnnConvolution {
  bool isGradient = false;          ///< By the convolution's operand.
  DType type = DType::F32;          ///< Of all its elements.
  std::array<DnnTensor, 3> tensors; ///< As ConvBoxes::sides.
  /// Of the window, by spatial dimension; padding before and after.
  Dims strides, dilations, before, after;
  /// What goes on with it, and the tensors that take part.
  std::vector<ConvStep> steps = {};
  std::vector<DnnTensor> others = {};
  bool mayRound = false; ///< Operands of f32 to TF32.
  int64_t mostWorkspace = 0;

  /// That of `site`, a convolution alone, with its boxes.
  static DnnConvolution of(const CallSite &site, const ConvBoxes &boxes);
  /// Whether as much is padded before as behind.
  bool isSymmetric() const { return before == after; }

  /// What the library plans, now or as it did before; null if it can do no such
  /// thing, as DnnPlan::make(). It lives as long as `dnn`.
  Expected<const DnnPlan *> plan(const DnnHandle &dnn) const;
  /// The numbers that tensors have there: operand, weights, result, the others.
  std::vector<int64_t> numbers() const;

private:
  std::string text() const;
  bool mayUse(const EngineNotes &notes) const;
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_DNNCONVOLUTION_H
