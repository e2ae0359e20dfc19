//===- SPMDOps.td - Grids and moves ------------------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_SPMD_SPMDOPS_TD
#define DIVISI_DIALECTS_SPMD_SPMDOPS_TD

include "dialects/SPMD/SPMDAttrs.td"
include "dialects/SPMD/SPMDInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class SPMD_Op<string mnemonic, list<Trait> traits = []>
    : Op<SPMD_Dialect, mnemonic, traits>;

def SPMD_GridOp : SPMD_Op<"grid", [Symbol]> {
  let summary = "devices along named axes";
  let description = [{
    Arranges devices along axes, the outermost first: position p has the
    row-major coordinates of p. Without `devices` position p is device p. How
    devices are linked is the module's to say (`divisi.cluster`). Positions along
    an axis may have weights, by which default bounds are unequal: of what is
    split over `w`, three eighths are for each of the first two.

    **Constraints**
    - (C1) axis names are identifiers without a dot, and unique.
    - (C2) sizes are at least 1, and a grid has at most 4096 positions.
    - (C3) `devices` has one device per position.
    - (C4) devices are not negative, and unique.
    - (C5) an axis with weights has one per position, from 1 to 1024.

    ```mlir
    spmd.grid @g (data = 2, model = 2)
    spmd.grid @h (z = 3) devices [1, 2, 5]
    spmd.grid @mixed (w = 4:[3,3,1,1])
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       StrArrayAttr:$axis_names,
                       DenseI64ArrayAttr:$axis_sizes,
                       OptionalAttr<TypedArrayAttrBase<DenseI64ArrayAttr,
                         "array of i64 arrays">>:$axis_weights,
                       OptionalAttr<DenseI64ArrayAttr>:$devices);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "const ::divisi::Grid &":$grid,
                   CArg<"::llvm::ArrayRef<int64_t>", "{}">:$devices)>];
  let extraClassDeclaration = [{
    /// The grid as a value.
    ::divisi::Grid getValue();
    /// The device at every position.
    ::llvm::SmallVector<int64_t> getDeviceIds();
    ::mlir::FlatSymbolRefAttr getRef() {
      return ::mlir::FlatSymbolRefAttr::get(getSymNameAttr());
    }
  }];
}

def SPMD_ConvertOp : SPMD_Op<"convert", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the same tensor in another layout";
  let description = [{
    Says that a tensor is wanted in another layout on the same grid, not how it
    gets there: `spmd-route` replaces each by a route of steps.

    **Constraints**
    - (C1) both types lie on `grid`.
    - (C2) global shape and element type are equal.

    ```mlir
    %1 = spmd.convert %0 {grid = @g}
       : tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>
      -> tensor<4x4xf32, #spmd.local<(x=2), [*, x], 4x8>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, FlatSymbolRefAttr:$grid);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat =
    "$input attr-dict `:` type($input) `->` type($output)";
}

// One step of a route. Collectives have no memory effects interface, so that
// nothing merges, moves or erases them by accident: all ranks must agree.
class SPMD_StepOp<string mnemonic, string kind, list<Trait> traits = []>
    : SPMD_Op<mnemonic, traits # [
        DeclareOpInterfaceMethods<SymbolUserOpInterface>,
        DeclareOpInterfaceMethods<SPMD_StepInterface, ["getStepKind"]>]> {
  string commonDescription = [{

    **Constraints**
    - (C1) both types lie on `grid`.
    - (C2) global shape and element type are equal.
    - (C3) `axes` are axes of the grid.
    - (C4) the step leads from the one layout to the other over these axes.
  }];
  let arguments = (ins AnyRankedTensor:$input, FlatSymbolRefAttr:$grid,
                       StrArrayAttr:$axes, OptionalAttr<I64Attr>:$tag);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat =
    "$input attr-dict `:` type($input) `->` type($output)";
  let extraClassDefinition = [{
    ::divisi::StepKind $cppClass::getStepKind() {
      return ::divisi::StepKind::}] # kind # [{;
    }
    ::llvm::LogicalResult $cppClass::verifySymbolUses(
        ::mlir::SymbolTableCollection &symbolTable) {
      return ::divisi::spmd::verifyStepOp(*this, symbolTable);
    }
  }];
}

def SPMD_SliceOp : SPMD_StepOp<"slice", "Slice", [Pure]> {
  let summary = "replicated axes come to split a dimension; local";
  let description = [{
    Every position keeps its part of a dimension.

    ```mlir
    %1 = spmd.slice %0 {grid = @g, axes = ["x"]}
       : tensor<4xf32, #spmd.local<(x=2), [*], 4>>
      -> tensor<2xf32, #spmd.local<(x=2), [x], 4>>
    ```
  }] # commonDescription;
}

