//===- NNMovement.td - Operators that only move elements ---*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNMOVEMENT_TD
#define DIVISI_DIALECTS_NN_NNMOVEMENT_TD

include "dialects/NN/NNOpBase.td"

def NN_ReshapeOp : NN_CheckedOp<"reshape", NN_Moves> {
  let summary = "the same elements in another shape";
  let description = [{
    Keeps the row-major order of the elements.

    Constraints:
    - (C1) Operand and result have the same element type.
    - (C2) Operand and result have the same number of elements.

    Example:
    ```mlir
    %y = nn.reshape %x : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x);
  let results = (outs NN_Tensor:$y);
  let builders = [NN_CheckingBuilder<
      (ins "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$shape),
      "::mlir::RankedTensorType::get(shape, "
      "::mlir::getElementTypeOrSelf(x))", ", x">];
}

def NN_TransposeOp : NN_InferredOp<"transpose", NN_Moves, [NN_Unflattens]> {
  let summary = "permutation of dimensions";
  let description = [{
    Dimension i of the result is dimension permutation[i] of the operand.

    Constraints:
    - (C1) `permutation` holds every dimension of `x` once.

    Example:
    ```mlir
    %y = nn.transpose %x {permutation = array<i64: 2, 0, 1>}
        : (tensor<4x6x8xf32>) -> tensor<8x4x6xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, NN_I64s:$permutation);
  let results = (outs NN_Tensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$permutation),
      "x, permutation">];
}

def NN_BroadcastOp : NN_CheckedOp<"broadcast", NN_Moves, [NN_Unflattens]> {
  let summary = "repetition along dimensions";
  let description = [{
    Dimension i of the operand becomes dimension dims[i] of the result; the
    result repeats it where its extent is 1, and along all other dimensions.

    Constraints:
    - (C1) Operand and result have the same element type.
    - (C2) `dims` has one dimension of the result for each dimension of the
      operand, in ascending order.
    - (C3) Each dimension of the operand has extent 1 or that of the result.

    Example:
    ```mlir
    %y = nn.broadcast %x {dims = array<i64: 1>} : (tensor<8xf32>)
        -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, NN_I64s:$dims);
  let results = (outs NN_Tensor:$y);
  let builders = [NN_CheckingBuilder<
      (ins "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$shape,
           "::llvm::ArrayRef<int64_t>":$dims),
      "::mlir::RankedTensorType::get(shape, "
      "::mlir::getElementTypeOrSelf(x))", ", x, dims">];
}

def NN_SliceOp : NN_InferredOp<"slice", NN_Moves, [NN_Unflattens]> {
  let summary = "a strided part";
  let description = [{
    Takes the indices start, start+step, ... before `limit` of each dimension. A
    negative step goes down, and the limit may then be -1.

    Constraints:
    - (C1) starts, limits and steps have one entry for each dimension.
    - (C2) No step is 0.
    - (C3) 0 <= start <= limit <= extent for a positive step, and
      -1 <= limit <= start < extent for a negative one.

    Example:
    ```mlir
    %y = nn.slice %x {starts = array<i64: 0, 7>, limits = array<i64: 2, -1>,
        steps = array<i64: 1, -2>} : (tensor<4x8xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, NN_I64s:$starts, NN_I64s:$limits,
                       NN_I64s:$steps);
  let results = (outs NN_Tensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$starts,
           "::llvm::ArrayRef<int64_t>":$limits,
           "::llvm::ArrayRef<int64_t>":$steps), "x, starts, limits, steps">];
}

def NN_PadOp : NN_InferredOp<"pad", NN_Moves, [NN_Unflattens]> {
  let summary = "a border of one value";
  let description = [{
    Adds `lo` elements of `value` before and `hi` behind each dimension;
    negative ones crop.

    Constraints:
    - (C1) lo and hi have one entry for each dimension.
    - (C2) No extent of the result is negative.

    Example:
    ```mlir
    %y = nn.pad %x {lo = array<i64: 0, 2>, hi = array<i64: 1, -1>,
        value = 0.0 : f64} : (tensor<4x8xf32>) -> tensor<5x9xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, NN_I64s:$lo, NN_I64s:$hi, NN_F64:$value);
  let results = (outs NN_Tensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$lo,
           "::llvm::ArrayRef<int64_t>":$hi, "double":$value),
      "x, lo, hi, value">];
}

def NN_ConcatOp : NN_InferredOp<"concat", NN_Moves, [NN_Unflattens]> {
  let summary = "tensors one behind the other";
  let description = [{
    Joins the operands along `axis`.

    Constraints:
    - (C1) There is at least one operand, and all have the same element type.
    - (C2) `axis` is a dimension.
    - (C3) All operands have the same shape but for `axis`.

    Example:
    ```mlir
    %z = nn.concat %x, %y {axis = 1} : (tensor<4x8xf32>, tensor<4x2xf32>)
        -> tensor<4x10xf32>
    ```
  }];
  let arguments = (ins Variadic<NN_Tensor>:$xs, NN_I64:$axis);
  let results = (outs NN_Tensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::ValueRange":$xs, "int64_t":$axis), "xs, axis">];
}

#endif // DIVISI_DIALECTS_NN_NNMOVEMENT_TD
