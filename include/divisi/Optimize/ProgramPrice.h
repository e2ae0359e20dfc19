//===- ProgramPrice.h - What a program takes on one device ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The price by which programs are compared: that of the planner (OpCost.h) on
// one device, operator by operator, with what is fused fused (Fusion.h). What
// weights and constants alone make is computed once, and costs nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_OPTIMIZE_PROGRAMPRICE_H
#define DIVISI_OPTIMIZE_PROGRAMPRICE_H

#include "dialects/NN/NN.h"
#include "divisi/Cluster/Cluster.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinOps.h"

#include <compare>

namespace divisi::nn {
class KnownValues;
} // namespace divisi::nn

namespace divisi::optimize {

/// Less is better: first time, then operators in all.
struct Price {
  int64_t nanoseconds = 0; ///< Of one run.
  int64_t operators = 0;   ///< With those that are computed once.

  Price operator+(const Price &other) const {
    return {nanoseconds + other.nanoseconds, operators + other.operators};
  }
  /// By time, then by operators.
  auto operator<=>(const Price &) const = default;
};

/// Whether the operator runs in each run and may be rewritten: not what weights
/// and constants make, and no state, loop or call.
nn::LoopInterface asComputed(mlir::Operation &op, const nn::KnownValues &known);

/// The price of the operators in `body` on a device of `kind`.
Price priceOf(mlir::Block &body, const nn::KnownValues &known,
              const DeviceKind &kind);

/// The same of all entries of `module`.
Price priceOf(mlir::ModuleOp module, const DeviceKind &kind);

} // namespace divisi::optimize

#endif // DIVISI_OPTIMIZE_PROGRAMPRICE_H
