//===- NNAttentionGradient.td - Attention on its way back --*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNATTENTIONGRADIENT_TD
#define DIVISI_DIALECTS_NN_NNATTENTIONGRADIENT_TD

include "dialects/NN/NNOpBase.td"

def NN_AttendedMask : StaticShapeTensorOf<[NN_Bool, NN_Float]>;

// What these have in common with nn.attention.
defvar NN_AttentionAttributes =
    (ins NN_F64:$scale, NN_F64:$softcap, NN_I64:$left, NN_I64:$right,
        NN_I64:$offset,
        DefaultValuedStrAttr<StrAttr, "bhsd,bhtd,bhte->bhse">:$labels);

def NN_AttentionLseOp : NN_InferredOp<"attention_lse", NN_StaysWide> {
  let summary = "log of the sums by which attention divides";
  let description = [{
    For the queries and keys of an `nn.attention` with the same attributes, the
    logarithm of the sum of exponentials of what a query has with the keys that
    it attends, lse[b, (h g), s]: the weight of a key is the exponential of its
    product, scaled, capped and masked, minus this. A query that attends nothing
    gets infinity, so that all its weights are 0, or NaN if `nan` says so.
    `labels` are those of the attention; its values and results have no part in
    it.

    Constraints:
    - (C1) Operands and attributes are those of an `nn.attention` whose values
      are the keys: its C1 to C7.

    Example:
    ```mlir
    %y = nn.attention_lse %q, %k {scale = 0.5 : f64, softcap = 0.0 : f64,
        left = -1, right = 0, offset = 0} : (tensor<2x4x5x4xf32>,
        tensor<2x2x7x4xf32>) -> tensor<2x4x5xf32>
    ```
  }];
  let arguments = !con((ins NN_FloatTensor:$q, NN_FloatTensor:$k,
                            Optional<NN_AttendedMask>:$mask),
                       NN_AttentionAttributes,
                       (ins DefaultValuedAttr<BoolAttr, "false">:$nan));
  let results = (outs NN_FloatTensor:$lse);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$q, "::mlir::Value":$k, "::mlir::Value":$mask,
           "double":$scale, "double":$softcap, "int64_t":$left,
           "int64_t":$right, "int64_t":$offset, "::llvm::StringRef":$labels,
           "bool":$nan),
      "q, k, mask, scale, softcap, left, right, offset, labels, nan">];
}

def NN_AttentionGradientOp
    : NN_AccumulatingOp<"attention_gradient", NN_StaysWide> {
  let summary = "gradient of attention by queries, keys or values";
  let description = [{
    Of y = `nn.attention`(q, k, v, mask) with the same attributes and `dy`, the
    gradient by y, that by q, k or v, which `of` names. `lse` is the attention's
    `nn.attention_lse`, and `delta` the sum of y*dy over the features. With c,
    what a query and a key have before the mask (scale * q.k, capped), and p,
    their weight exp(c + mask - lse):

    ```
    dc = p * (dy.v - delta)        dz = scale * dc * (1 - (c/softcap)^2)
    dq = sum of dz*k over keys     dk = sum of dz*q over queries
    dv = sum of p*dy over queries
    ```

    Heads of queries that share a head of keys are summed over in dk and dv.
    Nothing is rounded between the operands and the result.

    Constraints:
    - (C1) Operands and attributes are those of an `nn.attention`: its C1 to C7.
    - (C2) `dy` has the type of that attention's result.
    - (C3) `lse` and `delta` have the shape [b, (h g), s], and elements in which
      those of `q` are summed (f32 for f16 and bf16).
    - (C4) `of` is "q", "k" or "v".
    - (C5) The result's elements are of the operands' type or its accumulator's.

    Example:
    ```mlir
    %dk = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "k",
        scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0,
        offset = 0} : (tensor<2x4x5x4xf32>, tensor<2x2x7x4xf32>,
        tensor<2x2x7x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5xf32>,
        tensor<2x4x5xf32>) -> tensor<2x2x7x4xf32>
    ```
  }];
  let arguments = !con((ins NN_FloatTensor:$q, NN_FloatTensor:$k,
                            NN_FloatTensor:$v, NN_FloatTensor:$dy,
                            NN_FloatTensor:$lse, NN_FloatTensor:$delta,
                            Optional<NN_AttendedMask>:$mask, StrAttr:$of),
                       NN_AttentionAttributes);
  let results = (outs NN_FloatTensor:$gradient);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$q, "::mlir::Value":$k, "::mlir::Value":$v,
           "::mlir::Value":$dy, "::mlir::Value":$lse, "::mlir::Value":$delta,
           "::mlir::Value":$mask, "::llvm::StringRef":$of, "double":$scale,
           "double":$softcap, "int64_t":$left, "int64_t":$right,
           "int64_t":$offset, "::llvm::StringRef":$labels),
      "q, k, v, dy, lse, delta, mask, of, scale, softcap, left, right, offset, "
      "labels">];
}

#endif // DIVISI_DIALECTS_NN_NNATTENTIONGRADIENT_TD
