//===- NNAttention.td - Operators of transformers ----------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNATTENTION_TD
#define DIVISI_DIALECTS_NN_NNATTENTION_TD

include "dialects/NN/NNOpBase.td"

def NN_MaskTensor : StaticShapeTensorOf<[NN_Bool, NN_Float]>;

def NN_AttentionOp : NN_InferredOp<"attention", NN_RoundsByOwn> {
  let summary = "scaled dot product attention";
  let description = [{
    For queries q[b, (h g), s, d], keys k[b, h, t, d] and values v[b, h, t, e],
    computes y[b, (h g), s, e]: the mean of the values of the keys that a query
    attends, weighted by the softmax of scale * q.k. With a `softcap` c above 0
    a product p counts as c*tanh(p/c). Query i has position i+`offset` and
    attends the keys j with i+offset-`left` <= j <= i+offset+`right`; a bound
    of -1 is none, and causal attention is `right` = 0. `mask` broadcasts to
    [b, (h g), s, t]: one of booleans says what is attended, one of numbers is
    added to the products, and what gets -inf is not attended. A query that
    attends nothing gets 0, or NaN if `nan` says so, as of a softmax. Nothing is
    rounded between q and y.

    `labels` tells in which order the dimensions of q, k, v and y come, those of
    `mask` keep theirs: "bshd,bthd,bthe->bshe" has the heads behind the lengths.

    Constraints:
    - (C1) q, k and v have rank 4 and one element type.
    - (C2) Their batches are equal, so are the heads of k and v, the keys of k
      and v, and dimension 3 of q and k.
    - (C3) The heads of q are a multiple of those of k.
    - (C4) Each dimension of `mask`, which has rank 4, is 1 or what it
      broadcasts to; its elements are booleans or of q's type.
    - (C5) `scale` and `softcap` are finite, and `softcap` is not negative.
    - (C6) `left` and `right` are at least -1.
    - (C7) `labels` has the letters `bhsd,bhtd,bhte->bhse`, each group in any
      order that leaves its last letter where it is.

    Example:
    ```mlir
    %y = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 0.0 : f64,
        left = -1, right = 0, offset = 0} : (tensor<2x4x5x4xf32>,
        tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>) -> tensor<2x4x5x8xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k, NN_FloatTensor:$v,
                       Optional<NN_MaskTensor>:$mask, NN_F64:$scale,
                       NN_F64:$softcap, NN_I64:$left, NN_I64:$right,
                       NN_I64:$offset,
                       DefaultValuedStrAttr<StrAttr, "bhsd,bhtd,bhte->bhse">
                           :$labels,
                       DefaultValuedAttr<BoolAttr, "false">:$nan);
  let results = (outs NN_FloatTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$q, "::mlir::Value":$k, "::mlir::Value":$v,
           "::mlir::Value":$mask, "double":$scale, "double":$softcap,
           "int64_t":$left, "int64_t":$right, "int64_t":$offset,
           CArg<"::llvm::StringRef",
                "\"bhsd,bhtd,bhte->bhse\"">:$labels,
           CArg<"bool", "false">:$nan),
      "q, k, v, mask, scale, softcap, left, right, offset, labels, nan">];
}

def NN_RotaryOp : NN_InferredOp<"rotary", NN_RoundsOnce,
                                [SameOperandsElementType]> {
  let summary = "rotation of pairs by angles";
  let description = [{
    Rotates pairs of elements along the last dimension of `x`: (a, b) becomes
    (a*cos - b*sin, b*cos + a*sin). With p angles, pair i is made of the
    elements 2i and 2i+1 if `interleaved`, else of i and i+p; elements from 2p
    on stay. `cos` and `sin` broadcast to the other dimensions.

    Constraints:
    - (C1) `cos` and `sin` have the same shape, and the rank of `x`, at least 1.
    - (C2) The last dimension of `x` has at least twice their extent.
    - (C3) Their other dimensions are 1 or those of `x`.

    Example:
    ```mlir
    %y = nn.rotary %x, %cos, %sin {interleaved = true} : (tensor<2x5x8xf32>,
        tensor<1x5x4xf32>, tensor<1x5x4xf32>) -> tensor<2x5x8xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$cos,
                       NN_FloatTensor:$sin, BoolAttr:$interleaved);
  let results = (outs NN_FloatTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::mlir::Value":$cos, "::mlir::Value":$sin,
           "bool":$interleaved), "x, cos, sin, interleaved">];
}

#endif // DIVISI_DIALECTS_NN_NNATTENTION_TD
