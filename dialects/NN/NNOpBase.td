//===- NNOpBase.td - Classes that operators are made from --*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNOPBASE_TD
#define DIVISI_DIALECTS_NN_NNOPBASE_TD

include "dialects/NN/NNBase.td"
include "dialects/NN/NNInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// The result has the type that ConcreteOp::inferType returns.
def NN_InferredType : NativeOpTrait<"InferredType"> {
  let cppNamespace = "::divisi::nn";
}
// The same, but the element type may also be the accumulator's: f32 for f16 and
// bf16, i32 for integers of 8 and 16 bits.
def NN_AccumulatedType : NativeOpTrait<"AccumulatedType"> {
  let cppNamespace = "::divisi::nn";
}
// The result's type is given, and ConcreteOp::checkType accepts it.
def NN_CheckedType : NativeOpTrait<"CheckedType"> {
  let cppNamespace = "::divisi::nn";
}
// Operands and results have at most as many bytes as an int64 counts.
def NN_Countable : NativeOpTrait<"Countable"> {
  let cppNamespace = "::divisi::nn";
}

// Operands are aligned at their last dimensions and repeated, as in NumPy.
def NN_Broadcasting : NativeOpTrait<"Broadcasting"> {
  let cppNamespace = "::divisi::nn";
}

// UnflattenInterface, of an operator on single elements.
def NN_ElementwiseFactors : NativeOpTrait<"ElementwiseFactors"> {
  let cppNamespace = "::divisi::nn";
}

// RoundingInterface, as one of these says (`dialects/NN/Rounding.h`), or by a
// method of the operator's own.
class NN_RoundsAsTrait<string rounding>
    : ParamNativeOpTrait<"RoundsAs", "::divisi::nn::Rounding::" # rounding> {
  let cppNamespace = "::divisi::nn";
}
class NN_RoundsAs<string rounding>
    : TraitList<[RoundingInterface, NN_RoundsAsTrait<rounding>]>;
def NN_Moves : NN_RoundsAs<"Moves">;
def NN_RoundsOnce : NN_RoundsAs<"RoundsOnce">;
def NN_SumsProducts : NN_RoundsAs<"SumsProducts">;
def NN_SumsElements : NN_RoundsAs<"SumsElements">;
def NN_StaysWide : NN_RoundsAs<"StaysWide">;
defvar NN_RoundsByOwn = DeclareOpInterfaceMethods<RoundingInterface>;

class NN_Op<string mnemonic, list<Trait> traits = []>
    : Op<NN_Dialect, mnemonic, !listconcat([NN_Countable], traits)>;

// UnflattenInterface, with methods of the operator's own.
defvar NN_Unflattens = DeclareOpInterfaceMethods<UnflattenInterface>;

// A pure function of tensors, in the syntax common to all of them.
class NN_ComputeOp<string mnemonic, Trait rounding, list<Trait> traits>
    : NN_Op<mnemonic, !listconcat(
          [Pure, DeclareOpInterfaceMethods<LoopInterface>, rounding],
          traits)> {
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results)
  }];
}

// An operator whose result type follows from operands and attributes:
//   FailureOr<RankedTensorType> inferType(Adaptor, EmitError)
class NN_InferredOp<string mnemonic, Trait rounding, list<Trait> traits = []>
    : NN_ComputeOp<mnemonic, rounding, !listconcat(traits, [NN_InferredType])> {
  let extraClassDeclaration = [{
    /// The result's global type, or a failure with a message.
    static ::mlir::FailureOr<::mlir::RankedTensorType>
    inferType(Adaptor adaptor, ::divisi::nn::EmitError emitError);
  }];
}

// An operator that sums many elements: its result has the operands' element
// type, or that in which they are summed, so that what is partial is not
// rounded before it is whole.
class NN_AccumulatingOp<string mnemonic, Trait rounding,
                        list<Trait> traits = []>
    : NN_ComputeOp<mnemonic, rounding,
                   !listconcat(traits, [NN_AccumulatedType])> {
  let extraClassDeclaration = [{
    /// The result's global type without a wider element, or a failure with a
    /// message.
    static ::mlir::FailureOr<::mlir::RankedTensorType>
    inferType(Adaptor adaptor, ::divisi::nn::EmitError emitError);
  }];
}

// An operator whose result type is chosen by whoever builds it:
//   LogicalResult checkType(Adaptor, RankedTensorType, EmitError)
class NN_CheckedOp<string mnemonic, Trait rounding, list<Trait> traits = []>
    : NN_ComputeOp<mnemonic, rounding, !listconcat(traits, [NN_CheckedType])> {
  let extraClassDeclaration = [{
    /// Whether the result may have the global type `type`; a message if not.
    static ::mlir::LogicalResult
    checkType(Adaptor adaptor, ::mlir::RankedTensorType type,
              ::divisi::nn::EmitError emitError);
  }];
}

// Builders that infer the result's type. A failure is an error at the op's
// location and leaves the state without a result: see nn::create.
class NN_InferringBuilder<dag parameters, string arguments>
    : OpBuilder<parameters, [{
        build($_builder, $_state, ::mlir::Type(), }] # arguments # [{);
        ::divisi::nn::inferResult<ConcreteOp>($_state);
      }]>;
class NN_CheckingBuilder<dag parameters, string type, string arguments>
    : OpBuilder<parameters, [{
        ::mlir::Type type = }] # type # [{;
        build($_builder, $_state, type }] # arguments # [{);
        ::divisi::nn::checkResult<ConcreteOp>($_state);
      }]>;

#endif // DIVISI_DIALECTS_NN_NNOPBASE_TD
