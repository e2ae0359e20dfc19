//===- PipelineTrials.cpp - Pipelines that are compared -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineTrials.h"

#include "dialects/NN/Batches.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "dialects/NN/Known.h"
#include "divisi/Cost/ScheduleRecord.h"
#include "divisi/Optimize/ProgramPrice.h"
#include "divisi/Plan/PlanRecord.h"
#include "divisi/Plan/StageNumber.h"
#include "divisi/Support/Units.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <map>

using namespace mlir;
using namespace divisi;

/// Of so few micro-batches numbers of stages are searched: programs that run
/// have each of them.
static constexpr int64_t kMostOnStages = 16;
/// Programs that run have each of so many on one stage; of more, a loop of a
/// few.
static constexpr int64_t kMostWritten = 32;
/// Micro-batches that --micro-batches auto makes.
static constexpr int64_t kMostBatches = 1024;

bool divisi::searchesStagesOf(int64_t microBatches) {
  return microBatches > 1 && microBatches <= kMostOnStages;
}

bool divisi::isPlannedAsOne(int64_t microBatches) {
  return microBatches > 1 && microBatches <= kMostWritten;
}

/// How often bodies run in a call, by their names.
static std::map<std::string, int64_t> repeatsOfBodies(ModuleOp module) {
  std::map<std::string, int64_t> repeats;
  std::function<void(func::FuncOp, int64_t)> enter = [&](func::FuncOp function,
                                                         int64_t outside) {
    for (auto loop : function.getOps<nn::LoopOp>()) {
      int64_t own = nn::repeatsOf(loop, outside);
      repeats[loop.getBody().str()] += own;
      enter(cast<func::FuncOp>(
                nn::lookupBody(loop, loop.getBodyAttr()).getOperation()),
            own);
    }
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    if (nn::isEntry(function) && !nn::isBody(function)) {
      enter(function, 1);
    }
  }
  return repeats;
}

/// What a call takes, of a plan that runs bodies, which are scheduled each by
/// itself: what it takes without overlap, but for what they hide.
static std::optional<int64_t>
timeOfLoops(ModuleOp scheduled, int64_t planned,
            const std::map<std::string, int64_t> &repeats) {
  auto records = getScheduleRecords(scheduled);
  if (!records) {
    return std::nullopt;
  }
  for (const ScheduleRecord &record : *records) {
    auto found = repeats.find(record.entry);
    planned -= (record.communication - record.exposed) *
               (found == repeats.end() ? 1 : found->second);
  }
  return planned;
}

/// A copy that writes no dumps, not even that of what was imported.
std::unique_ptr<Compilation>
Compilation::PipelineTrials::withoutDumps(Compilation &program) {
  std::unique_ptr<Compilation> copy = program.copy();
  copy->isImported_ = false;
  copy->options_.dumpAfter.clear();
  return copy;
}

/// Whether there are no equal parts but one and single devices: then stages may
/// have unequal numbers of them.
bool Compilation::PipelineTrials::mayBeUnequal() const {
  const GridRequest &grid = source_.options_.plan.grid;
  bool isOpen = grid.mesh.empty() && !grid.dataParallel && !grid.tensorParallel;
  return isOpen && devices_ > 2 && primeFactors(devices_).size() == 1;
}

/// Whether there may be any number of stages, of any sizes.
bool Compilation::PipelineTrials::searchesSizes(int64_t batches) const {
  const CompileOptions &options = source_.options_;
  return options.plan.searchesStageDevices && !options.givesStages &&
         searchesStagesOf(batches);
}

void Compilation::PipelineTrials::setStages(int64_t stages,
                                            PlanOptions &plan) const {
  plan.pipelineStages = stages;
  plan.searchesStageDevices |=
      !source_.options_.givesStages && devices_ % stages != 0;
}

