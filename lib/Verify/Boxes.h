//===- Boxes.h - What each position of a grid holds -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A second reading of layouts, for the verifier alone: it takes the data of
// Layout and LoopNest and none of their functions, so that a mistake there
// cannot hide itself here.
//
// Every axis splits at most one dimension. What a position holds in one
// dimension therefore depends on its coordinates along few axes, and a question
// about all positions is asked of all coordinates along these axes only:
//
//   [x{0:5, 3:8}, y] of 8x6 on (x=2, y=2, z=64)
//     dimension 0: x=0 holds 0:5, x=1 holds 3:8      two cases, not 256
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_VERIFY_BOXES_H
#define DIVISI_LIB_VERIFY_BOXES_H

#include "divisi/Layout/Layout.h"

namespace divisi::verify {

/// A place in a grid: the coordinate along each of its axes.
using Coordinates = llvm::SmallVector<int64_t, 4>;

/// A list of axes in which each stands once.
using Axes = llvm::SmallVector<AxisId, 4>;

/// What is wrong, or nothing.
using Complaint = std::optional<std::string>;

/// Appends those of `more` that `axes` lacks.
void unite(Axes &axes, llvm::ArrayRef<AxisId> more);

/// `axes` without those of size 1, which split nothing, ascending.
Axes relevant(const Grid &grid, llvm::ArrayRef<AxisId> axes);

/// The first coordinates along `axes`, 0 along all others, for which `isWrong`,
/// or nothing.
std::optional<Coordinates>
findCoordinates(const Grid &grid, llvm::ArrayRef<AxisId> axes,
                llvm::function_ref<bool(const Coordinates &)> isWrong);

/// `x=1, y=0`: the coordinates along `axes`, for messages.
std::string describe(const Grid &grid, llvm::ArrayRef<AxisId> axes,
                     const Coordinates &at);

/// `3:8`, for messages.
std::string describe(Interval interval);

/// The part of [0, extent) that falls to `at` when each of `axes`, outermost
/// first, cuts what is left into pieces of equal size, rounded up, or by its
/// weights, at the nearest index.
Interval partOf(const Grid &grid, int64_t extent, llvm::ArrayRef<AxisId> axes,
                const Coordinates &at);

/// What `at` holds of a dimension of `extent` that is split as `dim` says.
Interval heldOf(const Grid &grid, int64_t extent, const DimLayout &dim,
                const Coordinates &at);

/// Whether `parts` together hold all of `wanted`.
bool hold(llvm::ArrayRef<Interval> parts, Interval wanted);

/// Equal as sets of indices: all empty intervals are.
bool same(Interval a, Interval b);

/// What positions that differ along `axes` only hold together of a dimension
/// at `at`: one interval each.
llvm::SmallVector<Interval, 8> heldByGroup(const Grid &grid, int64_t extent,
                                           const DimLayout &dim,
                                           llvm::ArrayRef<AxisId> axes,
                                           Coordinates at);

/// `layout` where the axis that it calls i is `axes[i]`.
Layout renumbered(Layout layout, const Axes &axes);

/// What makes `layout` no layout of a tensor of `shape` on `grid`: an unknown
/// axis, one that stands twice, bounds that are too few or leave the tensor.
Complaint verifyForm(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                     const Layout &layout);

/// What of a tensor of `shape` nobody holds.
Complaint verifyAllHeld(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                        const Layout &layout);

/// Where positions hold other boxes in `actual` than in `expected`.
Complaint verifySameBoxes(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                          const Layout &actual, const Layout &expected);

/// The extents of the largest box that any position holds.
llvm::SmallVector<int64_t, 4> largestBox(const Grid &grid,
                                         llvm::ArrayRef<int64_t> shape,
                                         const Layout &layout);

} // namespace divisi::verify

#endif // DIVISI_LIB_VERIFY_BOXES_H
