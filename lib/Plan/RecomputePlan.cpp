//===- RecomputePlan.cpp - Plans that compute again -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recomputer.h"

#include "MeasurePlan.h"
#include "RunAgain.h"
#include "divisi/Plan/PlanRecord.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace divisi::plan {

/// Who plans the module reports what is wrong with it.
static FailureOr<ModuleDataflow> readQuietly(ModuleOp module,
                                             int64_t batchDim) {
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  return readDataflow(module, batchDim);
}

bool mayRecompute(ModuleOp module, const PlanOptions &options) {
  if (options.recompute == "none" || !module.getOps<spmd::GridOp>().empty()) {
    return false;
  }
  bool updates = false;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isExternal()) {
      updates |= !function.getBody().front().getOps<nn::UpdateOp>().empty();
    }
  }
  if (!updates) {
    return false;
  }
  FailureOr<ModuleDataflow> dataflow = readQuietly(module, options.batchDim);
  return succeeded(dataflow) && dataflow->entryTimes.size() == 1 &&
         hasStates(*dataflow);
}

/// Of the devices that have least; of a pipeline, of one for each stage.
std::optional<int64_t> Recomputer::limit(ModuleOp planned) const {
  Expected<Cluster> cluster = clusterOf(planned, options_);
  if (!cluster) {
    return std::nullopt;
  }
  int64_t least = INT64_MAX;
  for (const DeviceGroup &group : cluster->devices) {
    least =
        std::min(least, cluster->memoryLimit(group.kind, options_.memoryLimit));
  }
  return limitOfStages(least, options_);
}

/// Whether even the globals are too much for a device.
bool Recomputer::isTight() const {
  int64_t bytes = 0;
  ModuleOp module = module_;
  for (auto global : module.getOps<nn::GlobalOp>()) {
    bytes += nn::byteCount(global.getTensorType()).value_or(0);
  }
  std::optional<int64_t> most = limit(module_);
  return most && bytes > *most;
}

int64_t Recomputer::missing(ModuleOp planned, int64_t peak) const {
  std::vector<HeldMemory> held;
  if (options_.measure) {
    if (auto copy = onStages(copyOf(planned), options_)) {
      held = options_.measure(*copy);
    }
  }
  if (held.empty()) {
    return peak - limit(planned).value_or(INT64_MAX);
  }
  int64_t most = INT64_MIN;
  for (const HeldMemory &kind : held) {
    most = std::max(most, kind.missing());
  }
  return most;
}

Expected<Candidate> Recomputer::plan(OwningOpRef<ModuleOp> module,
                                     bool isLimited) {
  PlanOptions options = options_;
  if (!isLimited) {
    options.memoryLimit = INT64_MAX / 4;
    options.measure = nullptr;
  }
  Expected<PlanReport> report = planOnce(*module, options);
  if (!report) {
    if (!hopeless_) {
      hopeless_ = std::move(module);
    }
    return report.status();
  }
  Candidate made;
  made.report = std::move(*report);
  made.missing = isLimited ? 0 : missing(*module, made.report.peakBytes);
  made.module = std::move(module);
  return made;
}

void Recomputer::offer(Expected<Candidate> candidate) {
  if (!candidate) {
    first_ = first_.isOk() ? candidate.status() : first_;
  } else if (candidate->missing <= 0 &&
             (!best_ ||
              candidate->report.nanoseconds < best_->report.nanoseconds)) {
    best_ = std::move(*candidate);
  }
}

/// What a plan takes that computes `again` what it drops.
std::optional<Candidate>
Recomputer::complete(const Candidate &from, ModuleOp planned,
                     const RecomputeReading &reading,
                     llvm::ArrayRef<std::vector<unsigned>> again) {
  Candidate made;
  made.module = copyOf(planned);
  FailureOr<ModuleDataflow> dataflow =
      readQuietly(*made.module, options_.batchDim);
  if (failed(dataflow)) {
    return std::nullopt;
  }
  made.again = runAgain(*dataflow, reading, again).size();
  Expected<PricedPlan> priced = pricePlan(*made.module);
  if (!priced) {
    return std::nullopt;
  }
  made.report = from.report;
  made.report.nanoseconds = nanosecondsOf(priced->solution.cost);
  made.report.peakBytes = int64_t(priced->solution.peak);
  made.report.nodes = int64_t(priced->planning.problem.nodes.size());
  made.report.edges = int64_t(priced->planning.problem.edges.size());
  made.missing = missing(*made.module, made.report.peakBytes);
  return made;
}

