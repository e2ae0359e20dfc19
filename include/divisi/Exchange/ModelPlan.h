//===- ModelPlan.h - A plan in the model's own names ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divisi plans operators of nn, whose dimensions are the factors that some
// operator needs; others speak of a model's nodes and tensors. Here is what a
// plan says of these:
//
//   nn.matmul : [8, 16, 3, 12, 8] as [*, *, *, m, *]
//   "qkv" of "MatMul_1": [8, 16, 288], of which dimension 2 is 3 · 12@m · 8
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_EXCHANGE_MODELPLAN_H
#define DIVISI_EXCHANGE_MODELPLAN_H

#include "divisi/Import/ModelOutline.h"
#include "divisi/Layout/Layout.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// A factor of a dimension, and the axes that split it, outermost first.
struct FactorLayout {
  int64_t extent = 1;                ///< Of the factor.
  llvm::SmallVector<AxisId, 2> axes; ///< Of the tensor's grid.
};

/// A dimension, as a product of factors, the major one first.
using DimFactorLayouts = std::vector<FactorLayout>;

/// How a tensor of the model lies.
struct TensorLayout {
  std::string tensor;                       ///< As the model calls it.
  size_t grid = 0;                          ///< In ModelPlan::grids.
  std::vector<DimFactorLayouts> dims;       ///< Of the model's shape.
  llvm::SmallVector<AxisId, 2> partialAxes; ///< As Layout has them.
  ReduceKind partialKind = ReduceKind::Sum; ///< The same.
  /// Whether its shards are not those of equal parts: Layout's explicit bounds.
  bool hasBounds = false;
  std::string text; ///< As the plan prints it, on the factors.

  /// Its shape in the model.
  std::vector<int64_t> shape() const;
};

/// What a plan says of a node.
struct NodeLayouts {
  size_t node = 0;      ///< In ModelOutline::nodes.
  size_t grid = 0;      ///< In ModelPlan::grids.
  std::string strategy; ///< Of its operators: `nn.matmul m@x; nn.add d0@x`.
  /// Of tensors of the model: where its operators want them, and make them.
  std::vector<TensorLayout> inputs, outputs;
};

/// Devices of a plan.
struct ModelGrid {
  std::string name;             ///< Of its symbol.
  Grid grid;                    ///< Their axes.
  std::vector<int64_t> devices; ///< By position.
};

/// See the file's head.
struct ModelPlan {
  std::vector<ModelGrid> grids;         ///< As the module has them.
  std::vector<NodeLayouts> nodes;       ///< In the order of the model.
  std::vector<TensorLayout> parameters; ///< Initializers at rest.
  std::vector<TensorLayout> inputs;     ///< Of the graph.
  /// Nodes that no operator of the plan is named after: what they compute is
  /// part of others, or was computed when the model was compiled.
  std::vector<std::string> withoutOperator;
};

/// What `planned`, a module at Stage::Plan that its verifier accepts, says of
/// the model that it was made from. Only the entry @forward is looked at.
/// ExitCode::Usage for a module without it or without a grid.
Expected<ModelPlan> modelPlan(mlir::ModuleOp planned,
                              const ModelOutline &outline);

/// The shapes of the inputs of `planned`, by their names: for readOutline.
std::map<std::string, ModelOutline::Shape> inputShapes(mlir::ModuleOp planned);

} // namespace divisi

#endif // DIVISI_EXCHANGE_MODELPLAN_H
