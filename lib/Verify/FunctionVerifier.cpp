//===- FunctionVerifier.cpp - Proof of one rank program -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionVerifier.h"

#include "Loops.h"
#include "Moves.h"
#include "Operators.h"
#include "dialects/NN/Bodies.h"
#include "dialects/SPMD/SPMD.h"

#include <vector>

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;
using namespace divisi::verify;

namespace {

/// A tensor as a type claims it to lie.
struct Claim {
  Grid grid;
  Layout layout;
  SmallVector<int64_t, 4> shape; // global
};

class FunctionVerifier {
public:
  explicit FunctionVerifier(func::FuncOp function) : function_(function) {}
  LogicalResult run();

private:
  LogicalResult visit(Operation *op);
  LogicalResult visitOperator(nn::LoopInterface op);
  LogicalResult visitStep(StepInterface step);
  LogicalResult visitTransfer(TransferOp transfer);
  LogicalResult visitGlobal(Operation *op, FlatSymbolRefAttr symbol,
                            Value value);
  LogicalResult visitReturn(Operation *op);
  LogicalResult visitLoop(nn::LoopOp op);

  /// What `type` claims, after its form is proved.
  FailureOr<Claim> claimOf(Operation *op, Type type, const Twine &what);
  /// The claim of `value`, which is to lie on `grid`.
  FailureOr<Claim> claimOn(Operation *op, Value value, FlatSymbolRefAttr grid,
                           const Twine &what);
  /// `value` lies as `place` says, in no summands and with nothing missing.
  LogicalResult verifyAtRest(Operation *op, Value value, PlaceAttr place,
                             const Twine &what);
  FailureOr<Grid> gridCalled(Operation *op, FlatSymbolRefAttr symbol);
  FailureOr<Axes> axesCalled(Operation *op, const Grid &grid,
                             ArrayRef<StringRef> names);
  FailureOr<Work> workOf(Operation *op, const LoopNest &nest, const Grid &grid,
                         const NamedSplit &split);

  func::FuncOp function_;
  DenseMap<Value, FlatSymbolRefAttr> gridOf_; // looked up only
};

} // namespace

FailureOr<Claim> FunctionVerifier::claimOf(Operation *op, Type type,
                                           const Twine &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto local =
      tensor ? dyn_cast_or_null<LocalAttr>(tensor.getEncoding()) : LocalAttr();
  if (!local) {
    return op->emitOpError() << what << " has type " << type
                             << ", expected a tensor with #spmd.local";
  }
  Claim claim{local.getGrid(), local.getLayout(),
              SmallVector<int64_t, 4>(local.getGlobalShape())};
  if (Complaint complaint = verifyForm(claim.grid, claim.shape, claim.layout)) {
    return op->emitOpError() << what << ": " << *complaint;
  }
  if (!llvm::equal(largestBox(claim.grid, claim.shape, claim.layout),
                   tensor.getShape())) {
    return op->emitOpError() << what << " has type " << type
                             << ", whose shape is not that of the largest box";
  }
  return claim;
}

FailureOr<Grid> FunctionVerifier::gridCalled(Operation *op,
                                             FlatSymbolRefAttr symbol) {
  auto grid = SymbolTable::lookupNearestSymbolFrom<GridOp>(op, symbol);
  if (!grid) {
    return op->emitOpError()
           << "names the grid " << symbol << ", but no spmd.grid has that name";
  }
  SmallVector<GridAxis, 4> axes;
  for (auto [name, size] :
       llvm::zip_equal(grid.getAxisNames(), grid.getAxisSizes())) {
    axes.push_back({cast<StringAttr>(name).str(), size});
  }
  if (ArrayAttr weights = grid.getAxisWeightsAttr()) {
    for (size_t index = 0; index < axes.size(); ++index) {
      auto list = cast<DenseI64ArrayAttr>(weights[index]);
      axes[index].weights.assign(list.asArrayRef().begin(),
                                 list.asArrayRef().end());
    }
  }
  return Grid(axes);
}