/// What to compute again of `reading`, which is of `planned`, whose tensors
/// take `peak`. A device holds more than tensors, so what is missing is taken
/// from the limit. The first stage of a pipeline keeps as many micro-batches as
/// there are stages: as much as one keeps on all of them, which `peak` counts.
std::optional<Candidate> Recomputer::decideIn(const Candidate &from,
                                              ModuleOp planned,
                                              RecomputeReading &reading,
                                              int64_t peak) {
  constexpr int kTries = 4;
  constexpr int64_t kRoom = 16; ///< A part of the limit that is a waste.
  constexpr int64_t kWork = 2'000'000'000;
  std::optional<int64_t> most = limit(planned);
  if (!most) {
    return std::nullopt;
  }
  int64_t left =
      isHeavy_ && beside_ ? *most - *beside_ : peak - missing(planned, peak);
  reading.input.limit =
      options_.pipelineStages > 1 ? left : std::min(*most, left);
  std::optional<Candidate> best;
  for (int i = 0; i != kTries && reading.input.limit > 0; ++i) {
    RecomputeProblem problem = makeRecomputeProblem(reading.input);
    search::Options solving;
    solving.work = std::min(options_.work, kWork);
    solving.gap = options_.gap;
    solving.seed = options_.seed;
    solving.stop = options_.control.stop;
    search::Outcome outcome = search::solveAuto(problem.problem, solving);
    if (outcome.verdict != search::Verdict::Solved ||
        search::check(problem.problem, outcome.solution)) {
      return best;
    }
    std::optional<Candidate> made =
        complete(from, planned, reading,
                 recomputedBy(problem, reading.input.stages.size(),
                              outcome.solution.assignment));
    if (!made) {
      return best;
    }
    int64_t missing = made->missing;
    beside_ = std::max<int64_t>(0, missing + *most - made->report.peakBytes);
    bool isWorse = best && best->report.nanoseconds <= made->report.nanoseconds;
    if (missing <= 0 && !isWorse) {
      best = std::move(made);
    }
    // Of what is left, most goes to what is kept, once.
    bool mayKeepMore = isHeavy_ && i == 0 && -missing > *most / kRoom;
    if (missing <= 0 && !mayKeepMore) {
      return best;
    }
    reading.input.limit -= missing <= 0 ? missing / 8 * 7 : missing;
  }
  return best;
}

/// What to compute again at the strategies of `planned`: of whole parts of the
/// forward pass, and, where the problem is small, of anything in front of any
/// operator. The first is a small problem that is solved well, the second has
/// better answers, which its budget may not reach.
void Recomputer::decide(const Candidate &from, ModuleOp planned) {
  Expected<PricedPlan> priced = pricePlan(planned);
  if (!priced) {
    return;
  }
  for (bool byParts : {true, false}) {
    std::optional<RecomputeReading> reading = readRecompute(*priced, byParts);
    if (!reading || reading->byParts != byParts) {
      continue;
    }
    if (std::optional<Candidate> made =
            decideIn(from, planned, *reading, int64_t(priced->solution.peak))) {
      offer(std::move(*made));
    }
  }
}

