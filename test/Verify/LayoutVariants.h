//===- LayoutVariants.h - Layouts, splits and axes nearby -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_VERIFY_LAYOUTVARIANTS_H
#define DIVISI_TEST_VERIFY_LAYOUTVARIANTS_H

#include "dialects/SPMD/SPMD.h"
#include "divisi/Layout/Loops.h"

#include <string>
#include <utility>
#include <vector>

namespace divisi {

/// Canonical layouts that differ from `layout` in one thing: an axis more, less
/// or elsewhere in a dimension, a bound moved by one or exchanged with the
/// next, an axis over which it is partial, or the kind of reduction. Some
/// cannot be said of a tensor of `shape`.
std::vector<Layout> layoutVariants(const Grid &grid,
                                   llvm::ArrayRef<int64_t> shape,
                                   const Layout &layout);

/// `type` with another layout, or null if no type says that.
mlir::RankedTensorType typeWithLayout(mlir::RankedTensorType type,
                                      const Layout &layout);

/// Splits that differ from `split` in one axis of a loop or of the carry, with
/// words for each.
std::vector<std::pair<spmd::NamedSplit, std::string>>
splitVariants(const Grid &grid, const LoopNest &nest,
              const spmd::NamedSplit &split);

/// Lists of axes that differ from `names`: one less, one more, another order.
std::vector<mlir::ArrayAttr> nameVariants(const Grid &grid,
                                          mlir::ArrayAttr names);

} // namespace divisi

#endif // DIVISI_TEST_VERIFY_LAYOUTVARIANTS_H
