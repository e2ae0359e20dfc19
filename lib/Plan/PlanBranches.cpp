//===- PlanBranches.cpp - Branches on parts of the devices ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanBranches.h"

#include "MoveChunks.h"
#include "PlanningInputs.h"
#include "RecomputePlan.h"
#include "StageCut.h"
#include "StageGrids.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Plan/DropPlan.h"
#include "divisi/Plan/PlanRecord.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;

namespace divisi::plan {

namespace {

/// Plans the program for all devices, and for parts of them. One use.
class BranchedPlanner {
public:
  BranchedPlanner(ModuleOp module, const PlanOptions &options)
      : module_(module), options_(options) {}

  Expected<PlanReport> run();

private:
  Expected<PlanReport> planWhole();
  bool planPart(int64_t devices);
  std::vector<int64_t> sizes() const;
  StageKinds kindsOf(const SizedPlans &plans,
                     llvm::ArrayRef<int64_t> sizes) const;
  void choose();
  void place(ModuleOp module) const;
  bool isBetter(ModuleOp placed, const PlanReport &whole) const;
  Expected<PlanReport> adopt(ModuleOp from, PlanReport report);

  ModuleOp module_;
  PlanOptions options_;
  std::optional<Cluster> cluster_;
  int64_t devices_ = 0; ///< Of the plan for all.
  /// What is planned for: with what is computed again.
  OwningOpRef<ModuleOp> program_;
  std::vector<OwningOpRef<ModuleOp>> copies_; ///< With their plans.
  std::vector<SizedPlan> plans_;              ///< The same.
  std::vector<int64_t> sizes_;                ///< Of `best_`.
  BranchPlan best_;
};

} // namespace

/// The plan for all devices, on one grid.
Expected<PlanReport> BranchedPlanner::planWhole() {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module_.clone());
  Expected<PlanReport> report = mayRecompute(module_, options_)
                                    ? planRecomputing(*copy, options_)
                                    : planOnce(*copy, options_);
  if (!report) {
    return report;
  }
  Expected<Cluster> cluster = getCluster(*copy);
  if (!cluster) {
    return cluster.status();
  }
  cluster_ = std::move(*cluster);
  for (auto grid : copy->getOps<spmd::GridOp>()) {
    devices_ = int64_t(grid.getDeviceIds().size());
  }
  program_ = cast<ModuleOp>((*copy)->clone());
  if (auto dropped = dropPlan(*program_, {}); !dropped) {
    return dropped.status();
  }
  plans_.push_back({devices_, *copy});
  copies_.push_back(std::move(copy));
  return report;
}

/// Plans for `devices`, a part of all; whether there is such a plan.
bool BranchedPlanner::planPart(int64_t devices) {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>((*program_)->clone());
  PlanOptions options = options_;
  options.stageDevices = {devices_}; // whose memory parts share
  options.share = {devices, plans_};
  options.measure = nullptr; // others have no plans yet
  options.simulate = nullptr;
  options.control.onPlan = nullptr;
  if (!planOnce(*copy, options)) {
    return false;
  }
  plans_.push_back({devices, *copy});
  copies_.push_back(std::move(copy));
  return true;
}

/// How many devices a branch may have, ascending: halves of all, and of few
/// devices all numbers.
std::vector<int64_t> BranchedPlanner::sizes() const {
  constexpr int64_t kFew = 4;
  std::vector<int64_t> sizes;
  for (int64_t size = devices_; size >= 1;
       size = devices_ <= kFew ? size - 1 : size / 2) {
    sizes.insert(sizes.begin(), size);
  }
  return sizes;
}

/// A size that has no plan costs as if devices shared all operators evenly.
StageKinds BranchedPlanner::kindsOf(const SizedPlans &plans,
                                    ArrayRef<int64_t> sizes) const {
  StageKinds kinds;
  kinds.isSized = true;
  kinds.pools = {devices_};
  for (int64_t size : sizes) {
    kinds.kinds.push_back({.plan = plans.planFor(size),
                           .devices = size,
                           .isBound = !plans.hasPlanFor(size)});
  }
  return kinds;
}

