//===- NNElementwise.td - Operators on single elements -----*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands broadcast as in NumPy: shapes are aligned at their last dimensions,
// and a missing dimension or one of extent 1 is repeated.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNELEMENTWISE_TD
#define DIVISI_DIALECTS_NN_NNELEMENTWISE_TD

include "dialects/NN/NNOpBase.td"

// `flops` a point; `linear` are the sets of operands in which the operator is
// jointly linear, as C++ initializers; `result` is the C++ expression of the
// element type, from the last operand's `element`.
class NN_Elementwise<string mnemonic, Trait rounding, int flops, string linear,
                     list<Trait> traits = [], string result = "element">
    : NN_InferredOp<mnemonic, rounding, !listconcat(
          traits, [UnflattenInterface, NN_ElementwiseFactors])> {
  let extraClassDefinition = [{
    ::mlir::FailureOr<::mlir::RankedTensorType>
    $cppClass::inferType(Adaptor adaptor, EmitError emitError) {
      ::mlir::Type element =
          ::mlir::getElementTypeOrSelf(adaptor.getOperands().back());
      return inferElementwise(adaptor.getOperands(), }] # result # [{,
                              emitError);
    }
    ::divisi::LoopNest $cppClass::getLoopNest() {
      return elementwiseNest(*this, }] # flops # ", {" # linear # [{});
    }
  }];
}

class NN_Unary<string mnemonic, Trait rounding, string meaning, int flops,
               TypeConstraint type, string element, string linear = "">
    : NN_Elementwise<mnemonic, rounding, flops, linear> {
  let summary = meaning;
  let description = "Computes " # meaning # " for every element x." # [{

    Example:
    ```mlir
    %y = nn.}] # mnemonic # " %x : (tensor<4x8x" # element #
    ">) -> tensor<4x8x" # element # [{>
    ```
  }];
  let arguments = (ins type:$x);
  let results = (outs type:$y);
  let builders = [NN_InferringBuilder<(ins "::mlir::Value":$x), "x">];
}
class NN_NumberUnary<string mnemonic, Trait rounding, string meaning,
                     string linear = "">
    : NN_Unary<mnemonic, rounding, meaning, 1, NN_NumberTensor, "f32", linear>;
class NN_FloatUnary<string mnemonic, Trait rounding, string meaning, int flops>
    : NN_Unary<mnemonic, rounding, meaning, flops, NN_FloatTensor, "f32">;

def NN_NegOp : NN_NumberUnary<"neg", NN_Moves, "-x", "{0}">;
def NN_AbsOp : NN_NumberUnary<"abs", NN_Moves, "|x|">;
def NN_SignOp : NN_NumberUnary<"sign", NN_StaysWide,
    "-1, 0 or 1 as x is below, at or above 0">;
def NN_ReluOp : NN_NumberUnary<"relu", NN_Moves, "max(x, 0)">;
def NN_SqrtOp : NN_FloatUnary<"sqrt", NN_StaysWide, "the square root of x", 4>;
def NN_RsqrtOp : NN_FloatUnary<"rsqrt", NN_StaysWide, "1/sqrt(x)", 4>;
def NN_ExpOp : NN_FloatUnary<"exp", NN_StaysWide, "e to the power of x", 10>;
def NN_LogOp : NN_FloatUnary<"log", NN_StaysWide,
    "the natural logarithm of x", 10>;
def NN_ErfOp : NN_FloatUnary<"erf", NN_StaysWide,
    "the error function of x", 10>;
def NN_SinOp : NN_FloatUnary<"sin", NN_StaysWide, "the sine of x", 10>;
def NN_CosOp : NN_FloatUnary<"cos", NN_StaysWide, "the cosine of x", 10>;
def NN_TanOp : NN_FloatUnary<"tan", NN_StaysWide, "the tangent of x", 10>;
def NN_AsinOp : NN_FloatUnary<"asin", NN_StaysWide,
    "the inverse sine of x", 10>;
def NN_AcosOp : NN_FloatUnary<"acos", NN_StaysWide,
    "the inverse cosine of x", 10>;
def NN_AtanOp : NN_FloatUnary<"atan", NN_StaysWide,
    "the inverse tangent of x", 10>;
def NN_SinhOp : NN_FloatUnary<"sinh", NN_StaysWide,
    "the hyperbolic sine of x", 10>;
def NN_CoshOp : NN_FloatUnary<"cosh", NN_StaysWide,
    "the hyperbolic cosine of x", 10>;
def NN_AsinhOp : NN_FloatUnary<"asinh", NN_StaysWide,
    "the inverse hyperbolic sine of x", 10>;
def NN_AcoshOp : NN_FloatUnary<"acosh", NN_StaysWide,
    "the inverse hyperbolic cosine of x", 10>;
def NN_AtanhOp : NN_FloatUnary<"atanh", NN_StaysWide,
    "the inverse hyperbolic tangent of x", 10>;
def NN_TanhOp : NN_FloatUnary<"tanh", NN_RoundsOnce,
    "the hyperbolic tangent of x", 10>;
