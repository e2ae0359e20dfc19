//===- NNContraction.td - Products summed over labels ------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNCONTRACTION_TD
#define DIVISI_DIALECTS_NN_NNCONTRACTION_TD

include "dialects/NN/NNOpBase.td"

def NN_MatmulOp : NN_AccumulatingOp<"matmul", NN_SumsProducts, [
    SameOperandsElementType, NN_Unflattens]> {
  let summary = "contraction of two tensors";
  let description = [{
    Names every dimension by a letter, multiplies the elements of `a` and `b`
    whose letters agree, and sums over the letters absent from the result:
    "bmk,kn->bmn" is a matrix product with a batch on the left.

    Constraints:
    - (C1) `labels` reads `letters,letters->letters`, letters being a-z and A-Z.
    - (C2) There are as many letters as an operand has dimensions.
    - (C3) No letter stands twice in one operand, or in the result.
    - (C4) A letter has one extent.
    - (C5) Every letter of the result stands in an operand.
    - (C6) A letter that is absent from the result stands in both operands.
    - (C7) The result's elements are of the operands' type or its accumulator's.

    Example:
    ```mlir
    %y = nn.matmul %x, %w {labels = "bmk,kn->bmn"} : (tensor<2x4x8xf32>,
        tensor<8x16xf32>) -> tensor<2x4x16xf32>
    ```
  }];
  let arguments = (ins NN_NumberTensor:$a, NN_NumberTensor:$b,
                       StrAttr:$labels);
  let results = (outs NN_NumberTensor:$result);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$a, "::mlir::Value":$b,
           "::llvm::StringRef":$labels), "a, b, labels">];
}

#endif // DIVISI_DIALECTS_NN_NNCONTRACTION_TD
