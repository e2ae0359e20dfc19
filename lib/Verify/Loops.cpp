//===- Loops.cpp - Whether loops and bodies fit together ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Loops.h"

#include "Dataflow.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;
using namespace divisi::verify;

/// The functions that stand for the body of `op`.
static SmallVector<func::FuncOp, 1> partsOf(nn::LoopOp op) {
  SmallVector<func::FuncOp, 1> parts;
  for (auto function : op->getParentOfType<ModuleOp>().getOps<func::FuncOp>()) {
    if (!function.isExternal() && entryOf(function) == op.getBody()) {
      parts.push_back(function);
    }
  }
  return parts;
}

FailureOr<SmallVector<PlaceAttr>> verify::placesOf(nn::LoopOp op) {
  SmallVector<func::FuncOp, 1> parts = partsOf(op);
  if (parts.size() != 1 || !parts.front().isPrivate()) {
    return op.emitOpError()
           << "runs @" << op.getBody() << ", which is not a body of one part";
  }
  func::FuncOp body = parts.front();
  auto isAlike = [](Type a, Type b) {
    return nn::globalType(a) == nn::globalType(b);
  };
  if (!llvm::equal(body.getArgumentTypes(), op->getOperandTypes(), isAlike) ||
      !llvm::equal(body.getResultTypes(), op->getResultTypes(), isAlike)) {
    return op.emitOpError()
           << "has other operands or results than its body @" << op.getBody();
  }
  SmallVector<PlaceAttr> places;
  for (unsigned index = 0; index < body.getNumArguments(); ++index) {
    auto place = body.getArgAttrOfType<PlaceAttr>(index, SPMDDialect::kPlace);
    if (!place || (index != 0 && place.getGrid() != places[0].getGrid())) {
      return op.emitOpError()
             << "needs one grid for all arguments of @" << op.getBody();
    }
    places.push_back(place);
  }
  return places;
}

FlatSymbolRefAttr verify::gridOf(nn::LoopOp op) {
  return partsOf(op)
      .front()
      .getArgAttrOfType<PlaceAttr>(0, SPMDDialect::kPlace)
      .getGrid();
}

LogicalResult verify::verifyBody(func::FuncOp part) {
  if (!part.isPrivate()) {
    return success();
  }
  for (unsigned number = 0; number < part.getNumResults(); ++number) {
    unsigned argument = nn::carriedArgument(number);
    if (argument >= part.getNumArguments() ||
        part.getResultAttr(number, SPMDDialect::kPlace) !=
            part.getArgAttr(argument, SPMDDialect::kPlace)) {
      return part.emitOpError()
             << "is a body that returns result " << number
             << " in another place than argument " << argument
             << ", which it becomes in the next iteration";
    }
  }
  for (Operation &op : part.front()) {
    if (isa<nn::ReadOp, nn::UpdateOp, TransferOp>(op)) {
      return op.emitOpError("touches a global or another grid in a body, which "
                            "is not possible");
    }
  }
  return success();
}
