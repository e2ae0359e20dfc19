//===- NNRandom.td - Random numbers ------------------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNRANDOM_TD
#define DIVISI_DIALECTS_NN_NNRANDOM_TD

include "dialects/NN/NNOpBase.td"

def NN_RandomWord : 0DTensorOf<[I64]>;

// Places in row-major order are those of factors, too.
def NN_RandomOp : NN_CheckedOp<"random", NN_StaysWide, [
    UnflattenInterface, NN_ElementwiseFactors]> {
  let summary = "numbers that only look random";
  let description = [{
    Every element is drawn from [0, 1), uniformly, in steps of 2^-24. It depends
    on `key`, `count`, `stream` and its own (global) place in row-major order
    alone, so that it is the same on however many devices it is made: there is
    no generator that would have to be shared.

    The element at place p is word p mod 4 of Philox4x32-10 (J. Salmon, M.
    Moraes, R. Dror, D. Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3",
    2011) at the counter (p / 4, `stream`, `count`), of 64, 32 and 32 bits from
    the lowest on; its upper 24 bits count.

    Constraints:
    - (C1) Elements of the result are f32.
    - (C2) `stream` is at least 0, below 2^32.

    Example:
    ```mlir
    %y = nn.random %key, %count {stream = 3}
        : (tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins NN_RandomWord:$key, NN_RandomWord:$count,
                       NN_I64:$stream);
  let results = (outs NN_NumberTensor:$y);
  let builders = [NN_CheckingBuilder<
      (ins "::mlir::RankedTensorType":$resultType, "::mlir::Value":$key,
           "::mlir::Value":$count, "int64_t":$stream),
      "resultType", ", key, count, stream">];
}

#endif // DIVISI_DIALECTS_NN_NNRANDOM_TD
