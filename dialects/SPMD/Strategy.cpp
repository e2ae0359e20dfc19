//===- Strategy.cpp - Reading and writing strategies ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/SPMD/Strategy.h"

#include "dialects/SPMD/LayoutSyntax.h"

using namespace mlir;

namespace divisi::spmd {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static llvm::SmallVector<std::string, 2> namesOf(const Grid &grid,
                                                 llvm::ArrayRef<AxisId> axes) {
  llvm::SmallVector<std::string, 2> names;
  for (AxisId axis : axes) {
    names.push_back(grid.name(axis).str());
  }
  return names;
}

NamedSplit NamedSplit::of(const LoopNest &nest, const Grid &grid,
                          const Split &split) {
  NamedSplit named;
  for (auto [loop, axes] : llvm::zip_equal(nest.loops, split.loopAxes)) {
    if (!axes.empty()) {
      named.loops.push_back({loop.name, namesOf(grid, axes)});
    }
  }
  named.carry = namesOf(grid, split.carryAxes);
  named.carrySet = split.carryAxes.empty() ? 0 : split.carrySet;
  return named;
}

// Appends the axes called `names`, or returns what is wrong.
template <typename Axes>
static std::optional<std::string>
resolveAxes(const Grid &grid, llvm::ArrayRef<std::string> names, Axes &axes) {
  for (const std::string &name : names) {
    std::optional<AxisId> axis = grid.find(name);
    if (!axis) {
      return "the grid has no axis '" + name + "'";
    }
    axes.push_back(*axis);
  }
  return std::nullopt;
}

static std::string listLoops(const LoopNest &nest) {
  std::string list;
  for (const Loop &loop : nest.loops) {
    list += (list.empty() ? "" : ", ") + loop.name;
  }
  return list.empty() ? "none" : list;
}

std::optional<std::string> NamedSplit::resolve(const LoopNest &nest,
                                               const Grid &grid,
                                               Split &split) const {
  split = Split::replicated(nest);
  for (const NamedLoopSplit &named : loops) {
    std::optional<LoopId> loop = nest.find(named.loop);
    if (!loop) {
      return "the operator has no loop '" + named.loop + "', its loops are " +
             listLoops(nest);
    }
    if (auto error =
            resolveAxes(grid, named.axes, split.loopAxes[loop->index])) {
      return error;
    }
  }
  if (auto error = resolveAxes(grid, carry, split.carryAxes)) {
    return error;
  }
  llvm::sort(split.carryAxes);
  split.carrySet = carrySet;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Grids and splits
//===----------------------------------------------------------------------===//

GridOp lookupGrid(Operation *from, FlatSymbolRefAttr symbol) {
  // Grids are few among globals without number, and asked for by every
  // operator: what an operator is is seen sooner than what it is called.
  Operation *table = SymbolTable::getNearestSymbolTable(from);
  if (table) {
    for (GridOp grid : table->getRegion(0).getOps<GridOp>()) {
      if (grid.getSymName() == symbol.getValue()) {
        return grid;
      }
    }
  }
  return nullptr;
}

FailureOr<GridOp> requireGrid(Operation *from, FlatSymbolRefAttr symbol) {
  GridOp grid = lookupGrid(from, symbol);
  if (!grid) {
    return from->emitOpError()
           << "names the grid " << symbol << ", but no spmd.grid has that name";
  }
  // MLIR verifies in no order that would let us rely on the grid: an illegal
  // one may be asked for before it is reported.
  if (failed(grid->getName().verifyInvariants(grid))) {
    return failure();
  }
  return grid;
}

SplitAttr getSplit(Operation *op) {
  return op->getAttrOfType<SplitAttr>(SPMDDialect::kSplit);
}

static InFlightDiagnostic emitNoStrategy(Operation *op) {
  return op->emitOpError("has no strategy; run the planner or annotate it "
                         "with spmd.split");
}

FailureOr<Split> resolveSplit(Operation *op, const LoopNest &nest,
                              const Grid &grid) {
  SplitAttr attr = getSplit(op);
  if (!attr) {
    return emitNoStrategy(op);
  }
  Split split;
  std::optional<std::string> error = attr.getSplit().resolve(nest, grid, split);
  if (!error) {
    error = verifySplit(nest, grid, split);
  }
  if (error) {
    return op->emitOpError() << "spmd.split: " << *error;
  }
  return split;
}

FailureOr<Strategy> requireStrategy(nn::LoopInterface op) {
  SplitAttr attr = getSplit(op);
  if (!attr) {
    return emitNoStrategy(op);
  }
  FailureOr<GridOp> grid = requireGrid(op, attr.getGrid());
  if (failed(grid)) {
    return failure();
  }
  LoopNest nest = op.getLoopNest();
  FailureOr<Split> split = resolveSplit(op, nest, grid->getValue());
  if (failed(split)) {
    return failure();
  }
  return Strategy{*grid, std::move(nest), std::move(*split)};
}

void setSplit(Operation *op, GridOp grid, const LoopNest &nest,
              const Split &split) {
  op->setAttr(SPMDDialect::kSplit,
              SplitAttr::get(op->getContext(), grid.getRef(),
                             NamedSplit::of(nest, grid.getValue(), split)));
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

PlaceAttr makePlace(GridOp gridOp, llvm::ArrayRef<int64_t> shape,
                    Layout layout) {
  Grid grid = gridOp.getValue();
  layout.canonicalize(grid, shape);
  // The vocabulary in the order in which the parser would meet the names.
  llvm::SmallVector<AxisId, 4> order;
  for (const DimLayout &dim : layout.dims) {
    llvm::append_range(order, dim.axes);
  }
  llvm::append_range(order, layout.partialAxes);
  llvm::SmallVector<GridAxis, 4> names;
  for (AxisId axis : order) {
    names.push_back({grid.name(axis).str(), 1});
  }
  layout = mapAxes(layout, [&](AxisId axis) {
    return AxisId{uint32_t(llvm::find(order, axis) - order.begin())};
  });
  return PlaceAttr::get(gridOp.getContext(), gridOp.getRef(), Grid(names),
                        layout);
}

/// A place names its axes in an order of its own; the grid gives them their
/// ids.
FailureOr<Layout>
resolvePlace(PlaceAttr place, const Grid &grid, llvm::ArrayRef<int64_t> shape,
             llvm::function_ref<InFlightDiagnostic()> emitError) {
  const Grid &names = place.getNames();
  llvm::SmallVector<AxisId, 4> axes;
  for (const GridAxis &axis : names.axes()) {
    std::optional<AxisId> found = grid.find(axis.name);
    if (!found) {
      return emitError() << "the grid has no axis '" << axis.name << "'";
    }
    axes.push_back(*found);
  }
  Layout layout =
      mapAxes(place.getLayout(), [&](AxisId axis) { return axes[axis.index]; });
  std::optional<std::string> error = layout.verify(grid, shape);
  if (!error) {
    error = layout.verifyCoverage(grid, shape);
  }
  if (error) {
    return emitError() << *error;
  }
  layout.canonicalize(grid, shape);
  return layout;
}

FailureOr<ResolvedPlace> requirePlace(Operation *op, PlaceAttr place, Type type,
                                      const llvm::Twine &what) {
  if (!place) {
    return op->emitOpError() << what
                             << " has no place; run the planner or annotate it "
                                "with spmd.place";
  }
  FailureOr<GridOp> grid = requireGrid(op, place.getGrid());
  if (failed(grid)) {
    return failure();
  }
  FailureOr<Layout> layout =
      resolvePlace(place, grid->getValue(), nn::globalShape(type),
                   [&] { return op->emitOpError() << what << ": "; });
  if (failed(layout)) {
    return failure();
  }
  return ResolvedPlace{*grid, std::move(*layout)};
}

PlaceAttr getPlace(nn::GlobalOp global) {
  return global->getAttrOfType<PlaceAttr>(SPMDDialect::kPlace);
}

void setPlace(nn::GlobalOp global, PlaceAttr place) {
  global->setAttr(SPMDDialect::kPlace, place);
}

PlaceAttr getArgPlace(FunctionOpInterface function, unsigned index) {
  return function.getArgAttrOfType<PlaceAttr>(index, SPMDDialect::kPlace);
}

void setArgPlace(FunctionOpInterface function, unsigned index,
                 PlaceAttr place) {
  function.setArgAttr(index, SPMDDialect::kPlace, place);
}

PlaceAttr getResultPlace(FunctionOpInterface function, unsigned index) {
  return llvm::dyn_cast_or_null<PlaceAttr>(
      function.getResultAttr(index, SPMDDialect::kPlace));
}

void setResultPlace(FunctionOpInterface function, unsigned index,
                    PlaceAttr place) {
  function.setResultAttr(index, SPMDDialect::kPlace, place);
}

/// Of a list in an attribute that has a place or unit for each of several.
static PlaceAttr placeIn(Operation *op, llvm::StringRef list, unsigned index) {
  auto places = op->getAttrOfType<ArrayAttr>(list);
  return places && index < places.size()
             ? llvm::dyn_cast<PlaceAttr>(places[index])
             : PlaceAttr();
}

static void setPlaceIn(Operation *op, llvm::StringRef list, unsigned count,
                       unsigned index, PlaceAttr place) {
  llvm::SmallVector<Attribute, 3> places(count,
                                         UnitAttr::get(op->getContext()));
  if (auto old = op->getAttrOfType<ArrayAttr>(list);
      old && old.size() == places.size()) {
    llvm::copy(old, places.begin());
  }
  places[index] = place;
  op->setAttr(list, ArrayAttr::get(op->getContext(), places));
}

PlaceAttr getPlace(OpResult result) {
  return placeIn(result.getOwner(), SPMDDialect::kPlaces,
                 result.getResultNumber());
}

void setPlace(OpResult result, PlaceAttr place) {
  Operation *op = result.getOwner();
  setPlaceIn(op, SPMDDialect::kPlaces, op->getNumResults(),
             result.getResultNumber(), place);
}

PlaceAttr getStop(OpOperand &operand) {
  return placeIn(operand.getOwner(), SPMDDialect::kStops,
                 operand.getOperandNumber());
}

void setStop(OpOperand &operand, PlaceAttr place) {
  Operation *op = operand.getOwner();
  setPlaceIn(op, SPMDDialect::kStops, op->getNumOperands(),
             operand.getOperandNumber(), place);
}

//===----------------------------------------------------------------------===//
// Local tensors
//===----------------------------------------------------------------------===//

LocalAttr getLocal(Type type) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  return tensor ? llvm::dyn_cast_or_null<LocalAttr>(tensor.getEncoding())
                : LocalAttr();
}

RankedTensorType localType(RankedTensorType type, const Grid &grid,
                           Layout layout) {
  RankedTensorType global = nn::globalType(type);
  layout.canonicalize(grid, global.getShape());
  auto encoding =
      LocalAttr::get(type.getContext(), grid, layout, global.getShape());
  return RankedTensorType::get(layout.localShape(grid, global.getShape()),
                               type.getElementType(), encoding);
}

Layout withoutPartial(Layout layout) {
  layout.partialAxes.clear();
  layout.partialKind = ReduceKind::Sum;
  return layout;
}

} // namespace divisi::spmd
