//===- NNAttrInterfaces.td - What an encoding says to nn ---*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNATTRINTERFACES_TD
#define DIVISI_DIALECTS_NN_NNATTRINTERFACES_TD

include "mlir/IR/OpBase.td"

def GlobalShapeAttrInterface : AttrInterface<"GlobalShapeAttrInterface"> {
  let cppNamespace = "::divisi::nn";
  let description = [{
    Of which tensor is a tensor with this encoding a box?
  }];
  let methods = [InterfaceMethod<[{
      The shape of the whole tensor. Owned by the context.
    }], "::llvm::ArrayRef<int64_t>", "getGlobalShape">];
}

#endif // DIVISI_DIALECTS_NN_NNATTRINTERFACES_TD
