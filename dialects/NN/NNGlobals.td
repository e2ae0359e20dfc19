//===- NNGlobals.td - Constants, parameters and state ------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNGLOBALS_TD
#define DIVISI_DIALECTS_NN_NNGLOBALS_TD

include "dialects/NN/NNEnums.td"
include "dialects/NN/NNOpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def NN_GlobalOp : NN_Op<"global", [Symbol]> {
  let summary = "a tensor that outlives a call";
  let description = [{
    Declares a parameter, a state, a constant, or a tensor derived from these by
    `@init`. Its bytes lie in a file (`from "path" [offset, length]`), or are
    all zero, or are not known (a parameter without `from`: enough to plan).

    Constraints:
    - (C1) A constant lies in a file.
    - (C2) A derived tensor has no bytes before `@init` has run.
    - (C3) Bytes lie in a file or are zero, not both; path, offset and length
      come together.
    - (C4) Offset and length are not negative, and their sum is an int64.
    - (C5) The length is that of the type (one byte for a boolean).

    Example:
    ```mlir
    nn.global @w parameter : tensor<4x8xf32> from "model.onnx" [1024, 128]
    nn.global @m state : tensor<4x8xf32> zero
    nn.global @t derived : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, NN_GlobalKind:$kind,
                       TypeAttrOf<NN_Tensor>:$type,
                       OptionalAttr<StrAttr>:$file,
                       OptionalAttr<NN_I64>:$offset,
                       OptionalAttr<NN_I64>:$length, UnitAttr:$zero);
  let assemblyFormat = [{
    $sym_name $kind `:` $type
    (`from` $file^ ` ` `[` $offset `,` $length `]`)? (`zero` $zero^)?
    attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::mlir::cast<::mlir::RankedTensorType>(getType());
    }
  }];
}

def NN_ReadOp : NN_Op<"read", [
    Pure, DeclareOpInterfaceMethods<LoopInterface>, NN_StaysWide, NN_Unflattens,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a global at entry";
  let description = [{
    The value that the global had when the function was entered, wherever the
    read stands.

    Constraints:
    - (C1) The symbol is an `nn.global`.
    - (C2) The result has its type.

    Example:
    ```mlir
    nn.global @w parameter : tensor<4x8xf32>
    %w = nn.read @w : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$global);
  let results = (outs NN_Tensor:$value);
  let assemblyFormat = "$global attr-dict `:` type($value)";
}

def NN_UpdateOp : NN_Op<"update", [
    MemoryEffects<[MemWrite]>, DeclareOpInterfaceMethods<LoopInterface>,
    NN_StaysWide, NN_Unflattens,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a global after this call";
  let description = [{
    The global has this value when the function has ended. Reads do not see it.

    Constraints:
    - (C1) The symbol is an `nn.global`.
    - (C2) The operand has its type.
    - (C3) It is a parameter or a state, or a derived tensor inside `@init`.

    Example:
    ```mlir
    nn.global @m state : tensor<4x8xf32> zero
    nn.update @m, %new : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$global, NN_Tensor:$value);
  let assemblyFormat = "$global `,` $value attr-dict `:` type($value)";
}

def NN_ConstantOp : NN_Op<"constant", [
    Pure, NN_CheckedType, DeclareOpInterfaceMethods<LoopInterface>,
    NN_StaysWide, NN_Unflattens]> {
  let summary = "a small tensor written into the program";
  let description = [{
    For scalars, splats and short lists; larger ones are an `nn.global`. A box
    of it names its own type behind an arrow; so does a tensor of the field,
    which has the images of the numbers.

    Constraints:
    - (C1) The result has the value's shape and element type, or is of the
      field.

    Example:
    ```mlir
    %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    attr-dict custom<ConstantValue>($value, type($result))
  }];
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
    ::divisi::nn::checkResult<ConcreteOp>($_state);
  }]>];
  let extraClassDeclaration = [{
    /// Whether the result may have the global type `type`; a message if not.
    static ::mlir::LogicalResult
    checkType(Adaptor adaptor, ::mlir::RankedTensorType type,
              ::divisi::nn::EmitError emitError);
  }];
}

#endif // DIVISI_DIALECTS_NN_NNGLOBALS_TD
