//===- InferredType.h - Result types that follow from operands --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator states once how its result's type follows from operands and
// attributes; verifier and builders both ask that one function:
//
//   static FailureOr<RankedTensorType> inferType(Adaptor, EmitError);
//
// or, where whoever builds the operator chooses the type (reshape, iota ...),
//
//   static LogicalResult checkType(Adaptor, RankedTensorType, EmitError);
//
// Types are global in both: operands are read through globalType.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_INFERREDTYPE_H
#define DIVISI_DIALECTS_NN_INFERREDTYPE_H

#include "dialects/NN/Shapes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace divisi::nn {

/// An error unless `op`'s one result has the global type `expected`.
mlir::LogicalResult verifyResultType(mlir::Operation *op,
                                     mlir::RankedTensorType expected);

/// An error if some operand or result has more bytes than an int64 counts.
mlir::LogicalResult verifyCountable(mlir::Operation *op);

/// The result of `op` has the type that `op` infers.
template <typename OpT>
class InferredType : public mlir::OpTrait::TraitBase<OpT, InferredType> {
public:
  /// For builders, which TableGen does not tell their class.
  using ConcreteOp = OpT;

  /// What MLIR calls.
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    auto emitError = [&] { return op->emitOpError(); };
    auto type =
        OpT::inferType(typename OpT::Adaptor(mlir::cast<OpT>(op)), emitError);
    return mlir::failed(type) ? mlir::failure() : verifyResultType(op, *type);
  }
};

/// The result of `op` has the type that `op` infers, or the same with the
/// accumulator's element.
template <typename OpT>
class AccumulatedType : public mlir::OpTrait::TraitBase<OpT, AccumulatedType> {
public:
  /// For builders, which TableGen does not tell their class.
  using ConcreteOp = OpT;

  /// What MLIR calls.
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    auto emitError = [&] { return op->emitOpError(); };
    auto type =
        OpT::inferType(typename OpT::Adaptor(mlir::cast<OpT>(op)), emitError);
    if (mlir::failed(type)) {
      return mlir::failure();
    }
    mlir::RankedTensorType wide =
        type->clone(accumulatorType(type->getElementType()));
    bool isWide = globalType(op->getResult(0).getType()) == wide;
    return isWide ? mlir::success() : verifyResultType(op, *type);
  }
};

/// The result of `op` has a type that `op` accepts.
template <typename OpT>
class CheckedType : public mlir::OpTrait::TraitBase<OpT, CheckedType> {
public:
  /// For builders, which TableGen does not tell their class.
  using ConcreteOp = OpT;

  /// What MLIR calls.
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    auto emitError = [&] { return op->emitOpError(); };
    return OpT::checkType(typename OpT::Adaptor(mlir::cast<OpT>(op)),
                          globalType(op->getResult(0).getType()), emitError);
  }
};

/// `op` aligns its operands at their last dimensions and repeats them.
template <typename OpT>
class Broadcasting : public mlir::OpTrait::TraitBase<OpT, Broadcasting> {};

/// No tensor of `op` has more bytes than an int64 counts.
template <typename OpT>
class Countable : public mlir::OpTrait::TraitBase<OpT, Countable> {
public:
  /// What MLIR calls.
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyCountable(op);
  }
};

/// The adaptor of the operator described by `state`.
template <typename OpT>
typename OpT::Adaptor adaptorOf(mlir::OperationState &state) {
  auto attributes = state.attributes.getDictionary(state.getContext());
  if constexpr (OpT::hasProperties()) {
    return typename OpT::Adaptor(
        state.operands, attributes,
        state.getOrAddProperties<typename OpT::Properties>());
  } else {
    return typename OpT::Adaptor(state.operands, attributes);
  }
}

/// Begins an error about the operator described by `state`.
inline mlir::InFlightDiagnostic emitStateError(mlir::OperationState &state) {
  return mlir::emitError(state.location)
         << "'" << state.name.getStringRef() << "' op ";
}

/// Gives `state` the result type that its operator infers, or reports an error
/// and leaves it without results.
template <typename OpT> void inferResult(mlir::OperationState &state) {
  state.types.clear();
  auto type = OpT::inferType(adaptorOf<OpT>(state),
                             [&] { return emitStateError(state); });
  if (mlir::succeeded(type)) {
    state.addTypes(*type);
  }
}

/// Reports an error and takes the result from `state` if its operator does not
/// accept its type.
template <typename OpT> void checkResult(mlir::OperationState &state) {
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(state.types.front());
  auto emitError = [&] { return emitStateError(state); };
  if (!type) {
    emitError() << "needs a ranked tensor type, got " << state.types.front();
    state.types.clear();
  } else if (mlir::failed(
                 makeType(type.getShape(), type.getElementType(), emitError)) ||
             mlir::failed(
                 OpT::checkType(adaptorOf<OpT>(state), type, emitError))) {
    state.types.clear();
  }
}

/// Builds an operator of which it is not known that it is legal. Checks what
/// the verifier checks of shapes and attributes; null after an error at `loc`.
template <typename OpT, typename... Args>
OpT create(mlir::OpBuilder &builder, mlir::Location loc, Args &&...args) {
  mlir::OperationState state(loc, OpT::getOperationName());
  OpT::build(builder, state, std::forward<Args>(args)...);
  if (state.types.empty()) {
    return {};
  }
  return mlir::cast<OpT>(builder.create(state));
}

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_INFERREDTYPE_H
