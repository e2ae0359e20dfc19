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

OperationCost::GridPrices &OperationCost::pricesOf(spmd::GridOp grid) {
  auto known = prices_.find(grid.getSymName());
  if (known == prices_.end()) {
    known = prices_
                .try_emplace(grid.getSymName(), grid.getValue(),
                             linksOf(grid, cluster_))
                .first;
  }
  return known->second;
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
  auto &[links, router] = pricesOf(grid);
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

TransferEnd OperationCost::endOf(spmd::GridOp grid, const Layout &layout) {
  return {grid.getValue(), grid.getDeviceIds(), layout};
}

MoveCost OperationCost::ofTransfer(spmd::TransferOp op) {
  spmd::GridOp source = spmd::lookupGrid(op, op.getSourceGridAttr());
  spmd::GridOp target = spmd::lookupGrid(op, op.getTargetGridAttr());
  auto [known, isNew] = transfers_.try_emplace(
      {{op.getFrom(), source}, {op.getTo(), target}}, MoveCost());
  if (isNew) {
    spmd::LocalAttr to = spmd::getLocal(op.getTo());
    TransferEnd left = endOf(source, spmd::getLocal(op.getFrom()).getLayout());
    TransferEnd right = endOf(target, to.getLayout());
    TransferPrice price = priceTransfer(
        to.getGlobalShape(), widthOf(op.getTo()), left, right, cluster_);
    GridLinks links = linksBetween(left, right, cluster_);
    known->second = {price.nanoseconds, price.bytes,
                     overlapSlowdown(links.reach({AxisId{0}}), links.levels())};
  }
  return known->second;
}

int64_t OperationCost::leastOf(spmd::TransferOp op, const Layout &to) {
  spmd::LocalAttr from = spmd::getLocal(op.getFrom());
  return leastTransferNanoseconds(
      from.getGlobalShape(), widthOf(op.getFrom()),
      endOf(spmd::lookupGrid(op, op.getSourceGridAttr()), from.getLayout()),
      endOf(spmd::lookupGrid(op, op.getTargetGridAttr()), to), cluster_);
}

std::optional<Arrival>
OperationCost::arrive(RankedTensorType type, spmd::GridOp source,
                      const Layout &from, spmd::GridOp target, const Layout &to,
                      ArrayRef<Layout> arrived) {
  auto typeOn = [&](spmd::GridOp grid, const Layout &layout) {
    return spmd::localType(type, grid.getValue(), layout);
  };
  Router &router = pricesOf(target).router;
  ArrayRef<int64_t> shape = nn::globalType(type).getShape();
  int64_t width = widthOf(type);
  // Partial values are not sent; what has arrived may become partial.
  Type sent = typeOn(source, from);
  Type whole = typeOn(target, spmd::withoutPartial(to));
  Layout wanted = spmd::getLocal(typeOn(target, to)).getLayout();
  Layout landed = spmd::getLocal(whole).getLayout();
  auto [way, isNew] =
      ways_.try_emplace({{sent, source}, {whole, target}}, TransferWay());
  if (isNew) {
    way->second = chooseTransfer(shape, width, endOf(source, from),
                                 endOf(target, landed), cluster_, router);
  }
  std::optional<Arrival> best;
  for (auto [index, layout] : llvm::enumerate(arrived)) {
    std::optional<int64_t> price = router.price(shape, width, layout, wanted);
    if (price && (!best || *price < best->nanoseconds)) {
      best = {index, {}, *price};
    }
  }
  std::optional<int64_t> rest = router.price(shape, width, landed, wanted);
  int64_t time = way->second.nanoseconds() + rest.value_or(0);
  if (rest && (!best || time < best->nanoseconds)) {
    best = {std::nullopt, way->second, time};
  }
  return best;
}
