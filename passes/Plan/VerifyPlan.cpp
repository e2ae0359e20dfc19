//===- VerifyPlan.cpp - Check that everything has a strategy --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/ModuleDataflow.h"
#include "passes/Plan/Passes.h"

#include "dialects/SPMD/Strategy.h"

#include <algorithm>

namespace divisi {
#define GEN_PASS_DEF_VERIFYPLAN
#include "passes/Plan/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::plan;

/// Disjoint, or one within the other.
static LogicalResult verifyGrids(ModuleOp module) {
  llvm::SmallVector<spmd::GridOp> grids(module.getOps<spmd::GridOp>());
  llvm::SmallVector<llvm::SmallVector<int64_t>> devices;
  for (spmd::GridOp grid : grids) {
    devices.push_back(grid.getDeviceIds());
    llvm::sort(devices.back());
  }
  for (size_t a = 0; a != grids.size(); ++a) {
    for (size_t b = 0; b != a; ++b) {
      llvm::SmallVector<int64_t> common;
      std::ranges::set_intersection(devices[a], devices[b],
                                    std::back_inserter(common));
      if (!common.empty() && common != devices[a] && common != devices[b]) {
        InFlightDiagnostic diagnostic =
            grids[a].emitOpError("shares some but not all devices with @")
            << grids[b].getSymName()
            << "; grids must be disjoint, or one within the other";
        diagnostic.attachNote(grids[b].getLoc()) << "the other grid is here";
        return diagnostic;
      }
    }
  }
  return success();
}

/// `what` names the place in messages: "global @w", "argument 0".
static LogicalResult verifyPlace(Operation *where, const Twine &what,
                                 spmd::PlaceAttr place, Type type) {
  FailureOr<spmd::ResolvedPlace> rest =
      spmd::requirePlace(where, place, type, what);
  if (failed(rest)) {
    return failure();
  }
  if (rest->layout.isPartial()) {
    return where->emitOpError()
           << what << " is stored as a partial sum; places hold whole values";
  }
  return success();
}

/// A value needs no place of its own: it then rests as it is made.
static LogicalResult verifyTensor(const ModuleDataflow &dataflow,
                                  const DataflowValue &tensor) {
  switch (tensor.kind) {
  case DataflowValue::Kind::Global: {
    nn::GlobalOp global = dataflow.globals[tensor.index];
    return verifyPlace(global, "global @" + global.getSymName(),
                       spmd::getPlace(global), global.getTensorType());
  }
  case DataflowValue::Kind::Argument: {
    func::FuncOp entry = dataflow.entries[tensor.index];
    return verifyPlace(entry, "argument " + Twine(tensor.number),
                       spmd::getArgPlace(entry, tensor.number),
                       entry.getArgumentTypes()[tensor.number]);
  }
  case DataflowValue::Kind::Result:
    break;
  }
  OpResult result = dataflow.ops[tensor.index]->getResult(tensor.number);
  spmd::PlaceAttr place = spmd::getPlace(result);
  return !place
             ? success()
             : verifyPlace(result.getOwner(), "result " + Twine(tensor.number),
                           place, result.getType());
}

static LogicalResult verifyProgram(const ModuleDataflow &dataflow) {
  for (auto [op, site] : llvm::zip_equal(dataflow.ops, dataflow.sites)) {
    FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(op);
    if (failed(strategy) ||
        failed(spmd::resolveSplit(op, site.nest, strategy->grid.getValue()))) {
      return failure();
    }
  }
  for (const DataflowValue &tensor : dataflow.values) {
    if (failed(verifyTensor(dataflow, tensor))) {
      return failure();
    }
  }
  for (const Output &output : dataflow.outputs) {
    func::FuncOp entry = dataflow.entries[output.entry];
    if (failed(verifyPlace(entry, "result " + Twine(output.number),
                           spmd::getResultPlace(entry, output.number),
                           entry.getResultTypes()[output.number]))) {
      return failure();
    }
  }
  return success();
}

namespace {
/// See Passes.td.
class VerifyPlanPass : public divisi::impl::VerifyPlanBase<VerifyPlanPass> {
public:
  void runOnOperation() override {
    FailureOr<ModuleDataflow> dataflow = readDataflow(getOperation(), 0);
    if (failed(dataflow) || failed(verifyGrids(getOperation())) ||
        failed(verifyProgram(*dataflow))) {
      signalPassFailure();
    }
  }
};
} // namespace
