//===- VerifyPartition.cpp - Prove every layout anew ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types of a partitioned program are claims. This pass derives what every
// operator needs from its loops and split, by none of the code that made the
// types, and compares.
//
//===----------------------------------------------------------------------===//

#include "dialects/SPMD/Strategy.h"
#include "passes/Partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "verify-partition"

namespace divisi {
#define GEN_PASS_DEF_VERIFYPARTITION
#include "passes/Partition/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

namespace {

/// Verifies one function.
class FunctionVerifier {
public:
  explicit FunctionVerifier(func::FuncOp function) : function_(function) {}
  LogicalResult run();

private:
  LogicalResult visit(Operation *op);
  LogicalResult visitLoops(nn::LoopInterface op);
  LogicalResult visitTransfer(TransferOp op);
  LogicalResult visitPlaced(Operation *op, Value value, PlaceAttr place,
                            const Twine &what);
  LogicalResult visitGlobal(Operation *op, FlatSymbolRefAttr symbol,
                            Value value);

  /// `value` lies on the grid called `grid`.
  LogicalResult expectGrid(Operation *op, Value value, FlatSymbolRefAttr grid,
                           const Twine &what);
  /// The type of `value` says `layout`, which `why` asks for.
  LogicalResult expectLayout(Operation *op, Value value, const Grid &grid,
                             const Layout &layout, const Twine &what,
                             StringRef why);

  func::FuncOp function_;
  DenseMap<Value, FlatSymbolRefAttr> gridOf_; // looked up only
};

/// See Passes.td.
class VerifyPartitionPass
    : public divisi::impl::VerifyPartitionBase<VerifyPartitionPass> {
  void runOnOperation() override;
};

} // namespace

static LogicalResult expectLocal(Operation *op, Type type, const Twine &what) {
  if (isa<TensorType>(type) && !getLocal(type)) {
    return op->emitOpError() << what << " has type " << type
                             << ", expected a tensor with #spmd.local";
  }
  return success();
}

LogicalResult FunctionVerifier::run() {
  for (BlockArgument argument : function_.getArguments()) {
    unsigned index = argument.getArgNumber();
    PlaceAttr place = getArgPlace(function_, index);
    std::string what = ("argument " + Twine(index)).str();
    if (failed(expectLocal(function_, argument.getType(), what))) {
      return failure();
    }
    if (place) {
      gridOf_[argument] = place.getGrid();
    }
    if (failed(visitPlaced(function_, argument, place, what))) {
      return failure();
    }
  }
  for (Operation &op : function_.front()) {
    for (auto [index, type] : llvm::enumerate(op.getOperandTypes())) {
      if (failed(expectLocal(&op, type, "operand " + Twine(index)))) {
        return failure();
      }
    }
    for (auto [index, type] : llvm::enumerate(op.getResultTypes())) {
      if (failed(expectLocal(&op, type, "result " + Twine(index)))) {
        return failure();
      }
    }
    if (failed(visit(&op))) {
      return failure();
    }
  }
  return success();
}

LogicalResult FunctionVerifier::visit(Operation *op) {
  if (isa<ConvertOp>(op)) {
    return op->emitOpError("is left; expected steps, run spmd-route");
  }
  if (auto step = dyn_cast<StepInterface>(op)) {
    gridOf_[step.getOutput()] = step.getGridAttr();
    return expectGrid(op, step.getInput(), step.getGridAttr(), "the operand");
  }
  if (auto transfer = dyn_cast<TransferOp>(op)) {
    return visitTransfer(transfer);
  }
  if (auto read = dyn_cast<nn::ReadOp>(op)) {
    return visitGlobal(op, read.getGlobalAttr(), read.getValue());
  }
  if (auto update = dyn_cast<nn::UpdateOp>(op)) {
    return visitGlobal(op, update.getGlobalAttr(), update.getValue());
  }
  if (auto loops = dyn_cast<nn::LoopInterface>(op)) {
    return visitLoops(loops);
  }
  if (!isa<func::ReturnOp>(op)) {
    return op->emitOpError("may not exist after partitioning; expected "
                           "operators of 'nn' and moves of 'spmd'");
  }
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (failed(visitPlaced(op, operand.get(), getResultPlace(function_, index),
                           "operand " + Twine(index)))) {
      return failure();
    }
  }
  return success();
}

