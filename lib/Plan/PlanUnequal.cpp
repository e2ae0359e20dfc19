//===- PlanUnequal.cpp - Stages of unequal numbers of devices -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanUnequal.h"

#include "PlanningInputs.h"
#include "RecomputePlan.h"
#include "StageSizes.h"
#include "divisi/Plan/DropPlan.h"
#include "divisi/Plan/PlanRecord.h"
#include "divisi/Plan/StageNumber.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;

namespace divisi::plan {

namespace {

/// Plans the program for each size. One use.
class UnequalPlanner {
public:
  UnequalPlanner(ModuleOp module, const PlanOptions &options)
      : module_(module), options_(options) {
    options_.control.onPlan = nullptr;
  }

  Expected<PlanReport> run();
  /// How many stages are best, of those in `numbers` up to what the options
  /// say.
  Expected<std::optional<int64_t>> number(StageNumbers numbers);

private:
  /// A pipeline of plans for all sizes.
  struct Placed {
    OwningOpRef<ModuleOp> module;
    PlanReport report;
  };

  Status check() const;
  Expected<int64_t> numDevices() const;
  std::vector<int64_t> sizesInOrder() const;
  std::vector<int64_t> candidates(int64_t devices) const;
  Status chooseSizes();
  Expected<PlanReport> planEqual(ModuleOp module) const;
  bool isPlanned(int64_t size) const {
    return llvm::any_of(
        plans_, [&](const SizedPlan &plan) { return plan.devices == size; });
  }
  void forget(int64_t size);
  bool isTight(const Status &status);
  bool isSlower(const Placed &placed) const;
  Expected<PlanReport> plan(int64_t size);
  Expected<Placed> planAll();
  Expected<PlanReport> adopt(Placed placed);

