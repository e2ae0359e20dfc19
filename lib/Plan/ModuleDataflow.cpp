//===- ModuleDataflow.cpp - The dataflow of a module ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/ModuleDataflow.h"

#include "BatchReach.h"
#include "CheckTypes.h"
#include "FoldedBatches.h"
#include "SiteKinds.h"
#include "WantedSites.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Carries.h"
#include "dialects/NN/Functions.h"
#include "dialects/Pipe/Pipe.h"
#include "divisi/Cost/Fusion.h"
#include "divisi/Evaluate/KernelCall.h"
#include "divisi/Plan/TrainingStates.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;

namespace divisi::plan {

namespace {
class DataflowReader {
public:
  DataflowReader(ModuleOp module, int64_t batchDim)
      : module_(module), symbols_(module), reach_(batchDim) {}

  FailureOr<ModuleDataflow> read();

private:
  LogicalResult readEntry(func::FuncOp function);
  FailureOr<unsigned> addEntry(func::FuncOp function);
  LogicalResult readOps(func::FuncOp function);
  LogicalResult readLoop(nn::LoopOp op);
  LogicalResult checkBodies();
  LogicalResult readOp(Operation &op);
  LogicalResult readSite(nn::LoopInterface op);
  LogicalResult readReturn(func::ReturnOp op);
  FailureOr<unsigned> globalValue(Operation &op, StringRef name);
  unsigned addValue(Value value, RankedTensorType type, DataflowValue tensor);
  void use(Value value, Consumer consumer);
  void addStops();

  /// Where in a list of consumers.
  struct UserOf {
    unsigned tensor = 0, consumer = 0;
  };

