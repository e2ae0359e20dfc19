//===- Moves.cpp - Whether a move keeps a tensor's value ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Moves.h"

#include "llvm/ADT/STLExtras.h"

using namespace divisi;
using namespace divisi::verify;

namespace {

/// Two layouts of one tensor on one grid.
struct Move {
  const Grid &grid;
  llvm::ArrayRef<int64_t> shape;
  llvm::ArrayRef<AxisId> axes;
  const Layout &from, &to;

  /// In each dimension each position finds what it will hold among the
  /// positions that differ from it along `talking`.
  Complaint findsAll(llvm::ArrayRef<AxisId> talking) const;
  /// Each position holds what it held.
  Complaint sameBoxes() const;
  /// The new layout is partial over `expected`, as the old one is.
  Complaint partialOver(llvm::ArrayRef<AxisId> expected) const;
  /// The old one is partial over the axes, and the new one over the rest.
  Complaint combines() const;
  Complaint masks() const;
};

} // namespace

static std::string inDimension(size_t dim, const std::string &where) {
  return "dimension " + std::to_string(dim) + " at " + where;
}

Complaint Move::findsAll(llvm::ArrayRef<AxisId> talking) const {
  for (size_t d = 0; d < shape.size(); ++d) {
    Axes involved(from.dims[d].axes.begin(), from.dims[d].axes.end());
    unite(involved, to.dims[d].axes);
    auto wants = [&](const Coordinates &at) {
      return heldOf(grid, shape[d], to.dims[d], at);
    };
    std::optional<Coordinates> at =
        findCoordinates(grid, involved, [&](const Coordinates &at) {
          return !hold(heldByGroup(grid, shape[d], from.dims[d], talking, at),
                       wants(at));
        });
    if (at) {
      return inDimension(d, describe(grid, involved, *at)) + " becomes " +
             describe(wants(*at)) +
             ", which the positions that take part do not hold";
    }
  }
  return std::nullopt;
}

Complaint Move::sameBoxes() const {
  return verifySameBoxes(grid, shape, to, from);
}

Complaint Move::partialOver(llvm::ArrayRef<AxisId> expected) const {
  if (relevant(grid, to.partialAxes) != relevant(grid, expected)) {
    return std::string(
        "does not leave the tensor partial over the axes of its result");
  }
  if (!relevant(grid, from.partialAxes).empty() &&
      !relevant(grid, to.partialAxes).empty() &&
      from.partialKind != to.partialKind) {
    return std::string("changes the kind of reduction by which the tensor is "
                       "partial");
  }
  return std::nullopt;
}

Complaint Move::combines() const {
  Axes rest;
  for (AxisId axis : from.partialAxes) {
    if (!llvm::is_contained(axes, axis)) {
      rest.push_back(axis);
    }
  }
  for (AxisId axis : relevant(grid, axes)) {
    if (!llvm::is_contained(from.partialAxes, axis)) {
      return "combines along " + grid.axes()[axis.index].name +
             ", over which its operand is not partial";
    }
  }
  return partialOver(rest);
}

// Zeros are summands; of what was partial by another kind they would be not.
Complaint Move::masks() const {
  for (AxisId axis : relevant(grid, axes)) {
    bool isUsed = llvm::is_contained(from.partialAxes, axis);
    for (const DimLayout &dim : from.dims) {
      isUsed |= llvm::is_contained(dim.axes, axis);
    }
    if (isUsed) {
      return "masks along " + grid.axes()[axis.index].name +
             ", along which its operand is not replicated";
    }
  }
  Axes all(from.partialAxes.begin(), from.partialAxes.end());
  unite(all, axes);
  if (!relevant(grid, to.partialAxes).empty() &&
      to.partialKind != ReduceKind::Sum) {
    return std::string("masks by zeros what is not partial by a sum");
  }
  if (Complaint complaint = partialOver(all)) {
    return complaint;
  }
  return sameBoxes();
}

Complaint verify::verifyMove(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                             StepKind kind, llvm::ArrayRef<AxisId> axes,
                             const Layout &from, const Layout &to) {
  Move move{grid, shape, axes, from, to};
  for (size_t i = 0; i < axes.size(); ++i) {
    if (llvm::is_contained(axes.drop_front(i + 1), axes[i])) {
      return "names the axis " + grid.axes()[axes[i].index].name + " twice";
    }
  }
  Complaint complaint;
  switch (kind) {
  case StepKind::Mask:
    return move.masks();
  case StepKind::AllReduce:
    complaint = move.combines();
    return complaint ? complaint : move.sameBoxes();
  case StepKind::ReduceScatter:
    complaint = move.combines();
    return complaint ? complaint : move.findsAll({});
  case StepKind::Slice:
    complaint = move.partialOver(from.partialAxes);
    return complaint ? complaint : move.findsAll({});
  case StepKind::AllGather:
  case StepKind::AllToAll:
  case StepKind::Exchange:
    break;
  }
  for (AxisId axis : relevant(grid, axes)) {
    if (llvm::is_contained(from.partialAxes, axis)) {
      return "moves boxes along " + grid.axes()[axis.index].name +
             ", over which they are partial";
    }
  }
  complaint = move.partialOver(from.partialAxes);
  return complaint ? complaint : move.findsAll(axes);
}

Complaint verify::verifyMoveBetween(llvm::ArrayRef<int64_t> shape,
                                    const Grid &fromGrid, const Layout &from,
                                    const Grid &toGrid, const Layout &to) {
  if (!relevant(fromGrid, from.partialAxes).empty() ||
      !relevant(toGrid, to.partialAxes).empty()) {
    return std::string("moves partial values; combine them first");
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    const DimLayout &dim = to.dims[d];
    llvm::SmallVector<Interval, 8> source =
        heldByGroup(fromGrid, shape[d], from.dims[d], from.dims[d].axes,
                    Coordinates(fromGrid.axes().size(), 0));
    std::optional<Coordinates> at =
        findCoordinates(toGrid, dim.axes, [&](const Coordinates &at) {
          return !hold(source, heldOf(toGrid, shape[d], dim, at));
        });
    if (at) {
      return inDimension(d, describe(toGrid, dim.axes, *at)) + " becomes " +
             describe(heldOf(toGrid, shape[d], dim, *at)) +
             ", which no position holds";
    }
  }
  return std::nullopt;
}
