//===- Exec.cpp - The exec dialect ----------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Layout/Steps.h"
#include "divisi/Support/CheckedMath.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

#include "dialects/Exec/ExecBase.cpp.inc"

/// (a, b), or () for an operator without operands: `type($inputs)` in a format
/// wants one type at least.
static ParseResult parseTypeList(OpAsmParser &parser,
                                 SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
    return parser.parseType(types.emplace_back());
  });
}

static void printTypeList(OpAsmPrinter &printer, Operation *, TypeRange types) {
  printer << '(' << types << ')';
}

#define GET_TYPEDEF_CLASSES
#include "dialects/Exec/ExecTypes.cpp.inc"

#include "dialects/Exec/ExecInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Exec/ExecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/ExecOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult
BufferType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   RankedTensorType tensor, FlatSymbolRefAttr) {
  if (!tensor.hasStaticShape()) {
    return emitError() << "a buffer needs a static shape, got " << tensor;
  }
  if (!spmd::getLocal(tensor)) {
    return emitError() << "a buffer holds a local tensor, got " << tensor
                       << " without a layout";
  }
  return success();
}

std::optional<int64_t> BufferType::byteSize() const {
  return nn::byteCount(getTensor());
}

Value exec::rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    buffer = view.getSource();
  }
  return buffer;
}

LogicalResult ConstantOp::verify() {
  auto value = cast<ShapedType>(getValue().getType());
  RankedTensorType tensor = getBuffer().getType().getTensor();
  if (!nn::isValueOf(value, nn::globalType(tensor))) {
    return emitOpError("(C1) value of type ")
           << value << " does not fill the buffer's global tensor "
           << nn::globalType(tensor);
  }
  return success();
}

static bool isPlace(std::optional<int64_t> offset) {
  return !offset || (*offset >= 0 && *offset % 64 == 0);
}

LogicalResult AllocOp::verify() {
  if (!isPlace(getOffset())) {
    return emitOpError("(C1) offset ")
           << static_cast<int64_t>(*getOffset())
           << " is not a multiple of 64 that is at least 0";
  }
  return success();
}

