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
#include "divisi/Cost/Transfer.h"
#include "divisi/Route/Router.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace divisi {

/// What moves a tensor.
struct MoveCost {
  int64_t nanoseconds = 0; ///< Alone.
  int64_t bytes = 0;       ///< Received by the busiest device.
  double slowdown = 1;     ///< Of operators beside it (Overlap.h).
};

/// How a value comes to where an operator of another grid wants it.
struct Arrival {
  /// From which of those that have arrived on that grid; nothing: it is sent.
  std::optional<size_t> known;
  TransferWay way;         ///< If it is sent.
  int64_t nanoseconds = 0; ///< Of all steps.
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
  /// That of the devices of both grids.
  MoveCost ofTransfer(spmd::TransferOp op);
  /// What no way goes below from the layout of the operand of `op` to `to`, on
  /// its target.
  int64_t leastOf(spmd::TransferOp op, const Layout &to);
  /// How a tensor of `type`, which lies in `from` on `source`, best comes to
  /// `to` on `target`, where it has arrived in the layouts `arrived` before,
  /// which are canonical. What is sent is not partial.
  /// Nothing if it cannot.
  std::optional<Arrival> arrive(mlir::RankedTensorType type,
                                spmd::GridOp source, const Layout &from,
                                spmd::GridOp target, const Layout &to,
                                llvm::ArrayRef<Layout> arrived);

private:
  /// Of one grid.
  struct GridPrices {
    GridPrices(Grid grid, GridLinks itsLinks)
        : links(std::move(itsLinks)), router(grid, stepPrices(grid, links)) {}
    GridLinks links;
    Router router;
  };

  GridPrices &pricesOf(spmd::GridOp grid);
  TransferEnd endOf(spmd::GridOp grid, const Layout &layout);

  /// Local types, and the grids that they lie on.
  using Ends = std::pair<std::pair<mlir::Type, mlir::Operation *>,
                         std::pair<mlir::Type, mlir::Operation *>>;

  mlir::ModuleOp module_;
  const Cluster &cluster_;
  llvm::DenseMap<Ends, TransferWay> ways_;
  llvm::DenseMap<Ends, MoveCost> transfers_;
  llvm::StringMap<GridPrices> prices_;                  ///< By grid.
  llvm::DenseMap<mlir::Operation *, OpFusion> fusions_; ///< Of one function.
};

} // namespace divisi

#endif // DIVISI_COST_OPERATIONCOST_H