FailureOr<Claim> FunctionVerifier::claimOn(Operation *op, Value value,
                                           FlatSymbolRefAttr grid,
                                           const Twine &what) {
  FailureOr<Claim> claim = claimOf(op, value.getType(), what);
  FailureOr<Grid> expected = gridCalled(op, grid);
  if (failed(claim) || failed(expected)) {
    return failure();
  }
  FlatSymbolRefAttr actual = gridOf_.lookup(value);
  if (actual != grid) {
    return op->emitOpError()
           << what << " is on the grid " << actual << ", expected " << grid
           << "; a transfer is missing";
  }
  if (claim->grid != *expected) {
    std::string text;
    llvm::raw_string_ostream os(text);
    expected->print(os);
    return op->emitOpError() << what << " has type " << value.getType()
                             << ", expected it to lie on " << text;
  }
  return claim;
}

FailureOr<Axes> FunctionVerifier::axesCalled(Operation *op, const Grid &grid,
                                             ArrayRef<StringRef> names) {
  Axes axes;
  for (StringRef name : names) {
    size_t index = 0;
    while (index < grid.axes().size() && grid.axes()[index].name != name) {
      ++index;
    }
    if (index == grid.axes().size()) {
      return op->emitOpError() << "the grid has no axis '" << name << "'";
    }
    axes.push_back(AxisId{uint32_t(index)});
  }
  return axes;
}

static SmallVector<StringRef> refs(ArrayRef<std::string> names) {
  return SmallVector<StringRef>(names.begin(), names.end());
}

FailureOr<Work> FunctionVerifier::workOf(Operation *op, const LoopNest &nest,
                                         const Grid &grid,
                                         const NamedSplit &split) {
  Work work;
  work.loopAxes.resize(nest.loops.size());
  for (const NamedLoopSplit &named : split.loops) {
    const auto *loop = llvm::find_if(
        nest.loops, [&](const Loop &loop) { return loop.name == named.loop; });
    if (loop == nest.loops.end()) {
      return op->emitOpError()
             << "spmd.split: the operator has no loop '" << named.loop << "'";
    }
    FailureOr<Axes> axes = axesCalled(op, grid, refs(named.axes));
    if (failed(axes)) {
      return failure();
    }
    work.loopAxes[loop - nest.loops.begin()] = *axes;
  }
  FailureOr<Axes> carry = axesCalled(op, grid, refs(split.carry));
  if (failed(carry)) {
    return failure();
  }
  work.carryAxes = *carry;
  work.carrySet = split.carrySet;
  return work;
}

LogicalResult FunctionVerifier::visitOperator(nn::LoopInterface op) {
  auto split = op->getAttrOfType<SplitAttr>(SPMDDialect::kSplit);
  if (!split) {
    return op->emitOpError("has lost its strategy; expected spmd.split");
  }
  FailureOr<Grid> grid = gridCalled(op, split.getGrid());
  if (failed(grid)) {
    return failure();
  }
  LoopNest nest = op.getLoopNest();
  FailureOr<Work> work = workOf(op, nest, *grid, split.getSplit());
  if (failed(work)) {
    return failure();
  }
  for (Value result : op->getResults()) {
    gridOf_[result] = split.getGrid();
  }
  std::vector<Claim> claims;
  auto claim = [&](Value value, const Twine &what) -> LogicalResult {
    FailureOr<Claim> made = claimOn(op, value, split.getGrid(), what);
    if (succeeded(made)) {
      claims.push_back(std::move(*made));
    }
    return made;
  };
  for (OpOperand &operand : op->getOpOperands()) {
    if (failed(claim(operand.get(),
                     "operand " + Twine(operand.getOperandNumber())))) {
      return failure();
    }
  }
  for (OpResult result : op->getResults()) {
    if (failed(claim(result, "result " + Twine(result.getResultNumber())))) {
      return failure();
    }
  }
  SmallVector<const Layout *> layouts;
  for (const Claim &claim : claims) {
    layouts.push_back(&claim.layout);
  }
  ArrayRef<const Layout *> all = layouts;
  if (Complaint complaint = verifyOperator(
          nest, *grid, *work, all.take_front(op->getNumOperands()),
          all.drop_front(op->getNumOperands()))) {
    return op->emitOpError() << *complaint;
  }
  return success();
}

