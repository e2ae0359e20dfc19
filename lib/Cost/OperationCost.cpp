//===- OperationCost.cpp - What operations of a module take ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/OperationCost.h"

#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Cost/Overlap.h"

using namespace mlir;
using namespace divisi;

/// The bits of an element of `type`, in memory.
static int64_t widthOf(Type type) {
  return nn::elementBits(getElementTypeOrSelf(type));
}

int64_t OperationCost::ofOperator(nn::LoopInterface op,
                                  const spmd::Strategy &strategy) {
  spmd::GridOp grid = strategy.grid;
  GridPace pace(cluster_, grid.getValue(), grid.getDeviceIds());
  OpFusion fusion = fusionOf(op, pace);
  return opTime(strategy.nest, grid.getValue(), strategy.split, profileOf(op),
                pace, fusion.fusible)
      .with(fusion.fused);
}

/// The router is asked again: what it says of the two layouts is what the plan
/// was priced by.
std::optional<MoveCost> OperationCost::ofStep(spmd::StepInterface step) {
  spmd::GridOp grid = spmd::lookupGrid(step, step.getGridAttr());
  spmd::LocalAttr from = spmd::getLocal(step.getInput().getType());
  spmd::LocalAttr to = spmd::getLocal(step.getOutput().getType());
  if (!grid || !from || !to) {
    return std::nullopt;
  }
  auto known = prices_.find(grid.getSymName());
  if (known == prices_.end()) {
    known = prices_
                .try_emplace(grid.getSymName(), grid.getValue(),
                             linksOf(grid, cluster_))
                .first;
  }
  const GridLinks &links = known->second.links;
  Router &router = known->second.router;
  std::optional<Route> route =
      router.route(from.getGlobalShape(), widthOf(step.getInput().getType()),
                   from.getLayout(), to.getLayout());
  MoveCost cost;
  for (const Step &part : route ? route->steps : SmallVector<Step, 2>()) {
    cost.nanoseconds += part.nanoseconds;
    cost.bytes += part.bytes;
  }
  SmallVector<AxisId, 4> axes;
  for (StringRef name : step.getAxesAttr().getAsValueRange<StringAttr>()) {
    if (std::optional<AxisId> axis = grid.getValue().find(name)) {
      axes.push_back(*axis);
    }
  }
  cost.slowdown = overlapSlowdown(links.reach(axes), links.levels());
  return cost;
}

MoveCost OperationCost::ofTransfer(spmd::TransferOp op) {
  spmd::LocalAttr from = spmd::getLocal(op.getFrom());
  spmd::LocalAttr to = spmd::getLocal(op.getTo());
  int64_t width = widthOf(op.getTo());
  GridLinks links(cluster_, Grid({{"all", countDevices(module_)}}));
  Reach reach = links.reach({AxisId{0}});
  MoveCost cost;
  cost.bytes =
      localBytes(to.getGrid(), to.getLayout(), to.getGlobalShape(), width);
  cost.nanoseconds = transferNanoseconds(
      to.getGlobalShape(), width, from.getGrid(), from.getLayout(),
      to.getGrid(), to.getLayout(), reach, links.levels());
  cost.slowdown = overlapSlowdown(reach, links.levels());
  return cost;
}