  ModuleOp module_;
  PlanOptions options_;
  bool isSearching_ = false; ///< Of sizes.
  /// If how many stages there are is searched, too.
  std::optional<StageNumbers> numbers_;
  /// Bytes per device, of all plans but the last.
  std::optional<int64_t> limitOfFirst_;
  /// What all sizes are planned for: with what is computed again, once that is
  /// decided.
  OwningOpRef<ModuleOp> program_;
  std::vector<OwningOpRef<ModuleOp>> copies_; ///< With their plans.
  std::vector<SizedPlan> plans_;              ///< The same.
};

} // namespace

Expected<int64_t> UnequalPlanner::numDevices() const {
  Expected<Cluster> cluster = clusterOf(module_, options_);
  return cluster
             ? std::min(options_.grid.devices.value_or(cluster->numDevices()),
                        cluster->numDevices())
             : Expected<int64_t>(cluster.status());
}

Status UnequalPlanner::check() const {
  ModuleOp module = module_;
  if (!module.getOps<spmd::GridOp>().empty()) {
    return Status(ExitCode::Usage,
                  "--stage-devices plans the program for each number of "
                  "devices, and the module has strategies already; drop them "
                  "(--replan)");
  }
  Expected<int64_t> devices = numDevices();
  return devices ? checkStages(options_, *devices) : devices.status();
}

/// The program of the first is that of all: what it computes again, the largest
/// stage decides. What the last one takes with overlap and holds is known
/// before it is chosen.
std::vector<int64_t> UnequalPlanner::sizesInOrder() const {
  std::set<int64_t> sizes(options_.stageDevices.begin(),
                          options_.stageDevices.end());
  std::vector<int64_t> order(sizes.begin(), sizes.end());
  if (mayRecompute(module_, options_)) {
    std::rotate(order.begin(), order.end() - 1, order.end());
  }
  return order;
}

/// Sizes that stages of `devices` may have: an equal part, as much as is left
/// beside such stages, and what divides well.
std::vector<int64_t> UnequalPlanner::candidates(int64_t devices) const {
  constexpr int64_t kFew = 8;
  int64_t stages = numbers_ ? numbers_->least : options_.pipelineStages;
  int64_t part = devices / stages;
  int64_t degree = options_.grid.dataParallel.value_or(1) *
                   options_.grid.tensorParallel.value_or(1);
  std::set<int64_t> sizes;
  for (int64_t size = 1; size <= devices - stages + 1; ++size) {
    bool isPower = (size & (size - 1)) == 0;
    bool isPart = size == part || size == part + 1 ||
                  size == devices - part * (stages - 1) ||
                  (numbers_ && devices % size == 0);
    if ((devices <= kFew || isPower || isPart) && size % degree == 0) {
      sizes.insert(size);
    }
  }
  return {sizes.begin(), sizes.end()};
}

/// The sizes that are best by what plans for them take: of those that have none
/// it is known that they take no less than without any communication, so only
/// those are planned for that would be the best then.
Status UnequalPlanner::chooseSizes() {
  Expected<int64_t> devices = numDevices();
  if (!devices) {
    return devices.status();
  }
  std::vector<int64_t> sizes = candidates(*devices);
  int64_t stages = numbers_ ? numbers_->least : options_.pipelineStages;
  if (sizes.empty() || *devices < stages) {
    return Status(); // who plans for equal stages says what is wrong
  }
  int64_t part = (*devices + stages - 1) / stages;
  auto from = llvm::lower_bound(sizes, part);
  std::vector<int64_t> open = {from == sizes.end() ? sizes.back() : *from};
  PipelineRequest request = pipelineOf(options_);
  request.stageDevices.clear();
  std::vector<int64_t> best;
  options_.stageDevices = {*devices}; // whose memory plans share
  isSearching_ = true;
  while (!open.empty()) {
    for (int64_t size : open) {
      Expected<PlanReport> report = plan(size);
      if (!report && report.status().code() != ExitCode::Infeasible) {
        return report.status();
      }
      if (!report) {
        llvm::erase(sizes, size);
      }
    }
    open.clear();
    if (plans_.empty()) {
      open.assign(sizes.end() - (sizes.empty() ? 0 : 1), sizes.end());
      continue;
    }
    auto found =
        bestStageDevices(*program_, request, plans_, *devices, sizes, numbers_);
    if (!found) {
      return found.status();
    }
    best = std::move(*found);
    for (int64_t size : std::set<int64_t>(best.begin(), best.end())) {
      if (!isPlanned(size)) {
        open.push_back(size);
      }
    }
  }
  isSearching_ = false;
  options_.stageDevices = std::move(best);
  // The largest is planned for again, beside the others.
  if (!numbers_ && !llvm::all_equal(options_.stageDevices)) {
    forget(*llvm::max_element(options_.stageDevices));
  }
  return Status();
}

/// Drops the plan for `size`, and those for sizes that no stage has.
void UnequalPlanner::forget(int64_t size) {
  std::vector<OwningOpRef<ModuleOp>> copies;
  std::vector<SizedPlan> plans;
  for (auto [copy, plan] : llvm::zip_equal(copies_, plans_)) {
    bool isNeeded = llvm::is_contained(options_.stageDevices, plan.devices);
    if (isNeeded && plan.devices != size) {
      copies.push_back(std::move(copy));
      plans.push_back(plan);
    }
  }
  copies_ = std::move(copies);
  plans_ = std::move(plans);
}

/// Whether plans for the sizes before the last may have left it too little;
/// then they get less.
bool UnequalPlanner::isTight(const Status &status) {
  Expected<Cluster> cluster = clusterOf(module_, options_);
  if (status.code() != ExitCode::Infeasible || plans_.empty() || !cluster) {
    return false;
  }
  int64_t limit = cluster->memoryLimit(cluster->pace(), options_.memoryLimit);
  limitOfFirst_ = limitOfFirst_.value_or(limit) * 3 / 4;
  return true;
}

/// As planModule, of equal stages.
Expected<PlanReport> UnequalPlanner::planEqual(ModuleOp module) const {
  PlanOptions options = options_;
  options.stageDevices.clear();
  options.searchesStageDevices = false;
  return planModule(module, options);
}

/// Whether equal stages are faster with overlap, which the sizes were not
/// searched by.
bool UnequalPlanner::isSlower(const Placed &placed) const {
  ModuleOp from = module_;
  OwningOpRef<ModuleOp> equal = cast<ModuleOp>(from->clone());
  if (!planEqual(*equal)) {
    return false; // it may not fit
  }
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>((*placed.module)->clone());
  std::optional<int64_t> time = options_.simulate(*copy);
  std::optional<int64_t> other = options_.simulate(*equal);
  return time && other && *other <= *time;
}

/// Plans a copy of the program.
Expected<PlanReport> UnequalPlanner::plan(int64_t size) {
  bool isFirst = !program_;
  ModuleOp from = isFirst ? module_ : *program_;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(from->clone());
  PlanOptions options = options_;
  options.share = {size, plans_};
  if (isSearching_ || plans_.size() + 1 < sizesInOrder().size()) {
    options.measure = nullptr; // stages of other sizes have no plans yet
    options.simulate = nullptr;
    options.memoryLimit = limitOfFirst_ ? limitOfFirst_ : options.memoryLimit;
  }
  bool mayAgain = isFirst && mayRecompute(module_, options_);
  Expected<PlanReport> report =
      mayAgain ? planRecomputing(*copy, options) : planOnce(*copy, options);
  if (!report) {
    return report;
  }
  if (isFirst) {
    program_ = cast<ModuleOp>((*copy)->clone());
    if (auto dropped = dropPlan(*program_, {}); !dropped) {
      return dropped.status();
    }
  }
  plans_.push_back({size, *copy});
  copies_.push_back(std::move(copy));
  return report;
}

/// The report is that of the largest stage, with what all of them take.
Expected<UnequalPlanner::Placed> UnequalPlanner::planAll() {
  Placed made;
  std::optional<search::Stopped> cut;
  int64_t largest = *llvm::max_element(options_.stageDevices);
  for (int64_t size : sizesInOrder()) {
    if (isPlanned(size)) {
      continue; // while sizes were searched
    }
    Expected<PlanReport> report = plan(size);
    if (!report) {
      return report.status();
    }
    cut = report->isCut() ? report->stopped : cut;
    if (size == largest) {
      made.report = std::move(*report);
      made.module = cast<ModuleOp>((*copies_.back())->clone());
    }
  }
  made.report.stopped = cut.value_or(made.report.stopped);
  Status status = placeStages(*made.module, pipelineOf(options_), plans_);
  if (!status.isOk()) {
    return status;
  }
  return made;
}

/// The pipeline becomes the module's.
Expected<PlanReport> UnequalPlanner::adopt(Placed placed) {
  Expected<std::optional<PlanRecord>> record = getPlanRecord(*placed.module);
  if (!record || !*record) {
    return record ? Status(ExitCode::Internal, "a plan has no record")
                  : record.status();
  }
  PlanReport &report = placed.report;
  (*record)->memoryLimit = options_.memoryLimit;
  report.nanoseconds = (*record)->nanoseconds;
  report.lowerBound = 0; // it was of one grid
  report.judged = report.simulated = report.leastSum = std::nullopt;
  module_.getBodyRegion().takeBody(placed.module->getBodyRegion());
  module_->setAttrs((*placed.module)->getAttrs());
  setPlanRecord(module_, **record);
  return std::move(report);
}

Expected<std::optional<int64_t>> UnequalPlanner::number(StageNumbers numbers) {
  numbers_ = std::move(numbers);
  options_.stageDevices.clear();
  if (Status status = check(); !status.isOk()) {
    return status;
  }
  Expected<int64_t> devices = numDevices();
  if (!devices || *devices < 2) {
    return devices ? Expected<std::optional<int64_t>>(std::nullopt)
                   : devices.status();
  }
  if (Status status = chooseSizes(); !status.isOk()) {
    return status;
  }
  auto found = int64_t(options_.stageDevices.size());
  return found > 1 ? std::optional(found) : std::nullopt;
}

Expected<PlanReport> UnequalPlanner::run() {
  constexpr int kTries = 3;
  if (options_.searchesStageDevices) {
    if (Status status = check(); !status.isOk()) {
      return status;
    }
    if (Status status = chooseSizes(); !status.isOk()) {
      return status;
    }
    if (llvm::all_equal(options_.stageDevices)) {
      return planEqual(module_);
    }
  }
  if (Status status = check(); !status.isOk()) {
    return status;
  }
  Expected<Placed> placed = planAll();
  Status first = placed.status();
  for (int tried = 1; tried < kTries && !placed && isTight(placed.status());
       ++tried) {
    program_ = nullptr;
    copies_.clear();
    plans_.clear();
    placed = planAll();
  }
  if (!placed) {
    return first;
  }
  bool isCompared = options_.searchesStageDevices && options_.simulate;
  return isCompared && isSlower(*placed) ? planEqual(module_)
                                         : adopt(std::move(*placed));
}

Expected<PlanReport> planUnequal(ModuleOp module, const PlanOptions &options) {
  Expected<PlanReport> report = UnequalPlanner(module, options).run();
  if (report && options.control.onPlan) {
    options.control.onPlan(*report);
  }
  return report;
}

} // namespace divisi::plan

namespace divisi {

Expected<std::optional<int64_t>> bestStageNumber(ModuleOp module,
                                                 const PlanOptions &options,
                                                 int64_t most,
                                                 ArrayRef<size_t> leftOut) {
  PlanOptions numbered = options;
  numbered.pipelineStages = most;
  numbered.searchesStageDevices = true;
  return plan::UnequalPlanner(module, numbered)
      .number({2, {leftOut.begin(), leftOut.end()}});
}

} // namespace divisi
