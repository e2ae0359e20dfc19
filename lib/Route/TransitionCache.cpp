//===- TransitionCache.cpp - What lies between layouts, once --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransitionCache.h"

#include "llvm/ADT/STLExtras.h"

namespace divisi {

Transition TransitionCache::between(const Grid &grid,
                                    llvm::ArrayRef<int64_t> shape,
                                    const Layout &from, const Layout &to) {
  Transition transition;
  transition.from = &from;
  transition.to = &to;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    std::unique_ptr<DimChange> &change =
        changes_[{extent, from.dims[dim], to.dims[dim]}];
    if (!change) {
      change = std::make_unique<DimChange>(
          analyzeDim(grid, extent, from.dims[dim], to.dims[dim]));
    }
    if (from.dims[dim] == to.dims[dim]) {
      transition.unchangedElements *= double(change->largestFrom);
    } else {
      transition.changes.push_back({dim, change.get()});
    }
  }
  return transition;
}

} // namespace divisi
