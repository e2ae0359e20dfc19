//===- LayoutPool.cpp - Numbers for the layouts of a plan -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutPool.h"

namespace divisi::plan {

unsigned LayoutPool::classOf(llvm::ArrayRef<int64_t> shape, int64_t bits) {
  auto [it, isNew] = byShape_.try_emplace(
      {std::vector<int64_t>(shape.begin(), shape.end()), bits},
      unsigned(classes_.size()));
  if (isNew) {
    classes_.push_back({llvm::SmallVector<int64_t, 4>(shape), bits, {}});
    byText_.emplace_back();
  }
  return it->second;
}

static void append(std::string &key, int64_t number) {
  key += std::to_string(number);
  key += ' ';
}

/// Text, because numbers given in the order of a hash would differ from run to
/// run.
static std::string keyOf(const Layout &layout) {
  std::string key;
  for (const DimLayout &dim : layout.dims) {
    for (AxisId axis : dim.axes) {
      append(key, axis.index);
    }
    key += ':';
    for (Interval bound : dim.bounds) {
      append(key, bound.begin);
      append(key, bound.end);
    }
    key += ',';
  }
  for (AxisId axis : layout.partialAxes) {
    append(key, axis.index);
  }
  append(key, int64_t(layout.partialKind));
  return key;
}

unsigned LayoutPool::intern(unsigned tensorClass, const Layout &layout) {
  std::vector<Layout> &layouts = classes_[tensorClass].layouts;
  auto [it, isNew] =
      byText_[tensorClass].try_emplace(keyOf(layout), unsigned(layouts.size()));
  if (isNew) {
    layouts.push_back(layout);
  }
  return it->second;
}

/// Overlapping bounds would store indices twice: a halo is no place at rest.
bool isRestful(const Grid &grid, llvm::ArrayRef<int64_t> shape,
               const Layout &layout) {
  if (layout.isPartial() || layout.verifyCoverage(grid, shape)) {
    return false;
  }
  for (size_t dim = 0; dim != shape.size(); ++dim) {
    int64_t held = 0;
    for (Interval shard : layout.shards(grid, dim, shape[dim])) {
      held += shard.size();
    }
    if (held != shape[dim]) {
      return false;
    }
  }
  return true;
}

/// One dimension at a time: mixtures come from makers and users.
std::vector<Layout> simplePlaces(const Grid &grid,
                                 llvm::ArrayRef<int64_t> shape) {
  std::vector<Layout> places = {Layout::replicated(shape.size())};
  for (size_t dim = 0; dim != shape.size(); ++dim) {
    for (uint32_t set = 1; set < (1u << grid.numAxes()); ++set) {
      Layout layout = Layout::replicated(shape.size());
      for (uint32_t axis = 0; axis != grid.numAxes(); ++axis) {
        if (set >> axis & 1) {
          layout.dims[dim].axes.push_back(AxisId{axis});
        }
      }
      if (grid.product(layout.dims[dim].axes) <= shape[dim]) {
        layout.canonicalize(grid, shape);
        places.push_back(layout);
      }
    }
  }
  return places;
}

} // namespace divisi::plan
