//===- ChoosePipeline.cpp - How many micro-batches and stages -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where nobody has said on how many stages micro-batches run, or of how many of
// them the batch is to be made, plans are made and scheduled for such numbers,
// and those of the one that takes least are taken, of equal ones the first:
//
//   micro-batches   the divisors of the batch up to 16, few first; of more, the
//                   first one that fits, where none of these does
//   stages          the divisors of the devices, of 2 to 16 micro-batches; of
//                   a prime number of devices also 2 and 3, of unequal sizes
//
// The model is imported again for each number of micro-batches: what its shapes
// then are, the model says. A number is discarded if operators alone take
// longer than the best time so far, though the devices shared them evenly: at
// the prices of plans, parts of an operator together take no less than it does.
// Programs are compared as they are, without rewriting.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Batches.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "dialects/NN/Known.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Cost/ScheduleRecord.h"
#include "divisi/Cost/TrialRecord.h"
#include "divisi/Optimize/ProgramPrice.h"
#include "divisi/Plan/IndependentRows.h"
#include "divisi/Plan/PlanRecord.h"
#include "divisi/Support/Units.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <map>
#include <optional>

using namespace mlir;
using namespace divisi;

/// Of so few micro-batches numbers of stages are searched: programs that run
/// have each of them.
static constexpr int64_t kMostOnStages = 16;
/// Micro-batches that --micro-batches auto makes.
static constexpr int64_t kMostBatches = 1024;

