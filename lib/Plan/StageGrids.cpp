//===- StageGrids.cpp - Which devices stages have -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageGrids.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <limits>
#include <optional>

namespace divisi::plan {

std::vector<DeviceRun> runsOf(const Cluster &cluster) {
  std::vector<DeviceRun> runs;
  for (int64_t device = 0; device < cluster.numDevices(); ++device) {
    if (runs.empty() ||
        cluster.kindOf(device).name != cluster.kindOf(runs.back().begin).name) {
      runs.push_back({device, 0});
    }
    ++runs.back().length;
  }
  return runs;
}

/// Of how many levels devices [begin, end) are on several units, though one
/// would hold them.
static int64_t splitUnits(const Cluster &cluster, int64_t begin, int64_t end) {
  return llvm::count_if(
      llvm::seq<size_t>(0, cluster.levels.size()), [&](size_t level) {
        int64_t unit = cluster.unitSize(level);
        return end - begin <= unit && begin / unit != (end - 1) / unit;
      });
}

/// Where so many free devices split the fewest units.
static std::optional<int64_t> bestBegin(const Cluster &cluster,
                                        const std::vector<bool> &isTaken,
                                        int64_t first, int64_t size) {
  std::optional<int64_t> best;
  int64_t least = std::numeric_limits<int64_t>::max(), free = 0;
  for (int64_t i = 0; i < int64_t(isTaken.size()); ++i) {
    free = isTaken[size_t(i)] ? 0 : free + 1;
    int64_t begin = first + i + 1 - size;
    int64_t split =
        free < size ? least : splitUnits(cluster, begin, begin + size);
    if (split < least) {
      best = begin;
      least = split;
    }
  }
  return best;
}

std::vector<int64_t> beginsIn(const DeviceRun &run,
                              llvm::ArrayRef<int64_t> sizes,
                              const Cluster &cluster) {
  std::vector<size_t> order(sizes.size());
  for (size_t stage = 0; stage < sizes.size(); ++stage) {
    order[stage] = stage;
  }
  llvm::stable_sort(order,
                    [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::vector<int64_t> begins(sizes.size());
  std::vector<bool> isTaken(size_t(run.length), false);
  bool isWhole = sizes.empty() || llvm::any_of(sizes, [&](int64_t size) {
                   return size != sizes.front();
                 });
  for (size_t stage : order) {
    auto begin = isWhole ? bestBegin(cluster, isTaken, run.begin, sizes[stage])
                         : std::nullopt;
    isWhole &= begin.has_value();
    if (begin) {
      begins[stage] = *begin;
      auto from = isTaken.begin() + (*begin - run.begin);
      std::fill(from, from + sizes[stage], true);
    }
  }
  if (!isWhole) { // equal, or those that split no unit leave no others room
    int64_t next = run.begin;
    for (size_t stage : order) {
      begins[stage] = next;
      next += sizes[stage];
    }
  }
  return begins;
}

spmd::GridOp gridAt(mlir::ModuleOp module, spmd::GridOp grid, int64_t begin,
                    const llvm::Twine &name) {
  llvm::SmallVector<int64_t> own = grid.getDeviceIds();
  int64_t first = *llvm::min_element(own);
  for (int64_t &device : own) {
    device += begin - first;
  }
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(module.getBody());
  llvm::SmallVector<spmd::GridOp> known(module.getOps<spmd::GridOp>());
  if (!known.empty()) {
    builder.setInsertionPointAfter(known.back());
  }
  auto clone = llvm::cast<spmd::GridOp>(builder.clone(*grid));
  clone.setDevicesAttr(builder.getDenseI64ArrayAttr(own));
  clone.setSymName(name.str());
  mlir::SymbolTable(module).insert(clone);
  return clone;
}

} // namespace divisi::plan
