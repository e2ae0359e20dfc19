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

/// The one type, or both where they lie in different memory spaces: T to U.
static ParseResult parseCopyTypes(OpAsmParser &parser, Type &source,
                                  Type &target) {
  if (parser.parseType(source)) {
    return failure();
  }
  target = source;
  return succeeded(parser.parseOptionalKeyword("to")) ? parser.parseType(target)
                                                      : ParseResult(success());
}

static void printCopyTypes(OpAsmPrinter &printer, Operation *, Type source,
                           Type target) {
  printer << source;
  if (target != source) {
    printer << " to " << target;
  }
}

/// The host's arena, and those of devices: 64, "cuda" 128.
static ParseResult parseArenas(OpAsmParser &parser, IntegerAttr &host,
                               DictionaryAttr &devices) {
  Type i64 = parser.getBuilder().getI64Type();
  if (parser.parseAttribute(host, i64)) {
    return failure();
  }
  NamedAttrList arenas;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc where = parser.getCurrentLocation();
    std::string space;
    IntegerAttr bytes;
    if (parser.parseString(&space) || parser.parseAttribute(bytes, i64)) {
      return failure();
    }
    if (arenas.get(space)) {
      return parser.emitError(where)
             << "memory space '" << space << "' has two arenas";
    }
    arenas.append(space, bytes);
  }
  if (!arenas.empty()) {
    devices = arenas.getDictionary(parser.getContext());
  }
  return success();
}

static void printArenas(OpAsmPrinter &printer, ProgramOp program,
                        IntegerAttr host, DictionaryAttr) {
  printer << host.getInt();
  for (NamedAttribute arena : program.deviceArenas()) {
    printer << ", \"" << arena.getName().getValue() << "\" "
            << cast<IntegerAttr>(arena.getValue()).getInt();
  }
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
                   RankedTensorType tensor, FlatSymbolRefAttr, StringRef space,
                   StringRef format, int64_t formatBytes) {
  if (!tensor.hasStaticShape()) {
    return emitError() << "a buffer needs a static shape, got " << tensor;
  }
  if (!spmd::getLocal(tensor)) {
    return emitError() << "a buffer holds a local tensor, got " << tensor
                       << " without a layout";
  }
  if (space == kHostSpace) {
    return emitError()
           << "a buffer in host memory must not name a memory space";
  }
  if (formatBytes < 0 || (format.empty() && formatBytes != 0)) {
    return emitError() << "a format has a name and at least 0 bytes, got '"
                       << format << "' of " << formatBytes;
  }
  return success();
}

std::optional<int64_t> BufferType::byteSize() const {
  if (!isPlain()) {
    return getFormatBytes();
  }
  return nn::byteCount(getTensor());
}

SmallVector<Type> exec::tensorTypes(ValueRange buffers) {
  return llvm::map_to_vector(buffers, [](Value buffer) -> Type {
    return cast<BufferType>(buffer.getType()).getTensor();
  });
}

BufferType BufferType::inSpace(StringRef space) const {
  return get(getContext(), getTensor(), getGrid(), space, getFormat(),
             getFormatBytes());
}

/// The memory space of `buffer`.
static StringRef spaceOf(Value buffer) {
  return cast<BufferType>(buffer.getType()).getSpace();
}

Value exec::rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    buffer = view.getSource();
  }
  return buffer;
}

int64_t exec::offsetInRoot(Value buffer) {
  int64_t offset = 0;
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    offset += int64_t(view.getOffset().value_or(0));
    buffer = view.getSource();
  }
  return offset;
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
    return emitOpError("(C1) offset ") << static_cast<int64_t>(*getOffset())
                                       << " is not a multiple of 64 from 0 on";
  }
  return success();
}

/// The elements of each position's box.
static SmallVector<int64_t> boxSizes(RankedTensorType tensor) {
  spmd::LocalAttr local = spmd::getLocal(tensor);
  SmallVector<int64_t> sizes;
  for (int64_t position : llvm::seq(local.getGrid().numPositions())) {
    int64_t size = 1;
    for (const Interval &interval : local.getLayout().box(
             local.getGrid(), local.getGlobalShape(), position)) {
      size *= interval.size();
    }
    sizes.push_back(size);
  }
  return sizes;
}

