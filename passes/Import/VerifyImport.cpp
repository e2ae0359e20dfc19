//===- VerifyImport.cpp - What may stand after Import ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "passes/Import/Passes.h"
#include "passes/ModuleNotes.h"

#include <map>

namespace divisi {
#define GEN_PASS_DEF_VERIFYIMPORT
#include "passes/Import/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

static bool isGlobal(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.getEncoding();
}

static LogicalResult verifyTypes(Operation &op) {
  auto check = [&](Type type) {
    return isGlobal(type) ? success()
                          : op.emitOpError() << "has the type " << type
                                             << ", expected a global tensor";
  };
  for (Type type : op.getOperandTypes()) {
    if (failed(check(type))) {
      return failure();
    }
  }
  for (Type type : op.getResultTypes()) {
    if (failed(check(type))) {
      return failure();
    }
  }
  return success();
}

static LogicalResult verifyNames(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (!function.getArgAttrOfType<StringAttr>(i, "nn.name")) {
      return function.emitOpError() << "argument " << i << " has no nn.name";
    }
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (!function.getResultAttrOfType<StringAttr>(i, "nn.name")) {
      return function.emitOpError() << "result " << i << " has no nn.name";
    }
  }
  return success();
}

static LogicalResult verifyFunction(func::FuncOp function) {
  bool isInit = nn::isInit(function);
  if (function.isExternal() || !function.getBody().hasOneBlock()) {
    return function.emitOpError() << "has no body of one block";
  }
  if (isInit && (function.getNumArguments() || function.getNumResults())) {
    return function.emitOpError()
           << "takes arguments or gives results; it works on globals alone";
  }
  if (!isInit && !nn::isBody(function) && failed(verifyNames(function))) {
    return failure();
  }
  for (Operation &op : function.getOps()) {
    if (!isa<func::ReturnOp>(op) &&
        !isa_and_nonnull<nn::NNDialect>(op.getDialect())) {
      return op.emitOpError() << "is not allowed after Import; only nn "
                                 "operators and a return are";
    }
    if (failed(verifyTypes(op))) {
      return failure();
    }
  }
  return success();
}

/// Each derived global is computed once.
static LogicalResult verifyDerived(ModuleOp module) {
  std::map<std::string, int> updates;
  if (auto init = module.lookupSymbol<func::FuncOp>(nn::kInitFunction)) {
    for (auto update : init.getOps<nn::UpdateOp>()) {
      ++updates[update.getGlobal().str()];
    }
  }
  for (auto global : module.getOps<nn::GlobalOp>()) {
    int count = updates[global.getSymName().str()];
    if (global.getKind() == nn::GlobalKind::Derived && count != 1) {
      return global.emitOpError() << "is derived and updated " << count
                                  << " times in @init, expected once";
    }
  }
  return success();
}

namespace {

class VerifyImportPass
    : public divisi::impl::VerifyImportBase<VerifyImportPass> {
public:
  void runOnOperation() override {
    for (Operation &op : *getOperation().getBody()) {
      auto function = dyn_cast<func::FuncOp>(op);
      if (!function && !isa<nn::GlobalOp>(op)) {
        op.emitOpError() << "is not allowed after Import; a module holds "
                            "globals and functions";
        return signalPassFailure();
      }
      if (function && failed(verifyFunction(function))) {
        return signalPassFailure();
      }
    }
    if (failed(verifyDerived(getOperation()))) {
      return signalPassFailure();
    }
    noteOnModule(getOperation(), kStageAttr, "import");
    markAllAnalysesPreserved();
  }
};

} // namespace
