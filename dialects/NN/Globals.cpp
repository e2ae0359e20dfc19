//===- Globals.cpp - Constants, parameters and state ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Functions.h"
#include "dialects/NN/Nests.h"
#include "divisi/Support/CheckedMath.h"

using namespace mlir;

namespace divisi::nn {

//===- global -------------------------------------------------------------===//

LogicalResult GlobalOp::verify() {
  bool inFile = getFile().has_value();
  if (getKind() == GlobalKind::Constant && !inFile) { // C1
    return emitOpError() << "is a constant without bytes, expected 'from'";
  }
  if (getKind() == GlobalKind::Derived && (inFile || getZero())) { // C2
    return emitOpError() << "is derived, so @init computes it; drop 'from' "
                            "and 'zero'";
  }
  if ((inFile && getZero()) || inFile != getOffset().has_value() ||
      inFile != getLength().has_value()) { // C3
    return emitOpError() << "needs a file, offset and length, or 'zero', or "
                            "none of them";
  }
  if (!inFile) {
    return success();
  }
  int64_t offset = *getOffset(), length = *getLength();
  if (offset < 0 || length < 0 || !checkedAdd(offset, length)) { // C4
    return emitOpError() << "lies at offset " << offset << " with length "
                         << length << ", which is not a valid part of a file";
  }
  std::optional<int64_t> bytes = byteCount(globalType(getTensorType()));
  if (bytes != length) { // C5
    InFlightDiagnostic error = emitOpError();
    error << "has " << length << " bytes in its file, but " << getTensorType()
          << " takes ";
    return bytes ? error << *bytes : error << "more than an int64 can count";
  }
  return success();
}

//===- functions ----------------------------------------------------------===//

bool isInit(FunctionOpInterface function) {
  return function.getName() == kInitFunction;
}

bool isEntry(FunctionOpInterface function) {
  return !function.isExternal() && !isInit(function);
}

//===- read, update -------------------------------------------------------===//

/// The global that `op` names, if `type` is its type; else null and an error.
static GlobalOp lookupGlobal(Operation *op, FlatSymbolRefAttr name, Type type,
                             SymbolTableCollection &symbols) {
  auto global = symbols.lookupNearestSymbolFrom<GlobalOp>(op, name);
  if (!global) { // C1
    op->emitOpError() << "names " << name << ", which is not an nn.global";
    return {};
  }
  RankedTensorType expected = globalType(global.getTensorType());
  if (globalType(type) != expected) { // C2
    InFlightDiagnostic error = op->emitOpError()
                               << "has the type " << globalType(type)
                               << ", expected " << expected << " as " << name;
    error.attachNote(global.getLoc()) << "the global is declared here";
    return {};
  }
  return global;
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(static_cast<bool>(
      lookupGlobal(*this, getGlobalAttr(), getValue().getType(), symbols)));
}

LoopNest ReadOp::getLoopNest() { return elementwiseNest(*this, 0, {}); }

/// Whether `op` stands in the function `@init`.
static bool isInInit(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function && isInit(function);
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  GlobalOp global =
      lookupGlobal(*this, getGlobalAttr(), getValue().getType(), symbols);
  if (!global) {
    return failure();
  }
  GlobalKind kind = global.getKind();
  if (kind == GlobalKind::Constant ||
      (kind == GlobalKind::Derived && !isInInit(*this))) { // C3
    InFlightDiagnostic error =
        emitOpError() << "replaces a " << stringifyGlobalKind(kind)
                      << " global, expected a parameter or a state, or a "
                         "derived one in @init";
    error.attachNote(global.getLoc()) << "the global is declared here";
    return failure();
  }
  return success();
}

LoopNest UpdateOp::getLoopNest() {
  LoopNest nest;
  Type type = getValue().getType();
  nest.operands = {mapLoops(type, addLoops(nest, globalShape(type)))};
  return nest;
}

//===- constant -----------------------------------------------------------===//

LogicalResult ConstantOp::checkType(Adaptor adaptor, RankedTensorType type,
                                    EmitError emitError) {
  if (!isValueOf(adaptor.getValue().getShapedType(), type)) { // C1
    return emitError() << "has a result of type " << type
                       << ", expected that of the value, "
                       << adaptor.getValue().getType();
  }
  return success();
}

LoopNest ConstantOp::getLoopNest() { return elementwiseNest(*this, 0, {}); }

} // namespace divisi::nn
