//===- StoredWeights.h - What an artifact stores of weights -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PRECISION_STOREDWEIGHTS_H
#define DIVISI_LIB_PRECISION_STOREDWEIGHTS_H

#include "Origins.h"

#include "llvm/ADT/SetVector.h"

namespace divisi {

/// The floats that one function needs of weights, as the artifact stores them:
/// what @init will compute.
class StoredWeights {
public:
  /// Of `function` as it is now.
  explicit StoredWeights(mlir::func::FuncOp function);

  /// How many have elements of `type`.
  int64_t count(mlir::FloatType type) const;
  /// What they take in memory.
  int64_t countBytes() const;

private:
  void visit(mlir::Value value);
  bool isHoisted(mlir::Value value);

  Origins origins_;
  llvm::SetVector<mlir::Value> values_; ///< In the order of the program.
  llvm::DenseMap<mlir::Value, bool> hoisted_;
};

} // namespace divisi

#endif // DIVISI_LIB_PRECISION_STOREDWEIGHTS_H