  ModuleOp module_;
  SymbolTable symbols_;
  ModuleDataflow dataflow_;
  SiteKinds kinds_;
  llvm::DenseMap<Value, unsigned> valueOf_;
  BatchReach reach_;
  llvm::DenseMap<Operation *, OpFusion> fusions_; ///< Of one entry.
  llvm::DenseSet<Value> parameters_; ///< Made from globals that are no state.
  llvm::StringMap<unsigned> globalValueOf_;
  /// By function: its number, and that of the tensor of its first argument.
  llvm::DenseMap<Operation *, unsigned> entryOf_, firstArgumentOf_;
  /// Of the function that is read: see Site::repeats.
  int64_t repeats_ = 1;
  /// When operators run that stand for those of all micro-batches.
  llvm::SmallVector<EntryTimes, 1> batches_;
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
  tensor.repeats = repeats_;
  dataflow_.values.push_back(std::move(tensor));
  if (value) {
    valueOf_[value] = index;
  }
  return index;
}

void DataflowReader::use(Value value, Consumer consumer) {
  consumer.time = dataflow_.time;
  consumer.repeats = repeats_;
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
    const Consumer &first = tensor.consumers[group.front().consumer];
    bool isOnce = group.size() < 2 && first.repeats <= tensor.repeats;
    if (isOnce || (tensor.kind == DataflowValue::Kind::Result &&
                   group.size() == tensor.consumers.size())) {
      continue;
    }
    for (const UserOf &user : group) {
      tensor.consumers[user.consumer].stop = unsigned(dataflow_.stops.size());
    }
    int64_t end = tensor.consumers[group.back().consumer].time + 1;
    for (const EntryTimes &batches : batches_) {
      end = std::max(end, endForBatches(tensor, first, batches));
    }
    dataflow_.stops.push_back(
        {index, first.time, end, std::min(first.repeats, tensor.repeats)});
  }
}

/// A global is one value, however many entries read it.
FailureOr<unsigned> DataflowReader::globalValue(Operation &op, StringRef name) {
  auto known = globalValueOf_.find(name);
  if (known != globalValueOf_.end()) {
    return known->second;
  }
  auto global = symbols_.lookup<nn::GlobalOp>(name);
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

/// What a body returns becomes its arguments.
LogicalResult DataflowReader::readReturn(func::ReturnOp op) {
  auto function = cast<func::FuncOp>(op->getParentOp());
  if (nn::isBody(function)) {
    unsigned first = firstArgumentOf_.at(function);
    for (auto [number, value] : llvm::enumerate(op.getOperands())) {
      use(value, {.kind = Consumer::Kind::Argument,
                  .index = first + nn::carriedArgument(unsigned(number))});
    }
    return success();
  }
  for (auto [number, value] : llvm::enumerate(op.getOperands())) {
    unsigned output = unsigned(dataflow_.outputs.size());
    use(value, {.kind = Consumer::Kind::Output, .index = output});
    dataflow_.outputs.push_back({entryOf_.at(function), unsigned(number),
                                 valueOf_.at(value), dataflow_.time});
  }
  return success();
}

/// The body runs here. Its arguments are tensors of both functions: operands
/// become them, and results are the carried ones of them, as they are then.
LogicalResult DataflowReader::readLoop(nn::LoopOp op) {
  auto body = symbols_.lookup<func::FuncOp>(op.getBody());
  if (!body || firstArgumentOf_.contains(body)) {
    return op.emitOpError() << "runs @" << op.getBody()
                            << ", which another loop runs, too; run "
                               "isolate-bodies first";
  }
  auto fusions = std::move(fusions_);
  FailureOr<unsigned> entry = addEntry(body);
  if (failed(entry)) {
    return failure();
  }
  unsigned first = firstArgumentOf_.at(body);
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    bool isCarried = number != 0 && number <= op.getNumResults();
    dataflow_.values[first + number].isGiven = !isCarried;
    use(operand,
        {.kind = Consumer::Kind::Argument, .index = first + unsigned(number)});
    Value argument = body.getArgument(unsigned(number));
    reach_.follow(argument, operand);
    if (!isCarried && parameters_.contains(operand)) {
      parameters_.insert(argument);
    }
  }
  ++dataflow_.time;
  int64_t outside = repeats_, begin = dataflow_.time;
  repeats_ = nn::repeatsOf(op, outside);
  for (size_t i = 0; i != op->getNumOperands(); ++i) {
    dataflow_.values[first + i].repeats = repeats_;
  }
  if (failed(readOps(body))) {
    return failure();
  }
  repeats_ = outside;
  dataflow_.entryTimes[*entry] = {begin, dataflow_.time};
  for (size_t i = 0; i != op->getNumOperands(); ++i) {
    dataflow_.values[first + i].end = dataflow_.time;
  }
  for (OpResult result : op->getResults()) {
    unsigned argument = nn::carriedArgument(result.getResultNumber());
    valueOf_[result] = first + argument;
    reach_.follow(result, body.getArgument(argument));
  }
  fusions_ = std::move(fusions);
  return success();
}

LogicalResult DataflowReader::readOp(Operation &op) {
  bool touchesGlobal = isa<nn::ReadOp, nn::UpdateOp>(op);
  if (touchesGlobal && nn::isBody(cast<func::FuncOp>(op.getParentOp()))) {
    return op.emitOpError("touches a global in a body, which is not possible; "
                          "run isolate-bodies first");
  }
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
  if (auto loop = dyn_cast<nn::LoopOp>(op)) {
    return readLoop(loop);
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
        bytes(op->getOperand(operand)) == bytes(op->getResult(result)) &&
        beginsItsBuffer(op->getOperand(operand))) {
      buffers.overwritable.push_back(unsigned(operand));
    }
  }
  return buffers;
}

LogicalResult DataflowReader::readSite(nn::LoopInterface op) {
  Site site;
  site.name = op->getName().getStringRef().str();
  site.nest = nn::barredLoopNest(op);
  site.profile = profileOf(op);
  site.buffers = buffersOf(op);
  site.fusible = fusions_.lookup(op).fusible;
  site.numResults = op->getNumResults();
  site.time = dataflow_.time;
  site.repeats = repeats_;
  site.isInBody = nn::isBody(cast<func::FuncOp>(op->getParentOp()));
  for (Value operand : op->getOperands()) {
    site.parameters.push_back(parameters_.contains(operand));
  }
  reach_.enter(site, op->getOperands());
  site.kind = kinds_.of(site, op);
  unsigned index = unsigned(dataflow_.sites.size());
  reach_.leave(site, op->getResults());
  if (!site.parameters.empty() && !llvm::is_contained(site.parameters, false)) {
    parameters_.insert_range(op->getResults());
  }
  dataflow_.ops.push_back(op);
  dataflow_.sites.push_back(std::move(site));
  int64_t repeats = repeats_;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    // Only the first micro-batch takes what is carried from there.
    bool isTaken = pipe::takes(op, unsigned(number));
    repeats_ = isTaken ? repeats / pipe::timesPerCall(op) : repeats;
    use(operand, {.index = index, .operand = unsigned(number)});
  }
  repeats_ = repeats;
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    addValue(result, cast<RankedTensorType>(result.getType()),
             {.index = index, .number = unsigned(number)});
  }
  return success();
}

