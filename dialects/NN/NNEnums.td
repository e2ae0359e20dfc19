//===- NNEnums.td - Enumerations of the nn dialect ---------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNENUMS_TD
#define DIVISI_DIALECTS_NN_NNENUMS_TD

include "mlir/IR/EnumAttr.td"

def NN_GlobalKind : I32EnumAttr<"GlobalKind", "what a global is for", [
    I32EnumAttrCase<"Parameter", 0, "parameter">,
    I32EnumAttrCase<"State", 1, "state">,
    I32EnumAttrCase<"Constant", 2, "constant">,
    I32EnumAttrCase<"Derived", 3, "derived">]> {
  let cppNamespace = "::divisi::nn";
}

#endif // DIVISI_DIALECTS_NN_NNENUMS_TD
