//===- Route.cpp - Replace each convert by the cheapest steps -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %1 = spmd.convert %0 {grid = @g} : !partial -> !rows
//   ->
//   %1 = spmd.reduce_scatter %0 {grid = @g, axes = ["x"]} : !partial -> !rows
//
//===----------------------------------------------------------------------===//

#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Cost/StepCost.h"
#include "divisi/Route/Router.h"
#include "passes/Partition/Passes.h"
#include "passes/StatusDiagnostic.h"

#include "mlir/IR/Builders.h"

#include <map>

#define DEBUG_TYPE "spmd-route"

namespace divisi {
#define GEN_PASS_DEF_SPMDROUTE
#include "passes/Partition/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

namespace {
/// See Passes.td.
class RoutePass : public divisi::impl::SPMDRouteBase<RoutePass> {
  void runOnOperation() override;
};
} // namespace

// The operation of one step; its mnemonic is the name of the step's kind.
static Value createStep(OpBuilder &builder, ConvertOp convert, Value value,
                        const Grid &grid, const Step &step) {
  SmallVector<StringRef> axes;
  for (AxisId axis : step.axes) {
    axes.push_back(grid.name(axis));
  }
  RankedTensorType type =
      localType(convert.getOutput().getType(), grid, step.result);
  OperationState state(convert.getLoc(),
                       ("spmd." + stringifyStepKind(step.kind)).str());
  state.addOperands(value);
  state.addTypes(type);
  state.addAttribute("grid", convert.getGridAttr());
  state.addAttribute("axes", builder.getStrArrayAttr(axes));
  return builder.create(state)->getResult(0);
}

// Replaces `convert`; the number of steps, or nothing after an error.
static std::optional<int64_t> replaceByRoute(ConvertOp convert,
                                             Router &router) {
  LocalAttr from = getLocal(convert.getInput().getType());
  LocalAttr to = getLocal(convert.getOutput().getType());
  std::optional<Route> route = router.route(
      from.getGlobalShape(),
      nn::elementBits(convert.getInput().getType().getElementType()),
      from.getLayout(), to.getLayout());
  if (!route) {
    convert.emitOpError() << "no collectives go from "
                          << from.getLayout().str(from.getGrid()) << " to "
                          << to.getLayout().str(to.getGrid());
    return std::nullopt;
  }
  OpBuilder builder(convert);
  Value value = convert.getInput();
  for (const Step &step : route->steps) {
    value = createStep(builder, convert, value, router.grid(), step);
  }
  convert.getOutput().replaceAllUsesWith(value);
  convert.erase();
  return route->steps.size();
}

/// One router per grid, which remembers the routes of equal tensors.
void RoutePass::runOnOperation() {
  SmallVector<ConvertOp> converts;
  getOperation().walk([&](ConvertOp convert) { converts.push_back(convert); });
  Expected<Cluster> cluster = getCluster(getOperation());
  if (!cluster) {
    emitStatus(getOperation().getLoc(), cluster.status());
    return signalPassFailure();
  }
  std::map<std::string, Router> routers;
  for (ConvertOp convert : converts) {
    FailureOr<GridOp> grid = requireGrid(convert, convert.getGridAttr());
    if (failed(grid)) {
      return signalPassFailure();
    }
    auto it = routers.find(convert.getGrid().str());
    if (it == routers.end()) {
      it = routers
               .try_emplace(
                   convert.getGrid().str(), grid->getValue(),
                   stepPrices(grid->getValue(), linksOf(*grid, *cluster)))
               .first;
    }
    std::optional<int64_t> steps = replaceByRoute(convert, it->second);
    if (!steps) {
      return signalPassFailure();
    }
    numSteps += *steps;
  }
}
