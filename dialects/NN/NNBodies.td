//===- NNBodies.td - Operators that run functions ----------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNBODIES_TD
#define DIVISI_DIALECTS_NN_NNBODIES_TD

include "dialects/NN/NNOpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def NN_Count : 0DTensorOf<[I64]>;
def NN_Condition : 0DTensorOf<[I1]>;

class NN_BodyOp<string mnemonic> : NN_Op<mnemonic, [
    Pure, NN_StaysWide, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let results = (outs Variadic<NN_Tensor>:$results);
}

def NN_LoopOp : NN_BodyOp<"loop"> {
  let summary = "runs a function many times";
  let description = [{
    Runs `body`, `count` times. Its first argument is the number of the
    iteration, from 0. The first `values`, as many as there are results, are
    carried: what an iteration returns is what the next one gets, and what the
    last one returns is the result. All others are the same in every iteration.
    A count that is negative or more than `max` is an error of the run.

    The body is a private function: no user can call it.

    Constraints:
    - (C1) The body is a private function of the module, with a body.
    - (C2) Its arguments have the types of the operands, in order: the index
      that of the count.
    - (C3) It returns as many values as there are results, at least one, with
      the types of the carried ones.
    - (C4) `max` is not negative.
    - (C5) The body does not run itself, nor through other bodies.

    Of boxes, the body is a part of the program elsewhere: C1, C2, C3 and C5 are
    for whole tensors.

    Example:
    ```mlir
    func.func private @halve(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %half = nn.constant dense<0.5> : tensor<f32>
      %0 = nn.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    %n = nn.constant dense<3> : tensor<i64>
    %x = nn.constant dense<8.0> : tensor<4xf32>
    %y = nn.loop @halve(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$body, NN_Count:$count,
                       Variadic<NN_Tensor>:$values, NN_I64:$max);
  let assemblyFormat = [{
    $body `(` operands `)` `max` $max attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Of the values, those that an iteration gets from the one before.
    ::mlir::OperandRange getCarried() {
      return getValues().take_front(getNumResults());
    }
  }];
}

def NN_IfOp : NN_BodyOp<"if"> {
  let summary = "runs one of two functions";
  let description = [{
    Runs `then` if the condition is true, `otherwise` if not; its results are
    those of the function that has run.

    Import replaces it by two `nn.loop` that run at most once.

    Constraints:
    - (C1) Both are private functions of the module, with a body.
    - (C2) The arguments of both have the types of the values, in order.
    - (C3) Both return as many values as there are results, at least one, with
      their types.
    - (C5) Neither runs this one, nor through other bodies.

    Example:
    ```mlir
    func.func private @up(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @down(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    %c = nn.constant dense<true> : tensor<i1>
    %x = nn.constant dense<8.0> : tensor<4xf32>
    %y = nn.if %c then @up else @down(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$then, FlatSymbolRefAttr:$otherwise,
                       NN_Condition:$condition, Variadic<NN_Tensor>:$values);
  let assemblyFormat = [{
    $condition `then` $then `else` $otherwise `(` $values `)` attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif // DIVISI_DIALECTS_NN_NNBODIES_TD
