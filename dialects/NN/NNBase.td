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
  let useDefaultTypePrinterParser = 1;
}

// Element types that a program may name. Which of them have kernels is for the
// backends to say. What is stored only is moved and cast, not computed with;
// messages say so where a number is expected.
defvar castFirst = " (not i2, i4, f4 or f8, which are only stored: cast to one)";
def NN_Field : Type<CPred<"::llvm::isa<::divisi::nn::FieldType>($_self)">,
                    "field">;
def NN_Bool : I<1>;
def NN_Int : AnyTypeOf<[I8, I16, I32, I64, UI8, UI16, UI32, UI64],
                       !strconcat("integer", castFirst)>;
def NN_Float : AnyTypeOf<[F16, BF16, F32, F64, NN_Field],
                         !strconcat("float", castFirst)>;
// What holds no images of numbers, but numbers.
def NN_Ieee : AnyTypeOf<[F16, BF16, F32, F64],
                        !strconcat("float", castFirst)>;
def NN_IndexInt : AnyTypeOf<[I32, I64], "i32 or i64">;
def NN_Number : AnyTypeOf<[NN_Int, NN_Float], !strconcat("number", castFirst)>;
def NN_Stored : AnyTypeOf<[I<2>, UI<2>, I<4>, UI<4>, F4E2M1FN, F8E4M3FN,
                           F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU],
                          "stored element">;
def NN_Code : AnyTypeOf<[NN_Int, NN_Stored],
                        "integer or float of up to 8 bits">;
def NN_Comparable : AnyTypeOf<[NN_Bool, NN_Number],
                              !strconcat("number or boolean", castFirst)>;
def NN_Element : AnyTypeOf<[NN_Bool, NN_Int, NN_Float, NN_Stored], "element">;

def NN_BoolTensor : StaticShapeTensorOf<[NN_Bool]>;
def NN_FloatTensor : StaticShapeTensorOf<[NN_Float]>;
def NN_IndexTensor : StaticShapeTensorOf<[NN_IndexInt]>;
def NN_IeeeTensor : StaticShapeTensorOf<[NN_Ieee]>;
def NN_CodeTensor : StaticShapeTensorOf<[NN_Code]>;
def NN_IntTensor : StaticShapeTensorOf<[NN_Int]>;
def NN_NumberTensor : StaticShapeTensorOf<[NN_Number]>;
def NN_LogicTensor : StaticShapeTensorOf<[NN_Bool, NN_Int]>;
def NN_ComparableTensor : StaticShapeTensorOf<[NN_Comparable]>;
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