def NN_SigmoidOp : NN_FloatUnary<"sigmoid", NN_RoundsOnce, "1/(1+exp(-x))", 10>;
def NN_SiluOp : NN_FloatUnary<"silu", NN_RoundsOnce, "x/(1+exp(-x))", 11>;
def NN_HardSwishOp : NN_FloatUnary<"hard_swish", NN_RoundsOnce,
    "x * max(0, min(1, x/6 + 1/2))", 5>;
def NN_FloorOp : NN_FloatUnary<"floor", NN_StaysWide,
    "the largest integer up to x", 1>;
def NN_CeilOp : NN_FloatUnary<"ceil", NN_StaysWide,
    "the smallest integer from x on", 1>;
def NN_RoundOp : NN_FloatUnary<"round", NN_StaysWide,
    "the integer nearest to x (halves go to the even one)", 1>;
def NN_NotOp : NN_Unary<"not", NN_StaysWide,
    "the negation of x (bitwise on integers)", 1, NN_LogicTensor, "i1">;

class NN_FloatTest<string mnemonic, string meaning>
    : NN_Elementwise<mnemonic, NN_StaysWide, 1, "", [],
                     "::mlir::IntegerType::get(element.getContext(), 1)"> {
  let summary = meaning;
  let description = "Says for every element x " # meaning # [{.

    Example:
    ```mlir
    %y = nn.}] # mnemonic # [{ %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x);
  let results = (outs NN_BoolTensor:$y);
  let builders = [NN_InferringBuilder<(ins "::mlir::Value":$x), "x">];
}
def NN_IsNanOp : NN_FloatTest<"is_nan", "whether it is not a number">;
def NN_IsInfOp : NN_FloatTest<"is_inf", "whether it is infinite">;

def NN_GeluOp : NN_InferredOp<"gelu", NN_RoundsOnce, [
    UnflattenInterface, NN_ElementwiseFactors]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    Computes x*(1+erf(x/sqrt(2)))/2, or with `approximate = "tanh"`
    x*(1+tanh(sqrt(2/pi)*(x+0.044715*x^3)))/2.

    Constraints:
    - (C1) `approximate` is "none" or "tanh".

    Example:
    ```mlir
    %y = nn.gelu %x {approximate = "none"} : (tensor<4x8xf32>)
        -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, StrAttr:$approximate);
  let results = (outs NN_FloatTensor:$y);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$x, "::llvm::StringRef":$approximate),
      "x, approximate">];
}

