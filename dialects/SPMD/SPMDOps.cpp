//===- SPMDOps.cpp - Grids and moves --------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/SPMD/LayoutSyntax.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

#include "dialects/SPMD/SPMDInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/SPMD/SPMDOps.cpp.inc"

//===----------------------------------------------------------------------===//
// GridOp
//===----------------------------------------------------------------------===//

// Adds what every grid has.
static void addGrid(Builder &builder, OperationState &state, StringRef name,
                    const Grid &grid) {
  SmallVector<StringRef> names;
  SmallVector<int64_t> sizes;
  SmallVector<Attribute> weights;
  for (const GridAxis &axis : grid.axes()) {
    names.push_back(axis.name);
    sizes.push_back(axis.size);
    weights.push_back(builder.getDenseI64ArrayAttr(axis.weights));
  }
  state.addAttribute(GridOp::getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(GridOp::getAxisNamesAttrName(state.name),
                     builder.getStrArrayAttr(names));
  state.addAttribute(GridOp::getAxisSizesAttrName(state.name),
                     builder.getDenseI64ArrayAttr(sizes));
  if (llvm::any_of(grid.axes(), [](const GridAxis &axis) {
        return !axis.weights.empty();
      })) {
    state.addAttribute(GridOp::getAxisWeightsAttrName(state.name),
                       builder.getArrayAttr(weights));
  }
}

void GridOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   const Grid &grid, ArrayRef<int64_t> devices) {
  addGrid(builder, state, name, grid);
  if (!devices.empty()) {
    state.addAttribute(getDevicesAttrName(state.name),
                       builder.getDenseI64ArrayAttr(devices));
  }
}

Grid GridOp::getValue() {
  SmallVector<GridAxis, 4> axes;
  for (auto [name, size] : llvm::zip(getAxisNames(), getAxisSizes())) {
    axes.push_back({cast<StringAttr>(name).str(), size});
  }
  if (std::optional<ArrayAttr> all = getAxisWeights()) {
    for (auto [axis, weights] : llvm::zip(axes, *all)) {
      llvm::append_range(axis.weights,
                         cast<DenseI64ArrayAttr>(weights).asArrayRef());
    }
  }
  return Grid(axes);
}

SmallVector<int64_t> GridOp::getDeviceIds() {
  if (std::optional<ArrayRef<int64_t>> devices = getDevices()) {
    return SmallVector<int64_t>(*devices);
  }
  return llvm::to_vector(llvm::seq<int64_t>(getValue().numPositions()));
}

// `devices [1, 2]`, if it is there.
static ParseResult parseOptionalDevices(OpAsmParser &parser,
                                        OperationState &state,
                                        StringAttr name) {
  if (failed(parser.parseOptionalKeyword("devices"))) {
    return success();
  }
  Attribute devices = DenseI64ArrayAttr::parse(parser, Type());
  if (!devices) {
    return failure();
  }
  state.addAttribute(name, devices);
  return success();
}

ParseResult GridOp::parse(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  Grid grid;
  if (parser.parseSymbolName(name) || parseGrid(parser, grid)) {
    return failure();
  }
  addGrid(parser.getBuilder(), state, name.getValue(), grid);
  return failure(
      parseOptionalDevices(parser, state, getDevicesAttrName(state.name)) ||
      parser.parseOptionalAttrDict(state.attributes));
}

void GridOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " (";
  Grid grid = getValue();
  llvm::interleaveComma(grid.axes(), printer, [&](const GridAxis &axis) {
    printer << axis.name << " = " << axis.sizeText();
  });
  printer << ")";
  if (DenseI64ArrayAttr devices = getDevicesAttr()) {
    printer << " devices ";
    devices.print(printer);
  }
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getAxisNamesAttrName(), getAxisSizesAttrName(),
       getAxisWeightsAttrName(), getDevicesAttrName()});
}

// (C3) and (C4)
static LogicalResult verifyDevices(GridOp op, ArrayRef<int64_t> devices,
                                   int64_t positions) {
  if (int64_t(devices.size()) != positions) {
    return op.emitOpError() << "has " << positions << " positions, got "
                            << devices.size() << " devices";
  }
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t device : devices) {
    if (device < 0 || device > std::numeric_limits<int32_t>::max()) {
      return op.emitOpError()
             << "device " << device << " is not a device number";
    }
    if (!seen.insert(device).second) {
      return op.emitOpError() << "device " << device << " occurs twice";
    }
  }
  return success();
}

