//===- StepBuilder.h - Operators of a training step -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_AUTODIFF_STEPBUILDER_H
#define DIVISI_LIB_AUTODIFF_STEPBUILDER_H

#include "dialects/NN/NN.h"
#include "divisi/Autodiff/Training.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi::autodiff {

/// Makes operators at one place and of one name, which they have in plans.
class StepBuilder {
public:
  /// Of `function`, before its end.
  StepBuilder(mlir::func::FuncOp function, llvm::StringRef name);

  /// Where operators are made.
  mlir::OpBuilder &builder() { return builder_; }
  /// Of operators.
  mlir::Location location() const { return location_; }
  /// Names those to come.
  void setName(llvm::StringRef name);

  /// Any operator of one result.
  template <typename OpT, typename... Args> mlir::Value emit(Args &&...args) {
    return OpT::create(builder_, location_, std::forward<Args>(args)...)
        ->getResult(0);
  }
  /// A number of a type of floats or integers.
  mlir::Value number(double value, mlir::Type element);
  /// The same of the elements of `like`.
  mlir::Value numberLike(double value, mlir::Value like);
  /// a + b
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return emit<nn::AddOp>(a, b);
  }
  /// a - b
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return emit<nn::SubOp>(a, b);
  }
  /// a * b
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return emit<nn::MulOp>(a, b);
  }
  /// a * b
  mlir::Value mul(mlir::Value a, double b) { return mul(a, numberLike(b, a)); }
  /// a / b
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return emit<nn::DivOp>(a, b);
  }
  /// `x` where `condition` holds, else 0.
  mlir::Value keepWhere(mlir::Value condition, mlir::Value x) {
    return emit<nn::SelectOp>(condition, x, numberLike(0, x));
  }
  /// Booleans.
  mlir::Value compare(llvm::StringRef predicate, mlir::Value a, mlir::Value b) {
    return emit<nn::CompareOp>(a, b, predicate);
  }
  /// `x` in that element type; itself if it has that.
  mlir::Value cast(mlir::Value x, mlir::Type element);
  /// All elements folded, by a kind of nn.reduce.
  mlir::Value reduceAll(llvm::StringRef kind, mlir::Value x);
  /// The sum of all elements.
  mlir::Value sumAll(mlir::Value x) { return reduceAll("sum", x); }
  /// Over the last dim, which stays as 1 if `keeps`; a sum or a maximum.
  mlir::Value reduceLast(llvm::StringRef kind, mlir::Value x, bool keeps);
  /// `x` with a last dim of 1.
  mlir::Value withLast(mlir::Value x);

private:
  mlir::OpBuilder builder_;
  mlir::Location location_;
};

/// A number, and its gradient by what it is a function of.
struct Loss {
  mlir::Value value;    ///< A scalar of f32 or f64.
  mlir::Value gradient; ///< Of the type of `x`.
};

/// An error about what is trained, which it begins with.
mlir::InFlightDiagnostic refuse(mlir::func::FuncOp entry);

/// A new last argument of `function`. Reports an error if it has one of that
/// name, and then says what to do instead.
mlir::FailureOr<mlir::Value> addInput(mlir::func::FuncOp function,
                                      mlir::Type type, llvm::StringRef name,
                                      llvm::StringRef instead);

class MicroBatches;

/// The loss that `options` name of `x`, an output of the model, or its part
/// that the first of `batches` makes of it; labels become an argument of the
/// function. Reports an error at `function` if `x` does not fit.
mlir::FailureOr<Loss> makeLoss(StepBuilder &b, mlir::func::FuncOp function,
                               MicroBatches &batches, mlir::Value x,
                               const TrainOptions &options);

/// A state of a step: where it lies, and its value at entry.
struct StepState {
  nn::GlobalOp global; ///< Begins as zeros.
  mlir::Value before;  ///< Read where the builder stands.
};

/// One of that type, called `name` unless `symbols` has that already; its
/// global follows `after`, or is the first of the module if that is null.
StepState makeState(StepBuilder &b, llvm::StringRef name,
                    mlir::RankedTensorType type, mlir::SymbolTable &symbols,
                    mlir::Operation *after = nullptr);

/// What gradients are multiplied by until they are f32, so that f16 does not
/// lose small ones.
struct LossScale {
  StepState exponent; ///< By how many powers of two it has changed; f64.
  mlir::Value factor; ///< f32; null where the loss is not scaled.
};

/// As `options` ask for.
LossScale makeLossScale(StepBuilder &b, const TrainOptions &options,
                        mlir::SymbolTable &symbols);

/// A weight on its way through a step.
struct TrainedWeight {
  nn::GlobalOp global;  ///< Where it lies.
  mlir::Value value;    ///< At entry.
  mlir::Value gradient; ///< Of its type; null: it is 0.
  bool decays = true;   ///< Whether the optimizer's decay is for it.
};

/// Takes `scale` off gradients, cuts them to the norm of `options` and updates
/// weights and states by the optimizer that they name. New globals get names
/// that `symbols` has not. The learning rate becomes an argument of `function`
/// if it is an input; reports an error if that is taken. Returns whether the
/// step changes nothing, as gradients are not finite; null where that is not
/// asked for.
mlir::FailureOr<mlir::Value>
makeUpdates(StepBuilder &b, mlir::func::FuncOp function,
            llvm::MutableArrayRef<TrainedWeight> weights,
            const LossScale &scale, const TrainOptions &options,
            mlir::SymbolTable &symbols);

} // namespace divisi::autodiff

#endif // DIVISI_LIB_AUTODIFF_STEPBUILDER_H
