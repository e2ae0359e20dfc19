//===- NNOrder.td - Operators that order or accumulate -----*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNORDER_TD
#define DIVISI_DIALECTS_NN_NNORDER_TD

include "dialects/NN/NNOpBase.td"

def NN_ArgReduceOp : NN_InferredOp<"arg_reduce", NN_StaysWide> {
  let summary = "where the largest or smallest element is";
  let description = [{
    The index along `axis` of the largest (`kind = "max"`) or smallest element;
    the result lacks the dimension. Among equal ones the first, or the last if
    `last`. NaN comes before all numbers.

    Constraints:
    - (C1) `axis` is a dimension of `x`, and not empty.
    - (C2) `kind` is "max" or "min".

    Example:
    ```mlir
    %y = nn.arg_reduce %x {axis = 1, kind = "max", last = false}
        : (tensor<4x8xf32>) -> tensor<4xi64>
    ```
  }];
  let arguments = (ins NN_NumberTensor:$x, NN_I64:$axis, StrAttr:$kind,
                       BoolAttr:$last);
  let results = (outs NN_IndexTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "int64_t":$axis, "::llvm::StringRef":$kind,
           "bool":$last), "x, axis, kind, last">];
}

def NN_CumulateOp : NN_InferredOp<"cumulate", NN_StaysWide> {
  let summary = "running sums or products along one dimension";
  let description = [{
    Element i along `axis` combines the elements up to i, or without i itself if
    `exclusive`; from the end if `reverse`. Nothing combines to the neutral
    element.

    Constraints:
    - (C1) `axis` is a dimension of `x`.
    - (C2) `kind` is "sum" or "prod".

    Example:
    ```mlir
    %y = nn.cumulate %x {axis = 1, kind = "sum", exclusive = false,
        reverse = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins NN_NumberTensor:$x, NN_I64:$axis, StrAttr:$kind,
                       BoolAttr:$exclusive, BoolAttr:$reverse);
  let results = (outs NN_NumberTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "int64_t":$axis, "::llvm::StringRef":$kind,
           "bool":$exclusive, "bool":$reverse),
      "x, axis, kind, exclusive, reverse">];
}

def NN_TopKOp : NN_InferredOp<"top_k", NN_StaysWide> {
  let summary = "where the k largest or smallest elements are";
  let description = [{
    The indices along `axis` of the `k` largest elements in descending order, or
    the smallest in ascending order without `largest`. Among equal ones the
    lower index comes first; NaN is greater than all numbers. nn.take_along
    gives the elements.

    Constraints:
    - (C1) `axis` is a dimension of `x`.
    - (C2) `k` is at least 0 and at most its extent.

    Example:
    ```mlir
    %y = nn.top_k %x {axis = 1, k = 2, largest = true} : (tensor<4x8xf32>)
        -> tensor<4x2xi64>
    ```
  }];
  let arguments = (ins NN_NumberTensor:$x, NN_I64:$axis, NN_I64:$k,
                       BoolAttr:$largest);
  let results = (outs NN_IndexTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "int64_t":$axis, "int64_t":$k, "bool":$largest),
      "x, axis, k, largest">];
}

#endif // DIVISI_DIALECTS_NN_NNORDER_TD
