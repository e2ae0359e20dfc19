//===- Program.cpp - A module as the planner sees it ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace divisi::plan {

/// Runs once when the artifact is made, on no grid.
static constexpr llvm::StringLiteral kInitFunction = "init";

int64_t elementBytes(RankedTensorType type) {
  return (type.getElementTypeBitWidth() + 7) / 8;
}

static Precision precisionOf(RankedTensorType type) {
  Type element = type.getElementType();
  if (element.isF64()) {
    return Precision::F64;
  }
  if (element.isF16()) {
    return Precision::F16;
  }
  return element.isBF16() ? Precision::BF16 : Precision::F32;
}

namespace {
/// Of a dimension, how many of its major iterations the batch reaches: of a
/// flattened [B·S] the B. Lookups only, never iterated.
using Reach = llvm::SmallVector<int64_t, 4>;

class ProgramReader {
public:
  ProgramReader(ModuleOp module, int64_t batchDim)
      : module_(module), batchDim_(batchDim) {}

  FailureOr<Program> read();

private:
  LogicalResult readEntry(func::FuncOp function);
  LogicalResult readOp(Operation &op);
  LogicalResult readReturn(func::ReturnOp op);
  FailureOr<unsigned> globalTensor(Operation &op, StringRef name);
  unsigned addTensor(Value value, Tensor tensor);
  void use(Value value, Consumer consumer);
  void reachLoops(Site &site);
  Reach resultReach(const Site &site, unsigned result) const;

  ModuleOp module_;
  int64_t batchDim_;
  Program program_;
  llvm::DenseMap<Value, unsigned> tensorOf_;
  llvm::DenseMap<Value, Reach> reach_;
  llvm::DenseSet<Value> parameters_; ///< Made from globals that are no state.
  llvm::StringMap<unsigned> globalTensorOf_;
};
} // namespace

unsigned ProgramReader::addTensor(Value value, Tensor tensor) {
  unsigned index = unsigned(program_.tensors.size());
  tensor.begin = program_.time;
  tensor.end = program_.time + 1;
  program_.tensors.push_back(std::move(tensor));
  if (value) {
    tensorOf_[value] = index;
  }
  return index;
}

void ProgramReader::use(Value value, Consumer consumer) {
  consumer.time = program_.time;
  Tensor &tensor = program_.tensors[tensorOf_.at(value)];
  tensor.consumers.push_back(consumer);
  tensor.end = std::max(tensor.end, program_.time + 1);
}

FailureOr<unsigned> ProgramReader::globalTensor(Operation &op, StringRef name) {
  auto known = globalTensorOf_.find(name);
  if (known != globalTensorOf_.end()) {
    return known->second;
  }
  auto global = module_.lookupSymbol<nn::GlobalOp>(name);
  if (!global) {
    return op.emitOpError() << "names the global @" << name
                            << ", but no nn.global has that name";
  }
  unsigned number = unsigned(program_.globals.size());
  program_.globals.push_back(global);
  unsigned index = addTensor({}, {.kind = Tensor::Kind::Global,
                                  .index = number,
                                  .type = global.getTensorType()});
  globalTensorOf_[name] = index;
  return index;
}

/// Marks the loops behind what the batch reaches of the operands.
void ProgramReader::reachLoops(Site &site) {
  site.batch.assign(site.nest.loops.size(), false);
  for (auto [number, operand] : llvm::enumerate(site.op->getOperands())) {
    auto known = reach_.find(operand);
    if (known == reach_.end()) {
      continue;
    }
    const TensorMap &map = site.nest.operands[number];
    for (auto [dim, reached] : llvm::zip_equal(map.dims, known->second)) {
      int64_t major = 1;
      for (LoopId loop : dim.loops) {
        if (major >= reached) {
          break;
        }
        site.batch[loop.index] = true;
        major *= site.nest.loop(loop).extent;
      }
    }
  }
}

Reach ProgramReader::resultReach(const Site &site, unsigned result) const {
  const TensorMap &map = site.nest.results[result];
  Reach reach;
  for (const DimMap &dim : map.dims) {
    int64_t major = 1;
    for (LoopId loop : dim.loops) {
      if (!site.batch[loop.index]) {
        break;
      }
      major *= site.nest.loop(loop).extent;
    }
    reach.push_back(major);
  }
  return reach;
}

