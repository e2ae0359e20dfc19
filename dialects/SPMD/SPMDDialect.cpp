//===- SPMDDialect.cpp - The dialect and what it verifies -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

#include "dialects/SPMD/SPMDDialect.cpp.inc"

void SPMDDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/SPMD/SPMDOps.cpp.inc"
      >();
}

// `place` means something for a tensor of `type`.
static LogicalResult verifyPlace(Operation *op, PlaceAttr place, Type type,
                                 StringRef what) {
  auto emit = [&]() { return op->emitOpError() << what << ": "; };
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape()) {
    return emit() << "expected a tensor of static shape, got " << type;
  }
  FailureOr<GridOp> grid = requireGrid(op, place.getGrid());
  if (failed(grid)) {
    return failure();
  }
  return resolvePlace(place, (*grid).getValue(), nn::globalShape(tensor), emit);
}

static LogicalResult verifySplitAttribute(Operation *op, NamedAttribute attr) {
  auto split = llvm::dyn_cast<SplitAttr>(attr.getValue());
  if (!split) {
    return op->emitOpError()
           << "spmd.split: expected #spmd.split, got " << attr.getValue();
  }
  auto loops = llvm::dyn_cast<nn::LoopInterface>(op);
  if (!loops) {
    return op->emitOpError("spmd.split: the operation has no loops to split");
  }
  FailureOr<GridOp> grid = requireGrid(op, split.getGrid());
  if (failed(grid)) {
    return failure();
  }
  return resolveSplit(op, loops.getLoopNest(), (*grid).getValue());
}

/// A list with a place or unit for each of `types`, which are those of its
/// `what`s.
static LogicalResult verifyPlaceList(Operation *op, NamedAttribute attr,
                                     StringRef what, TypeRange types) {
  StringRef name = attr.getName();
  auto places = llvm::dyn_cast<ArrayAttr>(attr.getValue());
  if (!places || places.size() != types.size()) {
    return op->emitOpError() << name << ": expected an array with one entry "
                             << "per " << what << ", got " << attr.getValue();
  }
  for (auto [place, type] : llvm::zip_equal(places, types)) {
    if (llvm::isa<UnitAttr>(place)) {
      continue;
    }
    auto placeAttr = llvm::dyn_cast<PlaceAttr>(place);
    if (!placeAttr) {
      return op->emitOpError()
             << name << ": expected #spmd.place or unit, got " << place;
    }
    if (failed(verifyPlace(op, placeAttr, type, name))) {
      return failure();
    }
  }
  return success();
}

static LogicalResult verifyPlaceAttribute(Operation *op, NamedAttribute attr,
                                          Type type) {
  auto place = llvm::dyn_cast<PlaceAttr>(attr.getValue());
  if (!place) {
    return op->emitOpError()
           << "spmd.place: expected #spmd.place, got " << attr.getValue();
  }
  return verifyPlace(op, place, type, "spmd.place");
}

static LogicalResult verifyFuseAttribute(Operation *op, NamedAttribute attr) {
  auto index = llvm::dyn_cast<IntegerAttr>(attr.getValue());
  bool isOperand = index && index.getType().isInteger(64) &&
                   index.getInt() >= 0 &&
                   index.getInt() < int64_t(op->getNumOperands());
  Value operand = isOperand ? op->getOperand(index.getInt()) : Value();
  Operation *maker = operand ? operand.getDefiningOp() : nullptr;
  auto isCalled = [](Operation *op) {
    return llvm::isa<nn::LoopInterface>(op) &&
           !llvm::isa<nn::ReadOp, nn::UpdateOp, nn::ConstantOp>(op);
  };
  if (!maker || !isCalled(op) || !isCalled(maker) || !operand.hasOneUse() ||
      maker->getNumResults() != 1 || maker->getBlock() != op->getBlock()) {
    return op->emitOpError("spmd.fuse: expected the number (i64) of an operand "
                           "that is the only result of an operator and has no "
                           "other use");
  }
  return success();
}

