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
                                                  ArrayRef<int64_t> shape,
                                                  Operation *where) {
  if (!place) {
    return std::optional<Layout>();
  }
  if (place.getGrid() != grid.getRef()) {
    return where->emitOpError()
           << "has a place on " << place.getGrid() << ", but the plan is on @"
           << grid.getSymName();
  }
  FailureOr<Layout> layout = spmd::resolvePlace(
      place, grid.getValue(), shape, [&] { return where->emitOpError(); });
  if (failed(layout)) {
    return failure();
  }
  return std::optional<Layout>(*layout);
}

static FailureOr<std::optional<Split>>
readSplit(nn::LoopInterface op, const Site &site, spmd::GridOp grid) {
  spmd::SplitAttr attr = spmd::getSplit(op);
  if (!attr) {
    return std::optional<Split>();
  }
  if (attr.getGrid() != grid.getRef()) {
    return op->emitOpError() << "has a strategy on " << attr.getGrid()
                             << ", but the plan is on @" << grid.getSymName();
  }
  FailureOr<Split> split = spmd::resolveSplit(op, site.nest, grid.getValue());
  if (failed(split)) {
    return failure();
  }
  return std::optional<Split>(*split);
}

/// The place that the IR has for a tensor's identity point, and its op.
static std::pair<spmd::PlaceAttr, Operation *>
placeOf(const ModuleDataflow &dataflow, const DataflowValue &tensor) {
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
  Operation *op = dataflow.ops[tensor.index];
  return {spmd::getPlace(op->getResult(tensor.number)), op};
}

llvm::SmallVector<OpOperand *> usersOf(const ModuleDataflow &dataflow,
                                       unsigned stop) {
  llvm::SmallVector<OpOperand *> users;
  const Stop &info = dataflow.stops[stop];
  for (const Consumer &consumer : dataflow.values[info.tensor].consumers) {
    if (consumer.stop == stop) {
      users.push_back(
          &dataflow.ops[consumer.index]->getOpOperand(consumer.operand));
    }
  }
  return users;
}

/// Alike users go the same way, or the plan would be another.
static FailureOr<std::optional<Layout>>
readStop(const ModuleDataflow &dataflow, unsigned stop, spmd::GridOp grid) {
  llvm::SmallVector<OpOperand *> users = usersOf(dataflow, stop);
  spmd::PlaceAttr place = spmd::getStop(*users.front());
  for (OpOperand *user : users) {
    if (spmd::getStop(*user) != place) {
      InFlightDiagnostic diagnostic =
          user->getOwner()->emitOpError()
          << "takes operand " << user->getOperandNumber()
          << " through another stop than an equivalent operator; give both the "
             "same in spmd.stops";
      diagnostic.attachNote(users.front()->getOwner()->getLoc())
          << "the other operator is here";
      return failure();
    }
  }
  return readPlace(place, grid,
                   dataflow.values[dataflow.stops[stop].tensor].shape,
                   users.front()->getOwner());
}

/// Values and outputs without a place stay open; wrong ones are errors, because
/// a plan around them would be another than was asked for.
FailureOr<Fixed> readFixed(const ModuleDataflow &dataflow, spmd::GridOp grid) {
  Fixed fixed;
  for (auto [op, site] : llvm::zip_equal(dataflow.ops, dataflow.sites)) {
    FailureOr<std::optional<Split>> split = readSplit(op, site, grid);
    if (failed(split)) {
      return failure();
    }
    fixed.sites.push_back(*split);
  }
  auto read = [&](spmd::PlaceAttr place, const DataflowValue &tensor,
                  Operation *op, std::vector<std::optional<Layout>> &list) {
    FailureOr<std::optional<Layout>> layout =
        readPlace(place, grid, tensor.shape, op);
    if (succeeded(layout)) {
      list.push_back(*layout);
    }
    return success(succeeded(layout));
  };
  for (const DataflowValue &tensor : dataflow.values) {
    auto [place, op] = placeOf(dataflow, tensor);
    if (failed(read(place, tensor, op, fixed.values))) {
      return failure();
    }
  }
  for (unsigned stop = 0; stop != dataflow.stops.size(); ++stop) {
    FailureOr<std::optional<Layout>> layout = readStop(dataflow, stop, grid);
    if (failed(layout)) {
      return failure();
    }
    fixed.stops.push_back(*layout);
  }
  for (const Output &output : dataflow.outputs) {
    func::FuncOp entry = dataflow.entries[output.entry];
    if (failed(read(spmd::getResultPlace(entry, output.number),
                    dataflow.values[output.tensor], entry, fixed.outputs))) {
      return failure();
    }
  }
  return fixed;
}