LogicalResult ViewOp::verify() {
  BufferType source = getSource().getType(), result = getBuffer().getType();
  if (source.getTensor().getElementType() !=
          result.getTensor().getElementType() ||
      source.getGrid() != result.getGrid()) {
    return emitOpError("(C1) cannot see ")
           << source << " as " << result
           << ": element types and grids must be equal";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

static constexpr StringRef computeName = "compute", copyName = "copy";

std::string exec::queueName(InstructionInterface instruction) {
  if (StringAttr name = instruction.getQueueAttr()) {
    return name.str();
  }
  std::optional<Meeting> meeting = instruction.getMeeting();
  if (!meeting) {
    return computeName.str();
  }
  std::string name = meeting->grid.getValue().str();
  if (meeting->target) {
    return name + "->" + meeting->target.getValue().str();
  }
  auto collective = cast<CollectiveOp>(instruction.getOperation());
  for (StringRef axis : collective.getAxes().getAsValueRange<StringAttr>()) {
    name += ("." + axis).str();
  }
  return name;
}

LogicalResult exec::verifyQueue(Operation *op) {
  auto instruction = cast<InstructionInterface>(op);
  StringAttr name = instruction.getQueueAttr();
  bool isCompute = !name || name == computeName;
  bool isLocal = isCompute || name == copyName;
  StringRef expected;
  if (instruction.getMeeting()) {
    expected = name && isLocal ? "that of a communicator" : "";
  } else if (isa<CallOp, CommitOp, LoopOp>(op)) {
    expected = isCompute ? "" : "compute";
  } else {
    expected = isLocal ? "" : "compute or copy";
  }
  if (!expected.empty()) {
    return op->emitOpError("(Q1) is on queue '")
           << name.getValue() << "', expected " << expected;
  }
  return success();
}

std::optional<Meeting> CallOp::getMeeting() { return std::nullopt; }
SmallVector<Value> CallOp::getReads() { return getInputs(); }
SmallVector<Value> CallOp::getWrites() { return getOutputs(); }

std::optional<Meeting> CollectiveOp::getMeeting() {
  std::optional<StepKind> kind = parseStepKind(getKind());
  if (kind == StepKind::Slice || kind == StepKind::Mask) {
    return std::nullopt;
  }
  BufferType type = getSource().getType();
  Meeting meeting{type.getGrid(), {}, nullptr};
  const Grid &grid = spmd::getLocal(type.getTensor()).getGrid();
  for (StringRef name : getAxes().getAsValueRange<StringAttr>()) {
    if (std::optional<AxisId> axis = grid.find(name)) {
      meeting.axes.push_back(*axis);
    }
  }
  return meeting;
}

SmallVector<Value> CollectiveOp::getReads() { return {getSource()}; }
SmallVector<Value> CollectiveOp::getWrites() { return {getTarget()}; }

std::optional<Meeting> TransferOp::getMeeting() {
  return Meeting{cast<BufferType>(getFrom()).getGrid(),
                 {},
                 cast<BufferType>(getTo()).getGrid()};
}

static SmallVector<Value> listOf(Value value) {
  return value ? SmallVector<Value>{value} : SmallVector<Value>();
}

SmallVector<Value> TransferOp::getReads() { return listOf(getSource()); }
SmallVector<Value> TransferOp::getWrites() { return listOf(getTarget()); }

std::optional<Meeting> LoopOp::getMeeting() { return std::nullopt; }

SmallVector<Value> LoopOp::getReads() {
  SmallVector<Value> reads = {getCount()};
  llvm::append_range(reads, getCarried());
  llvm::append_range(reads, getGiven());
  return reads;
}

SmallVector<Value> LoopOp::getWrites() {
  SmallVector<Value> writes(getOutputs());
  llvm::append_range(writes, getSpares());
  llvm::append_range(writes, listOf(getArena()));
  return writes;
}

std::optional<Meeting> OutputOp::getMeeting() { return std::nullopt; }
SmallVector<Value> OutputOp::getReads() { return {getSource()}; }
SmallVector<Value> OutputOp::getWrites() { return {}; }

std::optional<Meeting> CopyOp::getMeeting() { return std::nullopt; }
SmallVector<Value> CopyOp::getReads() { return {getSource()}; }
SmallVector<Value> CopyOp::getWrites() { return {getTarget()}; }

std::optional<Meeting> CommitOp::getMeeting() { return std::nullopt; }
SmallVector<Value> CommitOp::getReads() {
  return llvm::map_to_vector(
      (*this)->getParentOfType<ProgramOp>().getBody().getOps<NewGlobalOp>(),
      [](NewGlobalOp global) -> Value { return global.getBuffer(); });
}
SmallVector<Value> CommitOp::getWrites() { return {}; }

std::optional<Meeting> UpdateOp::getMeeting() { return std::nullopt; }
SmallVector<Value> UpdateOp::getReads() { return {}; }
SmallVector<Value> UpdateOp::getWrites() { return {}; }

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

LogicalResult CallOp::verify() {
  ArrayRef<int64_t> pairs = getOver().value_or(ArrayRef<int64_t>());
  bool isRight = pairs.size() % 2 == 0;
  for (size_t i = 0; isRight && i < pairs.size(); i += 2) {
    isRight = pairs[i] >= 0 && pairs[i] < int64_t(getInputs().size()) &&
              pairs[i + 1] >= 0 && pairs[i + 1] < int64_t(getOutputs().size());
  }
  if (!isRight) {
    return emitOpError(
               "(C1) 'over' needs pairs of an input and an output, got [")
           << pairs << "]";
  }
  int64_t bytes = getWorkspace().value_or(1);
  if (bytes < 1 || !isPlace(getWorkspaceOffset())) {
    return emitOpError("(C2) cannot have a workspace of ")
           << bytes << " bytes at "
           << static_cast<int64_t>(getWorkspaceOffset().value_or(0));
  }
  return success();
}

LogicalResult CollectiveOp::verify() {
  std::optional<StepKind> kind = parseStepKind(getKind());
  if (!kind) {
    return emitOpError("(C1) unknown kind '") << getKind() << "'";
  }
  BufferType source = getSource().getType(), target = getTarget().getType();
  spmd::LocalAttr from = spmd::getLocal(source.getTensor());
  spmd::LocalAttr to = spmd::getLocal(target.getTensor());
  if (source.getGrid() != target.getGrid() || from.getGrid() != to.getGrid()) {
    return emitOpError("(C2) source on ")
           << source.getGrid() << " and target on " << target.getGrid()
           << " must lie on one grid; use exec.transfer between grids";
  }
  SmallVector<AxisId, 4> axes;
  for (StringRef name : getAxes().getAsValueRange<StringAttr>()) {
    std::optional<AxisId> axis = from.getGrid().find(name);
    if (!axis) {
      return emitOpError("(C1) the grid has no axis '") << name << "'";
    }
    axes.push_back(*axis);
  }
  if (std::optional<std::string> reason =
          verifyStep(from.getGrid(), from.getGlobalShape(), *kind, axes,
                     from.getLayout(), to.getLayout())) {
    return emitOpError("(C1) ") << *reason;
  }
  return success();
}

LogicalResult TransferOp::verify() {
  auto from = cast<BufferType>(getFrom()), to = cast<BufferType>(getTo());
  bool fits = (!getSource() || getSource().getType() == from) &&
              (!getTarget() || getTarget().getType() == to);
  if ((!getSource() && !getTarget()) || !fits) {
    return emitOpError("(C1) needs a source of type ")
           << from << ", a target of type " << to << ", or both";
  }
  if (nn::globalType(from.getTensor()) != nn::globalType(to.getTensor())) {
    return emitOpError("(C2) cannot transfer ") << from << " into " << to;
  }
  return success();
}

LogicalResult LoopOp::verify() {
  if (getCarried().getTypes() != getOutputs().getTypes() ||
      getCarried().getTypes() != getSpares().getTypes()) {
    return emitOpError("(C1) carries (")
           << getCarried().getTypes() << "), but has outputs ("
           << getOutputs().getTypes() << ") and spares ("
           << getSpares().getTypes() << ")";
  }
  auto module = (*this)->getParentOfType<ModuleOp>();
  EntryOp body = module ? module.lookupSymbol<EntryOp>(getBodyAttr()) : nullptr;
  if (!body || !body.getIsBody()) {
    return emitOpError("(C2) ") << getBodyAttr() << " is no body";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

LogicalResult EntryOp::verify() {
  if (getInputNames().size() != getInputTypes().size() ||
      getOutputNames().size() != getOutputTypes().size()) {
    return emitOpError("(C1) has ")
           << getInputNames().size() << " names for " << getInputTypes().size()
           << " inputs and " << getOutputNames().size() << " names for "
           << getOutputTypes().size() << " outputs";
  }
  for (Type type :
       llvm::concat<const Type>(getInputTypes().getAsValueRange<TypeAttr>(),
                                getOutputTypes().getAsValueRange<TypeAttr>())) {
    if (!isa<BufferType>(type)) {
      return emitOpError("(C1) expected buffer types, got ") << type;
    }
  }
  return success();
}

static bool isWeighted(const Grid &grid) {
  return llvm::any_of(
      grid.axes(), [](const GridAxis &axis) { return !axis.weights.empty(); });
}

/// Without weights, the largest shard of all: ranks differ by what ceil leaves.
std::optional<int64_t> ProgramOp::bytesOf(BufferType type) {
  RankedTensorType tensor = type.getTensor();
  spmd::LocalAttr local = spmd::getLocal(tensor);
  spmd::GridOp grid = spmd::lookupGrid(*this, type.getGrid());
  if (!isWeighted(local.getGrid()) || !grid) {
    return type.byteSize();
  }
  int64_t most = 0;
  for (auto [position, device] : llvm::enumerate(grid.getDeviceIds())) {
    if (!llvm::binary_search(getRanks(), device)) {
      continue;
    }
    auto extents = llvm::map_to_vector(
        local.getLayout().box(local.getGrid(), local.getGlobalShape(),
                              int64_t(position)),
        [](Interval interval) { return interval.size(); });
    std::optional<int64_t> bytes =
        nn::byteCount(RankedTensorType::get(extents, tensor.getElementType()));
    if (!bytes) {
      return std::nullopt;
    }
    most = std::max(most, *bytes);
  }
  return most;
}

/// That what `op` has at `offset`, if it has been placed, is in the arena.
static LogicalResult verifyInArena(ProgramOp program, Operation *op,
                                   std::optional<int64_t> offset,
                                   std::optional<int64_t> bytes) {
  if (!offset || !bytes) {
    return bytes ? success() : op->emitOpError("has too many bytes");
  }
  std::optional<int64_t> end = checkedAdd(*offset, *bytes);
  if (!end || *end > static_cast<int64_t>(program.getArenaBytes())) {
    return op->emitOpError("(C3) ")
           << *bytes << " bytes at " << *offset << " leave the arena of "
           << program.getArenaBytes() << " bytes";
  }
  return success();
}

LogicalResult ProgramOp::verify() {
  ArrayRef<int64_t> ranks = getRanks();
  bool ascending = llvm::is_sorted(ranks, std::less_equal<int64_t>()) &&
                   (ranks.empty() || ranks.front() >= 0);
  if (ranks.empty() || !ascending) {
    return emitOpError("(C1) ranks must ascend from 0 or more, without "
                       "repetition, and there must be at least one");
  }
  auto module = (*this)->getParentOfType<ModuleOp>();
  if (!module || !module.lookupSymbol<EntryOp>(getEntryAttr())) {
    return emitOpError("(C2) ") << getEntryAttr() << " is not an exec.entry";
  }
  for (AllocOp alloc : getBody().getOps<AllocOp>()) {
    if (failed(verifyInArena(*this, alloc, alloc.getOffset(),
                             bytesOf(alloc.getBuffer().getType())))) {
      return failure();
    }
  }
  for (CallOp call : getBody().getOps<CallOp>()) {
    if (failed(verifyInArena(*this, call, call.getWorkspaceOffset(),
                             call.getWorkspace().value_or(0)))) {
      return failure();
    }
  }
  return success();
}
