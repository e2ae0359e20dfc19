//===- GradientInterface.td - Rules of gradients -----------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_AUTODIFF_GRADIENTINTERFACE_TD
#define DIVISI_LIB_AUTODIFF_GRADIENTINTERFACE_TD

include "mlir/IR/OpBase.td"

def GradientInterface : OpInterface<"GradientInterface"> {
  let cppNamespace = "::divisi::autodiff";
  let description = [{
    Given the gradient of a number by this operator's results, what are its
    gradients by the operands?

    Rules are external models, a file for each family. An operator without this
    interface can be in a program that is trained only where no gradient goes
    through it.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether results change smoothly with some operand. No gradient goes
        through what does not: comparisons, indices, roundings.
      }], "bool", "hasGradient">,
    InterfaceMethod<[{
        Gives `gradients` those by the operands that it wants. A failure has
        said why there are none.
      }], "::llvm::LogicalResult", "addGradients",
      (ins "::divisi::autodiff::GradientBuilder &":$gradients)>];
}

#endif // DIVISI_LIB_AUTODIFF_GRADIENTINTERFACE_TD
