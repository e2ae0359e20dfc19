//===- EstimateMemory.h - Estimates of device memory ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory of a device is known once the module is lowered: offsets of
// buffers in the arena, workspaces outside of it. If it is not lowered, a copy
// is, by the stages that are still ahead of it:
//
//   module at Stage::Plan  ->  copy: partition, schedule, lower
//                          ->  per rank: weights, arena, workspace, … , limit
//
// The planner, which compares many plans, counts tensors instead
// (lib/Plan/MemoryViews.h); it gets what it does not count as a reserve.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_MEMORY_ESTIMATEMEMORY_H
#define DIVISI_MEMORY_ESTIMATEMEMORY_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Support/Status.h"
#include "divisi/runtime/core/RankMemory.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace divisi {

/// What a device holds, and may hold.
struct DeviceMemory {
  std::string kind;    ///< DeviceKind::name
  int64_t limit = 0;   ///< Bytes.
  rt::RankMemory held; ///< Of one of these devices.

  /// Above the limit; less than 0: what is left.
  int64_t missing() const { return held.limited() - limit; }
};

/// Of which machine, and by which kernels.
struct MemoryRequest {
  const Cluster &cluster;              ///< Whose devices have the limits.
  std::optional<int64_t> limit;        ///< Bytes that a user has given.
  bool countsKernels = false;          ///< As for predictMemory.
  const rt::Backend *device = nullptr; ///< As for predictMemory.
  /// Appends the stages that a copy of the module goes through; empty: it has
  /// been lowered.
  std::function<void(mlir::OpPassManager &)> stages = nullptr;
};

/// Of each rank of `module`, by its number. Fails as predictMemory, and with
/// Invalid if the module cannot be lowered; what is wrong is told then when it
/// is lowered itself.
Expected<std::vector<DeviceMemory>>
estimateMemory(mlir::ModuleOp module, const MemoryRequest &request);

/// Of each kind among `devices` the one that holds most; of kinds of which all
/// devices are idle none, unless all are.
std::vector<DeviceMemory> fullestOf(const std::vector<DeviceMemory> &devices);

} // namespace divisi

#endif // DIVISI_MEMORY_ESTIMATEMEMORY_H