/// As many as were asked for, else those that are searched.
std::vector<int64_t>
Compilation::PipelineTrials::stagesOf(int64_t batches) const {
  if (source_.options_.givesStages) {
    return {source_.options_.plan.pipelineStages};
  }
  if (searchesSizes(batches)) {
    return {1}; // tryOthers() finds the others
  }
  std::vector<int64_t> numbers;
  for (int64_t stages = 1; stages <= devices_; ++stages) {
    if (devices_ % stages == 0 && (stages == 1 || searchesStagesOf(batches))) {
      numbers.push_back(stages);
    }
  }
  if (mayBeUnequal() && searchesStagesOf(batches)) {
    numbers.push_back(2); // once the others are known
    numbers.resize(numbers.size() + size_t(devices_ > 3), 3);
  }
  return numbers;
}

void Compilation::PipelineTrials::leaveOut(int64_t batches,
                                           const std::string &why) {
  records_.push_back({batches, 0, std::nullopt, false, why});
}

/// What cannot be planned so is no candidate.
Status Compilation::PipelineTrials::tryOne(Compilation &program,
                                           int64_t batches, int64_t stages) {
  TrialRecord &record = records_.emplace_back();
  record.microBatches = batches;
  record.stages = stages;
  std::unique_ptr<Compilation> trial = withoutDumps(program);
  trial->options_.searchesStages = false;
  setStages(stages, trial->options_.plan);
  trial->options_.rewrite.mode = RewriteMode::Off;
  trial->options_.warned = nullptr;
  trial->options_.plan.control.onPlan = nullptr;
  Status status = trial->advanceTo(Stage::Plan);
  std::map<std::string, int64_t> repeats;
  std::optional<int64_t> time;
  if (status.isOk()) {
    repeats = repeatsOfBodies(*trial->module_);
    auto planned = getPlanRecord(*trial->module_);
    if (repeats.empty()) {
      time = trial->timeOfPlan(*trial->module_);
    } else {
      status = trial->advanceTo(Stage::Schedule);
      time = planned && *planned ? timeOfLoops(*trial->module_,
                                               (*planned)->nanoseconds, repeats)
                                 : std::nullopt;
    }
  }
  if (status.code() == ExitCode::Internal) {
    return status;
  }
  record.nanoseconds = status.isOk() ? time : std::nullopt;
  if (!record.nanoseconds) {
    record.leftOut = "no plan is made";
    if (status.code() == ExitCode::Infeasible) {
      record.leftOut = "no plan fits";
    }
  } else if (!taken_ || *time < *records_[*taken_].nanoseconds) {
    if (taken_) {
      records_[*taken_].isTaken = false;
    }
    record.isTaken = true;
    taken_ = records_.size() - 1;
  }
  return Status();
}

/// Whether stages of unequal sizes, which need several plans, may be much
/// faster than what was found. One has all devices but one for each other at
/// most.
bool Compilation::PipelineTrials::isWorthwhile(Compilation &program,
                                               int64_t batches,
                                               int64_t stages) {
  constexpr double kMuch = 0.8;
  if (devices_ % stages == 0 || !taken_) {
    return true;
  }
  Expected<int64_t> even = boundOf(program, batches);
  even = even ? even : Expected<int64_t>(0); // who plans says what is wrong
  double whole = double(*even) * double(devices_) / double(batches);
  double least = whole * (double(batches - 1) / double(devices_) +
                          1 / double(devices_ - stages + 1));
  return least < kMuch * double(*records_[*taken_].nanoseconds);
}

/// Numbers of stages, of any sizes: first that which is best by what plans
/// take, and so on, until several one after the other were not the fastest so
/// far.
Status Compilation::PipelineTrials::tryOthers(Compilation &program,
                                              int64_t batches) {
  // Of so many devices the dynamic program takes too long for more.
  constexpr int64_t kManyDevices = 64, kFewStages = 4;
  constexpr int kMisses = 2;
  int64_t most = std::min(devices_, kMostOnStages);
  most = devices_ > kManyDevices ? std::min(most, kFewStages) : most;
  std::vector<size_t> tried;
  for (int64_t stages : stagesOf(batches)) {
    tried.push_back(size_t(stages));
  }
  std::unique_ptr<Compilation> planned = withoutDumps(program);
  planned->options_.searchesStages = false;
  planned->options_.rewrite.mode = RewriteMode::Off;
  planned->options_.warned = nullptr;
  Status status = planned->advanceTo(Stage::Rewrite);
  for (int misses = 0; status.isOk() && misses < kMisses && !isOver();) {
    PlanOptions options = planned->options_.plan;
    options.control.onPlan = nullptr;
    auto stages = bestStageNumber(*planned->module_, options, most, tried);
    if (!stages) {
      return stages.status().code() == ExitCode::Internal ? stages.status()
                                                          : Status();
    }
    if (!*stages) {
      break;
    }
    tried.push_back(size_t(**stages));
    status = tryOne(program, batches, **stages);
    bool isFastest = taken_ && *taken_ + 1 == records_.size();
    misses = isFastest ? 0 : misses + int(taken_.has_value());
  }
  return status;
}

