//===- NNQuantize.td - Numbers in few bits with a scale ----*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A quantized number q stands for (q - zero) * scale.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNQUANTIZE_TD
#define DIVISI_DIALECTS_NN_NNQUANTIZE_TD

include "dialects/NN/NNOpBase.td"

def NN_QuantizeOp : NN_CheckedOp<"quantize", NN_StaysWide> {
  let summary = "numbers in few bits";
  let description = [{
    Computes round(x/scale) + zero, rounding halves to even and saturating; for
    f8, x/scale is rounded to the result's type alone.
    Index i along `axis` has the scale and zero point i/`block`; along other
    dimensions they broadcast. `block` is 1 where scales are not by blocks.

    Constraints:
    - (C1) `x` and `scale` are floats of one type; `zero`, which may be absent,
      has the result's type.
    - (C2) `axis` is a dimension of `x`, or 0 where it has none.
    - (C3) `block` is positive.
    - (C4) `scale` and `zero` have the rank of `x`, and each of their dimensions
      is 1, or that of `x`, along `axis` divided by `block` and rounded up.
    - (C5) The result has the shape of `x`.

    Example:
    ```mlir
    %y = nn.quantize %x, %scale {axis = 1, block = 4} : (tensor<4x8xf32>,
        tensor<4x2xf32>) -> tensor<4x8xi8>
    ```
  }];
  let arguments = (ins NN_IeeeTensor:$x, NN_IeeeTensor:$scale,
                       Optional<NN_CodeTensor>:$zero, NN_I64:$axis,
                       NN_I64:$block);
  let results = (outs NN_CodeTensor:$y);
  let builders = [NN_CheckingBuilder<
      (ins "::mlir::RankedTensorType":$resultType, "::mlir::Value":$x,
           "::mlir::Value":$scale, "::mlir::Value":$zero, "int64_t":$axis,
           "int64_t":$block),
      "resultType", ", x, scale, zero, axis, block">];
}

def NN_DequantizeOp : NN_InferredOp<"dequantize", NN_StaysWide> {
  let summary = "the numbers that quantized ones stand for";
  let description = [{
    Computes (x-zero) * scale in the type of `scale`; the difference is exact.
    Index i along `axis` has the scale and zero point i/`block`; along other
    dimensions they broadcast. `block` is 1 where scales are not by blocks.

    Constraints:
    - (C1) `zero`, which may be absent, has the type of `x`.
    - (C2) `axis` is a dimension of `x`, or 0 where it has none.
    - (C3) `block` is positive.
    - (C4) `scale` and `zero` have the rank of `x`, and each of their dimensions
      is 1, or that of `x`, along `axis` divided by `block` and rounded up.

    Example:
    ```mlir
    %y = nn.dequantize %x, %scale, %zero {axis = 0, block = 1}
        : (tensor<4x8xi8>, tensor<4x1xf32>, tensor<4x1xi8>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins NN_CodeTensor:$x, NN_FloatTensor:$scale,
                       Optional<NN_CodeTensor>:$zero, NN_I64:$axis,
                       NN_I64:$block);
  let results = (outs NN_FloatTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::mlir::Value":$scale, "::mlir::Value":$zero,
           "int64_t":$axis, "int64_t":$block),
      "x, scale, zero, axis, block">];
}

#endif // DIVISI_DIALECTS_NN_NNQUANTIZE_TD
