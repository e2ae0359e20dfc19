//===- Annotate.cpp - Reads and writes strategies in the IR ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Annotate.h"

#include "dialects/SPMD/Strategy.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace divisi::plan {

spmd::GridOp createGrid(ModuleOp module, const Grid &grid,
                        llvm::ArrayRef<int64_t> devices) {
  std::string name = "g";
  for (unsigned i = 0; module.lookupSymbol(name); ++i) {
    name = "g" + std::to_string(i);
  }
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return spmd::GridOp::create(builder, module.getLoc(), name, grid, devices);
}

/// The layout that `place` means on `grid`; nothing if there is no place.
static FailureOr<std::optional<Layout>> readPlace(spmd::PlaceAttr place,
                                                  spmd::GridOp grid,
                                                  RankedTensorType type,
                                                  Operation *where) {
  if (!place) {
    return std::optional<Layout>();
  }
  if (place.getGrid() != grid.getRef()) {
    return where->emitOpError()
           << "has a place on " << place.getGrid() << ", but the plan is on @"
           << grid.getSymName();
  }
  FailureOr<Layout> layout =
      spmd::resolvePlace(place, grid.getValue(), type.getShape(),
                         [&] { return where->emitOpError(); });
  if (failed(layout)) {
    return failure();
  }
  return std::optional<Layout>(*layout);
}

static FailureOr<std::optional<Split>> readSplit(const Site &site,
                                                 spmd::GridOp grid) {
  spmd::SplitAttr attr = spmd::getSplit(site.op);
  if (!attr) {
    return std::optional<Split>();
  }
  if (attr.getGrid() != grid.getRef()) {
    return site.op->emitOpError()
           << "has a strategy on " << attr.getGrid() << ", but the plan is on @"
           << grid.getSymName();
  }
  FailureOr<Split> split =
      spmd::resolveSplit(site.op, site.nest, grid.getValue());
  if (failed(split)) {
    return failure();
  }
  return std::optional<Split>(*split);
}

/// The place that the IR has for a tensor's identity point, and its op.
static std::pair<spmd::PlaceAttr, Operation *>
placeOf(const Dataflow &dataflow, const DataflowValue &tensor) {
  switch (tensor.kind) {
  case DataflowValue::Kind::Global: {
    nn::GlobalOp global = dataflow.globals[tensor.index];
    return {spmd::getPlace(global), global};
  }
  case DataflowValue::Kind::Argument: {
    func::FuncOp entry = dataflow.entries[tensor.index];
    return {spmd::getArgPlace(entry, tensor.number), entry};
  }
  case DataflowValue::Kind::Result:
    break;
  }
  Operation *op = dataflow.sites[tensor.index].op;
  return {spmd::getPlace(op->getResult(tensor.number)), op};
}

/// Values and outputs without a place stay open; wrong ones are errors, because
/// a plan around them would be another than was asked for.
FailureOr<Fixed> readFixed(const Dataflow &dataflow, spmd::GridOp grid) {
  Fixed fixed;
  for (const Site &site : dataflow.sites) {
    FailureOr<std::optional<Split>> split = readSplit(site, grid);
    if (failed(split)) {
      return failure();
    }
    fixed.sites.push_back(*split);
  }
  auto read = [&](spmd::PlaceAttr place, RankedTensorType type, Operation *op,
                  std::vector<std::optional<Layout>> &list) {
    FailureOr<std::optional<Layout>> layout = readPlace(place, grid, type, op);
    if (succeeded(layout)) {
      list.push_back(*layout);
    }
    return success(succeeded(layout));
  };
  for (const DataflowValue &tensor : dataflow.values) {
    auto [place, op] = placeOf(dataflow, tensor);
    if (failed(read(place, tensor.type, op, fixed.values))) {
      return failure();
    }
  }
  for (const Output &output : dataflow.outputs) {
    func::FuncOp entry = dataflow.entries[output.entry];
    if (failed(read(spmd::getResultPlace(entry, output.number),
                    dataflow.values[output.tensor].type, entry,
                    fixed.outputs))) {
      return failure();
    }
  }
  return fixed;
}

static void annotateSite(const Site &site, const Split &split,
                         spmd::GridOp grid) {
  spmd::setSplit(site.op, grid, site.nest, split);
  remark::passed(site.op->getLoc(),
                 remark::RemarkOpts::name("strategy").category("nn-plan"))
      << [&] {
           std::string text;
           llvm::raw_string_ostream os(text);
           split.print(os, grid.getValue(), site.nest);
           return text.empty() ? std::string("replicated") : text;
         }();
}

static void annotateTensor(const Dataflow &dataflow,
                           const DataflowValue &tensor, const Layout &layout,
                           const Layout &made, spmd::GridOp grid) {
  spmd::PlaceAttr place = spmd::makePlace(grid, tensor.type.getShape(), layout);
  switch (tensor.kind) {
  case DataflowValue::Kind::Global:
    spmd::setPlace(dataflow.globals[tensor.index], place);
    return;
  case DataflowValue::Kind::Argument:
    spmd::setArgPlace(dataflow.entries[tensor.index], tensor.number, place);
    return;
  case DataflowValue::Kind::Result:
    if (layout != made) {
      spmd::setPlace(dataflow.sites[tensor.index].op->getResult(tensor.number),
                     place);
    }
    return;
  }
}

/// An identity point is written only where it differs from how the value is
/// made: the partitioner then adds no conversion to the same layout.
void annotate(const Dataflow &dataflow, const PlanningProblem &planning,
              spmd::GridOp grid, const std::vector<uint32_t> &assignment) {
  Grid axes = grid.getValue();
  auto splitOf = [&](unsigned site) -> const Split & {
    return planning.choices[site]->splits[assignment[planning.siteNodes[site]]];
  };
  for (auto [index, site] : llvm::enumerate(dataflow.sites)) {
    annotateSite(site, splitOf(unsigned(index)), grid);
  }
  for (auto [index, tensor] : llvm::enumerate(dataflow.values)) {
    const std::vector<Layout> &places = planning.valuePlaces[index];
    if (places.empty()) {
      continue;
    }
    const Layout &layout = places[assignment[planning.valueNodes[index]]];
    Layout made;
    if (tensor.kind == DataflowValue::Kind::Result) {
      made = resultLayout(dataflow.sites[tensor.index].nest, axes,
                          splitOf(tensor.index), tensor.number);
    }
    annotateTensor(dataflow, tensor, layout, made, grid);
  }
  for (auto [index, output] : llvm::enumerate(dataflow.outputs)) {
    RankedTensorType type = dataflow.values[output.tensor].type;
    const Layout &layout =
        planning.outputPlaces[index][assignment[planning.outputNodes[index]]];
    spmd::setResultPlace(dataflow.entries[output.entry], output.number,
                         spmd::makePlace(grid, type.getShape(), layout));
  }
}

} // namespace divisi::plan
