//===- LayoutVariants.cpp - Layouts, splits and axes nearby ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutVariants.h"

#include "dialects/SPMD/Strategy.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace divisi;

static std::vector<AxisId> axesOf(const Grid &grid) {
  std::vector<AxisId> axes;
  for (uint32_t axis = 0; axis < grid.numAxes(); ++axis) {
    axes.push_back(AxisId{axis});
  }
  return axes;
}

namespace {

/// Collects variants that are legal and new.
struct VariantCollector {
  const Grid &grid;
  ArrayRef<int64_t> shape;
  std::vector<Layout> known;

  void add(Layout layout) {
    if (layout.verify(grid, shape)) {
      return;
    }
    layout.canonicalize(grid, shape);
    if (!llvm::is_contained(known, layout)) {
      known.push_back(std::move(layout));
    }
  }
  void addAxes(const Layout &layout);
  void addBounds(const Layout &layout, size_t dim);
  void addPartial(const Layout &layout);
};

} // namespace

void VariantCollector::addAxes(const Layout &layout) {
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    for (AxisId axis : axesOf(grid)) {
      Layout more = layout;
      more.dims[d].axes.push_back(axis);
      more.dims[d].bounds.clear();
      add(more);
      // Taken from wherever it is.
      Layout moved = layout;
      for (DimLayout &dim : moved.dims) {
        if (llvm::is_contained(dim.axes, axis)) {
          llvm::erase(dim.axes, axis);
          dim.bounds.clear();
        }
      }
      llvm::erase(moved.partialAxes, axis);
      add(moved);
      moved.dims[d].axes.push_back(axis);
      moved.dims[d].bounds.clear();
      add(moved);
    }
    Layout reversed = layout;
    std::reverse(reversed.dims[d].axes.begin(), reversed.dims[d].axes.end());
    add(reversed);
  }
}

void VariantCollector::addBounds(const Layout &layout, size_t dim) {
  Layout explicitly = layout;
  auto &bounds = explicitly.dims[dim].bounds;
  bounds.assign(layout.shards(grid, dim, shape[dim]));
  for (size_t i = 0; i < bounds.size(); ++i) {
    for (int64_t by : {-1, 1}) {
      Layout begin = explicitly, end = explicitly;
      begin.dims[dim].bounds[i].begin += by;
      end.dims[dim].bounds[i].end += by;
      add(begin);
      add(end);
    }
    if (i + 1 < bounds.size()) {
      Layout swapped = explicitly;
      std::swap(swapped.dims[dim].bounds[i], swapped.dims[dim].bounds[i + 1]);
      add(swapped);
    }
  }
}

void VariantCollector::addPartial(const Layout &layout) {
  for (AxisId axis : axesOf(grid)) {
    Layout more = layout, less = layout;
    more.partialAxes.push_back(axis);
    llvm::sort(more.partialAxes);
    add(more);
    llvm::erase(less.partialAxes, axis);
    add(less);
  }
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max}) {
    Layout other = layout;
    other.partialKind = kind;
    if (other.isPartial()) {
      add(other);
    }
  }
}

std::vector<Layout> divisi::layoutVariants(const Grid &grid,
                                           ArrayRef<int64_t> shape,
                                           const Layout &layout) {
  VariantCollector collector{grid, shape, {layout}};
  collector.addAxes(layout);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!layout.dims[d].axes.empty()) {
      collector.addBounds(layout, d);
    }
  }
  collector.addPartial(layout);
  collector.known.erase(collector.known.begin());
  return std::move(collector.known);
}

RankedTensorType divisi::typeWithLayout(RankedTensorType type,
                                        const Layout &layout) {
  spmd::LocalAttr local = spmd::getLocal(type);
  if (layout.verify(local.getGrid(), local.getGlobalShape())) {
    return {};
  }
  return spmd::localType(type, local.getGrid(), layout);
}

std::vector<std::pair<spmd::NamedSplit, std::string>>
divisi::splitVariants(const Grid &grid, const LoopNest &nest,
                      const spmd::NamedSplit &split) {
  std::vector<std::pair<spmd::NamedSplit, std::string>> variants;
  Split resolved;
  if (split.resolve(nest, grid, resolved)) {
    return variants;
  }
  auto add = [&](const Split &changed, const std::string &what) {
    if (!(changed == resolved)) {
      variants.push_back({spmd::NamedSplit::of(nest, grid, changed), what});
    }
  };
  for (AxisId axis : axesOf(grid)) {
    std::string name = grid.name(axis).str();
    Split without = resolved;
    for (auto &axes : without.loopAxes) {
      llvm::erase(axes, axis);
    }
    llvm::erase(without.carryAxes, axis);
    add(without, "split without " + name);
    for (size_t loop = 0; loop < nest.loops.size(); ++loop) {
      Split moved = without;
      moved.loopAxes[loop].push_back(axis);
      add(moved, "split " + nest.loops[loop].name + "@" + name);
    }
    for (unsigned set = 0; set < nest.linear.size(); ++set) {
      Split carried = without;
      carried.carryAxes.push_back(axis);
      llvm::sort(carried.carryAxes);
      carried.carrySet = set;
      add(carried, "carry " + name + " in " + std::to_string(set));
    }
  }
  return variants;
}

std::vector<ArrayAttr> divisi::nameVariants(const Grid &grid, ArrayAttr names) {
  std::vector<ArrayAttr> variants;
  Builder builder(names.getContext());
  auto add = [&](const SmallVector<Attribute> &changed) {
    if (builder.getArrayAttr(changed) != names) {
      variants.push_back(builder.getArrayAttr(changed));
    }
  };
  SmallVector<Attribute> all(names.getValue());
  add(SmallVector<Attribute>(llvm::reverse(all)));
  for (size_t i = 0; i < all.size(); ++i) {
    SmallVector<Attribute> fewer = all;
    fewer.erase(fewer.begin() + i);
    add(fewer);
  }
  for (AxisId axis : axesOf(grid)) {
    StringAttr name = builder.getStringAttr(grid.name(axis));
    if (llvm::is_contained(all, name)) {
      continue;
    }
    SmallVector<Attribute> more = all;
    more.push_back(name);
    add(more);
    for (size_t i = 0; i < all.size(); ++i) {
      SmallVector<Attribute> other = all;
      other[i] = name;
      add(other);
    }
  }
  return variants;
}
