//===- SmallExtents.h - Programs of a few elements --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_EVALUATE_SMALLEXTENTS_H
#define DIVISI_LIB_EVALUATE_SMALLEXTENTS_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/kernels/Tensor.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/SmallVector.h"

namespace divisi {

/// Extents of a few elements for all values of some operators, at which these
/// operators are as legal as they are:
///
///   reshape [2, 12, 64] -> [24, 64]    a, b, c -> a*b, c    [2, 3, 4] -> [6,
///   4]
///
/// A dim of extent 1 keeps it, since it may be broadcast.
class SmallExtents {
public:
  /// Adds an operator with its operands and results. Fails with Unsupported
  /// where one of its dims is not made of whole loops.
  Status add(mlir::Operation *op);
  /// Chooses the extents, after all operators were added.
  void choose();
  /// The chosen extents of a value that some operator has.
  rt::Dims dimsOf(mlir::Value value) const;

private:
  using Number = unsigned; ///< Of a dim of a value or a loop of an operator.

  /// A dim that is made of several loops, major first.
  struct Product {
    Number dim;
    llvm::SmallVector<Number, 4> loops;
  };

  Number make(int64_t extent);
  llvm::ArrayRef<Number> numbersOf(mlir::Value value);
  bool cancel(const Product &a, const Product &b);
  void joinFactors();
  void keepExtents();
  int64_t extentOf(Number leader);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<Number, 4>> dims_;
  llvm::SmallVector<int64_t> given_; ///< By number.
  llvm::IntEqClasses equal_;
  llvm::SmallVector<Product> products_;
  llvm::SmallVector<bool> isKept_;    ///< By leader: stays as it is.
  llvm::SmallVector<int64_t> chosen_; ///< By leader; 0 for none yet.
  int64_t next_ = 0;
};

} // namespace divisi

#endif // DIVISI_LIB_EVALUATE_SMALLEXTENTS_H
