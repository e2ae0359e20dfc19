//===- OperationCost.h - Costs of a module's operations ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prices the operations of a partitioned module as the planner has priced the
// plan: by the same links, routes and fusions.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_OPERATIONCOST_H
#define DIVISI_COST_OPERATIONCOST_H

#include "dialects/SPMD/Strategy.h"
#include "divisi/Cluster/GridLinks.h"
#include "divisi/Cost/Fusion.h"
#include "divisi/Cost/StepCost.h"
#include "divisi/Route/Router.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace divisi {

/// What moves a tensor.
struct MoveCost {
  int64_t nanoseconds = 0; ///< Alone.
  int64_t bytes = 0;   ///< Received by the busiest device.
  double slowdown = 1; ///< Of operators beside it (Overlap.h).
};

/// Prices the operations of one module, which stays as it is meanwhile.
class OperationCost {
public:
  /// For `cluster`, which the caller keeps.
  OperationCost(mlir::ModuleOp module, const Cluster &cluster)
      : module_(module), cluster_(cluster) {}

  /// The operations that follow are those of `body`, a function's.
  void enter(mlir::Block &body) { fusions_ = fusionsOf(body); }

  /// How `op` goes on in the kernels of others; not at all on devices whose
  /// kernels do not.
  OpFusion fusionOf(mlir::Operation *op, const GridPace &pace) const {
    return pace.fuses() ? fusions_.lookup(op) : OpFusion();
  }
  /// An operator's, which has this strategy.
  int64_t ofOperator(nn::LoopInterface op, const spmd::Strategy &strategy);
  /// Nothing of a step without grid or layouts.
  std::optional<MoveCost> ofStep(spmd::StepInterface step);
  /// Whom it concerns is not looked at: as if all devices took part.
  MoveCost ofTransfer(spmd::TransferOp op);

private:
  /// Of one grid.
  struct GridPrices {
    GridPrices(Grid grid, GridLinks itsLinks)
        : links(std::move(itsLinks)), router(grid, stepPrices(grid, links)) {}
    GridLinks links;
    Router router;
  };

  mlir::ModuleOp module_;
  const Cluster &cluster_;
  llvm::StringMap<GridPrices> prices_;                  ///< By grid.
  llvm::DenseMap<mlir::Operation *, OpFusion> fusions_; ///< Of one function.
};

} // namespace divisi

#endif // DIVISI_COST_OPERATIONCOST_H
