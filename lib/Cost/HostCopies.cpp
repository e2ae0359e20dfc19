//===- HostCopies.cpp - Copies between host and device --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/HostCopies.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/OpCost.h"
#include "divisi/Support/CheckedMath.h"

#include <cmath>
#include <set>

using namespace mlir;

namespace divisi {

void HostCopies::add(const HostCopies &other, int64_t times) {
  constexpr int64_t most = int64_t(1) << 50; // sums fit
  auto sum = [&](int64_t &value, int64_t more) {
    int64_t all = checkedMul(more, times).value_or(most);
    value = std::min(most, value + std::min(most, all));
  };
  sum(copies, other.copies);
  sum(bytes, other.bytes);
  sum(nanoseconds, other.nanoseconds);
  sum(oneDeviceNanoseconds, other.oneDeviceNanoseconds);
}

int64_t hostCopyNanoseconds(const Grid &grid, const Layout &layout,
                            llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                            const GridPace &pace) {
  int64_t longest = 0;
  for (const auto &[kind, part] : pace.parts) {
    if (double rate = kind.hostRate(); rate > 0) {
      double bytes = double(localBytes(grid, layout, shape, elementBits, part));
      longest = std::max(longest, kind.launchNanoseconds +
                                      int64_t(std::ceil(1e9 * bytes / rate)));
    }
  }
  return longest;
}

HostCopies hostCopyOf(Type type, spmd::GridOp symbol, const Cluster &cluster) {
  spmd::LocalAttr local = spmd::getLocal(type);
  int64_t bits = nn::elementBits(getElementTypeOrSelf(type));
  Grid grid = local.getGrid(), one;
  Layout layout = local.getLayout();
  ArrayRef<int64_t> shape = local.getGlobalShape();
  GridPace pace(cluster, grid, symbol.getDeviceIds());
  return {1, localBytes(grid, layout, shape, bits),
          hostCopyNanoseconds(grid, layout, shape, bits, pace),
          hostCopyNanoseconds(one, Layout::replicated(shape.size()), shape,
                              bits, GridPace(cluster, one, {}))};
}

/// The grid of the module that a tensor of `function` lies on.
static spmd::GridOp findGrid(func::FuncOp function, const Grid &value) {
  auto ranks =
      function->getAttrOfType<DenseI32ArrayAttr>(spmd::SPMDDialect::kRanks);
  auto grids = function->getParentOfType<ModuleOp>().getOps<spmd::GridOp>();
  auto found = llvm::find_if(grids, [&](spmd::GridOp grid) {
    return grid.getValue() == value &&
           (!ranks || llvm::any_of(grid.getDeviceIds(), [&](int64_t device) {
             return llvm::is_contained(ranks.asArrayRef(), device);
           }));
  });
  return found == grids.end() ? nullptr : *found;
}

HostCopies hostCopiesOf(ArrayRef<func::FuncOp> functions,
                        const Cluster &cluster) {
  HostCopies sum;
  std::set<std::pair<bool, size_t>> seen;
  for (func::FuncOp function : functions) {
    auto add = [&](bool isInput, TypeRange types) {
      for (auto [index, type] : llvm::enumerate(types)) {
        spmd::LocalAttr local = spmd::getLocal(type);
        spmd::GridOp grid =
            local ? findGrid(function, local.getGrid()) : nullptr;
        if (!grid || !seen.insert({isInput, index}).second) {
          continue;
        }
        HostCopies copy = hostCopyOf(type, grid, cluster);
        if (copy.nanoseconds > 0) {
          sum.add(copy);
        }
      }
    };
    add(true, function.getArgumentTypes());
    add(false, function.getResultTypes());
  }
  return sum;
}

} // namespace divisi