/// Adds `function` with its arguments; its number.
FailureOr<unsigned> DataflowReader::addEntry(func::FuncOp function) {
  if (!function.getBody().hasOneBlock()) {
    return function.emitOpError("has no body of one block, so it cannot be "
                                "planned");
  }
  fusions_ = fusionsOf(function.getBody().front());
  unsigned entry = unsigned(dataflow_.entries.size());
  dataflow_.entries.push_back(function);
  dataflow_.entryTimes.emplace_back();
  entryOf_[function] = entry;
  firstArgumentOf_[function] = unsigned(dataflow_.values.size());
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type) {
      return function.emitOpError()
             << "has an argument of type " << argument.getType()
             << ", expected a tensor";
    }
    reach_.begin(argument);
    addValue(argument, type,
             {.kind = DataflowValue::Kind::Argument,
              .index = entry,
              .number = argument.getArgNumber()});
  }
  return entry;
}

/// Every operation takes one unit of time, also those that are no sites: times
/// are positions in the program.
LogicalResult DataflowReader::readOps(func::FuncOp function) {
  int64_t outside = repeats_;
  std::optional<EntryTimes> batches;
  for (Operation &op : function.getBody().front()) {
    int64_t times = pipe::timesPerCall(&op), begin = dataflow_.time;
    repeats_ = outside * times;
    if (failed(readOp(op))) {
      return failure();
    }
    ++dataflow_.time;
    if (times > 1) {
      batches = {batches ? batches->begin : begin, dataflow_.time};
    }
  }
  repeats_ = outside;
  if (batches) {
    llvm::SmallVector<unsigned> carried;
    for (Operation &op : function.getBody().front()) {
      for (pipe::CarriedValue value : pipe::getGives(&op)) {
        carried.push_back(valueOf_.at(op.getResult(value.index)));
      }
    }
    keepForBatches(dataflow_, batches_.emplace_back(*batches), carried);
  }
  return success();
}

LogicalResult DataflowReader::readEntry(func::FuncOp function) {
  FailureOr<unsigned> entry = addEntry(function);
  int64_t begin = dataflow_.time;
  if (failed(entry) || failed(readOps(function))) {
    return failure();
  }
  dataflow_.entryTimes[*entry] = {begin, dataflow_.time};
  // Whoever runs it keeps them until it is over.
  unsigned first = firstArgumentOf_.at(function);
  for (size_t i = 0; i != function.getNumArguments(); ++i) {
    dataflow_.values[first + i].end = dataflow_.time;
    dataflow_.values[first + i].isInput = true;
  }
  return success();
}

/// Bodies are read with the loops that run them.
LogicalResult DataflowReader::checkBodies() {
  for (auto function : module_.getOps<func::FuncOp>()) {
    if (nn::isBody(function) && !firstArgumentOf_.contains(function)) {
      return function.emitOpError(
          "is private, and no loop of an entry runs it");
    }
  }
  return success();
}

FailureOr<ModuleDataflow> DataflowReader::read() {
  if (failed(checkTypes(module_))) {
    return failure();
  }
  for (auto function : module_.getOps<func::FuncOp>()) {
    if (!nn::isInit(function) && !nn::isBody(function) &&
        failed(readEntry(function))) {
      return failure();
    }
  }
  if (failed(checkBodies())) {
    return failure();
  }
  for (DataflowValue &tensor : dataflow_.values) {
    if (tensor.kind == DataflowValue::Kind::Global) {
      tensor.begin = 0;
      tensor.end = dataflow_.time;
    }
  }
  addStops();
  findStates(dataflow_);
  return std::move(dataflow_);
}

FailureOr<ModuleDataflow> readDataflow(ModuleOp module, int64_t batchDim) {
  FailureOr<ModuleDataflow> dataflow = DataflowReader(module, batchDim).read();
  if (succeeded(dataflow)) {
    readWanted(module, *dataflow);
  }
  return dataflow;
}

} // namespace divisi::plan
