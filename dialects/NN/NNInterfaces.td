//===- NNInterfaces.td - What every nn operator says ------*- tablegen -*--===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_NN_NNINTERFACES_TD
#define DIALECTS_NN_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def LoopInterface : OpInterface<"LoopInterface"> {
  let cppNamespace = "::divisi::nn";
  let description = [{
    Which loops does this operator have, and which part of each operand and
    result does an iteration touch?

    Strategies, layouts, partial results, halos, costs, the partitioner and the
    generated tests all follow from the answer. There is no default: an
    operator without an implementation does not compile.
  }];
  let methods = [InterfaceMethod<[{
      The operator's loops over global shapes, with a map for every operand and
      result. Only for operators that verify.
    }], "::divisi::LoopNest", "getLoopNest">];
}

#endif // DIALECTS_NN_NNINTERFACES_TD