LogicalResult FunctionVerifier::visitStep(StepInterface step) {
  FlatSymbolRefAttr symbol = step.getGridAttr();
  gridOf_[step.getOutput()] = symbol;
  FailureOr<Claim> from = claimOn(step, step.getInput(), symbol, "the operand");
  FailureOr<Claim> to = claimOn(step, step.getOutput(), symbol, "the result");
  if (failed(from) || failed(to)) {
    return failure();
  }
  if (from->shape != to->shape ||
      step.getInput().getType().getElementType() !=
          step.getOutput().getType().getElementType()) {
    return step->emitOpError("changes the tensor, expected only its layout to "
                             "change");
  }
  SmallVector<StringRef> names;
  for (auto name : step.getAxesAttr().getAsRange<StringAttr>()) {
    names.push_back(name.getValue());
  }
  FailureOr<Axes> axes = axesCalled(step, to->grid, names);
  if (failed(axes)) {
    return failure();
  }
  if (Complaint complaint = verifyMove(to->grid, to->shape, step.getStepKind(),
                                       *axes, from->layout, to->layout)) {
    return step->emitOpError() << *complaint;
  }
  return success();
}

LogicalResult FunctionVerifier::visitTransfer(TransferOp op) {
  FailureOr<Claim> from = claimOf(op, op.getFrom(), "the source");
  FailureOr<Claim> to = claimOf(op, op.getTo(), "the target");
  FailureOr<Grid> source = gridCalled(op, op.getSourceGridAttr());
  FailureOr<Grid> target = gridCalled(op, op.getTargetGridAttr());
  if (failed(from) || failed(to) || failed(source) || failed(target)) {
    return failure();
  }
  if (op.getInput()) {
    if (op.getInput().getType() != op.getFrom()) {
      return op.emitOpError("its operand is not the source that it names");
    }
    if (failed(claimOn(op, op.getInput(), op.getSourceGridAttr(),
                       "the operand"))) {
      return failure();
    }
  }
  if (op.getOutput()) {
    if (op.getOutput().getType() != op.getTo()) {
      return op.emitOpError("its result is not the target that it names");
    }
    gridOf_[op.getOutput()] = op.getTargetGridAttr();
  }
  if (from->grid != *source || to->grid != *target) {
    return op.emitOpError("names grids on which its types do not lie");
  }
  if (from->shape != to->shape ||
      op.getFrom().getElementType() != op.getTo().getElementType()) {
    return op.emitOpError("changes the tensor, expected only its layout to "
                          "change");
  }
  if (Complaint complaint = verifyMoveBetween(
          to->shape, from->grid, from->layout, to->grid, to->layout)) {
    return op.emitOpError() << *complaint;
  }
  return success();
}

// Boxes are compared, not spellings: a place may name axes of size 1.
LogicalResult FunctionVerifier::verifyAtRest(Operation *op, Value value,
                                             PlaceAttr place,
                                             const Twine &what) {
  if (!place) {
    return op->emitOpError() << what << " has no place; expected spmd.place";
  }
  FailureOr<Claim> claim = claimOn(op, value, place.getGrid(), what);
  if (failed(claim)) {
    return failure();
  }
  SmallVector<StringRef> names;
  for (const GridAxis &axis : place.getNames().axes()) {
    names.push_back(axis.name);
  }
  FailureOr<Axes> axes = axesCalled(op, claim->grid, names);
  if (failed(axes)) {
    return failure();
  }
  Layout layout = renumbered(place.getLayout(), *axes);
  Complaint complaint = verifyForm(claim->grid, claim->shape, layout);
  if (!complaint && !relevant(claim->grid, layout.partialAxes).empty()) {
    complaint = "its place is partial; arguments, results and globals hold the "
                "value, not summands of it";
  }
  if (!complaint && !relevant(claim->grid, claim->layout.partialAxes).empty()) {
    complaint = "is partial, and its place is not";
  }
  if (!complaint) {
    complaint =
        verifySameBoxes(claim->grid, claim->shape, claim->layout, layout);
    if (complaint) {
      complaint = "does not have the layout of its place: " + *complaint;
    }
  }
  if (!complaint) {
    complaint = verifyAllHeld(claim->grid, claim->shape, layout);
  }
  return complaint ? op->emitOpError() << what << ": " << *complaint
                   : success();
}

