//===- EstimateMemory.cpp - What devices will hold ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Memory/EstimateMemory.h"

#include "divisi/Artifact/Memory.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace divisi;

/// Runs `stages` on `copy`, without a word. Nobody runs it, and a module that
/// somebody runs is verified after each pass.
static Status lower(ModuleOp copy,
                    const std::function<void(OpPassManager &)> &stages) {
  PassManager passes(copy.getContext());
  passes.enableVerifier(false);
  stages(passes);
  ScopedDiagnosticHandler quiet(copy.getContext(),
                                [](Diagnostic &) { return success(); });
  return succeeded(passes.run(copy))
             ? Status()
             : Status(ExitCode::Invalid, "the module cannot be lowered");
}

divisi::Expected<std::vector<DeviceMemory>>
divisi::estimateMemory(ModuleOp module, const MemoryRequest &request) {
  OwningOpRef<ModuleOp> copy;
  if (request.stages) {
    copy = module.clone();
    if (Status status = lower(*copy, request.stages); !status.isOk()) {
      return status;
    }
  }
  divisi::Expected<std::vector<rt::RankMemory>> ranks = predictMemory(
      copy ? *copy : module, request.countsKernels, request.device);
  if (!ranks) {
    return ranks.status();
  }
  std::vector<DeviceMemory> devices;
  for (auto [rank, held] : llvm::enumerate(*ranks)) {
    const DeviceKind &kind = request.cluster.kindOf(int64_t(rank));
    devices.push_back(
        {kind.name, request.cluster.memoryLimit(kind, request.limit), held});
  }
  return devices;
}

std::vector<DeviceMemory>
divisi::fullestOf(const std::vector<DeviceMemory> &devices) {
  std::vector<DeviceMemory> kinds;
  for (const DeviceMemory &device : devices) {
    // Nothing keeps a file from giving two kinds one name.
    auto known = llvm::find_if(kinds, [&](const DeviceMemory &other) {
      return other.kind == device.kind && other.limit == device.limit;
    });
    if (known == kinds.end()) {
      kinds.push_back(device);
    } else if (device.held.limited() > known->held.limited()) {
      known->held = device.held;
    }
  }
  bool isHeld = llvm::any_of(
      kinds, [](const DeviceMemory &kind) { return kind.held.total() > 0; });
  llvm::erase_if(kinds, [&](const DeviceMemory &kind) {
    return isHeld && kind.held.total() == 0;
  });
  return kinds;
}
