//===- Real.h - A number in code that is made -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_REAL_H
#define DIVISI_LIB_CODEGEN_REAL_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace divisi {

/// A scalar of f64 in code that is being made: arithmetic with it appends
/// operations, so that formulas read as such.
struct Real {
  /// Where operations are appended; must outlive it.
  mlir::ImplicitLocOpBuilder *b;
  mlir::Value value;

  /// A constant.
  Real number(double constant) const {
    return {b,
            mlir::arith::ConstantOp::create(*b, b->getF64FloatAttr(constant))};
  }
  /// An operation on it.
  template <typename Op> Real apply() const {
    return {b, Op::create(*b, value)};
  }
  Real operator-() const { return apply<mlir::arith::NegFOp>(); }
  /// `this` where the i1 `condition` holds, else `other`.
  Real where(mlir::Value condition, Real other) const {
    return {b,
            mlir::arith::SelectOp::create(*b, condition, value, other.value)};
  }
  /// Whether `predicate` holds of it and `other`.
  mlir::Value is(mlir::arith::CmpFPredicate predicate, Real other) const {
    return mlir::arith::CmpFOp::create(*b, predicate, value, other.value);
  }
  mlir::Value is(mlir::arith::CmpFPredicate predicate, double other) const {
    return is(predicate, number(other));
  }
  /// Its bits, an i64, ...
  mlir::Value bits() const {
    return mlir::arith::BitcastOp::create(*b, b->getI64Type(), value);
  }
  /// ... and the number that has such bits.
  Real ofBits(mlir::Value bits) const {
    return {b, mlir::arith::BitcastOp::create(*b, b->getF64Type(), bits)};
  }
  /// A positive number with the sign of `other`. By its bits: of an operation
  /// for that LLVM makes one for f16, which needs a library.
  Real withSignOf(Real other) const {
    mlir::Value sign = mlir::arith::AndIOp::create(
        *b, other.bits(),
        mlir::arith::ConstantIntOp::create(*b, INT64_MIN, 64));
    return ofBits(mlir::arith::OrIOp::create(*b, bits(), sign));
  }

  friend Real operator+(Real x, Real y) {
    return {x.b, mlir::arith::AddFOp::create(*x.b, x.value, y.value)};
  }
  friend Real operator-(Real x, Real y) {
    return {x.b, mlir::arith::SubFOp::create(*x.b, x.value, y.value)};
  }
  friend Real operator*(Real x, Real y) {
    return {x.b, mlir::arith::MulFOp::create(*x.b, x.value, y.value)};
  }
  friend Real operator/(Real x, Real y) {
    return {x.b, mlir::arith::DivFOp::create(*x.b, x.value, y.value)};
  }
  friend Real operator+(Real x, double y) { return x + x.number(y); }
  friend Real operator-(Real x, double y) { return x - x.number(y); }
  friend Real operator*(Real x, double y) { return x * x.number(y); }
  friend Real operator/(Real x, double y) { return x / x.number(y); }
  friend Real operator-(double x, Real y) { return y.number(x) - y; }
  friend Real operator/(double x, Real y) { return y.number(x) / y; }
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_REAL_H