LogicalResult FunctionVerifier::visitGlobal(Operation *op,
                                            FlatSymbolRefAttr symbol,
                                            Value value) {
  auto global = SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(op, symbol);
  if (!global) {
    return op->emitOpError() << "no nn.global is called " << symbol;
  }
  auto place = global->getAttrOfType<PlaceAttr>(SPMDDialect::kPlace);
  if (place && value.getDefiningOp() == op) {
    gridOf_[value] = place.getGrid();
  }
  if (nn::globalType(value.getType()) != global.getTensorType()) {
    return op->emitOpError()
           << "the value is a " << nn::globalType(value.getType())
           << ", but the global a " << global.getTensorType();
  }
  return verifyAtRest(op, value, place, "the value of the global");
}

LogicalResult FunctionVerifier::visitReturn(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    auto place = dyn_cast_or_null<PlaceAttr>(
        function_.getResultAttr(index, SPMDDialect::kPlace));
    if (failed(verifyAtRest(op, operand.get(), place,
                            "operand " + Twine(index)))) {
      return failure();
    }
  }
  return success();
}

// Its values lie as arguments of the body do.
LogicalResult FunctionVerifier::visitLoop(nn::LoopOp op) {
  FailureOr<SmallVector<PlaceAttr>> places = placesOf(op);
  if (failed(places)) {
    return failure();
  }
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (failed(verifyAtRest(op, operand.get(), (*places)[index],
                            "operand " + Twine(index)))) {
      return failure();
    }
  }
  for (OpResult result : op->getResults()) {
    unsigned number = result.getResultNumber();
    PlaceAttr place = (*places)[nn::carriedArgument(number)];
    gridOf_[result] = place.getGrid();
    if (failed(verifyAtRest(op, result, place, "result " + Twine(number)))) {
      return failure();
    }
  }
  return success();
}

LogicalResult FunctionVerifier::visit(Operation *op) {
  if (isa<ConvertOp>(op)) {
    return op->emitOpError("remains; expected steps, run spmd-route");
  }
  if (auto step = dyn_cast<StepInterface>(op)) {
    return visitStep(step);
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
    return visitOperator(loops);
  }
  if (isa<func::ReturnOp>(op)) {
    return visitReturn(op);
  }
  if (auto loop = dyn_cast<nn::LoopOp>(op)) {
    return visitLoop(loop);
  }
  return op->emitOpError("may not exist after partitioning; expected "
                         "operators of 'nn' and moves of 'spmd'");
}

LogicalResult FunctionVerifier::run() {
  for (BlockArgument argument : function_.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto place =
        function_.getArgAttrOfType<PlaceAttr>(index, SPMDDialect::kPlace);
    if (place) {
      gridOf_[argument] = place.getGrid();
    }
    std::string what = ("argument " + Twine(index)).str();
    if (failed(verifyAtRest(function_, argument, place, what))) {
      return failure();
    }
  }
  for (Operation &op : function_.front()) {
    if (failed(visit(&op))) {
      return failure();
    }
  }
  return success();
}

LogicalResult verify::verifyFunction(func::FuncOp function) {
  return FunctionVerifier(function).run();
}
