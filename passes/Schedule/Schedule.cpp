//===- Schedule.cpp - Order operations so that they overlap ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orders each entry (divisi/Schedule/EntryScheduler.h), as it is and with
// buckets of reductions.
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/HostCopies.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Memory/EstimateMemory.h"
#include "divisi/Plan/PlanRecord.h"
#include "divisi/Profile/HostProcessor.h"
#include "divisi/Schedule/BucketReductions.h"
#include "divisi/Schedule/EntryFunctions.h"
#include "divisi/Schedule/EntryScheduler.h"
#include "divisi/Schedule/LocalOperation.h"
#include "passes/Lower/Passes.h"
#include "passes/ModuleNotes.h"
#include "passes/Schedule/Passes.h"
#include "passes/StatusDiagnostic.h"

#include "mlir/Pass/PassManager.h"

#define DEBUG_TYPE "schedule-overlap"

namespace divisi {
#define GEN_PASS_DEF_SCHEDULEOVERLAP
#include "passes/Schedule/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

/// How many reductions may become one: more take more memory, and less time.
static constexpr size_t kBucketSizes[] = {4, 16, 64};

namespace {

/// See Passes.td.
class ScheduleOverlapPass
    : public divisi::impl::ScheduleOverlapBase<ScheduleOverlapPass> {
public:
  using ScheduleOverlapBase::ScheduleOverlapBase;
  void runOnOperation() override;

private:
  int64_t roomFor(const Cluster &cluster);
  std::optional<ScheduleRecord> scheduleEntry(ArrayRef<func::FuncOp> functions,
                                              OperationCost &cost);
  std::optional<ScheduleRecord>
  scheduleBuckets(func::FuncOp &own, func::FuncOp original, size_t most,
                  const ScheduleRecord &record, ArrayRef<int64_t> limits,
                  OperationCost &cost);
};

} // namespace

/// Tries to make buckets in `own`, which is all of its entry: what it then
/// takes, if that is less than `record` and arenas keep within `limits`.
std::optional<ScheduleRecord>
ScheduleOverlapPass::scheduleBuckets(func::FuncOp &own, func::FuncOp original,
                                     size_t most, const ScheduleRecord &record,
                                     ArrayRef<int64_t> limits,
                                     OperationCost &cost) {
  // Its grid is looked up in the module.
  func::FuncOp copy = original.clone();
  OpBuilder(own).insert(copy);
  int64_t buckets = bucketReductions(copy, most, cost);
  bool moved = false;
  std::optional<ScheduleRecord> made;
  if (buckets > 0) {
    made = orderEntry(copy, limits, cost, moved, ahead);
  }
  if (made && !moved) {
    std::optional<SmallVector<int64_t>> arena = arenasInOrder(copy);
    made = arena && arena->front() <= limits.front() ? made : std::nullopt;
  }
  if (!made || made->nanoseconds >= record.nanoseconds) {
    copy.erase();
    return std::nullopt;
  }
  own.erase();
  own = copy;
  numBuckets += buckets;
  return made;
}

/// Orders an entry. Where it is one function, it is tried with buckets, too, in
/// the same memory.
std::optional<ScheduleRecord>
ScheduleOverlapPass::scheduleEntry(ArrayRef<func::FuncOp> functions,
                                   OperationCost &cost) {
  bool canOrder = llvm::all_of(functions, [](func::FuncOp function) {
    return llvm::all_of(function.front(), canMove);
  });
  std::optional<SmallVector<int64_t>> limits =
      canOrder ? arenasInOrder(functions) : std::nullopt;
  if (!limits) {
    return std::nullopt;
  }
  for (int64_t &limit : *limits) {
    limit += growth.value_or(0);
  }
  func::FuncOp own = functions.front();
  OwningOpRef<func::FuncOp> original = own.clone();
  bool moved = false;
  std::optional<ScheduleRecord> record =
      orderEntry(functions, *limits, cost, moved, ahead);
  numOverlapped += moved;
  if (!record || record->communication == 0 || functions.size() > 1) {
    return record;
  }
  for (size_t most : kBucketSizes) {
    if (std::optional<ScheduleRecord> made =
            scheduleBuckets(own, *original, most, *record, *limits, cost)) {
      record = made;
    }
  }
  return record;
}

/// Whether ranks do anything together.
static bool meets(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return isEntry(function) &&
           llvm::any_of(function.front(),
                        [](Operation &op) { return tagOf(&op).has_value(); });
  });
}

/// By how much arenas may grow; 0 if what devices hold cannot be known.
int64_t ScheduleOverlapPass::roomFor(const Cluster &cluster) {
  divisi::Expected<std::optional<PlanRecord>> record =
      getPlanRecord(getOperation());
  if (!record) {
    return 0;
  }
  std::optional<int64_t> given =
      *record ? (*record)->memoryLimit : std::nullopt;
  // Arenas are compared without the scratch of kernels; with it they need no
  // more than both have.
  auto devices = estimateMemory(
      getOperation(),
      {.cluster = cluster,
       .limit = given,
       .countsKernels = runsKernelsOf(cluster),
       .stages = [](OpPassManager &passes) {
         buildLowerPipeline(passes, {.plansScratch = false, .proves = false});
       }});
  if (!devices) {
    return 0;
  }
  // Stages run beside each other as far as what they send has room.
  bool isPipeline = *record && (*record)->stages;
  std::optional<int64_t> room;
  for (const DeviceMemory &device : *devices) {
    int64_t held = device.held.total();
    int64_t left = std::max<int64_t>(device.limit - held, 0);
    bool mayFill = given == device.limit || isPipeline;
    int64_t own = mayFill ? left : std::min(left, held / 2);
    if (held > 0) {
      room = std::min(room.value_or(own), own);
    }
  }
  return room.value_or(0);
}

void ScheduleOverlapPass::runOnOperation() {
  ModuleOp module = getOperation();
  divisi::Expected<Cluster> cluster = getCluster(module);
  if (!cluster) {
    emitStatus(module.getLoc(), cluster.status());
    return signalPassFailure();
  }
  auto entries = functionsOfEntries(module);
  if (!growth && meets(module)) {
    growth = roomFor(*cluster);
  }
  OperationCost cost(module, *cluster);
  std::vector<ScheduleRecord> records;
  for (auto &[name, functions] : entries) {
    // Scheduling may replace functions.
    int64_t copies = hostCopiesOf(functions, *cluster).nanoseconds;
    if (std::optional<ScheduleRecord> record = scheduleEntry(functions, cost)) {
      record->entry = name.str();
      record->nanoseconds += copies;
      records.push_back(std::move(*record));
    }
  }
  setScheduleRecords(module, records);
  noteOnModule(module, kStageAttr, "schedule");
}