bool divisi::searchesStagesOf(int64_t microBatches) {
  return microBatches > 1 && microBatches <= kMostOnStages;
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

/// Compares numbers of micro-batches and stages.
class Compilation::PipelineTrials {
public:
  PipelineTrials(Compilation &source, const Cluster &machine)
      : source_(source), control_(source.options_.plan.control),
        kind_(fastestKind(machine)),
        devices_(
            source.options_.plan.grid.devices.value_or(machine.numDevices())) {}

  /// Compares the numbers of stages of the source, which has `batches`.
  Status tryStages(int64_t batches);
  /// Compares the numbers of micro-batches that `batch` rows can be.
  Status tryBatches(int64_t batch);
  /// The best number of stages; nothing if no plan fits.
  std::optional<int64_t> stages() const {
    return taken_ ? std::optional(records_[*taken_].stages) : std::nullopt;
  }
  /// The program with the best number of micro-batches, if there is one.
  std::unique_ptr<Compilation> takeProgram() { return std::move(best_); }
  /// Lets `plan` have so many.
  void setStages(int64_t stages, PlanOptions &plan) const;
  /// Notes what was compared on `module`.
  void note(ModuleOp module) const { setTrialRecords(module, records_); }

private:
  static std::unique_ptr<Compilation> withoutDumps(Compilation &program);
  bool isOver() const { return control_.struck() != search::Stopped::Finished; }
  bool mayBeUnequal() const;
  std::vector<int64_t> stagesOf(int64_t batches) const;
  Status tryOne(Compilation &program, int64_t batches, int64_t stages);
  Status tryCount(int64_t batches);
  bool isWorthwhile(Compilation &program, int64_t batches, int64_t stages);
  Expected<int64_t> boundOf(Compilation &program, int64_t batches);
  void leaveOut(int64_t batches, const std::string &why);

  Compilation &source_;
  const PlanControl &control_;
  DeviceKind kind_; ///< Of the fastest devices.
  int64_t devices_;
  std::vector<TrialRecord> records_;
  std::optional<size_t> taken_; ///< Of records_.
  std::unique_ptr<Compilation> best_;
};

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
    status = trial->advanceTo(Stage::Schedule);
    time = repeats.empty() ? scheduledTime(*trial->module_)
           : planned && *planned
               ? timeOfLoops(*trial->module_, (*planned)->nanoseconds, repeats)
               : std::nullopt;
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
  return Status();
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

/// A step on one stage is made of its micro-batches in another way than that of
/// a pipeline.
Status Compilation::PipelineTrials::tryCount(int64_t batches) {
  auto pipeline = source_.inBatches(batches, /*isPipeline=*/true);
  auto alone = source_.inBatches(batches, /*isPipeline=*/false);
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
    Compilation &program = stages > 1 ? **pipeline : **alone;
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
  return Status();
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

Status Compilation::chooseStages() {
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  PipelineTrials trials(*this, *machine);
  int64_t batches =
      isTrained_ ? options_.train.microBatches : options_.microBatches;
  if (Status status = trials.tryStages(batches); !status.isOk()) {
    return status;
  }
  // If no plan fits, the message is that of one stage.
  trials.setStages(trials.stages().value_or(1), options_.plan);
  trials.note(*module_);
  return Status();
}

//===----------------------------------------------------------------------===//
// Micro-batches
//===----------------------------------------------------------------------===//

/// Whether `part` is `whole` with `count` times fewer rows in all that is given
/// and, but for a model that is trained, returned.
static bool isPart(func::FuncOp part, func::FuncOp whole, int64_t count,
                   bool isTrained) {
  auto areParts = [&](TypeRange parts, TypeRange wholes) {
    return parts.size() == wholes.size() &&
           llvm::all_of(llvm::zip_equal(parts, wholes), [&](auto pair) {
             auto one = cast<RankedTensorType>(std::get<0>(pair));
             return nn::typeOfBatches(one, count) == std::get<1>(pair);
           });
  };
  return areParts(part.getArgumentTypes(), whole.getArgumentTypes()) &&
         (isTrained || areParts(part.getResultTypes(), whole.getResultTypes()));
}

/// What users call.
static func::FuncOp entryOf(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (nn::isEntry(function) && !nn::isBody(function)) {
      return function;
    }
  }
  return {};
}

Expected<std::unique_ptr<Compilation>> Compilation::inBatches(int64_t count,
                                                              bool isPipeline) {
  std::unique_ptr<Compilation> part = copy();
  CompileOptions &options = part->options_;
  if (count == 1) {
    return part;
  }
  options.import.batches = count;
  options.import.note = nullptr;
  options.trained = nullptr;
  options.lowered = nullptr;
  if (isTrained_) {
    options.train.microBatches = count;
    options.train.isPipeline = isPipeline;
  } else {
    options.microBatches = count;
  }
  if (Status status = part->importModel(); !status.isOk()) {
    return status;
  }
  func::FuncOp entry = entryOf(*part->module_);
  if (!isPart(entry, entryOf(*module_), count, isTrained_)) {
    return Status(ExitCode::Usage, "inputs or outputs have other dims than "
                                   "those of the whole batch");
  }
  return part;
}

Status Compilation::chooseMicroBatches() {
  auto tell = [&](const std::string &text) {
    if (options_.import.note) {
      options_.import.note("--micro-batches auto: " + text);
    }
  };
  func::FuncOp entry = entryOf(*module_);
  auto trainedBy =
      isTrained_ ? std::optional(options_.train.lossOf) : std::nullopt;
  plan::IndependentRows rows =
      plan::findIndependentRows(entry, *store_, trainedBy);
  if (!rows.obstacle.empty()) {
    tell("the batch is not divided, as that would change results: " +
         rows.obstacle);
    return Status();
  }
  options_.rows = rows.batch;
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  PipelineTrials trials(*this, *machine);
  if (Status status = trials.tryBatches(rows.batch); !status.isOk()) {
    return status;
  }
  std::unique_ptr<Compilation> best = trials.takeProgram();
  if (!best) {
    trials.note(*module_);
    return Status(); // why no plan fits, the stage Plan says
  }
  module_ = std::move(best->module_);
  options_.import.batches = best->options_.import.batches;
  options_.train = best->options_.train;
  options_.microBatches = best->options_.microBatches;
  trials.setStages(*trials.stages(), options_.plan);
  trials.note(*module_);
  if (rows.drawsNumbers && options_.import.batches > 1) {
    tell("each micro-batch draws random numbers of its own");
  }
  return Status();
}