/// Everything again, planned as such; then what of it is better kept.
void Recomputer::decideAll(const Candidate &from) {
  Expected<PricedPlan> priced = pricePlan(*from.module);
  if (!priced) {
    return offer(priced.status());
  }
  std::optional<RecomputeReading> reading =
      readRecompute(*priced, /*byParts=*/true);
  if (!reading) {
    return;
  }
  reading->input.dropsAll = true;
  reading->input.limit = INT64_MAX / 4;
  RecomputeProblem problem = makeRecomputeProblem(reading->input);
  search::Outcome outcome = search::solveAuto(problem.problem, {});
  if (outcome.verdict != search::Verdict::Solved) {
    return;
  }
  OwningOpRef<ModuleOp> module = copyOf(module_);
  FailureOr<ModuleDataflow> dataflow = readQuietly(*module, options_.batchDim);
  if (failed(dataflow)) {
    return;
  }
  std::vector<RunAgain> copies =
      runAgain(*dataflow, *reading,
               recomputedBy(problem, reading->input.stages.size(),
                            outcome.solution.assignment));
  Expected<Candidate> all = plan(std::move(module), /*isLimited=*/true);
  if (!all) {
    return offer(all.status());
  }
  all->again = copies.size();
  all->report.lowerBound = from.report.lowerBound;
  if (options_.recompute == "auto") {
    IRMapping map;
    OwningOpRef<ModuleOp> once = cast<ModuleOp>((*all->module)->clone(map));
    for (RunAgain &pair : copies) {
      pair.copy = map.lookup(pair.copy);
      pair.original = pair.original ? map.lookup(pair.original) : pair.original;
    }
    runOnce(std::move(copies));
    decide(*all, *once);
  }
  offer(std::move(all));
}

/// Most that cannot be planned can be with operators that run again, so only
/// here the planner is asked what memory would do.
Status Recomputer::whyNone() {
  PlanOptions options = options_;
  options.control.explains = true;
  if (first_.isOk()) {
    return Status(ExitCode::Internal, "nothing is known to compute again");
  }
  if (!hopeless_ || first_.code() != ExitCode::Infeasible) {
    return first_;
  }
  Expected<PlanReport> report = planOnce(*hopeless_, options);
  // Time may be over before it is told.
  return report.status().code() == ExitCode::Infeasible ? report.status()
                                                        : first_;
}

/// The best becomes the module's.
Expected<PlanReport> Recomputer::adopt() {
  if (!best_) {
    return whyNone();
  }
  Expected<std::optional<PlanRecord>> record = getPlanRecord(*best_->module);
  if (!record || !*record) {
    return record ? Status(ExitCode::Internal, "a plan has no record")
                  : record.status();
  }
  PlanReport &report = best_->report;
  PlanRecord &known = **record;
  known.memoryLimit = options_.memoryLimit;
  known.recompute = options_.recompute;
  known.nanoseconds = report.nanoseconds;
  known.lowerBound = std::min(report.lowerBound, report.nanoseconds);
  known.peakBytes = report.peakBytes;
  report.estimate = estimate_;
  if (best_->again > 0) {
    known.judged = known.simulated = known.leastSum = std::nullopt;
    report.notes.push_back(llvm::formatv(
        "{0} operators of the forward pass run again in the backward pass",
        best_->again));
  }
  module_.getBodyRegion().takeBody(best_->module->getBodyRegion());
  module_->setAttrs((*best_->module)->getAttrs());
  setPlanRecord(module_, known);
  return report;
}

Expected<PlanReport> Recomputer::run() {
  bool isAuto = options_.recompute == "auto";
  if (isAuto && isHeavy()) {
    return runHeavy();
  }
  Expected<Candidate> free = plan(copyOf(module_), isTight() && isAuto);
  if (isAuto && free && free->missing <= 0) {
    offer(std::move(free));
    return adopt();
  }
  if (!free && isTight() && isAuto) {
    first_ = free.status();
    free = plan(copyOf(module_), /*isLimited=*/false);
  } else if (isAuto && free) {
    offer(plan(copyOf(module_), /*isLimited=*/true));
  }
  if (!free) {
    return free.status();
  }
  if (isAuto) {
    decide(*free, *free->module);
  }
  decideAll(*free);
  return adopt();
}

Expected<PlanReport> planRecomputing(ModuleOp module,
                                     const PlanOptions &options) {
  Expected<PlanReport> report = Recomputer(module, options).run();
  if (report && options.control.onPlan) {
    options.control.onPlan(*report);
  }
  return report;
}

} // namespace divisi::plan