LogicalResult GridOp::verify() {
  if (getAxisNames().size() != getAxisSizes().size()) {
    return emitOpError() << "has " << getAxisNames().size() << " axis names, "
                         << "got " << getAxisSizes().size() << " sizes";
  }
  if (getAxisWeights() && getAxisWeights()->size() != getAxisNames().size()) {
    return emitOpError() << "has " << getAxisNames().size() << " axis names, "
                         << "got weights of " << getAxisWeights()->size();
  }
  Grid grid = getValue();
  if (std::optional<std::string> error = verifyGrid(grid)) { // C1, C2, C5
    return emitOpError() << *error;
  }
  if (getDevices() &&
      failed(verifyDevices(*this, *getDevices(), grid.numPositions()))) {
    return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

// `type` lies on the grid called `symbol`. Returns its encoding, or null after
// an error.
static LocalAttr verifyLiesOn(Operation *op, Type type,
                              FlatSymbolRefAttr symbol,
                              SymbolTableCollection &symbolTable) {
  auto grid = symbolTable.lookupNearestSymbolFrom<GridOp>(op, symbol);
  if (!grid) {
    op->emitOpError() << "names the grid " << symbol
                      << ", but no spmd.grid has that name";
    return {};
  }
  LocalAttr local = getLocal(type);
  if (!local) {
    op->emitOpError() << "expected tensors with #spmd.local, got " << type;
    return {};
  }
  if (local.getGrid() != grid.getValue()) {
    InFlightDiagnostic diag = op->emitOpError()
                              << type << " is not on the grid " << symbol;
    diag.attachNote(grid.getLoc()) << "the grid is defined here";
    return {};
  }
  return local;
}

static LogicalResult verifySameTensor(Operation *op, RankedTensorType from,
                                      RankedTensorType to) {
  if (nn::globalType(from) != nn::globalType(to)) {
    return op->emitOpError()
           << "goes from a " << nn::globalType(from) << " to a "
           << nn::globalType(to)
           << ", expected equal global shapes and element types";
  }
  return success();
}

LogicalResult ConvertOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!verifyLiesOn(*this, getInput().getType(), getGridAttr(), symbolTable) ||
      !verifyLiesOn(*this, getOutput().getType(), getGridAttr(), symbolTable)) {
    return failure();
  }
  return verifySameTensor(*this, getInput().getType(), getOutput().getType());
}

LogicalResult spmd::verifyStepOp(Operation *op,
                                 SymbolTableCollection &symbolTable) {
  auto step = cast<StepInterface>(op);
  RankedTensorType fromType = step.getInput().getType();
  RankedTensorType toType = step.getOutput().getType();
  LocalAttr from = verifyLiesOn(op, fromType, step.getGridAttr(), symbolTable);
  if (!from) {
    return failure();
  }
  LocalAttr to = verifyLiesOn(op, toType, step.getGridAttr(), symbolTable);
  if (!to || failed(verifySameTensor(op, fromType, toType))) {
    return failure();
  }
  SmallVector<AxisId, 4> axes;
  for (auto name : step.getAxesAttr().getAsRange<StringAttr>()) {
    std::optional<AxisId> axis = from.getGrid().find(name);
    if (!axis) {
      return op->emitOpError() << "the grid has no axis " << name;
    }
    axes.push_back(*axis);
  }
  if (std::optional<std::string> error =
          verifyStep(from.getGrid(), from.getGlobalShape(), step.getStepKind(),
                     axes, from.getLayout(), to.getLayout())) {
    return op->emitOpError() << *error;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// TransferOp
//===----------------------------------------------------------------------===//

ParseResult TransferOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult hasOperand = parser.parseOptionalOperand(operand);
  if (hasOperand.has_value() && failed(*hasOperand)) {
    return failure();
  }
  StringAttr from, to;
  RankedTensorType fromType, toType;
  if (parser.parseKeyword("from") || parser.parseSymbolName(from) ||
      parser.parseKeyword("to") || parser.parseSymbolName(to) ||
      parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(fromType) || parser.parseArrow() ||
      parser.parseType(toType)) {
    return failure();
  }
  state.addAttribute(getSourceGridAttrName(state.name),
                     FlatSymbolRefAttr::get(from));
  state.addAttribute(getTargetGridAttrName(state.name),
                     FlatSymbolRefAttr::get(to));
  state.addAttribute(getSourceTypeAttrName(state.name),
                     TypeAttr::get(fromType));
  state.addAttribute(getTargetTypeAttrName(state.name), TypeAttr::get(toType));
  // Whether there is a result is said by whether it is given a name.
  if (parser.getNumResults() != 0) {
    state.addTypes(toType);
  }
  return hasOperand.has_value()
             ? parser.resolveOperand(operand, fromType, state.operands)
             : success();
}

void TransferOp::print(OpAsmPrinter &printer) {
  if (getInput()) {
    printer << " " << getInput();
  }
  printer << " from ";
  printer.printSymbolName(getSourceGrid());
  printer << " to ";
  printer.printSymbolName(getTargetGrid());
  printer.printOptionalAttrDict(
      (*this)->getAttrs(), {getSourceGridAttrName(), getTargetGridAttrName(),
                            getSourceTypeAttrName(), getTargetTypeAttrName()});
  printer << " : " << getSourceType() << " -> " << getTargetType();
}

LogicalResult TransferOp::verify() {
  if (getInput() && getInput().getType() != getSourceType()) { // C4
    return emitOpError() << "the operand has type " << getInput().getType()
                         << ", expected " << getSourceType();
  }
  if (getOutput() && getOutput().getType() != getTargetType()) {
    return emitOpError() << "the result has type " << getOutput().getType()
                         << ", expected " << getTargetType();
  }
  return success();
}

LogicalResult TransferOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  LocalAttr from =
      verifyLiesOn(*this, getSourceType(), getSourceGridAttr(), symbolTable);
  if (!from) {
    return failure();
  }
  LocalAttr to =
      verifyLiesOn(*this, getTargetType(), getTargetGridAttr(), symbolTable);
  if (!to) {
    return failure();
  }
  if (from.getLayout().isPartial() || to.getLayout().isPartial()) { // C3
    return emitOpError("moves partial values; combine them first");
  }
  return verifySameTensor(*this, getSourceType(), getTargetType());
}
