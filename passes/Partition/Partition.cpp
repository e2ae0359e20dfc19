//===- Partition.cpp - Give every tensor its local type -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators are not rewritten: a local operator is the global one seen through
// a box, so partitioning changes types and says where layouts meet.
//
//   %1 = nn.add %0, %0 {spmd.split = #spmd.split<@g: d0@x>}
//     : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
//
// becomes, when %0 lies whole on every device of (x=2),
//
//   %2 = spmd.convert %0 {grid = @g} : tensor<4xf32, #whole>
//     -> tensor<2xf32, #split>
//   %1 = nn.add %2, %2 {spmd.split = #spmd.split<@g: d0@x>}
//     : (tensor<2xf32, #split>, ...) -> tensor<2xf32, #split>
//
// Which grid a value lies on is not in its type (axes have no device numbers),
// so the pass remembers it for every value.
//
//===----------------------------------------------------------------------===//

#include "divisi/Verify/Partition.h"
#include "dialects/NN/Bodies.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Cost/OperationCost.h"
#include "passes/ModuleNotes.h"
#include "passes/Partition/Passes.h"
#include "passes/StatusDiagnostic.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "spmd-partition"

namespace divisi {
#define GEN_PASS_DEF_SPMDPARTITION
#include "passes/Partition/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

namespace {

/// Partitions one function, operation by operation.
class FunctionPartitioner {
public:
  /// `cost` says which of the ways between grids is taken.
  FunctionPartitioner(func::FuncOp function, OperationCost &cost)
      : function_(function), cost_(cost), builder_(function.getContext()) {}

  LogicalResult run();

  int64_t numConverts = 0;
  int64_t numTransfers = 0;

private:
  LogicalResult visit(Operation *op);
  LogicalResult visitLoops(nn::LoopInterface op);
  LogicalResult visitRead(nn::ReadOp op);
  LogicalResult visitUpdate(nn::UpdateOp op);
  LogicalResult visitReturn(func::ReturnOp op);
  LogicalResult visitLoop(nn::LoopOp op);

  FailureOr<ResolvedPlace> globalTarget(Operation *op,
                                        FlatSymbolRefAttr symbol);

  /// Says that `value`, of global type so far, is made in `target`.
  void define(Value value, const ResolvedPlace &target);
  /// `value` in `target`; new operations go before the builder's point.
  Value bring(Value value, const ResolvedPlace &target, Location loc);
  Value convert(Value value, const ResolvedPlace &target, Location loc);
  /// The value of `operand` at its stop, if it has one.
  FailureOr<Value> valueAtStop(OpOperand &operand);

  func::FuncOp function_;
  OperationCost &cost_;
  OpBuilder builder_;
  SymbolTableCollection symbols_;
  DenseMap<Value, GridOp> gridOf_; // looked up only
  /// What of a value has come to another grid.
  DenseMap<std::pair<Value, Operation *>, SmallVector<Value, 1>>
      arrived_; // looked up only
  /// What was brought to a stop, for others that name it.
  DenseMap<std::pair<Value, Attribute>, Value> stops_; // looked up only
};

/// See Passes.td.
class PartitionPass : public divisi::impl::SPMDPartitionBase<PartitionPass> {
public:
  using SPMDPartitionBase::SPMDPartitionBase;

private:
  void runOnOperation() override;
};

} // namespace

/// In program order, so that every operand has its local type before its user
/// asks for it.
LogicalResult FunctionPartitioner::run() {
  for (BlockArgument argument : function_.getArguments()) {
    unsigned index = argument.getArgNumber();
    FailureOr<ResolvedPlace> target =
        requirePlace(function_, getArgPlace(function_, index),
                     argument.getType(), "argument " + Twine(index));
    if (failed(target)) {
      return failure();
    }
    define(argument, *target);
  }
  if (nn::isBody(function_)) {
    // What an iteration makes is what the next one gets.
    for (unsigned i = 0; i < function_.getNumResults(); ++i) {
      setResultPlace(function_, i,
                     getArgPlace(function_, nn::carriedArgument(i)));
    }
  }
  SmallVector<Operation *> ops;
  for (Operation &op : function_.front()) {
    ops.push_back(&op);
  }
  for (Operation *op : ops) {
    builder_.setInsertionPoint(op);
    if (failed(visit(op))) {
      return failure();
    }
  }
  function_.setType(FunctionType::get(
      function_.getContext(), function_.front().getArgumentTypes(),
      function_.front().getTerminator()->getOperandTypes()));
  return success();
}

// Which of the few forms of operation has it: what touches a global or leaves
// the function goes by a place, everything else by loops and a split.
LogicalResult FunctionPartitioner::visit(Operation *op) {
  if (auto read = dyn_cast<nn::ReadOp>(op)) {
    return visitRead(read);
  }
  if (auto update = dyn_cast<nn::UpdateOp>(op)) {
    return visitUpdate(update);
  }
  if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    return visitReturn(ret);
  }
  if (auto loop = dyn_cast<nn::LoopOp>(op)) {
    return visitLoop(loop);
  }
  if (auto loops = dyn_cast<nn::LoopInterface>(op)) {
    return visitLoops(loops);
  }
  return op->emitOpError("states no loops, so it cannot be partitioned; "
                         "expected operators of 'nn' in entry functions");
}

