//===- ModelValues.h - What values are in the model -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator names the node that it comes from. A tensor that leaves a node,
// for an operator of another or for the caller, is an output of it:
//
//   %0 = nn.matmul …  loc("down")      stays within the node
//   %1 = nn.add %0, … loc("down")      leaves it: the output of "down"
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_MODELVALUES_H
#define DIVISI_PLAN_MODELVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>

namespace divisi {

/// A tensor of the model.
struct ModelValue {
  /// An input of the entry, a global, or an output of a node.
  enum class Kind : uint8_t { Input, Global, Output };
  Kind kind = Kind::Output; ///< What `name` names.
  std::string name;         ///< Of the input, the global or the node.
  unsigned number = 0;      ///< Of the outputs, which one.
  unsigned count = 1;       ///< How many outputs of the node are used.

  friend bool operator==(const ModelValue &, const ModelValue &) = default;
};

/// The tensors of one entry. The entry must not change meanwhile.
class ModelValues {
public:
  /// Of `entry`, which has a body.
  explicit ModelValues(mlir::func::FuncOp entry);

  /// What `value` is; nothing where it stays within a node, or has no node, or
  /// lies in an order of dimensions that its node has not.
  std::optional<ModelValue> find(mlir::Value value) const;

private:
  llvm::DenseMap<mlir::Value, ModelValue> values_;
};

} // namespace divisi

#endif // DIVISI_PLAN_MODELVALUES_H