static void annotateSite(nn::LoopInterface op, const Site &site,
                         const Split &split, spmd::GridOp grid) {
  spmd::setSplit(op, grid, site.nest, split);
  remark::passed(op->getLoc(),
                 remark::RemarkOpts::name("strategy").category("nn-plan"))
      << [&] {
           std::string text;
           llvm::raw_string_ostream os(text);
           split.print(os, grid.getValue(), site.nest);
           return text.empty() ? std::string("replicated") : text;
         }();
}

static void annotateTensor(const ModuleDataflow &dataflow,
                           const DataflowValue &tensor, const Layout &layout,
                           const Layout &made, spmd::GridOp grid) {
  spmd::PlaceAttr place = spmd::makePlace(grid, tensor.shape, layout);
  switch (tensor.kind) {
  case DataflowValue::Kind::Global:
    spmd::setPlace(dataflow.globals[tensor.index], place);
    return;
  case DataflowValue::Kind::Argument:
    spmd::setArgPlace(dataflow.entries[tensor.index], tensor.number, place);
    return;
  case DataflowValue::Kind::Result:
    if (layout != made) {
      spmd::setPlace(dataflow.ops[tensor.index]->getResult(tensor.number),
                     place);
    }
    return;
  }
}

/// A stop where the tensor rests is none.
static void annotateStops(const ModuleDataflow &dataflow,
                          const PlanningProblem &planning, spmd::GridOp grid,
                          const std::vector<uint32_t> &assignment) {
  for (auto [index, stop] : llvm::enumerate(dataflow.stops)) {
    const Layout &layout =
        planning.stopPlaces[index][assignment[planning.stopNodes[index]]];
    const std::vector<Layout> &places = planning.valuePlaces[stop.tensor];
    if (layout == places[assignment[planning.valueNodes[stop.tensor]]]) {
      continue;
    }
    spmd::PlaceAttr place =
        spmd::makePlace(grid, dataflow.values[stop.tensor].shape, layout);
    for (OpOperand *user : usersOf(dataflow, unsigned(index))) {
      spmd::setStop(*user, place);
    }
  }
}

/// An identity point is written only where it differs from how the value is
/// made: the partitioner then adds no conversion to the same layout.
void annotate(const ModuleDataflow &dataflow, const PlanningProblem &planning,
              spmd::GridOp grid, const std::vector<uint32_t> &assignment) {
  Grid axes = grid.getValue();
  auto splitOf = [&](unsigned site) -> const Split & {
    return planning.choices[site]->splits[assignment[planning.siteNodes[site]]];
  };
  for (auto [index, site] : llvm::enumerate(dataflow.sites)) {
    annotateSite(dataflow.ops[index], site, splitOf(unsigned(index)), grid);
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
    const Layout &layout =
        planning.outputPlaces[index][assignment[planning.outputNodes[index]]];
    spmd::setResultPlace(
        dataflow.entries[output.entry], output.number,
        spmd::makePlace(grid, dataflow.values[output.tensor].shape, layout));
  }
  annotateStops(dataflow, planning, grid, assignment);
}

} // namespace divisi::plan