/// Finds the best places, of which no part lacks a plan.
void BranchedPlanner::choose() {
  sizes_ = sizes();
  while (true) {
    SizedPlans plans(*program_, plans_);
    StageCut cut(*cluster_, plans, 1, kindsOf(plans, sizes_));
    best_ = divisi::planBranches(cut.branches(*program_));
    std::vector<int64_t> open;
    for (const DevicePart &part : best_.places) {
      int64_t size = sizes_[part.size];
      if (!plans.hasPlanFor(size) && !llvm::is_contained(open, size)) {
        open.push_back(size);
      }
    }
    if (open.empty()) {
      return;
    }
    for (int64_t size : open) {
      if (!planPart(size)) {
        llvm::erase(sizes_, size);
      }
    }
  }
}

/// Gives the operators of a copy of the program their places in `best_`.
void BranchedPlanner::place(ModuleOp module) const {
  SizedPlans plans(module, plans_);
  StageCut cut(*cluster_, plans, 1, kindsOf(plans, sizes_));
  cut.findBranchNodes(module);
  std::map<std::pair<size_t, size_t>, int64_t> chunks;
  std::vector<ChunkPlace> places;
  std::vector<int64_t> chunkOfNode;
  for (const DevicePart &part : best_.places) {
    auto [chunk, isNew] =
        chunks.try_emplace({part.first, part.size}, int64_t(places.size()));
    if (isNew) {
      size_t plan = plans.planFor(sizes_[part.size]);
      spmd::GridOp grid = plans.grid(plan);
      places.push_back({plan, FlatSymbolRefAttr::get(gridAt(
                                  module, grid, int64_t(part.first),
                                  grid.getSymName() + Twine(places.size())))});
    }
    chunkOfNode.push_back(chunk->second);
  }
  cut.assign(std::move(chunkOfNode));
  ChunkMover(module, plans, std::move(places))
      .run(entriesOf(module), [&](Operation *op) { return cut.chunkOf(op); });
}

/// Whether `placed`, which it may change, takes less than the plan on one grid.
bool BranchedPlanner::isBetter(ModuleOp placed, const PlanReport &whole) const {
  auto simulate = [&](ModuleOp module) -> std::optional<int64_t> {
    OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
    return options_.simulate ? options_.simulate(*copy) : std::nullopt;
  };
  std::optional<int64_t> before = simulate(plans_.front().module);
  std::optional<int64_t> after = simulate(placed);
  if (before && after ? *after >= *before
                      : best_.nanoseconds >= whole.nanoseconds) {
    return false;
  }
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(placed->clone());
  return !options_.measure ||
         llvm::none_of(options_.measure(*copy), [](const HeldMemory &held) {
           return held.missing() > 0;
         });
}

/// The plan in `from` becomes the module's.
Expected<PlanReport> BranchedPlanner::adopt(ModuleOp from, PlanReport report) {
  module_.getBodyRegion().takeBody(from.getBodyRegion());
  module_->setAttrs(from->getAttrs());
  return report;
}

Expected<PlanReport> BranchedPlanner::run() {
  if (!module_.getOps<spmd::GridOp>().empty()) {
    return Status(ExitCode::Usage,
                  "--branch-parallel auto plans the program for parts of the "
                  "devices, and the module has strategies already; drop them "
                  "(--replan)");
  }
  Expected<PlanReport> report = planWhole();
  if (!report) {
    return report;
  }
  if (!cluster_->hasKinds()) {
    choose();
  }
  OwningOpRef<ModuleOp> placed;
  if (best_.isDivided()) {
    placed = cast<ModuleOp>((*program_)->clone());
    // As the plan for all has it: how it was found, and for what.
    (*placed)->setAttrs(plans_.front().module->getAttrs());
    place(*placed);
    if (!isBetter(*placed, *report)) {
      placed = nullptr;
    }
  }
  if (!placed) {
    return adopt(plans_.front().module, std::move(*report));
  }
  Expected<std::optional<PlanRecord>> record = getPlanRecord(*placed);
  if (!record || !*record) {
    return record ? Status(ExitCode::Internal, "a plan has no record")
                  : record.status();
  }
  (*record)->nanoseconds = report->nanoseconds = best_.nanoseconds;
  (*record)->lowerBound.reset(); // it was of one grid
  (*record)->judged = (*record)->simulated = (*record)->leastSum = std::nullopt;
  report->lowerBound = 0;
  report->judged = report->simulated = report->leastSum = std::nullopt;
  setPlanRecord(*placed, **record);
  return adopt(*placed, std::move(*report));
}

Expected<PlanReport> planBranches(ModuleOp module, const PlanOptions &options) {
  return BranchedPlanner(module, options).run();
}

} // namespace divisi::plan