LogicalResult FunctionPartitioner::visitLoops(nn::LoopInterface op) {
  FailureOr<Strategy> strategy = requireStrategy(op);
  if (failed(strategy)) {
    return failure();
  }
  auto &[gridOp, nest, split] = *strategy;
  Grid grid = gridOp.getValue();
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<Value> value = valueAtStop(operand);
    if (failed(value)) {
      return failure();
    }
    Layout layout =
        operandLayout(nest, grid, split, operand.getOperandNumber());
    operand.set(bring(*value, {gridOp, layout}, op.getLoc()));
  }
  builder_.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    Type type = result.getType();
    define(result, {gridOp, resultLayout(nest, grid, split, index)});
    PlaceAttr place = spmd::getPlace(result);
    if (!place) {
      continue;
    }
    FailureOr<ResolvedPlace> target =
        requirePlace(op, place, type, "result " + Twine(index));
    if (failed(target)) {
      return failure();
    }
    // The way to the place itself keeps using the result.
    SmallVector<OpOperand *> users;
    for (OpOperand &use : result.getUses()) {
      users.push_back(&use);
    }
    Value placed = bring(result, *target, op.getLoc());
    for (OpOperand *use : users) {
      use->set(placed);
    }
  }
  return success();
}

LogicalResult FunctionPartitioner::visitRead(nn::ReadOp op) {
  FailureOr<ResolvedPlace> target = globalTarget(op, op.getGlobalAttr());
  if (failed(target)) {
    return failure();
  }
  define(op.getValue(), *target);
  return success();
}

LogicalResult FunctionPartitioner::visitUpdate(nn::UpdateOp op) {
  FailureOr<ResolvedPlace> target = globalTarget(op, op.getGlobalAttr());
  if (failed(target)) {
    return failure();
  }
  op.getValueMutable().assign(bring(op.getValue(), *target, op.getLoc()));
  return success();
}

LogicalResult FunctionPartitioner::visitReturn(func::ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    FailureOr<ResolvedPlace> target =
        requirePlace(function_, getResultPlace(function_, index),
                     operand.get().getType(), "result " + Twine(index));
    if (failed(target)) {
      return failure();
    }
    operand.set(bring(operand.get(), *target, op.getLoc()));
  }
  return success();
}

/// Operands go where the arguments of the body rest, and so do the results.
LogicalResult FunctionPartitioner::visitLoop(nn::LoopOp op) {
  FunctionOpInterface body = nn::lookupBody(op, op.getBodyAttr());
  SmallVector<ResolvedPlace> places;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    FailureOr<ResolvedPlace> place =
        requirePlace(body, getArgPlace(body, index), operand.get().getType(),
                     "argument " + Twine(index));
    if (failed(place)) {
      return failure();
    }
    places.push_back(*place);
    if (places.front().grid != place->grid) {
      return op.emitOpError()
             << "has values on " << places.front().grid.getRef() << " and "
             << place->grid.getRef() << ", expected one grid for all of a loop";
    }
    operand.set(bring(operand.get(), *place, op.getLoc()));
  }
  for (OpResult result : op->getResults()) {
    unsigned index = nn::carriedArgument(result.getResultNumber());
    define(result, places[index]);
    setPlace(result, getArgPlace(body, index));
  }
  return success();
}

FailureOr<ResolvedPlace>
FunctionPartitioner::globalTarget(Operation *op, FlatSymbolRefAttr symbol) {
  auto global = symbols_.lookupNearestSymbolFrom<nn::GlobalOp>(op, symbol);
  if (!global) {
    return op->emitOpError() << "no nn.global is called " << symbol;
  }
  return requirePlace(global, spmd::getPlace(global), global.getTensorType(),
                      "the global");
}