LogicalResult SPMDDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  // MLIR verifies these attributes before the operation itself: an illegal one
  // can be asked neither for its loops nor for its type.
  if (failed(op->getName().verifyInvariants(op))) {
    return failure();
  }
  StringRef name = attr.getName();
  if (name == kSplit) {
    return verifySplitAttribute(op, attr);
  }
  if (name == kPlaces) {
    return verifyPlaceList(op, attr, "result", op->getResultTypes());
  }
  if (name == kStops) {
    return verifyPlaceList(op, attr, "operand", op->getOperandTypes());
  }
  if (name == kPlace) {
    auto global = llvm::dyn_cast<nn::GlobalOp>(op);
    if (!global) {
      return op->emitOpError("spmd.place: expected on nn.global, or on an "
                             "argument or result of a function");
    }
    return verifyPlaceAttribute(op, attr, global.getTensorType());
  }
  if (name == kEntry) {
    return llvm::isa<StringAttr>(attr.getValue())
               ? success()
               : op->emitOpError("spmd.entry: expected a string");
  }
  if (name == kRanks) {
    return llvm::isa<DenseI32ArrayAttr>(attr.getValue())
               ? success()
               : op->emitOpError("spmd.ranks: expected array<i32: ...>");
  }
  if (name == kComputes) {
    return llvm::isa<DenseI64ArrayAttr>(attr.getValue())
               ? success()
               : op->emitOpError("spmd.computes: expected array<i64: ...>");
  }
  if (name == kFuse) {
    return verifyFuseAttribute(op, attr);
  }
  if (name == kOverlap) {
    return llvm::isa<UnitAttr>(attr.getValue())
               ? success()
               : op->emitOpError("spmd.overlap: expected a unit attribute");
  }
  return op->emitOpError() << "unknown attribute '" << name
                           << "', expected spmd.split, spmd.place, "
                           << "spmd.places, spmd.stops, spmd.entry, "
                           << "spmd.ranks, spmd.fuse, spmd.overlap or "
                           << "spmd.computes";
}

// What an argument or result of a function may have; `typeIn` returns its type.
static LogicalResult
verifySignatureAttribute(Operation *op, NamedAttribute attr,
                         llvm::function_ref<Type(FunctionOpInterface)> typeIn) {
  auto function = llvm::dyn_cast<FunctionOpInterface>(op);
  if (!function) {
    return op->emitOpError()
           << attr.getName().getValue() << ": expected on a function";
  }
  if (attr.getName() == SPMDDialect::kPlace) {
    return verifyPlaceAttribute(op, attr, typeIn(function));
  }
  if (attr.getName() == SPMDDialect::kIndex) {
    auto index = llvm::dyn_cast<IntegerAttr>(attr.getValue());
    return index && index.getType().isInteger(64) &&
                   !index.getValue().isNegative()
               ? success()
               : op->emitOpError("spmd.index: expected an i64, not negative");
  }
  return op->emitOpError() << "unknown attribute '" << attr.getName().getValue()
                           << "' of an argument or result, expected spmd.place "
                           << "or spmd.index";
}

LogicalResult SPMDDialect::verifyRegionArgAttribute(Operation *op,
                                                    unsigned regionIndex,
                                                    unsigned argIndex,
                                                    NamedAttribute attr) {
  return verifySignatureAttribute(op, attr, [&](FunctionOpInterface function) {
    return function.getArgumentTypes()[argIndex];
  });
}

LogicalResult SPMDDialect::verifyRegionResultAttribute(Operation *op,
                                                       unsigned regionIndex,
                                                       unsigned resultIndex,
                                                       NamedAttribute attr) {
  return verifySignatureAttribute(op, attr, [&](FunctionOpInterface function) {
    return function.getResultTypes()[resultIndex];
  });
}
