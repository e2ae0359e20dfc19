//===- LayoutPool.h - Numbers for the layouts of a plan ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts are numbered per class of tensors, so that equal operators share
// their choices and equal edges their prices.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_LAYOUTPOOL_H
#define DIVISI_LIB_PLAN_LAYOUTPOOL_H

#include "divisi/Layout/Layout.h"

#include <map>
#include <vector>

namespace divisi::plan {

/// Tensors that layouts and prices do not tell apart: shape and element width.
struct TensorClass {
  llvm::SmallVector<int64_t, 4> shape; ///< Of the whole tensor.
  int64_t bits = 0;                    ///< Per element, in memory.
  std::vector<Layout> layouts;         ///< By number.
};

/// Numbers layouts, in the order of their first mention.
class LayoutPool {
public:
  /// The number of that class, which is new if it was never asked for.
  unsigned classOf(llvm::ArrayRef<int64_t> shape, int64_t bits);
  /// The number of `layout` in the class, which is new if it was never given.
  unsigned intern(unsigned tensorClass, const Layout &layout);
  /// The class of that number.
  const TensorClass &get(unsigned tensorClass) const {
    return classes_[tensorClass];
  }
  /// The layout of the number `id` in the class.
  const Layout &layout(unsigned tensorClass, unsigned id) const {
    return classes_[tensorClass].layouts[id];
  }

private:
  std::vector<TensorClass> classes_;
  std::map<std::pair<std::vector<int64_t>, int64_t>, unsigned> byShape_;
  std::vector<std::map<std::string, unsigned>> byText_;
};

/// Whether a value can rest in `layout`: not partial, every index somewhere,
/// none of them twice along the same axes.
bool isRestful(const Grid &grid, llvm::ArrayRef<int64_t> shape,
               const Layout &layout);

/// Replicated, and every dimension over every ordered subset of the axes.
std::vector<Layout> simplePlaces(const Grid &grid,
                                 llvm::ArrayRef<int64_t> shape);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_LAYOUTPOOL_H