LogicalResult ProgramReader::readReturn(func::ReturnOp op) {
  for (auto [number, value] : llvm::enumerate(op.getOperands())) {
    unsigned output = unsigned(program_.outputs.size());
    use(value, {.kind = Consumer::Kind::Output, .index = output});
    program_.outputs.push_back({unsigned(program_.entries.size() - 1),
                                unsigned(number), tensorOf_.at(value),
                                program_.time});
  }
  return success();
}

LogicalResult ProgramReader::readOp(Operation &op) {
  if (auto read = dyn_cast<nn::ReadOp>(op)) {
    FailureOr<unsigned> tensor = globalTensor(op, read.getGlobal());
    if (failed(tensor)) {
      return failure();
    }
    tensorOf_[read.getResult()] = *tensor;
    nn::GlobalOp global = program_.globals[program_.tensors[*tensor].index];
    if (global.getKind() != nn::GlobalKind::State) {
      parameters_.insert(read.getResult());
    }
    return success();
  }
  if (auto update = dyn_cast<nn::UpdateOp>(op)) {
    FailureOr<unsigned> tensor = globalTensor(op, update.getGlobal());
    if (failed(tensor)) {
      return failure();
    }
    use(update.getValue(), {.kind = Consumer::Kind::Update, .index = *tensor});
    return success();
  }
  if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    return readReturn(ret);
  }
  auto loops = dyn_cast<nn::LoopInterface>(op);
  if (!loops) {
    return op.emitOpError("cannot be planned; expected an operator with loops "
                          "(nn.LoopInterface)");
  }
  Site site;
  site.op = &op;
  site.nest = loops.getLoopNest();
  site.time = program_.time;
  for (Value operand : op.getOperands()) {
    site.widths.operands.push_back(
        elementBytes(cast<RankedTensorType>(operand.getType())));
    site.parameters.push_back(parameters_.contains(operand));
  }
  bool isParameter =
      !site.parameters.empty() && !llvm::is_contained(site.parameters, false);
  reachLoops(site);
  unsigned index = unsigned(program_.sites.size());
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    use(operand, {.index = index, .operand = unsigned(number)});
  }
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    site.widths.results.push_back(elementBytes(type));
    site.widths.precision = precisionOf(type);
    reach_[result] = resultReach(site, unsigned(number));
    if (isParameter) {
      parameters_.insert(result);
    }
    addTensor(result,
              {.index = index, .number = unsigned(number), .type = type});
  }
  program_.sites.push_back(std::move(site));
  return success();
}

LogicalResult ProgramReader::readEntry(func::FuncOp function) {
  if (!function.getBody().hasOneBlock()) {
    return function.emitOpError("has no body of one block, so it cannot be "
                                "planned");
  }
  unsigned entry = unsigned(program_.entries.size());
  program_.entries.push_back(function);
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type) {
      return function.emitOpError()
             << "has an argument of type " << argument.getType()
             << ", expected a tensor";
    }
    Reach reach(type.getRank(), 1);
    if (batchDim_ < type.getRank()) {
      reach[batchDim_] = type.getDimSize(batchDim_);
    }
    reach_[argument] = reach;
    addTensor(argument, {.kind = Tensor::Kind::Argument,
                         .index = entry,
                         .number = argument.getArgNumber(),
                         .type = type});
  }
  for (Operation &op : function.getBody().front()) {
    if (failed(readOp(op))) {
      return failure();
    }
    ++program_.time;
  }
  return success();
}

FailureOr<Program> ProgramReader::read() {
  for (auto function : module_.getOps<func::FuncOp>()) {
    if (function.getSymName() != kInitFunction && failed(readEntry(function))) {
      return failure();
    }
  }
  for (Tensor &tensor : program_.tensors) {
    if (tensor.kind == Tensor::Kind::Global) {
      tensor.begin = 0;
      tensor.end = program_.time;
    }
  }
  return std::move(program_);
}

FailureOr<Program> readProgram(ModuleOp module, int64_t batchDim) {
  return ProgramReader(module, batchDim).read();
}

} // namespace divisi::plan
