//===- AlikeLayouts.cpp - Layouts by other names of axes ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AlikeLayouts.h"

#include "divisi/Route/Router.h"

#include "llvm/ADT/STLExtras.h"

#include <unordered_map>

namespace divisi::plan {

namespace {
struct LayoutHash {
  size_t operator()(const Layout &layout) const { return hash_value(layout); }
};
} // namespace

AlikeLayouts::AlikeLayouts(const TensorClass &tensor,
                           llvm::ArrayRef<uint32_t> alike)
    : count_(tensor.layouts.size()) {
  // Of more axes there are too many orders.
  constexpr size_t kMostAxes = 4;
  llvm::SmallVector<AxisId, 8> axes;
  for (auto [axis, first] : llvm::enumerate(alike)) {
    if (llvm::count(alike, first) > 1) {
      axes.push_back(AxisId{uint32_t(axis)});
    }
  }
  if (axes.empty() || axes.size() > kMostAxes) {
    return;
  }
  std::unordered_map<Layout, unsigned, LayoutHash> ids;
  for (auto [id, layout] : llvm::enumerate(tensor.layouts)) {
    ids.try_emplace(layout, unsigned(id));
  }
  std::vector<AxisNames> ways = waysToRename(alike, axes);
  for (const AxisNames &names : llvm::drop_begin(ways)) {
    std::vector<unsigned> &image = images_.emplace_back();
    for (const Layout &layout : tensor.layouts) {
      auto found = ids.find(renamed(layout, names));
      image.push_back(found == ids.end() ? kNone : found->second);
    }
  }
}

} // namespace divisi::plan
