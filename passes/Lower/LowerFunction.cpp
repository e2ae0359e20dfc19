//===- LowerFunction.cpp - From a local function to a program -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks each function once, in order, and keeps for every SSA value the buffer
// that holds it:
//
//   func.func @forward__0(%x) {                exec.program @forward__0 … {
//     %w = nn.read @w                            %x = exec.input 0
//     %0 = nn.matmul %x, %w               →      %w = exec.global @w
//     %1 = spmd.all_reduce %0                    %0 = exec.alloc
//     %2 = nn.reshape %1                         exec.call "nn.matmul"(%x, %w)
//     return %2                                      into (%0)
//   }                                            %1 = exec.alloc
//                                                exec.collective "all_reduce" …
//                                                %2 = exec.view %1
//                                                exec.output 0 %2
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/LowerFunction.h"

#include "dialects/NN/Bodies.h"
#include "dialects/NN/Locations.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Evaluate/KernelCall.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// Lowers one function into the program that `builder` stands in.
class FunctionLowering {
public:
  FunctionLowering(OpBuilder &builder, func::FuncOp function)
      : builder_(builder), function_(function) {}

  LogicalResult run();

private:
  LogicalResult lower(Operation &op);
  LogicalResult lowerOperator(nn::LoopInterface op);
  LogicalResult lowerFused(nn::LoopInterface last);
  LogicalResult lowerTransfer(spmd::TransferOp op);
  LogicalResult lowerLoop(nn::LoopOp op);
  void lowerStep(spmd::StepInterface step);
  LogicalResult lowerReturn(func::ReturnOp op);

  FailureOr<FlatSymbolRefAttr> gridOf(Operation *op);
  Value allocate(Location loc, Type tensor, FlatSymbolRefAttr grid);

  OpBuilder &builder_;
  func::FuncOp function_;
  SymbolTableCollection symbols_;
  IRMapping buffers_;
};

} // namespace

BufferType divisi::bufferType(Type tensor, FlatSymbolRefAttr grid) {
  return BufferType::get(grid.getContext(), cast<RankedTensorType>(tensor),
                         grid);
}

std::optional<int64_t> divisi::indexIn(DictionaryAttr attributes) {
  auto index = attributes
                   ? attributes.getAs<IntegerAttr>(spmd::SPMDDialect::kIndex)
                   : IntegerAttr();
  return index ? std::optional(index.getInt()) : std::nullopt;
}

Value FunctionLowering::allocate(Location loc, Type tensor,
                                 FlatSymbolRefAttr grid) {
  return AllocOp::create(builder_, loc, bufferType(tensor, grid),
                         /*offset=*/IntegerAttr());
}

FailureOr<FlatSymbolRefAttr> FunctionLowering::gridOf(Operation *op) {
  if (spmd::SplitAttr split = spmd::getSplit(op)) {
    return split.getGrid();
  }
  return op->emitOpError("has no strategy; run the partition stage first");
}

LogicalResult FunctionLowering::lowerOperator(nn::LoopInterface op) {
  FailureOr<FlatSymbolRefAttr> grid = gridOf(op);
  if (failed(grid)) {
    return failure();
  }
  Location loc = op.getLoc();
  if (auto constant = dyn_cast<nn::ConstantOp>(op.getOperation())) {
    BufferType type = bufferType(constant.getType(), *grid);
    Value buffer = ConstantOp::create(builder_, loc, type, constant.getValue());
    buffers_.map(constant.getResult(), buffer);
    return success();
  }
  SmallVector<Value> inputs, outputs;
  for (Value operand : op->getOperands()) {
    inputs.push_back(buffers_.lookup(operand));
  }
  DictionaryAttr config = kernelConfig(op);
  StringRef callee = op->getName().getStringRef();
  std::optional<rt::KernelQuery> query =
      queryKernel(callee, config, op->getOperandTypes(), op->getResultTypes());
  if (!query) {
    return op.emitOpError("has no kernel for these types");
  }
  if (std::optional<unsigned> viewed =
          viewedOperand(*query, op->getNumResults())) {
    BufferType type = bufferType(op->getResult(0).getType(), *grid);
    Value source = inputs[*viewed];
    int64_t offset = query->views[0].offset;
    IntegerAttr at = offset != 0 ? builder_.getI64IntegerAttr(offset) : nullptr;
    buffers_.map(op->getResult(0),
                 ViewOp::create(builder_, loc, type, source, at));
    return success();
  }
  for (Value result : op->getResults()) {
    outputs.push_back(allocate(loc, result.getType(), *grid));
    buffers_.map(result, outputs.back());
  }
  CallOp::create(builder_, loc, callee, inputs, outputs, config);
  return success();
}

