//===- SPMDInterfaces.td - What all moves share ------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_SPMD_SPMDINTERFACES_TD
#define DIVISI_DIALECTS_SPMD_SPMDINTERFACES_TD

include "mlir/IR/OpBase.td"

def SPMD_StepInterface : OpInterface<"StepInterface"> {
  let cppNamespace = "::divisi::spmd";
  let description = [{
    Which one step of a route between two layouts is this? Implemented by the
    collectives and by the local moves `slice` and `mask`.
  }];
  let methods = [
    InterfaceMethod<"The kind of step.",
      "::divisi::StepKind", "getStepKind">,
    InterfaceMethod<"The tensor before the step.",
      "::mlir::TypedValue<::mlir::RankedTensorType>", "getInput">,
    InterfaceMethod<"The tensor after the step.",
      "::mlir::TypedValue<::mlir::RankedTensorType>", "getOutput">,
    InterfaceMethod<"The grid on which it happens.",
      "::mlir::FlatSymbolRefAttr", "getGridAttr">,
    InterfaceMethod<"The names of the axes along which positions talk.",
      "::mlir::ArrayAttr", "getAxesAttr">,
    InterfaceMethod<[{
        A number that is equal on all ranks that take part and grows in program
        order, once `split-ranks` has given one.}],
      "::std::optional<uint64_t>", "getTag">,
    InterfaceMethod<"Gives it its number.", "void", "setTag", (ins
      "::std::optional<uint64_t>":$tag)>,
  ];
}

#endif // DIVISI_DIALECTS_SPMD_SPMDINTERFACES_TD