Status Compilation::PipelineTrials::tryStages(int64_t batches) {
  for (int64_t stages : stagesOf(batches)) {
    if (isOver()) {
      break;
    }
    if (!isWorthwhile(source_, batches, stages)) {
      continue;
    }
    if (Status status = tryOne(source_, batches, stages); !status.isOk()) {
      return status;
    }
  }
  return searchesSizes(batches) ? tryOthers(source_, batches) : Status();
}

/// What a call of `batches` takes at least, if devices share the operators of
/// `program` evenly.
Expected<int64_t> Compilation::PipelineTrials::boundOf(Compilation &program,
                                                       int64_t batches) {
  std::unique_ptr<Compilation> whole = withoutDumps(program);
  if (Status status = whole->advanceTo(Stage::Train); !status.isOk()) {
    return status;
  }
  nn::KnownValues known(*whole->module_);
  int64_t time = 0;
  for (auto function : whole->module_->getOps<func::FuncOp>()) {
    bool isEach = function->hasAttr(nn::kMicroBatchesAttr);
    if (nn::isEntry(function) && (isEach || !nn::isBody(function))) {
      // Of inference, the program is one micro-batch.
      bool isRepeated = isEach || !whole->isTrained_;
      time += optimize::priceOf(function.front(), known, kind_).nanoseconds *
              (isRepeated ? batches : 1);
    }
  }
  return time / devices_;
}

/// A step of many micro-batches on one stage is made in another way than that
/// of a pipeline.
Status Compilation::PipelineTrials::tryCount(int64_t batches) {
  auto pipeline = source_.inBatches(batches, /*isPipeline=*/true);
  auto alone = isPlannedAsOne(batches)
                   ? Expected<std::unique_ptr<Compilation>>(nullptr)
                   : source_.inBatches(batches, /*isPipeline=*/false);
  if (!pipeline || !alone) {
    leaveOut(batches, "not possible: " + pipeline.status().message());
    return Status();
  }
  if (taken_) {
    Expected<int64_t> bound = boundOf(**pipeline, batches);
    if (!bound) {
      return bound.status();
    }
    if (*bound >= *records_[*taken_].nanoseconds) {
      leaveOut(batches,
               "not planned: its operators alone, shared evenly, take " +
                   formatTime(*bound));
      return Status();
    }
  }
  for (int64_t stages : stagesOf(batches)) {
    Compilation &program = stages > 1 || !*alone ? **pipeline : **alone;
    if (!isWorthwhile(program, batches, stages)) {
      continue;
    }
    Status status = isOver() ? Status() : tryOne(program, batches, stages);
    if (!status.isOk()) {
      return status;
    }
    if (taken_ && *taken_ + 1 == records_.size()) {
      best_ = program.copy();
    }
  }
  std::optional<size_t> before = taken_;
  Status status;
  if (searchesSizes(batches)) {
    status = tryOthers(**pipeline, batches);
  }
  if (taken_ != before) {
    best_ = (*pipeline)->copy();
  }
  return status;
}

Status Compilation::PipelineTrials::tryBatches(int64_t batch) {
  for (int64_t count = 1; count <= std::min(batch, kMostBatches); ++count) {
    bool isWanted = count <= kMostOnStages || !taken_;
    if (batch % count != 0 || !isWanted || isOver()) {
      continue;
    }
    if (Status status = tryCount(count); !status.isOk()) {
      return status;
    }
  }
  return Status();
}
