//===- NNInterfaces.td - What every nn operator says -------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNINTERFACES_TD
#define DIVISI_DIALECTS_NN_NNINTERFACES_TD

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

def RoundingInterface : OpInterface<"RoundingInterface"> {
  let cppNamespace = "::divisi::nn";
  let description = [{
    What do floats of few bits (bf16, f16) do to the result of this operator?

    `--precision` decides by the answer which operators compute in them. There
    is no default: each definition names one of the traits in NNOpBase.td, or
    the operator implements the method. See `dialects/NN/Rounding.h`.
  }];
  let methods = [InterfaceMethod<[{
      What rounding its floats to few bits costs.
    }], "::divisi::nn::Rounding", "getRounding">];
}

def UnflattenInterface : OpInterface<"UnflattenInterface"> {
  let cppNamespace = "::divisi::nn";
  let description = [{
    Which dims of operands and result fall into factors together, and how does
    this operator read on the factors?

    `nn-unflatten` gives every factor that some operator needs a dim of its own.
    An operator without this interface keeps its form, and the dims that it
    touches stay whole. See `dialects/NN/Factors.h`.
  }];
  let methods = [
    InterfaceMethod<[{
        Tells `ties` which dims go together and which stay whole.
      }], "void", "tieDims", (ins "::divisi::nn::DimTies &":$ties)>,
    InterfaceMethod<[{
        The same operator on the factors of its dims, or nothing if they are no
        dims of such an operator: it then stays as it is, between reshapes.
      }], "std::optional<::divisi::nn::FactoredForm>", "getFactoredForm",
      (ins "const ::divisi::nn::Factors &":$factors)>];
}

#endif // DIVISI_DIALECTS_NN_NNINTERFACES_TD
