//===- NNReduce.td - Operators that fold whole dimensions --*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNREDUCE_TD
#define DIVISI_DIALECTS_NN_NNREDUCE_TD

include "dialects/NN/NNOpBase.td"

def NN_ReduceOp : NN_AccumulatingOp<"reduce", NN_SumsElements,
                                    [NN_Unflattens]> {
  let summary = "sum, product, maximum ... over dimensions";
  let description = [{
    Folds the dimensions `axes`, which the result does not have any more.
    Nothing folds to the neutral element.

    Constraints:
    - (C1) `kind` is sum, prod, max or min for numbers, and or or for booleans.
    - (C2) `axes` are dimensions of `x` in ascending order.
    - (C3) The result's elements are of x's type or its accumulator's.

    Example:
    ```mlir
    %y = nn.reduce %x {kind = "sum", axes = array<i64: 1>} : (tensor<4x8xf32>)
        -> tensor<4xf32>
    ```
  }];
  let arguments = (ins NN_ComparableTensor:$x, StrAttr:$kind, NN_I64s:$axes);
  let results = (outs NN_ComparableTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::llvm::StringRef":$kind,
           "::llvm::ArrayRef<int64_t>":$axes), "x, kind, axes">];
}

def NN_SoftmaxOp : NN_InferredOp<"softmax", NN_StaysWide, [NN_Unflattens]> {
  let summary = "normalised exponentials along one dimension";
  let description = [{
    Computes exp(x) / sum(exp(x)) along `axis`, or its logarithm if `log`. Of
    floats the maximum is subtracted first.

    Constraints:
    - (C1) `axis` is a dimension of `x`.

    Example:
    ```mlir
    %y = nn.softmax %x {axis = 1, log = false} : (tensor<4x8xf32>)
        -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_I64:$axis, BoolAttr:$log);
  let results = (outs NN_FloatTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "int64_t":$axis, "bool":$log),
      "x, axis, log">];
}

def NN_NormalizeOp : NN_InferredOp<"normalize", NN_StaysWide, [NN_Unflattens]> {
  let summary = "scaling to unit variance over dimensions";
  let description = [{
    Computes (x-mean)/sqrt(variance+epsilon) with the population's variance over
    the dimensions `axes`; without `center`, x/sqrt(mean(x*x)+epsilon).

    Constraints:
    - (C1) `axes` are dimensions of `x` in ascending order.
    - (C2) `epsilon` is finite and not negative.

    Example:
    ```mlir
    %y = nn.normalize %x {axes = array<i64: 1>, center = true,
        epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_I64s:$axes, BoolAttr:$center,
                       NN_F64:$epsilon);
  let results = (outs NN_FloatTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$axes,
           "bool":$center, "double":$epsilon), "x, axes, center, epsilon">];
}

#endif // DIVISI_DIALECTS_NN_NNREDUCE_TD
