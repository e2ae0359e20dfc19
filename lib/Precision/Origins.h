//===- Origins.h - What a value comes of ------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PRECISION_ORIGINS_H
#define DIVISI_LIB_PRECISION_ORIGINS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>

namespace divisi {

/// What a value comes of; the last of what its operands do.
enum class Origin : uint8_t {
  Constant,   ///< Constants alone.
  Weight,     ///< Weights and constants: it is known before any input is.
  Table,      ///< Inputs of integers: a mask, angles of positions.
  Activation, ///< Inputs of floats, or rows of weights chosen by inputs.
};

/// The origins of all values of a function. A weight joined to a table makes an
/// activation where it is looked up or summed over, else another table:
/// frequencies times positions.
class Origins {
public:
  /// Of `function` as it is now.
  explicit Origins(mlir::func::FuncOp function);

  /// What `value`, one of the function, comes of.
  Origin of(mlir::Value value) const { return origins_.lookup(value); }
  /// Whether `value` is known before any input is.
  bool isStatic(mlir::Value value) const { return of(value) <= Origin::Weight; }

private:
  Origin originOf(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, Origin> origins_;
};

} // namespace divisi

#endif // DIVISI_LIB_PRECISION_ORIGINS_H
