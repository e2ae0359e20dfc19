//===- LowerToExec.cpp - From local functions to programs -----------------===//
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

#include "passes/Lower/Passes.h"

#include "dialects/NN/Bodies.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Evaluate/KernelCall.h"
#include "passes/ModuleNotes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include <map>

namespace divisi {
#define GEN_PASS_DEF_LOWERTOEXEC
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

static BufferType bufferType(Type tensor, FlatSymbolRefAttr grid) {
  return BufferType::get(grid.getContext(), cast<RankedTensorType>(tensor),
                         grid);
}

/// The index in the entry's signature of an argument or result with these
/// attributes.
static std::optional<int64_t> indexIn(DictionaryAttr attributes) {
  auto index = attributes
                   ? attributes.getAs<IntegerAttr>(spmd::SPMDDialect::kIndex)
                   : IntegerAttr();
  return index ? std::optional(index.getInt()) : std::nullopt;
}

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
  LogicalResult lowerTransfer(spmd::TransferOp op);
  LogicalResult lowerLoop(nn::LoopOp op);
  void lowerStep(spmd::StepInterface step);
  LogicalResult lowerReturn(func::ReturnOp op);

  FailureOr<FlatSymbolRefAttr> gridOf(Operation *op);
  Value allocate(Location loc, Type tensor, FlatSymbolRefAttr grid);

  OpBuilder &builder_;
  func::FuncOp function_;
  IRMapping buffers_;
};

/// See Passes.td.
class LowerToExecPass : public divisi::impl::LowerToExecBase<LowerToExecPass> {
public:
  void runOnOperation() override;
};

/// The inputs or outputs of an entry, collected from the functions that have
/// them.
struct Signature {
  std::map<int64_t, std::pair<StringAttr, BufferType>> values;

  LogicalResult add(func::FuncOp function, DictionaryAttr attributes,
                    spmd::PlaceAttr place, Type type);
  ArrayAttr names(Builder &builder) const;
  ArrayAttr types(Builder &builder) const;
};

/// An entry and the functions that split-ranks has made of it.
struct EntryParts {
  StringAttr name;
  bool isBody = false;
  SmallVector<func::FuncOp, 1> functions;
  Signature inputs, outputs;
};

} // namespace

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
    buffers_.map(op->getResult(0), ViewOp::create(builder_, loc, type, source));
    return success();
  }
  for (Value result : op->getResults()) {
    outputs.push_back(allocate(loc, result.getType(), *grid));
    buffers_.map(result, outputs.back());
  }
  CallOp::create(builder_, loc, Type(), callee, inputs, outputs, config,
                 StringAttr(), ValueRange(), DenseI64ArrayAttr(), IntegerAttr(),
                 IntegerAttr());
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
  LoopOp::create(builder_, op.getLoc(), Type(), op.getBody(),
                 uint64_t(op.getMax()), buffers_.lookup(op.getCount()),
                 values.take_front(outputs.size()),
                 values.drop_front(outputs.size()), outputs, spares,
                 /*arena=*/Value(), StringAttr(), ValueRange());
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
    auto global = SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(
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
    return lowerOperator(loops);
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

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

LogicalResult Signature::add(func::FuncOp function, DictionaryAttr attributes,
                             spmd::PlaceAttr place, Type type) {
  std::optional<int64_t> index = indexIn(attributes);
  if (!place || !index) {
    return function.emitOpError("has an argument or result without place or "
                                "index; run split-ranks first");
  }
  auto name = attributes.getAs<StringAttr>("nn.name");
  if (!name) {
    name = StringAttr::get(function.getContext(), std::to_string(*index));
  }
  values[*index] = {name, bufferType(type, place.getGrid())};
  return success();
}

ArrayAttr Signature::names(Builder &builder) const {
  SmallVector<Attribute> names;
  for (const auto &[index, value] : values) {
    names.push_back(value.first);
  }
  return builder.getArrayAttr(names);
}

ArrayAttr Signature::types(Builder &builder) const {
  SmallVector<Attribute> types;
  for (const auto &[index, value] : values) {
    types.push_back(TypeAttr::get(value.second));
  }
  return builder.getArrayAttr(types);
}

static LogicalResult addSignature(EntryParts &entry, func::FuncOp function) {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (failed(entry.inputs.add(function, function.getArgAttrDict(i),
                                spmd::getArgPlace(function, i), type))) {
      return failure();
    }
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    if (failed(entry.outputs.add(function, function.getResultAttrDict(i),
                                 spmd::getResultPlace(function, i), type))) {
      return failure();
    }
  }
  return success();
}

/// All entries, in the module's order.
static FailureOr<std::vector<EntryParts>> collectEntries(ModuleOp module) {
  std::vector<EntryParts> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!spmd::isEntry(function)) {
      continue;
    }
    auto name = function->getAttrOfType<StringAttr>(spmd::SPMDDialect::kEntry);
    if (!name) {
      return function.emitOpError("belongs to no set of ranks; run split-ranks "
                                  "first");
    }
    auto entry = llvm::find_if(entries, [&](const EntryParts &candidate) {
      return candidate.name == name;
    });
    if (entry == entries.end()) {
      entry = entries.insert(
          entries.end(), EntryParts{name, nn::isBody(function), {}, {}, {}});
    }
    entry->functions.push_back(function);
    if (failed(addSignature(*entry, function))) {
      return failure();
    }
  }
  return entries;
}

/// Replaces `function` by a program of the same name.
static LogicalResult lowerProgram(func::FuncOp function, StringAttr entry) {
  auto ranks =
      function->getAttrOfType<DenseI32ArrayAttr>(spmd::SPMDDialect::kRanks);
  if (!ranks) {
    return function.emitOpError("has no ranks; run split-ranks first");
  }
  SmallVector<int64_t> wide(ranks.asArrayRef());
  OpBuilder builder(function);
  auto program = ProgramOp::create(
      builder, function.getLoc(), function.getSymNameAttr(),
      FlatSymbolRefAttr::get(entry), builder.getDenseI64ArrayAttr(wide),
      builder.getI64IntegerAttr(0), /*device_arenas=*/DictionaryAttr(),
      function->getAttrOfType<UnitAttr>(spmd::SPMDDialect::kOverlap));
  builder.createBlock(&program.getBody());
  if (failed(FunctionLowering(builder, function).run())) {
    return failure();
  }
  function.erase();
  return success();
}

void LowerToExecPass::runOnOperation() {
  FailureOr<std::vector<EntryParts>> entries = collectEntries(getOperation());
  if (failed(entries)) {
    return signalPassFailure();
  }
  for (EntryParts &entry : *entries) {
    OpBuilder builder(entry.functions.front());
    EntryOp::create(builder, entry.functions.front().getLoc(), entry.name,
                    entry.inputs.names(builder), entry.inputs.types(builder),
                    entry.outputs.names(builder), entry.outputs.types(builder),
                    entry.isBody);
  }
  for (EntryParts &entry : *entries) {
    for (func::FuncOp function : entry.functions) {
      if (failed(lowerProgram(function, entry.name))) {
        return signalPassFailure();
      }
    }
  }
  noteOnModule(getOperation(), kStageAttr, "lower");
}
