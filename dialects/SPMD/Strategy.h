//===- Strategy.h - Reading and writing strategies --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one API by which the rooms speak of strategies: Plan writes them,
// Partition and Lower read them, all as values of the Layout room.
//
//   GridOp grid = lookupGrid(op, getSplit(op).getGrid());
//   FailureOr<Split> split = resolveSplit(op, nest, grid.getValue());
//   setSplit(op, grid, nest, otherSplit);
//
// Nothing here asserts on what a file can hold: what does not resolve is
// reported at the operation.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_SPMD_STRATEGY_H
#define DIVISI_DIALECTS_SPMD_STRATEGY_H

#include "dialects/NN/Functions.h"
#include "dialects/SPMD/SPMD.h"

namespace divisi::spmd {

/// Whether a function is run on devices.
using nn::isEntry;

/// The grid called `symbol` as seen from `from`, or null.
GridOp lookupGrid(mlir::Operation *from, mlir::FlatSymbolRefAttr symbol);
/// The same; reports if there is none, or an illegal one.
mlir::FailureOr<GridOp> requireGrid(mlir::Operation *from,
                                    mlir::FlatSymbolRefAttr symbol);

//===----------------------------------------------------------------------===//
// Splits of operators
//===----------------------------------------------------------------------===//

/// The strategy of `op`, or null.
SplitAttr getSplit(mlir::Operation *op);
/// What the names in its strategy mean. Reports at `op` if there is no
/// strategy, a name means nothing, or the split is illegal.
mlir::FailureOr<Split> resolveSplit(mlir::Operation *op, const LoopNest &nest,
                                    const Grid &grid);
/// Gives `op` a strategy; `split` fits `nest` and `grid`.
void setSplit(mlir::Operation *op, GridOp grid, const LoopNest &nest,
              const Split &split);

/// How an operator runs.
struct Strategy {
  GridOp grid;   ///< Where.
  LoopNest nest; ///< What is split.
  Split split;   ///< Legal for both.
};
/// The strategy of `op`. Reports at `op` if it has none, or one that is illegal
/// or on no grid.
mlir::FailureOr<Strategy> requireStrategy(nn::LoopInterface op);

//===----------------------------------------------------------------------===//
// Places of values
//===----------------------------------------------------------------------===//

/// A layout as an attribute. Axes of size 1 and partial axes in another order
/// leave no trace.
PlaceAttr makePlace(GridOp grid, llvm::ArrayRef<int64_t> shape, Layout layout);
/// The canonical layout that `place` means for a tensor of (global) `shape`.
/// Reports by `emitError` if a name means nothing or the layout is illegal.
mlir::FailureOr<Layout>
resolvePlace(PlaceAttr place, const Grid &grid, llvm::ArrayRef<int64_t> shape,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// What a place means: a grid, and a canonical layout on it.
struct ResolvedPlace {
  GridOp grid;   ///< Where the value rests.
  Layout layout; ///< How it lies there.
};
/// The place of a value of `type`. Reports at `op` if it is null, means nothing
/// or is illegal; `what` names the value in messages: "argument 0".
mlir::FailureOr<ResolvedPlace> requirePlace(mlir::Operation *op,
                                            PlaceAttr place, mlir::Type type,
                                            const llvm::Twine &what);

/// The place at rest of a global, or null.
PlaceAttr getPlace(nn::GlobalOp global);
/// Lets a global rest there.
void setPlace(nn::GlobalOp global, PlaceAttr place);
/// The place of an entry function's argument, or null.
PlaceAttr getArgPlace(mlir::FunctionOpInterface function, unsigned index);
/// Lets an argument rest there.
void setArgPlace(mlir::FunctionOpInterface function, unsigned index,
                 PlaceAttr place);
/// The place of an entry function's result, or null.
PlaceAttr getResultPlace(mlir::FunctionOpInterface function, unsigned index);
/// Lets a result rest there.
void setResultPlace(mlir::FunctionOpInterface function, unsigned index,
                    PlaceAttr place);
/// The place of an operator's result as an identity point, or null.
PlaceAttr getPlace(mlir::OpResult result);
/// Makes it one, at that place.
void setPlace(mlir::OpResult result, PlaceAttr place);
/// Where the value of an operand goes before the operator takes it, or null.
/// Users of one value that name the same stop share the way there.
PlaceAttr getStop(mlir::OpOperand &operand);
/// Lets it go there.
void setStop(mlir::OpOperand &operand, PlaceAttr place);

//===----------------------------------------------------------------------===//
// Local tensors
//===----------------------------------------------------------------------===//

/// The encoding of `type`, or null if it is no local tensor.
LocalAttr getLocal(mlir::Type type);
/// `type` (global or local) as it lies on `grid` in `layout`, which is legal
/// for it and is made canonical. The way back is nn::globalType.
mlir::RankedTensorType localType(mlir::RankedTensorType type, const Grid &grid,
                                 Layout layout);

/// `layout` with its partial axes replicated: what a tensor is brought into
/// before it leaves its grid, and what it arrives in before it becomes partial.
Layout withoutPartial(Layout layout);

} // namespace divisi::spmd

#endif // DIVISI_DIALECTS_SPMD_STRATEGY_H