def SPMD_MaskOp : SPMD_StepOp<"mask", "Mask", [Pure]> {
  let summary = "replicated axes become partial sums; local";
  let description = [{
    The first position along the axes keeps its box, the others have zeros.

    ```mlir
    %1 = spmd.mask %0 {grid = @g, axes = ["x"]}
       : tensor<4xf32, #spmd.local<(x=2), [*], 4>>
      -> tensor<4xf32, #spmd.local<(x=2), [*] partial sum {x}, 4>>
    ```
  }] # commonDescription;
}

def SPMD_AllGatherOp : SPMD_StepOp<"all_gather", "AllGather"> {
  let summary = "axes stop splitting a dimension";
  let description = [{
    Every position gets what the positions along the axes hold.

    ```mlir
    %1 = spmd.all_gather %0 {grid = @g, axes = ["x"]}
       : tensor<2xf32, #spmd.local<(x=2), [x], 4>>
      -> tensor<4xf32, #spmd.local<(x=2), [*], 4>>
    ```
  }] # commonDescription;
}

def SPMD_AllToAllOp : SPMD_StepOp<"all_to_all", "AllToAll"> {
  let summary = "axes move from one dimension to another";
  let description = [{
    Every position along the axes sends a part to every other.

    ```mlir
    %1 = spmd.all_to_all %0 {grid = @g, axes = ["x"]}
       : tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>
      -> tensor<4x4xf32, #spmd.local<(x=2), [*, x], 4x8>>
    ```
  }] # commonDescription;
}

def SPMD_AllReduceOp : SPMD_StepOp<"all_reduce", "AllReduce"> {
  let summary = "partial values are combined, on every position";
  let description = [{
    Combines along the axes by the kind of the source's layout.

    ```mlir
    %1 = spmd.all_reduce %0 {grid = @g, axes = ["x"]}
       : tensor<4xf32, #spmd.local<(x=2), [*] partial sum {x}, 4>>
      -> tensor<4xf32, #spmd.local<(x=2), [*], 4>>
    ```
  }] # commonDescription;
}

def SPMD_ReduceScatterOp : SPMD_StepOp<"reduce_scatter", "ReduceScatter"> {
  let summary = "partial values are combined, each position keeps its part";
  let description = [{
    An all-reduce whose result is split over the same axes.

    ```mlir
    %1 = spmd.reduce_scatter %0 {grid = @g, axes = ["x"]}
       : tensor<4xf32, #spmd.local<(x=2), [*] partial sum {x}, 4>>
      -> tensor<2xf32, #spmd.local<(x=2), [x], 4>>
    ```
  }] # commonDescription;
}

def SPMD_ExchangeOp : SPMD_StepOp<"exchange", "Exchange"> {
  let summary = "every position fetches its new box from the owners";
  let description = [{
    Halos, other bounds, any other change of boxes.

    ```mlir
    %1 = spmd.exchange %0 {grid = @g, axes = ["x"]}
       : tensor<4x2xf32, #spmd.local<(x=2), [x, *], 8x2>>
      -> tensor<5x2xf32, #spmd.local<(x=2), [x{0:5, 3:8}, *], 8x2>>
    ```
  }] # commonDescription;
}

def SPMD_TransferOp : SPMD_Op<"transfer", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a tensor moves from one grid to another";
  let description = [{
    Every position of the target grid fetches its box from positions of the
    source grid. Both layouts stand in the operation, because after
    `split-ranks` the operand is missing on ranks outside of the source grid,
    and the result on ranks outside of the target grid.

    **Constraints**
    - (C1) the source type lies on the one grid, the target type on the other.
    - (C2) global shape and element type are equal.
    - (C3) neither type is partial.
    - (C4) operand and result, where present, have these types.

    ```mlir
    %1 = spmd.transfer %0 from @g to @h : tensor<2xf32, #spmd.local<(x=2), [x], 4>>
      -> tensor<4xf32, #spmd.local<(z=3), [*], 4>>
    spmd.transfer %1 from @h to @g : tensor<4xf32, #spmd.local<(z=3), [*], 4>>
      -> tensor<2xf32, #spmd.local<(x=2), [x], 4>>
    ```
  }];
  let arguments = (ins Optional<AnyRankedTensor>:$input,
                       FlatSymbolRefAttr:$source_grid,
                       FlatSymbolRefAttr:$target_grid,
                       TypeAttrOf<AnyRankedTensor>:$source_type,
                       TypeAttrOf<AnyRankedTensor>:$target_type,
                       OptionalAttr<I64Attr>:$tag);
  let results = (outs Optional<AnyRankedTensor>:$output);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getFrom() {
      return ::llvm::cast<::mlir::RankedTensorType>(getSourceType());
    }
    ::mlir::RankedTensorType getTo() {
      return ::llvm::cast<::mlir::RankedTensorType>(getTargetType());
    }
  }];
}

#endif // DIVISI_DIALECTS_SPMD_SPMDOPS_TD
