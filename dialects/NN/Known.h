//===- Known.h - What is the same in every run ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_KNOWN_H
#define DIVISI_DIALECTS_NN_KNOWN_H

#include "dialects/NN/NN.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

namespace divisi::nn {

/// The attribute of a global that says that it is trained: some entry will
/// update it, though none may do so yet.
inline constexpr llvm::StringLiteral kTrainedAttr = "nn.trained";
/// The attribute of a parameter that says that it is the running statistics of
/// a batch normalization.
inline constexpr llvm::StringLiteral kStatisticAttr = "nn.statistic";

/// Which values of a module parameters and constants alone make. Globals that
/// some entry updates, or will (kTrainedAttr), are none.
class KnownValues {
public:
  /// Of `module`, whose updates do not change while this is used, nor the kinds
  /// of its globals. Others may come to it.
  explicit KnownValues(mlir::ModuleOp module);
  virtual ~KnownValues() = default;

  /// Whether `value` is the same in every run.
  virtual bool isKnown(mlir::Value value) const;
  /// Whether constants alone make it, so that its elements can be read now.
  virtual bool isConstant(mlir::Value value) const;

private:
  bool comesFrom(mlir::Value value, bool isParameterEnough) const;
  /// Of the global that it reads, if there is one.
  std::optional<GlobalKind> kindOf(ReadOp read) const;

  llvm::DenseMap<mlir::StringAttr, GlobalKind> kinds_; ///< By name.
  llvm::StringSet<> updated_;
};

/// Which operators of a block hoist-init moves to @init.
struct HoistedOperators {
  /// All that are made of parameters and constants by others of them, in order.
  llvm::SetVector<mlir::Operation *> known;
  /// Those of which something that stays reads the result: derived globals.
  std::vector<mlir::Operation *> derived;
  /// Those that stay, as storing the result takes more elements than what it
  /// is made of: repeating is cheaper.
  llvm::SmallPtrSet<mlir::Operation *, 8> kept;
};

/// Of `body`, where `known` is known.
HoistedOperators hoistedOperators(mlir::Block &body, const KnownValues &known);

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_KNOWN_H
