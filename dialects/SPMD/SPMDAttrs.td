//===- SPMDAttrs.td - Strategies and local tensors ---------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_SPMD_SPMDATTRS_TD
#define DIVISI_DIALECTS_SPMD_SPMDATTRS_TD

include "dialects/NN/NNAttrInterfaces.td"
include "dialects/SPMD/SPMDDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"

class SPMD_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<SPMD_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

// A value type, hashed and compared by its own functions.
class SPMD_Value<string type> : AttrParameter<type, ""> {
  let cppAccessorType = "const " # type # " &";
}

def SPMD_SplitAttr : SPMD_Attr<"Split", "split"> {
  let summary = "which axes split which loops of an operator";
  let description = [{
    The strategy of an operator: a grid, per loop the axes that split it
    (outermost first), and the axes over which a partial sum is carried
    through. Everything has a name; axes that stand nowhere replicate the work.
    `in 1` says that the sum is carried through the operator's linear set 1.

    ```mlir
    #spmd.split<@g: m@data, n@x.y, carry sum@z in 1>
    #spmd.split<@g>
    ```
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$grid,
                        SPMD_Value<"::divisi::spmd::NamedSplit">:$split);
}

def SPMD_PlaceAttr : SPMD_Attr<"Place", "place"> {
  let summary = "how a tensor lies on a grid";
  let description = [{
    The layout of an identity point: a global at rest, an argument or result
    of an entry function, a value with several users. The layout is written
    like in `#spmd.local`; it speaks of the grid's axes by name.

    ```mlir
    #spmd.place<@g: [x.y, z{0:5, 3:8}, *]>
    #spmd.place<@g: [x] partial sum {y}>
    ```
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$grid,
    // The axes that the layout mentions, in order of appearance, all of size 1:
    // a vocabulary for `layout`, because the attribute cannot see the grid.
    SPMD_Value<"::divisi::Grid">:$names,
    SPMD_Value<"::divisi::Layout">:$layout);
}

def SPMD_LocalAttr : SPMD_Attr<"Local", "local", [
    DeclareAttrInterfaceMethods<GlobalShapeAttrInterface>,
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "the encoding of a tensor that lies on a grid";
  let description = [{
    Says the axes of the grid, the layout on it, and the global shape. The
    tensor type's own shape is that of the largest box that a position holds:
    the shape to allocate. A scalar has no global shape to print.

    ```mlir
    tensor<2x8xf32, #spmd.local<(x=2, y=2), [x, *] partial sum {y}, 4x8>>
    tensor<f32, #spmd.local<(x=2), []>>
    tensor<6xf32, #spmd.local<(x=2:[3,1]), [x], 8>>
    ```
  }];
  let parameters = (ins SPMD_Value<"::divisi::Grid">:$grid,
                        SPMD_Value<"::divisi::Layout">:$layout,
                        ArrayRefParameter<"int64_t">:$globalShape);
  let genVerifyDecl = 1;
}

#endif // DIVISI_DIALECTS_SPMD_SPMDATTRS_TD
