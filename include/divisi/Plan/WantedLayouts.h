//===- WantedLayouts.h - Layouts that operators have to have ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module may say how operators are to have tensors: those of nodes of the
// model, by the factors of the model's dimensions. Exchange writes it from a
// model's annotations, and the planner chooses among the strategies that have
// these layouts. Partial results count as what their dimensions say.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_WANTEDLAYOUTS_H
#define DIVISI_PLAN_WANTEDLAYOUTS_H

#include "divisi/Plan/ModelValues.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace divisi {

/// On the module: what stands in it, FollowAnnotations.h shows.
inline constexpr llvm::StringLiteral kShardingsAttr = "divisi.shardings";

/// A factor of a dimension, and the axes that are to split it.
struct WantedFactor {
  int64_t extent = 1;            ///< Of the factor.
  std::vector<std::string> axes; ///< Outermost first.
};

/// How a node is to have one tensor.
struct WantedTensor {
  ModelValue value;   ///< What operators find it by.
  std::string tensor; ///< What the model calls it, for messages.
  std::vector<std::vector<WantedFactor>> dims; ///< Of the model's shape.

  /// The same as an attribute.
  mlir::Attribute attribute(mlir::MLIRContext *context) const;
};

/// What a node is to have.
struct WantedNode {
  std::vector<WantedTensor> tensors; ///< Those of which something is said.
  std::optional<int64_t> stage;      ///< Of a pipeline.
};

/// What `module` says, by the names of nodes. What somebody has broken counts
/// as not said.
std::map<std::string, WantedNode> wantedNodes(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_PLAN_WANTEDLAYOUTS_H