LogicalResult ViewOp::verify() {
  BufferType source = getSource().getType(), result = getBuffer().getType();
  if (source.getTensor().getElementType() !=
          result.getTensor().getElementType() ||
      source.getGrid() != result.getGrid() ||
      source.getSpace() != result.getSpace()) {
    return emitOpError("(C1) cannot view ")
           << source << " as " << result
           << ": element types, grids and memory spaces must be equal";
  }
  int64_t offset = int64_t(getOffset().value_or(0));
  if (!isPlace(offset)) {
    return emitOpError("(C2) offset ")
           << offset << " is not a multiple of 64 from 0 on";
  }
  if (offset == 0 && source.byteSize() == result.byteSize()) {
    return success(); // a reshape
  }
  int64_t bits = nn::elementBits(source.getTensor().getElementType());
  int64_t width = (bits + 7) / 8;
  for (auto [position, from, to] : llvm::enumerate(
           boxSizes(source.getTensor()), boxSizes(result.getTensor()))) {
    if (to != 0 && (from < to || offset > (from - to) * width)) {
      return emitOpError("(C3) shows ")
             << to * width << " bytes at offset " << offset << " of "
             << from * width << " bytes at position " << position;
    }
  }
  return success();
}

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
  SmallVector<Value> buffers = getReads();
  llvm::append_range(buffers, getWrites());
  for (Value buffer : buffers) {
    if (spaceOf(buffer) != getSpace()) {
      return emitOpError("(C3) works in memory space '")
             << nameOfSpace(getSpace()) << "', but a buffer is in '"
             << nameOfSpace(spaceOf(buffer)) << "': it must be copied";
    }
  }
  if (isFused() != (getCallee() == ExecDialect::kFused)) {
    return emitOpError(
               "(C4) only 'fused' has a region, and it needs one, got '")
           << getCallee() << "' " << (isFused() ? "with" : "without") << " one";
  }
  auto module = (*this)->getParentOfType<ModuleOp>();
  for (FlatSymbolRefAttr code : {getCodeAttr(), getFallbackAttr()}) {
    if (code && module && !module.lookupSymbol<CodeOp>(code)) {
      return emitOpError("(C5) there is no exec.code ") << code;
    }
  }
  return isFused() ? verifyFusedCall(*this) : success();
}

StringRef CallOp::getSpace() {
  return getOutputs().empty() ? "" : spaceOf(getOutputs().front());
}

/// What meets others moves bytes within one memory space.
static LogicalResult verifyOneSpace(Operation *op, Value source, Value target) {
  if (spaceOf(source) == spaceOf(target)) {
    return success();
  }
  return op->emitOpError("(C3) goes from memory space '")
         << nameOfSpace(spaceOf(source)) << "' to '"
         << nameOfSpace(spaceOf(target)) << "', which only exec.copy may do";
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
           << " must be on one grid; use exec.transfer between grids";
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
  if (source.getFormat() != target.getFormat()) {
    return emitOpError("(C4) goes from the format '")
           << source.getFormat() << "' to '" << target.getFormat()
           << "', which only a call may do";
  }
  return verifyOneSpace(*this, getSource(), getTarget());
}

LogicalResult TransferOp::verify() {
  auto from = cast<BufferType>(getFrom()), to = cast<BufferType>(getTo());
  auto isOf = [](TypedValue<BufferType> buffer, BufferType type) {
    return !buffer || buffer.getType().inSpace("") == type;
  };
  bool fits = isOf(getSource(), from) && isOf(getTarget(), to);
  if ((!getSource() && !getTarget()) || !fits) {
    return emitOpError("(C1) needs a source of type ")
           << from << ", a target of type " << to << ", or both";
  }
  if (nn::globalType(from.getTensor()) != nn::globalType(to.getTensor())) {
    return emitOpError("(C2) cannot transfer ") << from << " into " << to;
  }
  return getSource() && getTarget()
             ? verifyOneSpace(*this, getSource(), getTarget())
             : success();
}

LogicalResult CopyOp::verify() {
  BufferType from = getSource().getType(), to = getTarget().getType();
  if (from.inSpace("") != to.inSpace("")) {
    return emitOpError("(C1) cannot copy ") << from << " to " << to;
  }
  bool isLocal = from.getSpace() == to.getSpace();
  if (!isLocal && getQueue() != kCopyQueue) {
    return emitOpError("(C2) goes from one memory space to another on queue '")
           << queueName() << "', expected copy";
  }
  if (!isLocal && !from.isOnHost() && !to.isOnHost()) {
    return emitOpError("(C2) goes from memory space '")
           << from.getSpace() << "' to '" << to.getSpace()
           << "', expected the host's for one of the two";
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
    return emitOpError("(C2) ") << getBodyAttr() << " is not a body";
  }
  return success();
}
