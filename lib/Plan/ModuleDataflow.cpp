//===- ModuleDataflow.cpp - The dataflow of a module ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/ModuleDataflow.h"

#include "SiteKinds.h"
#include "dialects/NN/Functions.h"
#include "divisi/Cost/Fusion.h"
#include "divisi/Evaluate/KernelCall.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;

namespace divisi::plan {

namespace {
/// Of a dimension, how many of its major iterations the batch reaches: of a
/// flattened [B·S] the B. Lookups only, never iterated.
using Reach = llvm::SmallVector<int64_t, 4>;

class DataflowReader {
public:
  DataflowReader(ModuleOp module, int64_t batchDim)
      : module_(module), batchDim_(batchDim) {}

  FailureOr<ModuleDataflow> read();

private:
  LogicalResult readEntry(func::FuncOp function);
  LogicalResult readOp(Operation &op);
  LogicalResult readSite(nn::LoopInterface op);
  LogicalResult readReturn(func::ReturnOp op);
  FailureOr<unsigned> globalValue(Operation &op, StringRef name);
  unsigned addValue(Value value, RankedTensorType type, DataflowValue tensor);
  void use(Value value, Consumer consumer);
  void reachLoops(Site &site, ValueRange operands);
  Reach resultReach(const Site &site, unsigned result) const;
  void addStops();

  /// Where in a list of consumers.
  struct UserOf {
    unsigned tensor = 0, consumer = 0;
  };

