//===- Difference.cpp - Where two layouts differ --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Difference.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace divisi {

/// Where a layout has an axis: the dimension, or one of the two below, and the
/// place among that dimension's axes.
static constexpr size_t inPartial = SIZE_MAX, inNothing = SIZE_MAX - 1;
struct AxisPlace {
  size_t dim = inNothing;
  size_t place = 0;
};
static SmallVector<AxisPlace, 8> axisPlaces(const Grid &grid,
                                            const Layout &layout) {
  SmallVector<AxisPlace, 8> places(grid.numAxes());
  for (auto [dim, dimLayout] : enumerate(layout.dims)) {
    for (auto [place, axis] : enumerate(dimLayout.axes)) {
      places[axis.index] = {dim, place};
    }
  }
  for (AxisId axis : layout.partialAxes) {
    places[axis.index].dim = inPartial;
  }
  return places;
}

/// The axes that two sets, both ascending, have in common.
static SmallVector<AxisId, 2> intersection(ArrayRef<AxisId> a,
                                           ArrayRef<AxisId> b) {
  SmallVector<AxisId, 2> result;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                        std::back_inserter(result));
  return result;
}

Layout commonFrame(const Layout &from, const Layout &to) {
  Layout frame = Layout::replicated(from.rank());
  for (auto [a, b, common] : zip_equal(from.dims, to.dims, frame.dims)) {
    if (a == b) {
      common = a;
    } else if (a.bounds.empty() && b.bounds.empty()) {
      auto [end, ignored] = std::mismatch(a.axes.begin(), a.axes.end(),
                                          b.axes.begin(), b.axes.end());
      common.axes.append(a.axes.begin(), end);
    }
  }
  if (from.partialKind == to.partialKind) {
    frame.partialAxes = intersection(from.partialAxes, to.partialAxes);
    frame.partialKind = frame.isPartial() ? from.partialKind : ReduceKind::Sum;
  }
  return frame;
}

SmallVector<RouteSpace::Unit, 3> movingUnits(const Grid &grid,
                                             const Layout &from,
                                             const Layout &to,
                                             const Layout &frame, bool merge) {
  SmallVector<AxisPlace, 8> source = axisPlaces(grid, from),
                            target = axisPlaces(grid, to),
                            common = axisPlaces(grid, frame);
  SmallVector<AxisId, 8> moving;
  for (const Layout *layout : {&from, &to}) {
    for (const DimLayout &dim : layout->dims) {
      append_range(moving, dim.axes);
    }
    if (!merge) {
      append_range(moving, layout->partialAxes);
    }
  }
  // What is merged does not depend on how axes are called: those that are
  // partial have no order, but where they split a dimension of the other.
  append_range(moving, from.partialAxes);
  append_range(moving, to.partialAxes);
  SmallVector<bool> seen(grid.numAxes(), false);
  erase_if(moving, [&](AxisId axis) {
    bool skip = seen[axis.index] || common[axis.index].dim != inNothing;
    seen[axis.index] = true;
    return skip;
  });

  auto follows = [](AxisPlace before, AxisPlace after) {
    return before.dim == after.dim &&
           (before.dim >= inNothing || before.place + 1 == after.place);
  };
  SmallVector<RouteSpace::Unit, 3> units;
  AxisId last;
  for (AxisId axis : moving) {
    bool joins = merge && !units.empty() &&
                 follows(source[last.index], source[axis.index]) &&
                 follows(target[last.index], target[axis.index]);
    if (!joins) {
      units.push_back({{},
                       source[axis.index].dim == inPartial ||
                           target[axis.index].dim == inPartial});
    }
    units.back().axes.push_back(axis);
    last = axis;
  }
  return units;
}

SmallVector<size_t, 4> routeDims(ArrayRef<int64_t> shape, const Layout &frame,
                                 ArrayRef<size_t> changed, size_t count) {
  SmallVector<size_t, 4> dims = to_vector<4>(changed);
  SmallVector<size_t, 8> others;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (!is_contained(changed, dim) && frame.dims[dim].bounds.empty()) {
      others.push_back(dim);
    }
  }
  llvm::stable_sort(others,
                    [&](size_t a, size_t b) { return shape[a] > shape[b]; });
  for (size_t dim : others) {
    if (dims.size() >= count) {
      break;
    }
    dims.push_back(dim);
  }
  llvm::sort(dims);
  return dims;
}

} // namespace divisi
