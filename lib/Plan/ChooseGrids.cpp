//===- ChooseGrids.cpp - The grids that a program is planned on -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanningInputs.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Plan/PlanRecord.h"

using namespace mlir;

namespace divisi::plan {

/// What most of the arithmetic is in.
static Precision precisionOf(const Dataflow &dataflow) {
  std::map<Precision, double> flops = {{Precision::F32, 0}};
  for (const Site &site : dataflow.sites) {
    flops[site.profile.precision] += site.nest.flops();
  }
  return llvm::max_element(flops, llvm::less_second())->first;
}

/// The candidates of `request`. Where operators have more strategies on many
/// axes than are searched, on fewer axes there are others.
static Expected<std::vector<DeviceGrid>> gridsOf(const PlanningInputs &inputs,
                                                 GridRequest request,
                                                 const PlanOptions &options) {
  Precision precision = precisionOf(inputs.dataflow());
  Expected<std::vector<DeviceGrid>> grids =
      candidateGrids(inputs.cluster, request, precision, /*withMore=*/true);
  if (!grids || !request.mesh.empty()) {
    return grids;
  }
  int64_t &axes = *request.maxAxes;
  while (axes > 1 && isCapped(inputs.dataflow(), axes, options.maxStrategies)) {
    --axes;
    auto others = candidateGrids(inputs.cluster, request, precision);
    if (!others) {
      return others.status();
    }
    for (DeviceGrid &other : *others) {
      bool isKnown = llvm::any_of(*grids, [&](const DeviceGrid &grid) {
        return grid.grid == other.grid && grid.devices == other.devices;
      });
      if (!isKnown) {
        // Who asks for many axes gets no worse plan than with fewer.
        other.isMore = !options.grid.maxAxes;
        grids->push_back(std::move(other));
      }
    }
  }
  return grids;
}

/// Leaves out the grids on devices of several kinds, which no stage has.
static void keepOneKind(const Cluster &cluster,
                        std::vector<DeviceGrid> &grids) {
  auto isOfOne = [&](const DeviceGrid &grid) {
    return llvm::all_of(grid.devices, [&](int64_t device) {
      return cluster.kindOf(device).name ==
             cluster.kindOf(grid.devices.front()).name;
    });
  };
  if (llvm::any_of(grids, isOfOne)) {
    llvm::erase_if(grids,
                   [&](const DeviceGrid &grid) { return !isOfOne(grid); });
  }
}

/// Whether nothing is said of what axes are for.
static bool isOpen(const DeviceGrid &grid) {
  return llvm::all_of(grid.roles,
                      [](AxisRole role) { return role == AxisRole::Any; });
}

Expected<std::vector<DeviceGrid>> chooseGrids(ModuleOp module,
                                              const PlanOptions &options,
                                              PlanningInputs &inputs) {
  llvm::SmallVector<spmd::GridOp> known(module.getOps<spmd::GridOp>());
  if (known.size() > 1) {
    return Status(ExitCode::Usage,
                  "the module has " + std::to_string(known.size()) +
                      " grids, and plans are searched on one; remove the "
                      "strategies on the others");
  }
  GridRequest request = options.grid;
  if (options.share.devices > 0) {
    request.devices = options.share.devices;
  } else if (options.pipelineStages > 1) {
    int64_t devices = request.devices.value_or(inputs.cluster.numDevices());
    if (Status status = checkStages(options, devices); !status.isOk()) {
      return status;
    }
    request.devices = devices / options.pipelineStages;
  }
  if (known.size() == 1 && request.mesh.empty()) {
    Grid grid = known[0].getValue();
    if (grid.numAxes() == 0) {
      request.devices = 1;
    }
    request.mesh = meshText(grid);
  }
  if (!options.zero.empty() && request.mesh.empty() && !request.dataParallel &&
      !request.tensorParallel) {
    request.tensorParallel = 1; // all axes are for data
  }
  if (!request.maxAxes) {
    request.maxAxes = isHeavy(inputs, options)
                          ? 2
                          : mostAxes(inputs.dataflow(), options.maxStrategies);
  }
  Expected<std::vector<DeviceGrid>> grids = gridsOf(inputs, request, options);
  inputs.leavesUnlisted = grids && leavesUnlisted(inputs.cluster, request);
  if (grids && options.share.devices > 0) {
    keepOneKind(inputs.cluster, *grids);
  }
  if (!grids || known.empty()) {
    return grids;
  }
  DeviceGrid &only = grids->front();
  if (known[0].getValue() != only.grid) {
    return Status(ExitCode::Usage,
                  "the module has the grid @" + known[0].getSymName().str() +
                      ", which is not the requested mesh; remove one of them");
  }
  inputs.grid = known[0];
  llvm::SmallVector<int64_t> devices = inputs.grid.getDeviceIds();
  only.devices.assign(devices.begin(), devices.end());
  only.links = linksOf(inputs.grid, inputs.cluster);
  // Of a plan around which is planned, what its axes were for.
  if (auto known = getPlanRecord(module); known && *known && isOpen(only)) {
    only.roles = rolesFrom((*known)->roles, only.roles.size());
  }
  grids->resize(1);
  return grids;
}

} // namespace divisi::plan