  ModuleOp module_;
  int64_t batchDim_;
  ModuleDataflow dataflow_;
  SiteKinds kinds_;
  llvm::DenseMap<Value, unsigned> valueOf_;
  llvm::DenseMap<Value, Reach> reach_;
  llvm::DenseMap<Operation *, OpFusion> fusions_; ///< Of one entry.
  llvm::DenseSet<Value> parameters_; ///< Made from globals that are no state.
  llvm::StringMap<unsigned> globalValueOf_;
  /// Users that are alike, by value, kind of site and operand; in the order of
  /// their first ones.
  std::map<std::tuple<const void *, unsigned, unsigned>, size_t> groupOf_;
  std::vector<std::vector<UserOf>> groups_;
};
} // namespace

unsigned DataflowReader::addValue(Value value, RankedTensorType type,
                                  DataflowValue tensor) {
  unsigned index = unsigned(dataflow_.values.size());
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  tensor.bits = nn::elementBits(type.getElementType());
  tensor.begin = dataflow_.time;
  tensor.end = dataflow_.time + 1;
  dataflow_.values.push_back(std::move(tensor));
  if (value) {
    valueOf_[value] = index;
  }
  return index;
}

void DataflowReader::use(Value value, Consumer consumer) {
  consumer.time = dataflow_.time;
  unsigned index = valueOf_.at(value);
  DataflowValue &tensor = dataflow_.values[index];
  if (consumer.kind == Consumer::Kind::Operand) {
    auto [group, isNew] = groupOf_.try_emplace(
        {value.getAsOpaquePointer(), dataflow_.sites[consumer.index].kind,
         consumer.operand},
        groups_.size());
    if (isNew) {
      groups_.emplace_back();
    }
    groups_[group->second].push_back(
        {index, unsigned(tensor.consumers.size())});
  }
  tensor.consumers.push_back(consumer);
  tensor.end = std::max(tensor.end, dataflow_.time + 1);
}

/// Where all users of an operator's result are alike, it may rest where they
/// want it, and no stop is needed.
void DataflowReader::addStops() {
  for (const std::vector<UserOf> &group : groups_) {
    unsigned index = group.front().tensor;
    DataflowValue &tensor = dataflow_.values[index];
    if (group.size() < 2 || (tensor.kind == DataflowValue::Kind::Result &&
                             group.size() == tensor.consumers.size())) {
      continue;
    }
    for (const UserOf &user : group) {
      tensor.consumers[user.consumer].stop = unsigned(dataflow_.stops.size());
    }
    dataflow_.stops.push_back(
        {index, tensor.consumers[group.front().consumer].time,
         tensor.consumers[group.back().consumer].time + 1});
  }
}

/// A global is one value, however many entries read it.
FailureOr<unsigned> DataflowReader::globalValue(Operation &op, StringRef name) {
  auto known = globalValueOf_.find(name);
  if (known != globalValueOf_.end()) {
    return known->second;
  }
  auto global = module_.lookupSymbol<nn::GlobalOp>(name);
  if (!global) {
    return op.emitOpError() << "names the global @" << name
                            << ", but no nn.global has that name";
  }
  unsigned number = unsigned(dataflow_.globals.size());
  dataflow_.globals.push_back(global);
  unsigned index = addValue({}, global.getTensorType(),
                            {.kind = DataflowValue::Kind::Global,
                             .index = number,
                             .name = "@" + name.str()});
  globalValueOf_[name] = index;
  return index;
}

/// Marks the loops behind what the batch reaches of the operands.
void DataflowReader::reachLoops(Site &site, ValueRange operands) {
  site.batch.assign(site.nest.loops.size(), false);
  for (auto [number, operand] : llvm::enumerate(operands)) {
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

/// The batch reaches a result as far as the major loops of each dimension are
/// reached: of [B·S, E] the B iterations of the first.
Reach DataflowReader::resultReach(const Site &site, unsigned result) const {
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

LogicalResult DataflowReader::readReturn(func::ReturnOp op) {
  for (auto [number, value] : llvm::enumerate(op.getOperands())) {
    unsigned output = unsigned(dataflow_.outputs.size());
    use(value, {.kind = Consumer::Kind::Output, .index = output});
    dataflow_.outputs.push_back({unsigned(dataflow_.entries.size() - 1),
                                 unsigned(number), valueOf_.at(value),
                                 dataflow_.time});
  }
  return success();
}

LogicalResult DataflowReader::readOp(Operation &op) {
  if (auto read = dyn_cast<nn::ReadOp>(op)) {
    FailureOr<unsigned> tensor = globalValue(op, read.getGlobal());
    if (failed(tensor)) {
      return failure();
    }
    valueOf_[read.getResult()] = *tensor;
    nn::GlobalOp global = dataflow_.globals[dataflow_.values[*tensor].index];
    if (global.getKind() != nn::GlobalKind::State) {
      parameters_.insert(read.getResult());
    }
    return success();
  }
  if (auto update = dyn_cast<nn::UpdateOp>(op)) {
    FailureOr<unsigned> tensor = globalValue(op, update.getGlobal());
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
  return readSite(loops);
}

/// As plan-memory will decide, as far as the global types tell.
static ResultBuffers buffersOf(nn::LoopInterface op) {
  ResultBuffers buffers;
  buffers.isConstant = isa<nn::ConstantOp>(op);
  std::optional<rt::KernelQuery> query =
      queryKernel(op->getName().getStringRef(), kernelConfig(op),
                  op->getOperandTypes(), op->getResultTypes());
  if (buffers.isConstant || !query) {
    return buffers;
  }
  buffers.viewed = viewedOperand(*query, op->getNumResults());
  for (auto [operand, result] : query->inPlace) {
    auto bytes = [](Value value) {
      return *nn::byteCount(cast<RankedTensorType>(value.getType()));
    };
    if (op->getNumResults() == 1 &&
        bytes(op->getOperand(operand)) == bytes(op->getResult(result))) {
      buffers.overwritable.push_back(unsigned(operand));
    }
  }
  return buffers;
}

LogicalResult DataflowReader::readSite(nn::LoopInterface op) {
  Site site;
  site.name = op->getName().getStringRef().str();
  site.nest = op.getLoopNest();
  site.profile = profileOf(op);
  site.buffers = buffersOf(op);
  site.fusible = fusions_.lookup(op).fusible;
  site.numResults = op->getNumResults();
  site.time = dataflow_.time;
  for (Value operand : op->getOperands()) {
    site.parameters.push_back(parameters_.contains(operand));
  }
  bool isParameter =
      !site.parameters.empty() && !llvm::is_contained(site.parameters, false);
  reachLoops(site, op->getOperands());
  site.kind = kinds_.of(site, op);
  unsigned index = unsigned(dataflow_.sites.size());
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    reach_[result] = resultReach(site, unsigned(number));
    if (isParameter) {
      parameters_.insert(result);
    }
  }
  dataflow_.ops.push_back(op);
  dataflow_.sites.push_back(std::move(site));
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    use(operand, {.index = index, .operand = unsigned(number)});
  }
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    addValue(result, cast<RankedTensorType>(result.getType()),
             {.index = index, .number = unsigned(number)});
  }
  return success();
}

/// Every operation takes one unit of time, also those that are no sites: times
/// are positions in the program.
LogicalResult DataflowReader::readEntry(func::FuncOp function) {
  if (!function.getBody().hasOneBlock()) {
    return function.emitOpError("has no body of one block, so it cannot be "
                                "planned");
  }
  fusions_ = fusionsOf(function.getBody().front());
  unsigned entry = unsigned(dataflow_.entries.size());
  dataflow_.entries.push_back(function);
  int64_t begin = dataflow_.time;
  size_t firstArgument = dataflow_.values.size();
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
    addValue(argument, type,
             {.kind = DataflowValue::Kind::Argument,
              .index = entry,
              .number = argument.getArgNumber()});
  }
  for (Operation &op : function.getBody().front()) {
    if (failed(readOp(op))) {
      return failure();
    }
    ++dataflow_.time;
  }
  dataflow_.entryTimes.push_back({begin, dataflow_.time});
  // Whoever runs it keeps them until it is over.
  for (size_t i = 0; i != function.getNumArguments(); ++i) {
    dataflow_.values[firstArgument + i].end = dataflow_.time;
  }
  return success();
}

FailureOr<ModuleDataflow> DataflowReader::read() {
  for (auto function : module_.getOps<func::FuncOp>()) {
    if (!nn::isInit(function) && failed(readEntry(function))) {
      return failure();
    }
  }
  for (DataflowValue &tensor : dataflow_.values) {
    if (tensor.kind == DataflowValue::Kind::Global) {
      tensor.begin = 0;
      tensor.end = dataflow_.time;
    }
  }
  addStops();
  return std::move(dataflow_);
}

FailureOr<ModuleDataflow> readDataflow(ModuleOp module, int64_t batchDim) {
  return DataflowReader(module, batchDim).read();
}

} // namespace divisi::plan
