//===- NNIndex.td - Operators that compute with indices ----*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNINDEX_TD
#define DIVISI_DIALECTS_NN_NNINDEX_TD

include "dialects/NN/NNOpBase.td"

def NN_IotaOp : NN_CheckedOp<"iota", NN_StaysWide, [NN_Unflattens]> {
  let summary = "every element's index";
  let description = [{
    Every element is its own (global) index along `axis`.

    Constraints:
    - (C1) `axis` is a dimension of the result.

    Example:
    ```mlir
    %y = nn.iota {axis = 1} : () -> tensor<4x8xi64>
    ```
  }];
  let arguments = (ins NN_I64:$axis);
  let results = (outs NN_NumberTensor:$y);
  let builders = [NN_CheckingBuilder<
      (ins "::mlir::RankedTensorType":$resultType, "int64_t":$axis),
      "resultType", ", axis">];
}

def NN_GatherOp : NN_InferredOp<"gather", NN_Moves, [NN_Unflattens]> {
  let summary = "rows of a table, chosen by data";
  let description = [{
    Replaces dimension `axis` of `data` by the dimensions of `indices`; the
    first `batch_dims` dimensions are common to both. Negative indices count
    from the end.

    Constraints:
    - (C1) `axis` is a dimension of `data`.
    - (C2) `batch_dims` is at least 0, at most `axis` and at most the rank of
      `indices`.
    - (C3) The common dimensions have equal extents.

    Example:
    ```mlir
    %y = nn.gather %data, %indices {axis = 0, batch_dims = 0}
        : (tensor<32x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$data, NN_IndexTensor:$indices, NN_I64:$axis,
                       NN_I64:$batch_dims);
  let results = (outs NN_Tensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$data, "::mlir::Value":$indices, "int64_t":$axis,
           "int64_t":$batchDims), "data, indices, axis, batchDims">];
}

def NN_TakeAlongOp : NN_InferredOp<"take_along", NN_Moves, [NN_Unflattens]> {
  let summary = "elements along a dimension, chosen by data";
  let description = [{
    y[.., i, ..] = data[.., indices[.., i, ..], ..] along `axis`. Negative
    indices count from the end.

    Constraints:
    - (C1) `axis` is a dimension of `data`.
    - (C2) `data` and `indices` have the same shape but for `axis`.

    Example:
    ```mlir
    %y = nn.take_along %data, %indices {axis = 1} : (tensor<4x8xf32>,
        tensor<4x2xi64>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$data, NN_IndexTensor:$indices, NN_I64:$axis);
  let results = (outs NN_Tensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$data, "::mlir::Value":$indices, "int64_t":$axis),
      "data, indices, axis">];
}

def NN_InsertOp : NN_InferredOp<"insert", NN_StaysWide, [NN_Unflattens]> {
  let summary = "a tensor with a slice replaced, at a place that data chooses";
  let description = [{
    The result is `x`, except that its indices offset, offset+1, .. along `axis`
    are those of `slice`. There are as many places as extents differ, and one:
    offsets begin at 0, and negative ones count from the end, so that the slice
    at -1 is the last part of `x`. Any other offset is a bad index.

    So a slice of a global is updated: insert it into what `nn.read` gives, and
    let `nn.update` take the result. Both lie at the global's place, if nobody
    needs the old value any more, and then only the slice is written.

    Constraints:
    - (C1) `axis` is a dimension of `x`.
    - (C2) `slice` has the shape of `x`, or less along `axis`.
    - (C3) `offset` is a scalar.
    - (C4) `x` and `slice` have one element type.

    Example:
    ```mlir
    nn.global @k state : tensor<2x64x8xf32> zero
    %k = nn.read @k : tensor<2x64x8xf32>
    %y = nn.insert %k, %row, %position {axis = 1} : (tensor<2x64x8xf32>,
        tensor<2x1x8xf32>, tensor<i64>) -> tensor<2x64x8xf32>
    nn.update @k, %y : tensor<2x64x8xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, NN_Tensor:$slice, NN_IndexTensor:$offset,
                       NN_I64:$axis);
  let results = (outs NN_Tensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::mlir::Value":$slice, "::mlir::Value":$offset,
           "int64_t":$axis), "x, slice, offset, axis">];
}

def NN_ScatterOp : NN_InferredOp<"scatter", NN_StaysWide> {
  let summary = "a tensor with rows replaced or combined, chosen by data";
  let description = [{
    The result is `init`, except that row indices[b.., i..] behind its first
    `batch_dims` dimensions b.. becomes updates[b.., i..] (`kind = "set"`; of
    several for one row the last), or is combined with all of them ("add",
    "mul", "max", "min"). Negative indices count from the end.

    Constraints:
    - (C1) `batch_dims` is at least 0, below the rank of `init` and at most that
      of `indices`.
    - (C2) The first `batch_dims` extents of `init` and `indices` are equal.
    - (C3) `updates` has the shape of `indices`, followed by that of a row.
    - (C4) `kind` is set, or for numbers add, mul, max or min.
    - (C5) `init` and `updates` have one element type.

    Example:
    ```mlir
    %y = nn.scatter %init, %indices, %updates {batch_dims = 0, kind = "add"}
        : (tensor<32x8xf32>, tensor<2x4xi64>, tensor<2x4x8xf32>)
        -> tensor<32x8xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$init, NN_IndexTensor:$indices,
                       NN_Tensor:$updates, NN_I64:$batch_dims, StrAttr:$kind);
  let results = (outs NN_Tensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$init, "::mlir::Value":$indices,
           "::mlir::Value":$updates, "int64_t":$batchDims,
           "::llvm::StringRef":$kind),
      "init, indices, updates, batchDims, kind">];
}

def NN_ResampleOp : NN_InferredOp<"resample", NN_RoundsOnce, [NN_Unflattens]> {
  let summary = "weighted sums of given elements along a dimension";
  let description = [{
    Element o along `axis` is the sum over t below `taps` of
    weights[o*taps+t] * x[indices[o*taps+t]].

    Constraints:
    - (C1) `axis` is a dimension of `x`.
    - (C2) `taps` is positive and divides the common length of `indices` and
      `weights`.
    - (C3) Every index is inside the dimension.

    Example:
    ```mlir
    %y = nn.resample %x {axis = 0, taps = 2, indices = array<i64: 0, 1, 1, 2, 2,
        3>, weights = array<f64: 0.5, 0.5, 0.5, 0.5, 0.5, 0.5>}
        : (tensor<4x8xf32>) -> tensor<3x8xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_I64:$axis, NN_I64:$taps,
                       NN_I64s:$indices, NN_F64s:$weights);
  let results = (outs NN_FloatTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "int64_t":$axis, "int64_t":$taps,
           "::llvm::ArrayRef<int64_t>":$indices,
           "::llvm::ArrayRef<double>":$weights),
      "x, axis, taps, indices, weights">];
}

#endif // DIVISI_DIALECTS_NN_NNINDEX_TD
