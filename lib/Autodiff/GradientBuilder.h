//===- GradientBuilder.h - What a rule makes gradients with -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A rule gets one of these for each operator that a gradient reaches:
//
//   static LogicalResult deriveMul(MulOp op, GradientBuilder &b) {
//     b.give(0, [&] { return b.mul(b.gradient(), op.getRhs()); });
//     b.give(1, [&] { return b.mul(b.gradient(), op.getLhs()); });
//     return success();
//   }
//
// What an operand repeats by broadcasting is summed by give().
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_AUTODIFF_GRADIENTBUILDER_H
#define DIVISI_LIB_AUTODIFF_GRADIENTBUILDER_H

#include "dialects/NN/Locations.h"
#include "dialects/NN/NN.h"

#include "llvm/ADT/DenseSet.h"

namespace divisi::autodiff {

/// The shape of a value.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
/// The type of its elements.
mlir::Type elementOf(mlir::Value value);
/// The number that every element of `value` is, if the program says so.
std::optional<double> constantOf(mlir::Value value);
/// The floats in `block` that depend smoothly on `inputs`, which are among
/// them.
llvm::DenseSet<mlir::Value> findDepending(mlir::Block &block,
                                          llvm::ArrayRef<mlir::Value> inputs);

/// See the file's head.
class GradientBuilder {
public:
  /// Of `op`, where `builder` stands. `gradient` is that by its result, and
  /// `wanted` the operands by which there shall be some.
  GradientBuilder(mlir::OpBuilder &builder, mlir::Operation *op,
                  mlir::Value gradient, llvm::SmallVector<bool> wanted);

  /// That by the operator's result.
  mlir::Value gradient() const { return gradient_; }
  /// Of the operators that are made.
  mlir::Location location() const { return location_; }
  /// Whether one by operand `i` is wanted.
  bool wants(unsigned i) const { return wanted_[i]; }
  /// Takes the one that `make` returns for operand `i`, if it is wanted: of the
  /// operand's shape, or one that this was broadcast to.
  template <typename Make> void give(unsigned i, Make make) {
    if (wants(i)) {
      results_[i] = fit(make(), i);
    }
  }
  /// Those that were given, by operand; null for others.
  llvm::ArrayRef<mlir::Value> results() const { return results_; }

  //===--------------------------------------------------------------------===//
  // Operators, at the place of the one that is derived
  //===--------------------------------------------------------------------===//

  /// Any operator of one result.
  template <typename OpT, typename... Args> mlir::Value emit(Args &&...args) {
    auto op = OpT::create(builder_, location_, std::forward<Args>(args)...);
    nn::copyScope(op_, op);
    return op->getResult(0);
  }

  /// The same right behind the operator that is derived.
  template <typename OpT, typename... Args>
  mlir::Value emitBehind(Args &&...args) {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointAfter(op_);
    return emit<OpT>(std::forward<Args>(args)...);
  }
  /// Moves the operators of `block` here; `values` take the place of its
  /// arguments.
  void take(mlir::Block &block, llvm::ArrayRef<mlir::Value> values);

  /// A number of the element type of `like`.
  mlir::Value number(double value, mlir::Value like);
  /// A tensor of zeros.
  mlir::Value zeros(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// The operators of that name; numbers are of the other operand's type.
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return emit<nn::AddOp>(a, b);
  }
  /// The same with a number.
  mlir::Value add(mlir::Value a, double b) { return add(a, number(b, a)); }
  /// a - b
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return emit<nn::SubOp>(a, b);
  }
  /// The same of a number.
  mlir::Value sub(double a, mlir::Value b) { return sub(number(a, b), b); }
  /// a * b
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return emit<nn::MulOp>(a, b);
  }
  /// The same with a number; `a` itself where that is 1.
  mlir::Value mul(mlir::Value a, double b) {
    return b == 1 ? a : mul(a, number(b, a));
  }
  /// a / b
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return emit<nn::DivOp>(a, b);
  }
  /// The same by a number.
  mlir::Value div(mlir::Value a, double b) { return div(a, number(b, a)); }
  /// a * a
  mlir::Value square(mlir::Value a) { return mul(a, a); }
  /// Booleans.
  mlir::Value compare(llvm::StringRef predicate, mlir::Value a, mlir::Value b) {
    return emit<nn::CompareOp>(a, b, predicate);
  }
  /// The same with a number.
  mlir::Value compare(llvm::StringRef predicate, mlir::Value a, double b) {
    return compare(predicate, a, number(b, a));
  }
  /// `x` where `condition` holds, else 0.
  mlir::Value keepWhere(mlir::Value condition, mlir::Value x);
  /// 0 where `condition` holds, else `x`.
  mlir::Value dropWhere(mlir::Value condition, mlir::Value x);
  /// `x` in that element type.
  mlir::Value cast(mlir::Value x, mlir::Type element);

  /// The sum over `axes`, ascending, which the result lacks.
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// The same with dims of extent 1 in their place, so that it broadcasts.
  mlir::Value sumKept(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// The mean, alike.
  mlir::Value meanKept(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// `x` with dims of extent 1 at `axes` of the result.
  mlir::Value insertDims(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// `x` in another shape; itself if it has that.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// Dim i of the result is dim permutation[i] of `x`.
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  /// A contraction; `a` and `b` are cast to one type if they have two.
  mlir::Value matmul(mlir::Value a, mlir::Value b, const std::string &labels);
  /// `x` between zeros; negative widths crop. `x` itself if there are none.
  mlir::Value pad(mlir::Value x, llvm::ArrayRef<int64_t> lo,
                  llvm::ArrayRef<int64_t> hi, double value = 0);
  /// Zeros of `shape` with `x` at the indices start, start+step, … of each
  /// dim: what the gradient by what is sliced is.
  mlir::Value unslice(mlir::Value x, llvm::ArrayRef<int64_t> starts,
                      llvm::ArrayRef<int64_t> steps,
                      llvm::ArrayRef<int64_t> shape);
  /// `x` summed over what it would take to broadcast `shape` to its own.
  mlir::Value sumTo(mlir::Value x, llvm::ArrayRef<int64_t> shape);

private:
  mlir::Value fit(mlir::Value value, unsigned operand);

  mlir::OpBuilder &builder_;
  mlir::Operation *op_;
  mlir::Location location_;
  mlir::Value gradient_;
  llvm::SmallVector<bool> wanted_;
  llvm::SmallVector<mlir::Value> results_;
};

} // namespace divisi::autodiff

#include "lib/Autodiff/GradientInterface.h.inc"

#endif // DIVISI_LIB_AUTODIFF_GRADIENTBUILDER_H
