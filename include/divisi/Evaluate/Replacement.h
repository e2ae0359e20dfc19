//===- Replacement.h - Values that take the place of others -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass that recognises a subgraph has it checked, each time, on that subgraph
// and what is to replace it:
//
//   1. Both are cut at the values that the replacement reads. The loops of all
//      operators (Loops.h) say which dims are the same, and which are products
//      of others; each gets an extent of a few elements.
//   2. Both are evaluated by the reference kernels on random elements, in two
//      domains. In the prime field sums and products are exact and functions
//      uninterpreted: equal results are no accident. It has no order and no
//      infinity, so masks hide nothing there. In f64 masks hide elements at
//      random, and then all, and results are equal up to rounding.
//
// A program with maxima is evaluated in f64 alone.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_EVALUATE_REPLACEMENT_H
#define DIVISI_EVALUATE_REPLACEMENT_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/kernels/FieldElement.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace divisi {

/// A product or quotient of numbers of a program: a float rounds it, the prime
/// field does not.
struct ExactNumber {
  /// One.
  ExactNumber() = default;
  /// A number of the program itself.
  explicit ExactNumber(double value) : number(value), element(value) {}

  double number = 1;            ///< Rounded.
  rt::FieldElement element = 1; ///< Its image in the field.

  /// 1 / this.
  ExactNumber inverse() const;
  /// Multiplies by another.
  ExactNumber &operator*=(const ExactNumber &other);
};

/// A value that is to take the place of another.
struct Replacement {
  mlir::Value replaced; ///< Its operators are followed to what `by` reads.
  mlir::Value by;       ///< Of the same type.
  /// The operators that make `by`, in their order; nobody else reads them.
  llvm::SmallVector<mlir::Operation *> made;
  /// Of those: what a constant's number, or the scale of an attention, is
  /// before it is rounded.
  llvm::DenseMap<mlir::Operation *, ExactNumber> exact;
  /// Masks that `made` reads: numbers, which -inf may be among, or booleans,
  /// and then which of both hides.
  llvm::DenseMap<mlir::Value, bool> masks;
};

/// Fails with Invalid, saying why, unless both compute the same at small
/// extents.
Status checkReplacement(const Replacement &replacement);

/// Checks the replacement; then uses of the value read what replaces it. If it
/// fails, all operators that were made are erased.
Status replaceChecked(const Replacement &replacement);

} // namespace divisi

#endif // DIVISI_EVALUATE_REPLACEMENT_H
