//===- Renaming.cpp - Questions that differ in names of axes --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Renaming.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace llvm;

namespace divisi {

/// Axes that no dimension mentions differ only in where they are partial.
Renaming::Renaming(ArrayRef<uint32_t> alike, const Layout &from,
                   const Layout &to)
    : names_(alike.size()) {
  SmallVector<uint32_t, 6> order;
  auto mention = [&](uint32_t axis) {
    if (!is_contained(order, axis)) {
      order.push_back(axis);
    }
  };
  for (const Layout *layout : {&from, &to}) {
    for (const DimLayout &dim : layout->dims) {
      for (AxisId axis : dim.axes) {
        mention(axis.index);
      }
    }
  }
  for (bool isFrom : {true, false}) {
    for (bool isTo : {true, false}) {
      for (uint32_t axis = 0; axis != alike.size(); ++axis) {
        if (is_contained(from.partialAxes, AxisId{axis}) == isFrom &&
            is_contained(to.partialAxes, AxisId{axis}) == isTo) {
          mention(axis);
        }
      }
    }
  }
  // Those alike share their names, the lowest first.
  for (uint32_t first = 0; first != alike.size(); ++first) {
    uint32_t name = first;
    for (uint32_t axis : order) {
      if (alike[first] == first && alike[axis] == first) {
        names_[axis] = name;
        name =
            uint32_t(std::find(alike.begin() + name + 1, alike.end(), first) -
                     alike.begin());
      }
    }
  }
}

bool Renaming::isIdentity() const {
  return all_of(enumerate(names_),
                [](const auto &axis) { return axis.value() == axis.index(); });
}

std::vector<AxisNames> waysToRename(ArrayRef<uint32_t> alike,
                                    ArrayRef<AxisId> axes) {
  std::vector<AxisNames> ways;
  AxisNames order, names;
  for (AxisId axis : axes) {
    order.push_back(axis.index);
  }
  llvm::sort(order);
  for (uint32_t axis = 0; axis != alike.size(); ++axis) {
    names.push_back(axis);
  }
  AxisNames permuted = order;
  do {
    bool keepsKinds = all_of(zip_equal(order, permuted), [&](auto pair) {
      auto [axis, name] = pair;
      return alike[axis] == alike[name];
    });
    if (keepsKinds) {
      for (auto [axis, name] : zip_equal(order, permuted)) {
        names[axis] = name;
      }
      ways.push_back(names);
    }
  } while (std::next_permutation(permuted.begin(), permuted.end()));
  return ways;
}

static void renameAxes(MutableArrayRef<AxisId> axes, ArrayRef<uint32_t> names) {
  for (AxisId &axis : axes) {
    axis = AxisId{names[axis.index]};
  }
}

Layout renamed(const Layout &layout, ArrayRef<uint32_t> names) {
  Layout result = layout;
  for (DimLayout &dim : result.dims) {
    renameAxes(dim.axes, names);
  }
  renameAxes(result.partialAxes, names);
  llvm::sort(result.partialAxes);
  return result;
}

static bool followsDimension(StepKind kind) {
  return kind == StepKind::AllGather || kind == StepKind::AllToAll ||
         kind == StepKind::ReduceScatter;
}

Route Renaming::undo(Route route) const {
  AxisNames old(names_.size());
  for (auto [axis, name] : enumerate(names_)) {
    old[name] = uint32_t(axis);
  }
  for (Step &step : route.steps) {
    renameAxes(step.axes, old);
    if (!followsDimension(step.kind)) {
      llvm::sort(step.axes);
    }
    step.result = renamed(step.result, old);
  }
  return route;
}

} // namespace divisi
