//===- Boxes.cpp - What each position of a grid holds ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Boxes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::verify;

void verify::unite(Axes &axes, llvm::ArrayRef<AxisId> more) {
  for (AxisId axis : more) {
    if (!llvm::is_contained(axes, axis)) {
      axes.push_back(axis);
    }
  }
}

Axes verify::relevant(const Grid &grid, llvm::ArrayRef<AxisId> axes) {
  Axes kept;
  for (AxisId axis : axes) {
    if (grid.axes()[axis.index].size > 1) {
      kept.push_back(axis);
    }
  }
  llvm::sort(kept);
  return kept;
}

std::optional<Coordinates>
verify::findCoordinates(const Grid &grid, llvm::ArrayRef<AxisId> axes,
                        llvm::function_ref<bool(const Coordinates &)> isWrong) {
  Coordinates at(grid.axes().size(), 0);
  while (!isWrong(at)) {
    // Counts up, the last axis fastest.
    size_t digit = axes.size();
    while (digit > 0) {
      AxisId axis = axes[digit - 1];
      if (++at[axis.index] < grid.axes()[axis.index].size) {
        break;
      }
      at[axis.index] = 0;
      --digit;
    }
    if (digit == 0) {
      return std::nullopt;
    }
  }
  return at;
}

std::string verify::describe(const Grid &grid, llvm::ArrayRef<AxisId> axes,
                             const Coordinates &at) {
  std::string text;
  for (AxisId axis : axes) {
    text += (text.empty() ? "" : ", ") + grid.axes()[axis.index].name + "=" +
            std::to_string(at[axis.index]);
  }
  return text.empty() ? "every position" : text;
}

std::string verify::describe(Interval interval) {
  return interval.begin >= interval.end ? "nothing"
                                        : std::to_string(interval.begin) + ":" +
                                              std::to_string(interval.end);
}

Interval verify::partOf(const Grid &grid, int64_t extent,
                        llvm::ArrayRef<AxisId> axes, const Coordinates &at) {
  int64_t begin = 0, length = extent;
  for (AxisId axis : axes) {
    if (const auto &weights = grid.axes()[axis.index].weights;
        !weights.empty()) {
      __int128 all = 0, before = 0;
      for (auto [position, weight] : llvm::enumerate(weights)) {
        all += weight;
        before += int64_t(position) < at[axis.index] ? weight : 0;
      }
      auto rounded = [&](__int128 parts) {
        return int64_t((2 * length * parts + all) / (2 * all));
      };
      int64_t first = rounded(before);
      length = rounded(before + weights[at[axis.index]]) - first;
      begin += first;
      continue;
    }
    int64_t pieces = grid.axes()[axis.index].size;
    int64_t piece = length / pieces + (length % pieces != 0);
    int64_t skipped = std::min(piece * at[axis.index], length);
    begin += skipped;
    length = std::min(piece, length - skipped);
  }
  return {begin, begin + length};
}

Interval verify::heldOf(const Grid &grid, int64_t extent, const DimLayout &dim,
                        const Coordinates &at) {
  if (dim.bounds.empty()) {
    return partOf(grid, extent, dim.axes, at);
  }
  int64_t index = 0;
  for (AxisId axis : dim.axes) {
    index = index * grid.axes()[axis.index].size + at[axis.index];
  }
  return dim.bounds[index];
}

bool verify::hold(llvm::ArrayRef<Interval> parts, Interval wanted) {
  llvm::SmallVector<Interval, 8> sorted(parts);
  llvm::sort(sorted, [](Interval a, Interval b) { return a.begin < b.begin; });
  int64_t missing = wanted.begin;
  for (Interval part : sorted) {
    if (part.begin <= missing && part.begin < part.end) {
      missing = std::max(missing, part.end);
    }
  }
  return missing >= wanted.end;
}

bool verify::same(Interval a, Interval b) {
  bool isEmpty = a.begin >= a.end;
  return isEmpty == (b.begin >= b.end) &&
         (isEmpty || (a.begin == b.begin && a.end == b.end));
}

llvm::SmallVector<Interval, 8>
verify::heldByGroup(const Grid &grid, int64_t extent, const DimLayout &dim,
                    llvm::ArrayRef<AxisId> axes, Coordinates at) {
  Axes moving;
  for (AxisId axis : dim.axes) {
    if (llvm::is_contained(axes, axis)) {
      moving.push_back(axis);
    }
  }
  llvm::SmallVector<Interval, 8> parts;
  findCoordinates(grid, moving, [&](const Coordinates &other) {
    for (AxisId axis : moving) {
      at[axis.index] = other[axis.index];
    }
    parts.push_back(heldOf(grid, extent, dim, at));
    return false;
  });
  return parts;
}

