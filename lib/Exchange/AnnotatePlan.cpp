//===- AnnotatePlan.cpp - A plan as ONNX's annotations --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Exchange/AnnotatePlan.h"

#include "divisi/Cluster/DeviceGrid.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace divisi;

/// The shards of one dimension, and the axes that they are over.
static DimSharding shardingOf(const Grid &grid, size_t number,
                              const DimFactorLayouts &dim,
                              std::vector<AxisId> &axes) {
  DimSharding sharding;
  sharding.axis = int64_t(number);
  for (const FactorLayout &factor : dim) {
    sharding.factors.push_back({factor.extent, grid.product(factor.axes)});
    axes.insert(axes.end(), factor.axes.begin(), factor.axes.end());
  }
  // A split of the major factor alone is one of the whole dimension.
  auto isWhole = [&] {
    const FactorSharding &first = sharding.factors.front();
    return first.extent % first.shards == 0 &&
           llvm::all_of(llvm::drop_begin(sharding.factors),
                        [](const auto &other) { return other.shards == 1; });
  };
  while (sharding.factors.size() > 1 && sharding.factors.front().extent == 1) {
    sharding.factors.erase(sharding.factors.begin());
  }
  if (!sharding.factors.empty() && isWhole()) {
    FactorSharding whole = sharding.factors.front();
    for (const auto &other : llvm::drop_begin(sharding.factors)) {
      whole.extent *= other.extent;
    }
    sharding.factors.assign(1, whole);
  }
  return sharding;
}

static TensorSharding shardingOf(const ModelGrid &grid,
                                 const TensorLayout &tensor) {
  TensorSharding made;
  made.tensor = tensor.tensor;
  std::vector<AxisId> axes;
  for (auto [number, dim] : llvm::enumerate(tensor.dims)) {
    size_t before = axes.size();
    DimSharding sharding = shardingOf(grid.grid, number, dim, axes);
    if (axes.size() > before) {
      made.dims.push_back(std::move(sharding));
    }
  }
  std::vector<std::vector<int64_t>> holders(size_t(grid.grid.product(axes)));
  for (auto [position, device] : llvm::enumerate(grid.devices)) {
    holders[size_t(grid.grid.shardIndex(int64_t(position), axes))].push_back(
        device);
  }
  for (auto [number, devices] : llvm::enumerate(holders)) {
    if (devices.size() == 1) {
      made.devices.push_back(devices.front());
      continue;
    }
    int64_t key = -1 - int64_t(number);
    made.devices.push_back(key);
    made.groups[key] = std::move(devices);
  }
  return made;
}

/// By grid, the stage that it is; empty if there is one grid.
static Expected<std::map<size_t, int64_t>> stagesOf(const ModelPlan &plan) {
  std::map<size_t, int64_t> stages;
  if (plan.grids.size() < 2) {
    return stages;
  }
  std::set<int64_t> devices;
  for (const ModelGrid &grid : plan.grids) {
    bool isEqual = grid.devices.size() == plan.grids.front().devices.size();
    for (int64_t device : grid.devices) {
      if (!devices.insert(device).second || !isEqual) {
        return makeError(ExitCode::Unsupported,
                         "grids of the plan are no stages of a pipeline, each "
                         "on as many devices of its own: grid @",
                         grid.name);
      }
    }
  }
  for (const NodeLayouts &node : plan.nodes) {
    stages.emplace(node.grid, int64_t(stages.size()));
  }
  return stages;
}

Expected<DeviceAnnotations> divisi::annotationsOf(const ModelPlan &plan,
                                                  const std::string &name) {
  Expected<std::map<size_t, int64_t>> stages = stagesOf(plan);
  if (!stages) {
    return stages.status();
  }
  DeviceAnnotations annotations;
  DeviceConfiguration &configuration = annotations.configuration;
  configuration.name = name;
  configuration.numDevices = 0;
  for (const ModelGrid &grid : plan.grids) {
    for (int64_t device : grid.devices) {
      configuration.numDevices = std::max(configuration.numDevices, device + 1);
    }
  }
  configuration.mesh = meshText(plan.grids.front().grid);
  for (const NodeLayouts &layouts : plan.nodes) {
    NodeDevices devices;
    devices.node = layouts.node;
    devices.configuration = name;
    devices.text = layouts.strategy;
    if (auto stage = stages->find(layouts.grid); stage != stages->end()) {
      devices.stage = stage->second;
    }
    for (const auto *list : {&layouts.inputs, &layouts.outputs}) {
      for (const TensorLayout &tensor : *list) {
        if (!llvm::any_of(devices.tensors, [&](const TensorSharding &other) {
              return other.tensor == tensor.tensor;
            })) {
          devices.tensors.push_back(
              shardingOf(plan.grids[tensor.grid], tensor));
        }
      }
    }
    annotations.nodes.push_back(std::move(devices));
  }
  return annotations;
}
