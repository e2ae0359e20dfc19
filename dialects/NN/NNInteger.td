//===- NNInteger.td - Products of quantized numbers --------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A quantized number q stands for (q - zero) * scale. A product of two has the
// product of their scales, so what is summed is integers, exactly and in any
// order; scales come behind.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNINTEGER_TD
#define DIVISI_DIALECTS_NN_NNINTEGER_TD

include "dialects/NN/NNOpBase.td"

def NN_Byte : AnyTypeOf<[I8, UI8], "i8 or ui8">;
def NN_ByteTensor : StaticShapeTensorOf<[NN_Byte]>;

def NN_MatmulIntegerOp : NN_InferredOp<"matmul_integer", NN_StaysWide> {
  let summary = "contraction of two quantized tensors";
  let description = [{
    As `nn.matmul`, of the numbers `a` - `a_zero` and `b` - `b_zero`, in i32,
    which wraps around. The zero point of `a` may be known only when it runs: it
    is then `zero`.

    Constraints:
    - (C1) `labels` are those of an `nn.matmul`.
    - (C2) Zero points are numbers of their operand's element type.
    - (C3) `zero`, which may be absent, is a scalar of the element type of `a`;
      `a_zero` is 0 beside it.

    Example:
    ```mlir
    %y = nn.matmul_integer %x, %w {labels = "bmk,kn->bmn", a_zero = 128,
        b_zero = 0} : (tensor<2x4x8xui8>, tensor<8x16xi8>) -> tensor<2x4x16xi32>
    ```
  }];
  let arguments = (ins NN_ByteTensor:$a, NN_ByteTensor:$b,
                       Optional<NN_ByteTensor>:$zero, StrAttr:$labels,
                       NN_I64:$a_zero, NN_I64:$b_zero);
  let results = (outs NN_IntTensor:$result);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$zero,
           "::llvm::StringRef":$labels, "int64_t":$aZero, "int64_t":$bZero),
      "a, b, zero, labels, aZero, bZero">];
}

def NN_ConvIntegerOp : NN_InferredOp<"conv_integer", NN_StaysWide> {
  let summary = "convolution of quantized tensors";
  let description = [{
    As `nn.conv`, of the numbers `x` - `x_zero` and `w` - `w_zero`, in i32, which
    wraps around. Outside of `x` these are 0, as if `x` were `x_zero`.

    Constraints:
    - (C1) Shapes and attributes are those of an `nn.conv`.
    - (C2) Zero points are numbers of their operand's element type.

    Example:
    ```mlir
    %y = nn.conv_integer %x, %w {strides = array<i64: 2>,
        dilations = array<i64: 1>, pads_lo = array<i64: 1>,
        pads_hi = array<i64: 1>, groups = 1, x_zero = 128, w_zero = 0}
        : (tensor<2x3x8xui8>, tensor<4x3x3xi8>) -> tensor<2x4x4xi32>
    ```
  }];
  let arguments = (ins NN_ByteTensor:$x, NN_ByteTensor:$w, NN_I64s:$strides,
                       NN_I64s:$dilations, NN_I64s:$pads_lo, NN_I64s:$pads_hi,
                       NN_I64:$groups, NN_I64:$x_zero, NN_I64:$w_zero);
  let results = (outs NN_IntTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::mlir::Value":$w,
           "::llvm::ArrayRef<int64_t>":$strides,
           "::llvm::ArrayRef<int64_t>":$dilations,
           "::llvm::ArrayRef<int64_t>":$padsLo,
           "::llvm::ArrayRef<int64_t>":$padsHi, "int64_t":$groups,
           "int64_t":$xZero, "int64_t":$wZero),
      "x, w, strides, dilations, padsLo, padsHi, groups, xZero, wZero">];
}

def NN_AddDequantizedOp : NN_InferredOp<"add_dequantized", NN_StaysWide> {
  let summary = "sum of numbers and of quantized ones";
  let description = [{
    Computes a + (x-zero) * scale, as `nn.add` of `nn.dequantize`: a kernel that
    makes `a` reads `x` as it is stored.

    Constraints:
    - (C1) `a` has the shape of `x` and the element type of `scale`.
    - (C2) `zero`, which may be absent, has the type of `x`.
    - (C3) `scale` and `zero` are one number, of the rank of `x`.

    Example:
    ```mlir
    %y = nn.add_dequantized %a, %x, %scale, %zero : (tensor<4x8xf32>,
        tensor<4x8xui8>, tensor<1x1xf32>, tensor<1x1xui8>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins NN_IeeeTensor:$a, NN_ByteTensor:$x, NN_IeeeTensor:$scale,
                       Optional<NN_ByteTensor>:$zero);
  let results = (outs NN_IeeeTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$a, "::mlir::Value":$x, "::mlir::Value":$scale,
           "::mlir::Value":$zero), "a, x, scale, zero">];
}

#endif // DIVISI_DIALECTS_NN_NNINTEGER_TD