Layout verify::renumbered(Layout layout, const Axes &axes) {
  for (DimLayout &dim : layout.dims) {
    for (AxisId &axis : dim.axes) {
      axis = axes[axis.index];
    }
  }
  for (AxisId &axis : layout.partialAxes) {
    axis = axes[axis.index];
  }
  return layout;
}

// One dimension of verifyForm; `seen` are the axes that stood before.
static Complaint verifyDim(const Grid &grid, int64_t extent,
                           const DimLayout &dim, Axes &seen) {
  size_t shards = 1;
  for (AxisId axis : dim.axes) {
    if (axis.index >= grid.axes().size()) {
      return "is split over an axis that the grid lacks";
    }
    if (llvm::is_contained(seen, axis)) {
      return "the axis " + grid.axes()[axis.index].name + " occurs twice";
    }
    seen.push_back(axis);
    shards *= grid.axes()[axis.index].size;
  }
  if (!dim.bounds.empty() && dim.bounds.size() != shards) {
    return "has " + std::to_string(dim.bounds.size()) + " bounds for " +
           std::to_string(shards) + " shards";
  }
  for (Interval bound : dim.bounds) {
    if (bound.begin < 0 || bound.end > extent || bound.begin > bound.end) {
      return "the bounds " + std::to_string(bound.begin) + ":" +
             std::to_string(bound.end) + " leave the tensor";
    }
  }
  return std::nullopt;
}

Complaint verify::verifyForm(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                             const Layout &layout) {
  if (layout.dims.size() != shape.size()) {
    return "has a layout of " + std::to_string(layout.dims.size()) +
           " dimensions for a tensor of " + std::to_string(shape.size());
  }
  Axes seen;
  for (auto [extent, dim] : llvm::zip_equal(shape, layout.dims)) {
    if (Complaint complaint = verifyDim(grid, extent, dim, seen)) {
      return complaint;
    }
  }
  // Partial axes obey the same rule: known, and named once.
  DimLayout partial;
  partial.axes.assign(layout.partialAxes.begin(), layout.partialAxes.end());
  return verifyDim(grid, 0, partial, seen);
}

Complaint verify::verifyAllHeld(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                                const Layout &layout) {
  for (size_t d = 0; d < shape.size(); ++d) {
    const DimLayout &dim = layout.dims[d];
    if (!hold(heldByGroup(grid, shape[d], dim, dim.axes,
                          Coordinates(grid.axes().size(), 0)),
              {0, shape[d]})) {
      return "no position holds all of dimension " + std::to_string(d) + ", " +
             describe(Interval{0, shape[d]});
    }
  }
  return std::nullopt;
}

Complaint verify::verifySameBoxes(const Grid &grid,
                                  llvm::ArrayRef<int64_t> shape,
                                  const Layout &actual,
                                  const Layout &expected) {
  for (size_t d = 0; d < shape.size(); ++d) {
    const DimLayout &is = actual.dims[d], &shouldBe = expected.dims[d];
    Axes involved(is.axes.begin(), is.axes.end());
    unite(involved, shouldBe.axes);
    std::optional<Coordinates> at =
        findCoordinates(grid, involved, [&](const Coordinates &at) {
          return !same(heldOf(grid, shape[d], is, at),
                       heldOf(grid, shape[d], shouldBe, at));
        });
    if (at) {
      return "dimension " + std::to_string(d) + " at " +
             describe(grid, involved, *at) + " is " +
             describe(heldOf(grid, shape[d], is, *at)) + ", expected " +
             describe(heldOf(grid, shape[d], shouldBe, *at));
    }
  }
  return std::nullopt;
}

llvm::SmallVector<int64_t, 4> verify::largestBox(const Grid &grid,
                                                 llvm::ArrayRef<int64_t> shape,
                                                 const Layout &layout) {
  llvm::SmallVector<int64_t, 4> extents;
  for (auto [extent, dim] : llvm::zip_equal(shape, layout.dims)) {
    int64_t largest = 0;
    for (Interval part : heldByGroup(grid, extent, dim, dim.axes,
                                     Coordinates(grid.axes().size(), 0))) {
      largest = std::max(largest, part.end - part.begin);
    }
    extents.push_back(largest);
  }
  return extents;
}
