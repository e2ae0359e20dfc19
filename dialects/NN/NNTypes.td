//===- NNTypes.td - Types of nn ----------------------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNTYPES_TD
#define DIVISI_DIALECTS_NN_NNTYPES_TD

include "dialects/NN/NNBase.td"
include "mlir/IR/AttrTypeBase.td"

def NN_FieldType : TypeDef<NN_Dialect, "Field"> {
  let mnemonic = "field";
  let summary = "element of the prime field of 2^61-1 elements";
  let description = [{
    Stands for real numbers where programs are compared: sums and products are
    exact in any order, other functions are uninterpreted. It is for tests, and
    no model has it. A constant is written in numbers, which have exact images:

    ```mlir
    %c = nn.constant dense<0.5> : tensor<4xf64> -> tensor<4x!nn.field>
    ```
  }];
}

#endif // DIVISI_DIALECTS_NN_NNTYPES_TD
