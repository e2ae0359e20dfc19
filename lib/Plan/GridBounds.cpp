//===- GridBounds.cpp - What is known of a grid beforehand ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What can be said of a grid without a planning problem, so that few grids need
// one.
//
//===----------------------------------------------------------------------===//

#include "PlanningInputs.h"

#include "divisi/Cost/Arithmetic.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>
#include <tuple>

namespace divisi::plan {

/// What `site` takes at least on the devices of `pace`, however it is split:
/// together they do the arithmetic, and write the results. What may be fused is
/// neither written nor launched.
static double leastNanoseconds(const Site &site, const Grid &grid,
                               const GridPace &pace) {
  // What computes nothing may be a view.
  if (site.nest.flopsPerPoint == 0) {
    return 0;
  }
  Grid one;
  Split whole = Split::replicated(site.nest);
  double flops = localFlops(site.nest, one, whole);
  double written = 0;
  FusedEnds fusible = site.fusibleOn(pace);
  for (auto [number, result] : llvm::enumerate(site.nest.results)) {
    if (!llvm::is_contained(fusible.results, number)) {
      written += double(localBytes(one, Layout::replicated(result.shape.size()),
                                   result.shape, site.profile.results[number]));
    }
  }
  double flopsPerSecond = 0, vectorRate = 0, bytesPerSecond = 0;
  int64_t launch = INT64_MAX;
  bool isStarted = fusible.operands.empty(), starts = isProduct(site.nest);
  for (const auto &[kind, part] : pace.parts) {
    double devices = double(part.numPositions(grid));
    flopsPerSecond += devices * kind.flopsPerSecond(site.profile.precision);
    vectorRate += devices * kind.vectorRate(site.profile.precision);
    bytesPerSecond += devices * kind.memoryBytesPerSecond;
    launch = std::min(launch, (isStarted ? kind.launchNanoseconds : 0) +
                                  (starts ? kind.productLaunchNanoseconds : 0));
  }
  double compute = arithmeticSeconds(flops, vectorShare(site.nest),
                                     flopsPerSecond, vectorRate);
  return double(launch) + 1e9 * std::max(compute, written / bytesPerSecond);
}

/// What copies between the host and the devices of `pace` take at least: all of
/// them together copy each input and output once.
static double leastCopyNanoseconds(const Dataflow &dataflow, const Grid &grid,
                                   const GridPace &pace) {
  double rate = 0;
  int64_t launch = INT64_MAX;
  for (const auto &[kind, part] : pace.parts) {
    if (kind.hostRate() == 0) {
      return 0;
    }
    rate += double(part.numPositions(grid)) * kind.hostRate();
    launch = std::min(launch, kind.launchNanoseconds);
  }
  double sum = 0;
  auto add = [&](const DataflowValue &tensor) {
    sum += double(launch) + 1e9 * double(tensor.bytes()) / rate;
  };
  for (const DataflowValue &tensor : dataflow.values) {
    if (tensor.isInput) {
      add(tensor);
    }
  }
  for (const Output &output : dataflow.outputs) {
    add(dataflow.values[output.tensor]);
  }
  return sum;
}

int64_t quickBound(const PlanningInputs &inputs, const DeviceGrid &grid) {
  GridPace pace = inputs.paceOf(grid);
  double sum = leastCopyNanoseconds(inputs.dataflow(), grid.grid, pace);
  using Kind = std::tuple<unsigned, llvm::SmallVector<unsigned, 1>,
                          llvm::SmallVector<unsigned, 1>>;
  std::map<Kind, double> known; ///< There are many of few kinds.
  for (const Site &site : inputs.dataflow().sites) {
    auto [least, isNew] = known.try_emplace(
        {site.kind, site.fusible.operands, site.fusible.results}, 0);
    if (isNew) {
      least->second = leastNanoseconds(site, grid.grid, pace);
    }
    sum += least->second;
  }
  return int64_t(sum);
}

int64_t operatorBound(const PlanningInputs &inputs, const DeviceGrid &grid,
                      const PlanOptions &options) {
  LayoutPool pool;
  GridPace pace = inputs.paceOf(grid);
  ChoiceMaker maker(grid.grid, pace, {grid.roles, options.maxStrategies}, pool);
  int64_t sum =
      int64_t(leastCopyNanoseconds(inputs.dataflow(), grid.grid, pace));
  for (const Site &site : inputs.dataflow().sites) {
    sum += nanosecondsOf(costOf(maker.leastNanoseconds(site), site.repeats));
  }
  return sum;
}

/// The kinds of operators on so many axes: the most strategies of one, and the
/// sum of their squares. Ends with the first of more than `most` strategies.
static std::pair<size_t, size_t> countStrategies(const Dataflow &dataflow,
                                                 int64_t axes, size_t most) {
  // Nowhere are there more strategies than on axes of two.
  llvm::SmallVector<GridAxis, 4> twos;
  while (int64_t(twos.size()) < axes) {
    twos.push_back({"x" + std::to_string(twos.size()), 2});
  }
  Grid grid(twos);
  std::set<unsigned> kinds;
  size_t largest = 0, pairs = 0;
  for (const Site &site : dataflow.sites) {
    if (kinds.insert(site.kind).second && largest <= most) {
      size_t count = enumerateSplits(site.nest, grid, most + 1).size();
      largest = std::max(largest, count);
      pairs += count * count;
    }
  }
  return {largest, pairs};
}

bool isCapped(const Dataflow &dataflow, int64_t axes, size_t maxStrategies) {
  return countStrategies(dataflow, axes, maxStrategies).first > maxStrategies;
}

/// Routes are asked for between all pairs of strategies of two operators.
int64_t mostAxes(const Dataflow &dataflow, size_t maxStrategies) {
  constexpr size_t kMostPairs = 4'000'000;
  auto [largest, pairs] = countStrategies(dataflow, kMostAxes, maxStrategies);
  return largest > maxStrategies || pairs > kMostPairs ? kMostAxes - 1
                                                       : kMostAxes;
}

bool isHeavy(const PlanningInputs &inputs, const PlanOptions &options) {
  constexpr size_t kMany = 2500;
  const Dataflow &dataflow = inputs.dataflow();
  int64_t globals = 0;
  for (const DataflowValue &tensor : dataflow.values) {
    globals += tensor.kind == DataflowValue::Kind::Global ? tensor.bytes() : 0;
  }
  return dataflow.sites.size() > kMany && hasStates(dataflow) &&
         llvm::any_of(inputs.cluster.devices, [&](const DeviceGroup &group) {
           return globals >
                  inputs.cluster.memoryLimit(group.kind, options.memoryLimit);
         });
}

} // namespace divisi::plan
