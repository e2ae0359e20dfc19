//===- NNBase.td - Dialect, types and attributes of nn -----*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNBASE_TD
#define DIVISI_DIALECTS_NN_NNBASE_TD

include "mlir/IR/OpBase.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let summary = "What is computed: tensor operators with global shapes";
  let description = [{
    The operators of a deep-learning graph as written for one device. Nothing
    here knows of devices. Shapes are static; element types are never promoted.

    A tensor type may carry an encoding that implements
    `nn.GlobalShapeAttrInterface`: it then is a box of a larger tensor, and all
    verifiers and loops speak of the larger tensor, whose attributes the
    operator keeps.

    The verifier of every operator also checks that its result has the element
    type and global shape that follow from operands and attributes, and that no
    tensor has more bytes than an int64 counts.
  }];
  let cppNamespace = "::divisi::nn";
  let hasCanonicalizer = 1;
}

// Element types that a program may name. Which of them have kernels is for the
// backends to say.
def NN_Bool : I<1>;
def NN_Int : AnyTypeOf<[I8, I16, I32, I64, UI8, UI16, UI32, UI64], "integer">;
def NN_Float : AnyTypeOf<[F16, BF16, F32, F64], "float">;
def NN_IndexInt : AnyTypeOf<[I32, I64], "i32 or i64">;
def NN_Number : AnyTypeOf<[NN_Int, NN_Float], "number">;
def NN_Element : AnyTypeOf<[NN_Bool, NN_Int, NN_Float], "element">;

def NN_BoolTensor : StaticShapeTensorOf<[NN_Bool]>;
def NN_FloatTensor : StaticShapeTensorOf<[NN_Float]>;
def NN_IndexTensor : StaticShapeTensorOf<[NN_IndexInt]>;
def NN_IntTensor : StaticShapeTensorOf<[NN_Int]>;
def NN_NumberTensor : StaticShapeTensorOf<[NN_Number]>;
def NN_LogicTensor : StaticShapeTensorOf<[NN_Bool, NN_Int]>;
def NN_Tensor : StaticShapeTensorOf<[NN_Element]>;

// Attributes as plain C++ numbers.
def NN_I64 : TypedSignlessIntegerAttrBase<I64, "int64_t",
                                          "64-bit signless integer attribute"> {
  let convertFromStorage = "$_self.getInt()";
}
def NN_F64 : FloatAttrBase<F64, "64-bit float attribute"> {
  let returnType = "double";
  let convertFromStorage = "$_self.getValueAsDouble()";
  let constBuilderCall = "$_builder.getF64FloatAttr($0)";
}
defvar NN_I64s = DenseI64ArrayAttr;
defvar NN_F64s = DenseF64ArrayAttr;

#endif // DIVISI_DIALECTS_NN_NNBASE_TD