/// The operand of `op` that the same call makes; null if there is none.
static OpOperand *fusedOperand(Operation *op) {
  auto number = op->getAttrOfType<IntegerAttr>(spmd::SPMDDialect::kFuse);
  return number ? &op->getOpOperand(number.getInt()) : nullptr;
}

/// Whether the call of another operator makes what `op` does.
static bool isFusedIntoUser(Operation *op) {
  return op->getNumResults() == 1 && op->hasOneUse() &&
         fusedOperand(*op->user_begin()) == &*op->use_begin();
}

/// A location that names the nodes of all `parts`.
static Location locationOf(ArrayRef<Operation *> parts) {
  SmallVector<std::string> names;
  for (Operation *part : parts) {
    std::string name = nn::nodeName(part->getLoc());
    if (!name.empty() && !llvm::is_contained(names, name)) {
      names.push_back(std::move(name));
    }
  }
  Location last = parts.back()->getLoc();
  return names.empty() ? last
                       : NameLoc::get(StringAttr::get(last.getContext(),
                                                      llvm::join(names, " + ")),
                                      last);
}

/// Lowers `last` and all that its call makes beside, which are on one grid.
LogicalResult FunctionLowering::lowerFused(nn::LoopInterface last) {
  FailureOr<FlatSymbolRefAttr> grid = gridOf(last);
  if (failed(grid)) {
    return failure();
  }
  SmallVector<Operation *> parts = {last};
  while (OpOperand *operand = fusedOperand(parts.front())) {
    parts.insert(parts.begin(), operand->get().getDefiningOp());
  }
  llvm::SetVector<Value> operands;
  for (auto [index, part] : llvm::enumerate(parts)) {
    OpOperand *made = index == 0 ? nullptr : fusedOperand(part);
    for (OpOperand &operand : part->getOpOperands()) {
      if (&operand != made) {
        operands.insert(operand.get());
      }
    }
  }
  SmallVector<Value> inputs, outputs;
  for (Value operand : operands) {
    inputs.push_back(buffers_.lookup(operand));
  }
  Location loc = locationOf(parts);
  for (Value result : last->getResults()) {
    outputs.push_back(allocate(loc, result.getType(), *grid));
    buffers_.map(result, outputs.back());
  }
  auto call = CallOp::create(builder_, loc, ExecDialect::kFused, inputs,
                             outputs, builder_.getDictionaryAttr({}));
  OpBuilder::InsertionGuard guard(builder_);
  Block *block = builder_.createBlock(&call.getBody());
  IRMapping values;
  for (Value operand : operands) {
    values.map(operand,
               block->addArgument(operand.getType(), operand.getLoc()));
  }
  for (Operation *part : parts) {
    builder_.clone(*part, values)
        ->setDiscardableAttrs(builder_.getDictionaryAttr({}));
  }
  auto results = llvm::map_to_vector(
      last->getResults(), [&](Value result) { return values.lookup(result); });
  YieldOp::create(builder_, loc, results);
  return success();
}

void FunctionLowering::lowerStep(spmd::StepInterface step) {
  Value target =
      allocate(step.getLoc(), step.getOutput().getType(), step.getGridAttr());
  CollectiveOp::create(
      builder_, step.getLoc(), Type(), stringifyStepKind(step.getStepKind()),
      step.getAxesAttr(), step.getTag().value_or(0),
      buffers_.lookup(step.getInput()), target, StringAttr(), ValueRange());
  buffers_.map(step.getOutput(), target);
}

LogicalResult FunctionLowering::lowerTransfer(spmd::TransferOp op) {
  if (!op.getTag()) {
    return op.emitOpError("has no tag; run split-ranks first");
  }
  Value source, target;
  if (op.getInput()) {
    source = buffers_.lookup(op.getInput());
  }
  if (op.getOutput()) {
    target = allocate(op.getLoc(), op.getTo(), op.getTargetGridAttr());
    buffers_.map(op.getOutput(), target);
  }
  TransferOp::create(builder_, op.getLoc(), Type(),
                     bufferType(op.getFrom(), op.getSourceGridAttr()),
                     bufferType(op.getTo(), op.getTargetGridAttr()),
                     *op.getTag(), source, target, StringAttr(), ValueRange());
  return success();
}