LogicalResult FunctionVerifier::visitTransfer(TransferOp op) {
  if (op.getOutput()) {
    gridOf_[op.getOutput()] = op.getTargetGridAttr();
  }
  return op.getInput() ? expectGrid(op, op.getInput(), op.getSourceGridAttr(),
                                    "the operand")
                       : success();
}

LogicalResult FunctionVerifier::visitLoops(nn::LoopInterface op) {
  SplitAttr attr = getSplit(op);
  if (!attr) {
    return op->emitOpError("has lost its strategy; expected spmd.split");
  }
  FailureOr<GridOp> gridOp = requireGrid(op, attr.getGrid());
  if (failed(gridOp)) {
    return failure();
  }
  Grid grid = gridOp->getValue();
  LoopNest nest = op.getLoopNest();
  FailureOr<Split> split = resolveSplit(op, nest, grid);
  if (failed(split)) {
    return failure();
  }
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    std::string what = ("operand " + Twine(index)).str();
    Layout layout = operandLayout(nest, grid, *split, index);
    if (failed(expectGrid(op, operand.get(), attr.getGrid(), what)) ||
        failed(expectLayout(op, operand.get(), grid, layout, what,
                            "the split needs"))) {
      return failure();
    }
  }
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    gridOf_[result] = attr.getGrid();
    Layout layout = resultLayout(nest, grid, *split, index);
    if (failed(expectLayout(op, result, grid, layout, "result " + Twine(index),
                            "the split makes"))) {
      return failure();
    }
  }
  return success();
}

LogicalResult FunctionVerifier::visitGlobal(Operation *op,
                                            FlatSymbolRefAttr symbol,
                                            Value value) {
  auto global = SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(op, symbol);
  if (!global) {
    return op->emitOpError() << "no nn.global is called " << symbol;
  }
  PlaceAttr place = spmd::getPlace(global);
  if (place && value.getDefiningOp() == op) {
    gridOf_[value] = place.getGrid();
  }
  return visitPlaced(op, value, place, "the value of the global");
}

LogicalResult FunctionVerifier::visitPlaced(Operation *op, Value value,
                                            PlaceAttr place,
                                            const Twine &what) {
  if (!place) {
    return op->emitOpError() << what << " has no place; expected spmd.place";
  }
  FailureOr<GridOp> grid = requireGrid(op, place.getGrid());
  if (failed(grid) || failed(expectGrid(op, value, place.getGrid(), what))) {
    return failure();
  }
  FailureOr<Layout> layout =
      resolvePlace(place, grid->getValue(), nn::globalShape(value.getType()),
                   [&]() { return op->emitOpError() << what << ": "; });
  if (failed(layout)) {
    return failure();
  }
  return expectLayout(op, value, grid->getValue(), *layout, what,
                      "its place is");
}

LogicalResult FunctionVerifier::expectGrid(Operation *op, Value value,
                                           FlatSymbolRefAttr grid,
                                           const Twine &what) {
  FlatSymbolRefAttr actual = gridOf_.lookup(value);
  if (actual == grid) {
    return success();
  }
  return op->emitOpError() << what << " lies on the grid " << actual
                           << ", expected " << grid
                           << "; a transfer is missing";
}

LogicalResult FunctionVerifier::expectLayout(Operation *op, Value value,
                                             const Grid &grid,
                                             const Layout &layout,
                                             const Twine &what, StringRef why) {
  LocalAttr actual = getLocal(value.getType());
  if (actual.getGrid() != grid) {
    std::string expected;
    llvm::raw_string_ostream os(expected);
    grid.print(os);
    return op->emitOpError() << what << " has type " << value.getType()
                             << ", expected it to lie on " << expected;
  }
  if (actual.getLayout() != layout) {
    return op->emitOpError()
           << what << " lies as " << actual.getLayout().str(grid) << ", but "
           << why << " " << layout.str(grid);
  }
  return success();
}

void VerifyPartitionPass::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (isEntry(function) && failed(FunctionVerifier(function).run())) {
      return signalPassFailure();
    }
  }
  markAllAnalysesPreserved();
}