def NN_CastOp : NN_CheckedOp<"cast", NN_StaysWide, [
    UnflattenInterface, NN_ElementwiseFactors]> {
  let summary = "conversion to another element type";
  let description = [{
    Converts every element. Floats go to integers towards zero, saturating, NaN
    to 0; wider integers wrap, as do floats in i4 and ui4, once they are i32;
    anything but 0 (also NaN) is true. Floats too large for f8 become its
    largest number, or infinity (NaN if it has none) where `saturate` is false.

    Constraints:
    - (C1) The result has the operand's shape.
    - (C2) `saturate` is there for results of f8 only.

    Example:
    ```mlir
    %y = nn.cast %x : (tensor<4x8xi64>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, OptionalAttr<BoolAttr>:$saturate);
  let results = (outs NN_Tensor:$y);
  let builders = [NN_CheckingBuilder<
      (ins "::mlir::Value":$x, "::mlir::Type":$elementType),
      "::mlir::RankedTensorType::get(globalShape(x.getType()), elementType)",
      ", x, ::mlir::BoolAttr()">];
}

class NN_Binary<string mnemonic, Trait rounding, string meaning, int flops,
                TypeConstraint type, string element, string linear = "">
    : NN_Elementwise<mnemonic, rounding, flops, linear,
                     [NN_Broadcasting, SameOperandsElementType]> {
  let summary = meaning;
  let description = "Computes " # meaning # [{ for all elements x of `lhs` and
    y of `rhs`.

    Constraints:
    - (C1) The shapes of the operands broadcast together.

    Example:
    ```mlir
    %z = nn.}] # mnemonic # " %x, %y : (tensor<4x8x" # element #
    ">, tensor<8x" # element # ">) -> tensor<4x8x" # element # [{>
    ```
  }];
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$lhs, "::mlir::Value":$rhs), "lhs, rhs">];
}
class NN_NumberBinary<string mnemonic, Trait rounding, string meaning,
                      int flops, string linear = "">
    : NN_Binary<mnemonic, rounding, meaning, flops, NN_NumberTensor, "f32",
                linear>;
class NN_LogicBinary<string mnemonic, string meaning>
    : NN_Binary<mnemonic, NN_StaysWide, meaning, 1, NN_LogicTensor, "i1">;

def NN_AddOp : NN_NumberBinary<"add", NN_RoundsOnce, "x+y", 1, "{0, 1}">;
def NN_SubOp : NN_NumberBinary<"sub", NN_RoundsOnce, "x-y", 1, "{0, 1}">;
def NN_MulOp : NN_NumberBinary<"mul", NN_RoundsOnce, "x*y", 1, "{0}, {1}">;
def NN_PowOp : NN_NumberBinary<"pow", NN_StaysWide, "x to the power of y", 20>;
def NN_MaxOp : NN_NumberBinary<"max", NN_Moves, "the larger of x and y", 1>;
def NN_MinOp : NN_NumberBinary<"min", NN_Moves, "the smaller of x and y", 1>;
def NN_AndOp : NN_LogicBinary<"and", "x and y (bitwise on integers)">;
def NN_OrOp : NN_LogicBinary<"or", "x or y (bitwise on integers)">;
def NN_XorOp : NN_LogicBinary<"xor", "x or else y (bitwise on integers)">;

// Linear only where it is exact or rounds: integers are divided towards zero.
def NN_DivOp : NN_Binary<"div", NN_RoundsOnce,
    "x/y (towards zero on integers)", 4, NN_NumberTensor, "f32"> {
  let extraClassDefinition = [{
    ::mlir::FailureOr<::mlir::RankedTensorType>
    $cppClass::inferType(Adaptor adaptor, EmitError emitError) {
      return inferElementwise(adaptor.getOperands(),
          ::mlir::getElementTypeOrSelf(adaptor.getLhs()), emitError);
    }
    ::divisi::LoopNest $cppClass::getLoopNest() {
      if (isa<::mlir::FloatType, ::divisi::nn::FieldType>(getLhs().getType().getElementType())) {
        return elementwiseNest(*this, 4, {{0}});
      }
      return elementwiseNest(*this, 4, {});
    }
  }];
}

def NN_ModOp : NN_Elementwise<"mod", NN_StaysWide, 4, "", [
    NN_Broadcasting, SameOperandsElementType]> {
  let summary = "remainder";
  let description = [{
    Computes the remainder of x/y. It has the sign of x if `fmod`, else the
    sign of y.

    Constraints:
    - (C1) The shapes of the operands broadcast together.

    Example:
    ```mlir
    %z = nn.mod %x, %y {fmod = false} : (tensor<4x8xi64>, tensor<8xi64>)
        -> tensor<4x8xi64>
    ```
  }];
  let arguments = (ins NN_NumberTensor:$lhs, NN_NumberTensor:$rhs,
                       BoolAttr:$fmod);
  let results = (outs NN_NumberTensor:$result);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "bool":$fmod),
      "lhs, rhs, fmod">];
}

def NN_ShiftOp : NN_Elementwise<"shift", NN_StaysWide, 1, "", [
    NN_Broadcasting, SameOperandsElementType]> {
  let summary = "shift of bits";
  let description = [{
    Shifts the bits of x by y places towards the more significant ones if
    `left`, when zeros come in, else towards the less significant ones, when
    zeros or, of a negative x, ones do. From the type's width on, nothing else
    is left.

    Constraints:
    - (C1) The shapes of the operands broadcast together.

    Example:
    ```mlir
    %z = nn.shift %x, %y {left = true} : (tensor<4x8xui8>, tensor<8xui8>)
        -> tensor<4x8xui8>
    ```
  }];
  let arguments = (ins NN_IntTensor:$lhs, NN_IntTensor:$rhs, BoolAttr:$left);
  let results = (outs NN_IntTensor:$result);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "bool":$left),
      "lhs, rhs, left">];
}

def NN_CompareOp : NN_InferredOp<"compare", NN_StaysWide, [
    NN_Broadcasting, SameOperandsElementType, UnflattenInterface,
    NN_ElementwiseFactors]> {
  let summary = "comparison";
  let description = [{
    Says whether x is equal to, not equal to, less than, less than or equal to,
    greater than, greater than or equal to y. Among booleans false is less.

    Constraints:
    - (C1) The shapes of the operands broadcast together.
    - (C2) `predicate` is one of eq, ne, lt, le, gt, ge.

    Example:
    ```mlir
    %z = nn.compare %x, %y {predicate = "lt"} : (tensor<4x8xf32>, tensor<8xf32>)
        -> tensor<4x8xi1>
    ```
  }];
  let arguments = (ins NN_ComparableTensor:$lhs, NN_ComparableTensor:$rhs,
                       StrAttr:$predicate);
  let results = (outs NN_BoolTensor:$result);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
           "::llvm::StringRef":$predicate),
      "lhs, rhs, predicate">];
}

def NN_SelectOp : NN_InferredOp<"select", NN_Moves, [
    NN_Broadcasting, UnflattenInterface, NN_ElementwiseFactors]> {
  let summary = "choice between two tensors";
  let description = [{
    Takes the element of `x` where `condition` holds, else that of `y`.

    Constraints:
    - (C1) The shapes of the operands broadcast together.
    - (C2) `x` and `y` have the same element type.

    Example:
    ```mlir
    %z = nn.select %c, %x, %y : (tensor<4x1xi1>, tensor<4x8xf32>, tensor<f32>)
        -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins NN_BoolTensor:$condition, NN_Tensor:$x, NN_Tensor:$y);
  let results = (outs NN_Tensor:$result);
  let builders = [NN_InferringBuilder<
      (ins "::mlir::Value":$condition, "::mlir::Value":$x,
           "::mlir::Value":$y),
      "condition, x, y">];
}

#endif // DIVISI_DIALECTS_NN_NNELEMENTWISE_TD
