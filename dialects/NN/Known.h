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
#include "llvm/ADT/StringSet.h"

namespace divisi::nn {

/// Which values of a module parameters and constants alone make. Globals that
/// some entry updates are none.
class KnownValues {
public:
  /// Of `module`, whose updates do not change while this is used, nor the kinds
  /// of its globals. Others may come to it.
  explicit KnownValues(mlir::ModuleOp module);

  /// Whether `value` is the same in every run, or hoist-init would keep it in
  /// the entry.
  bool isKnown(mlir::Value value) const;
  /// Whether constants alone make it, so that its elements can be read now.
  bool isConstant(mlir::Value value) const;

private:
  bool comesFrom(mlir::Value value, bool isParameterEnough) const;
  /// Of the global that it reads, if there is one.
  std::optional<GlobalKind> kindOf(ReadOp read) const;

  llvm::DenseMap<mlir::StringAttr, GlobalKind> kinds_; ///< By name.
  llvm::StringSet<> updated_;
};

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_KNOWN_H