void FunctionPartitioner::define(Value value, const ResolvedPlace &target) {
  GridOp grid = target.grid;
  value.setType(localType(cast<RankedTensorType>(value.getType()),
                          grid.getValue(), target.layout));
  gridOf_[value] = grid;
}

Value FunctionPartitioner::convert(Value value, const ResolvedPlace &target,
                                   Location loc) {
  GridOp grid = target.grid;
  RankedTensorType type = localType(cast<RankedTensorType>(value.getType()),
                                    grid.getValue(), target.layout);
  if (value.getType() == type) {
    return value;
  }
  ++numConverts;
  Value converted =
      ConvertOp::create(builder_, loc, type, value, grid.getRef());
  gridOf_[converted] = grid;
  return converted;
}

// Within a grid one convert; between grids a transfer of a value that is not
// partial, with converts around it where it was or becomes so, or where parts
// are gathered that were sent. What has come to a grid for one operator is
// there for others.
Value FunctionPartitioner::bring(Value value, const ResolvedPlace &target,
                                 Location loc) {
  GridOp from = gridOf_.lookup(value), to = target.grid;
  if (from == to) {
    return convert(value, target, loc);
  }
  auto type = cast<RankedTensorType>(value.getType());
  Layout source = withoutPartial(getLocal(type).getLayout());
  SmallVector<Value, 1> &arrived = arrived_[{value, to}];
  Layout wanted =
      getLocal(localType(type, to.getValue(), target.layout)).getLayout();
  std::optional<Arrival> arrival =
      cost_.arrive(type, from, source, to, wanted,
                   llvm::map_to_vector(arrived, [](Value known) {
                     return getLocal(known.getType()).getLayout();
                   }));
  if (arrival && arrival->known) {
    return convert(arrived[*arrival->known], target, loc);
  }
  value = convert(value, {from, source}, loc);
  auto sourceType = cast<RankedTensorType>(value.getType());
  // Where there is no way from there, the router will say so.
  RankedTensorType targetType =
      localType(sourceType, to.getValue(),
                arrival ? arrival->way.via : withoutPartial(wanted));
  ++numTransfers;
  auto transfer = TransferOp::create(
      builder_, loc, targetType, value, from.getRef(), to.getRef(),
      TypeAttr::get(sourceType), TypeAttr::get(targetType), IntegerAttr());
  gridOf_[transfer.getOutput()] = to;
  arrived.push_back(transfer.getOutput());
  Value whole =
      convert(transfer.getOutput(), {to, withoutPartial(wanted)}, loc);
  if (whole != transfer.getOutput()) {
    arrived.push_back(whole);
  }
  return convert(whole, target, loc);
}

FailureOr<Value> FunctionPartitioner::valueAtStop(OpOperand &operand) {
  Value value = operand.get();
  PlaceAttr place = getStop(operand);
  if (!place) {
    return value;
  }
  Operation *op = operand.getOwner();
  FailureOr<ResolvedPlace> target =
      requirePlace(op, place, value.getType(),
                   "the stop of operand " + Twine(operand.getOperandNumber()));
  if (failed(target)) {
    return failure();
  }
  auto [known, isNew] = stops_.try_emplace({value, place});
  if (isNew) {
    known->second = bring(value, *target, op->getLoc());
  }
  return known->second;
}

void PartitionPass::runOnOperation() {
  Expected<Cluster> cluster = getCluster(getOperation());
  if (!cluster) {
    emitStatus(getOperation().getLoc(), cluster.status());
    return signalPassFailure();
  }
  OperationCost cost(getOperation(), *cluster);
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!isEntry(function)) {
      continue;
    }
    if (!function.getBody().hasOneBlock()) {
      function.emitOpError("has several blocks; expected a dataflow graph");
      return signalPassFailure();
    }
    // While it is still whole: verify-partition compares at the end.
    if (proves && failed(noteDataflow(function))) {
      return signalPassFailure();
    }
    FunctionPartitioner partitioner(function, cost);
    if (failed(partitioner.run())) {
      return signalPassFailure();
    }
    numConverts += partitioner.numConverts;
    numTransfers += partitioner.numTransfers;
  }
  noteOnModule(getOperation(), kStageAttr, "partition");
}
