//===- NNWindow.td - Operators on sliding windows ----------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNWINDOW_TD
#define DIVISI_DIALECTS_NN_NNWINDOW_TD

include "dialects/NN/NNOpBase.td"

def NN_ConvOp : NN_AccumulatingOp<"conv", NN_SumsProducts,
                                  [SameOperandsElementType]> {
  let summary = "convolution";
  let description = [{
    Correlates x[n, (g c), i...] with w[(g m), c, k...] into y[n, (g m), o...],
    where i = o*stride + k*dilation - pads_lo, and x is 0 outside.

    Constraints:
    - (C1) `x` and `w` have the same rank, at least 2.
    - (C2) strides, dilations, pads_lo and pads_hi have one entry for each
      dimension behind the second.
    - (C3) Strides and dilations are positive.
    - (C4) Pads are not negative.
    - (C5) `groups` is positive and divides dimension 1 of `x` and dimension 0
      of `w`.
    - (C6) Dimension 1 of `w` is dimension 1 of `x` divided by `groups`.
    - (C7) The window is not empty and fits into the padded dimension.
    - (C8) The result's elements are of the operands' type or its accumulator's.

    Example:
    ```mlir
    %y = nn.conv %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>,
        pads_lo = array<i64: 1>, pads_hi = array<i64: 1>, groups = 1}
        : (tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x4xf32>
    ```
  }];
  let arguments = (ins NN_NumberTensor:$x, NN_NumberTensor:$w,
                       NN_I64s:$strides, NN_I64s:$dilations, NN_I64s:$pads_lo,
                       NN_I64s:$pads_hi, NN_I64:$groups);
  let results = (outs NN_NumberTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::mlir::Value":$w,
           "::llvm::ArrayRef<int64_t>":$strides,
           "::llvm::ArrayRef<int64_t>":$dilations,
           "::llvm::ArrayRef<int64_t>":$padsLo,
           "::llvm::ArrayRef<int64_t>":$padsHi, "int64_t":$groups),
      "x, w, strides, dilations, padsLo, padsHi, groups">];
}

def NN_ConvDgradOp : NN_AccumulatingOp<"conv_dgrad", NN_SumsProducts,
                                       [SameOperandsElementType]> {
  let summary = "transposed convolution";
  let description = [{
    The gradient of nn.conv by its operand, given that by its result,
    dy[n, (g m), o...]: the sum of dy*w into dx[n, (g c), i...] wherever
    i = o*stride + k*dilation - pads_lo. What no o reaches is 0.

    Constraints:
    - (C1) `dy` and `w` have the same rank, at least 2.
    - (C2) strides, dilations, pads_lo and extents have one entry for each
      dimension behind the second.
    - (C3) Strides and dilations are positive.
    - (C4) Pads and extents are not negative.
    - (C5) `groups` is positive and divides dimension 0 of `w`, which is
      dimension 1 of `dy`.
    - (C6) The result's elements are of the operands' type or its accumulator's.

    Example:
    ```mlir
    %dx = nn.conv_dgrad %dy, %w {strides = array<i64: 2>,
        dilations = array<i64: 1>, pads_lo = array<i64: 1>,
        extents = array<i64: 8>, groups = 1}
        : (tensor<2x4x4xf32>, tensor<4x3x3xf32>) -> tensor<2x3x8xf32>
    ```
  }];
  let arguments = (ins NN_NumberTensor:$dy, NN_NumberTensor:$w,
                       NN_I64s:$strides, NN_I64s:$dilations, NN_I64s:$pads_lo,
                       NN_I64s:$extents, NN_I64:$groups);
  let results = (outs NN_NumberTensor:$dx);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$dy, "::mlir::Value":$w,
           "::llvm::ArrayRef<int64_t>":$strides,
           "::llvm::ArrayRef<int64_t>":$dilations,
           "::llvm::ArrayRef<int64_t>":$padsLo,
           "::llvm::ArrayRef<int64_t>":$extents, "int64_t":$groups),
      "dy, w, strides, dilations, padsLo, extents, groups">];
}

class NN_Pool<string mnemonic, Trait rounding, string meaning, string outside>
    : NN_AccumulatingOp<mnemonic, rounding, [NN_Unflattens]> {
  let summary = meaning # " of sliding windows";
  let description = "Computes the " # meaning # [{ of the elements in each
    window: index o*stride + k*dilation - pads_lo for k below `kernel`. All
    attributes have one entry for each dimension; those not pooled over have
    kernel 1. Elements outside count as }] # outside # [{.

    Constraints:
    - (C1) All attributes have one entry for each dimension.
    - (C2) Kernels, strides and dilations are positive.
    - (C3) Pads are not negative.
    - (C4) The window fits into the padded dimension.
    - (C5) The result's elements are of x's type or its accumulator's.

    Example:
    ```mlir
    %y = nn.}] # mnemonic # [{ %x {kernel = array<i64: 1, 3>,
        strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>,
        pads_lo = array<i64: 0, 1>, pads_hi = array<i64: 0, 1>}
        : (tensor<4x8xf32>) -> tensor<4x4xf32>
    ```
  }];
  let arguments = (ins NN_NumberTensor:$x, NN_I64s:$kernel, NN_I64s:$strides,
                       NN_I64s:$dilations, NN_I64s:$pads_lo, NN_I64s:$pads_hi);
  let results = (outs NN_NumberTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$kernel,
           "::llvm::ArrayRef<int64_t>":$strides,
           "::llvm::ArrayRef<int64_t>":$dilations,
           "::llvm::ArrayRef<int64_t>":$padsLo,
           "::llvm::ArrayRef<int64_t>":$padsHi),
      "x, kernel, strides, dilations, padsLo, padsHi">];
}
def NN_PoolMaxOp : NN_Pool<"pool_max", NN_Moves, "maximum",
                             "the type's least value">;
def NN_PoolSumOp : NN_Pool<"pool_sum", NN_SumsElements, "sum", "0">;

#endif // DIVISI_DIALECTS_NN_NNWINDOW_TD