LogicalResult FunctionLowering::lowerLoop(nn::LoopOp op) {
  spmd::PlaceAttr place = spmd::getPlace(op->getResult(0));
  if (!place) {
    return op.emitOpError("has no place; run the partition stage first");
  }
  SmallVector<Value> operands, outputs, spares;
  for (Value operand : op.getValues()) {
    operands.push_back(buffers_.lookup(operand));
  }
  for (Value result : op->getResults()) {
    outputs.push_back(allocate(op.getLoc(), result.getType(), place.getGrid()));
    spares.push_back(allocate(op.getLoc(), result.getType(), place.getGrid()));
    buffers_.map(result, outputs.back());
  }
  ArrayRef<Value> values = operands;
  LoopOp::create(
      builder_, op.getLoc(), Type(), op.getBody(), uint64_t(op.getMax()),
      buffers_.lookup(op.getCount()), values.take_front(outputs.size()),
      values.drop_front(outputs.size()), outputs, spares,
      /*arena=*/Value(), /*device_arena=*/Value(), StringAttr(), ValueRange());
  return success();
}

LogicalResult FunctionLowering::lowerReturn(func::ReturnOp op) {
  for (auto [number, value] : llvm::enumerate(op.getOperands())) {
    std::optional<int64_t> index = indexIn(function_.getResultAttrDict(number));
    if (!index) {
      return op.emitOpError("returns a value without an index; run split-ranks "
                            "first");
    }
    OutputOp::create(builder_, op.getLoc(), Type(), *index,
                     buffers_.lookup(value), StringAttr(), ValueRange());
  }
  return success();
}

LogicalResult FunctionLowering::lower(Operation &op) {
  if (auto read = dyn_cast<nn::ReadOp>(op)) {
    auto global = symbols_.lookupNearestSymbolFrom<nn::GlobalOp>(
        read, read.getGlobalAttr());
    spmd::PlaceAttr place = global ? spmd::getPlace(global) : nullptr;
    if (!place) {
      return read.emitOpError("reads a global without a place");
    }
    BufferType type = bufferType(read.getType(), place.getGrid());
    buffers_.map(read.getResult(), GlobalOp::create(builder_, op.getLoc(), type,
                                                    read.getGlobalAttr()));
    return success();
  }
  if (auto update = dyn_cast<nn::UpdateOp>(op)) {
    UpdateOp::create(builder_, op.getLoc(), Type(), update.getGlobalAttr(),
                     buffers_.lookup(update.getValue()), StringAttr(),
                     ValueRange());
    return success();
  }
  if (auto step = dyn_cast<spmd::StepInterface>(op)) {
    lowerStep(step);
    return success();
  }
  if (auto transfer = dyn_cast<spmd::TransferOp>(op)) {
    return lowerTransfer(transfer);
  }
  if (auto returns = dyn_cast<func::ReturnOp>(op)) {
    return lowerReturn(returns);
  }
  if (auto loop = dyn_cast<nn::LoopOp>(op)) {
    return lowerLoop(loop);
  }
  if (auto loops = dyn_cast<nn::LoopInterface>(op)) {
    if (isFusedIntoUser(&op)) {
      return success(); // with its user
    }
    return fusedOperand(&op) ? lowerFused(loops) : lowerOperator(loops);
  }
  return op.emitOpError("cannot be lowered: it is neither an operator of nn "
                        "nor a step of spmd; run verify-partition");
}

LogicalResult FunctionLowering::run() {
  for (BlockArgument argument : function_.getArguments()) {
    unsigned number = argument.getArgNumber();
    spmd::PlaceAttr place = spmd::getArgPlace(function_, number);
    std::optional<int64_t> index = indexIn(function_.getArgAttrDict(number));
    if (!place || !index) {
      return function_.emitOpError("argument ")
             << number << " has no place or index; run split-ranks first";
    }
    BufferType type = bufferType(argument.getType(), place.getGrid());
    buffers_.map(argument,
                 InputOp::create(builder_, argument.getLoc(), type, *index));
  }
  for (Operation &op : function_.getBody().front()) {
    if (failed(lower(op))) {
      return failure();
    }
  }
  return success();
}

LogicalResult divisi::lowerFunction(OpBuilder &builder, func::FuncOp function) {
  return FunctionLowering(builder, function).run();
}
