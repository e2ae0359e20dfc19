//===- Difference.h - Where two layouts differ ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_ROUTE_DIFFERENCE_H
#define DIVISI_LIB_ROUTE_DIFFERENCE_H

#include "RouteGraph.h"

namespace divisi {

/// What `from` and `to` have in common: equal dimensions, the outermost axes
/// of others, partial axes of the same kind.
Layout commonFrame(const Layout &from, const Layout &to);

/// The axes that are not where both have them, in runs that go together.
/// A run is met where its first axis is met: in `from`, or else in `to`.
llvm::SmallVector<RouteSpace::Unit, 3>
movingUnits(const Grid &grid, const Layout &from, const Layout &to,
            const Layout &frame, bool merge);

/// `changed` and, up to `count`, the largest of the other dimensions that are
/// free of explicit bounds.
llvm::SmallVector<size_t, 4> routeDims(llvm::ArrayRef<int64_t> shape,
                                       const Layout &frame,
                                       llvm::ArrayRef<size_t> changed,
                                       size_t count);

} // namespace divisi

#endif // DIVISI_LIB_ROUTE_DIFFERENCE_H
