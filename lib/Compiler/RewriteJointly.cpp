//===- RewriteJointly.cpp - Rewriting and planning as one decision --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is cheapest on one device need not be so on many: joined weights may not
// be split as their parts were. So programs are compared as they are planned:
// the one that there is; what a search finds; and what it finds where a device
// does an even share of the work, so that starting operators and messages
// weigh more. The plan of the cheapest is the answer, which is never dearer
// than without rewriting. A share is one of 4, 16, 64, ..., so that with one
// device more the same programs are compared, and some more.
//
// A plan of a large program takes long to measure. Another program's is only
// measured there if it takes at least a percent less, as a sum of times.
//
// The program that there is comes first. Where time is limited, searches and
// other plans get what it leaves of that; where a person interrupts them, the
// best plan so far is kept. The plan says of which programs its bound holds,
// and which were left out.
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"

#include "dialects/NN/NN.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Optimize/ProgramPrice.h"
#include "divisi/Plan/PlanRecord.h"
#include "divisi/Rewrite/RuleRecord.h"
#include "passes/ModuleNotes.h"
#include "passes/Rewrite/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;

/// A device that does the work of `count` of `kind`, but starts an operator as
/// slowly as one.
static DeviceKind joined(DeviceKind kind, int64_t count) {
  double factor = double(count);
  for (double *rate :
       {&kind.peaks.f64, &kind.peaks.f32, &kind.peaks.f16, &kind.peaks.bf16,
        &kind.peaks.i8, &kind.memoryBytesPerSecond,
        &kind.vectorFlopsPerSecond}) {
    *rate *= factor;
  }
  kind.multiprocessors *= count;
  return kind;
}

DeviceKind Compilation::fastestKind(const Cluster &machine) {
  DeviceKind best = machine.pace({0});
  for (size_t group = 1; group < machine.devices.size(); ++group) {
    DeviceKind kind = machine.pace({group});
    if (kind.peaks.f32 > best.peaks.f32) {
      best = kind;
    }
  }
  return best;
}

Status Compilation::rewrite() {
  Expected<Cluster> machine = cluster();
  auto rules = rewrite::getRuleRecords(*module_);
  if (!machine || !rules) {
    return machine ? rules.status() : machine.status();
  }
  rewrite::SavingRecord saving;
  saving.before =
      optimize::priceOf(*module_, fastestKind(*machine)).nanoseconds;
  if (Status status = runPipeline(Stage::Rewrite); !status.isOk()) {
    return status;
  }
  auto now = rewrite::getRuleRecords(*module_);
  if (now && *now != *rules) {
    saving.after =
        optimize::priceOf(*module_, fastestKind(*machine)).nanoseconds;
    rewrite::setSavingRecord(*module_, saving);
  }
  return now.status();
}

/// Compares programs by their plans.
class Compilation::JointRewriting {
public:
  explicit JointRewriting(Compilation &source)
      : source_(source), texts_{textOf(*source.module_)} {}

  Status run();

private:
  /// A program, and what came of planning it.
  struct Planned {
    std::unique_ptr<Compilation> program;
    OwningOpRef<ModuleOp> plan;
    int64_t nanoseconds = 0; ///< With overlap, where that was simulated.
    PlanReport report;
    size_t number = 0; ///< Which of the programs.
  };

  static std::string textOf(ModuleOp module);
  Expected<Planned> plan(std::unique_ptr<Compilation> program, int64_t share);
  Expected<std::unique_ptr<Compilation>> search(const DeviceKind &kind);
  Status tryOther(const DeviceKind &kind, int64_t share);
  static std::unique_ptr<Compilation> toPlan(Compilation &program);
  bool isWorthMeasuring(Compilation &program);
  std::vector<std::string> rulesOf(ModuleOp program) const;
  bool isOver();
  void leaveOut(int64_t share, int64_t devices);
  void keep();

  Compilation &source_;
  /// That are planned, on few grids and on many: planning may take three times
  /// as long, and on many grids another program's plan takes up to twice that
  /// of the first.
  static constexpr int kMostPrograms = 3, kMostOnMany = 2;
  static constexpr int64_t kManyGrids = 16;
  double longest_ = 0; ///< Seconds that a plan took.
  /// PlanReport::estimate of the program that there is.
  std::optional<int64_t> estimate_;
  bool isCut_ = false; ///< Whether time or a person ended it.
  /// Of the programs that were looked at.
  std::vector<std::string> texts_;
  std::vector<rewrite::ProgramRecord> programs_; ///< Found or left out.
  int numPlanned_ = 0; ///< Of them, those whose planner was asked.
  std::optional<Planned> best_;
};

std::string Compilation::JointRewriting::textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

/// Asked before more is done: whether the time that is left is not enough for
/// another plan.
bool Compilation::JointRewriting::isOver() {
  // Of a plan that takes as long as those before.
  constexpr double plans = 1.5;
  const PlanControl &control = source_.options_.plan.control;
  isCut_ = isCut_ || control.struck() != search::Stopped::Finished ||
           (control.deadline &&
            steadySeconds() + plans * longest_ > *control.deadline);
  return isCut_;
}

/// Each once.
std::vector<std::string>
Compilation::JointRewriting::rulesOf(ModuleOp program) const {
  auto before = rewrite::getRuleRecords(*source_.module_);
  auto after = rewrite::getRuleRecords(program);
  std::vector<std::string> names;
  if (before && after) {
    for (const auto &rule : rewrite::appliedSince(*before, *after)) {
      names.push_back(rule.name);
    }
  }
  return names;
}

std::unique_ptr<Compilation>
Compilation::JointRewriting::toPlan(Compilation &program) {
  std::unique_ptr<Compilation> copy = program.copy();
  noteOnModule(*copy->module_, kStageAttr, stringifyStage(Stage::Rewrite));
  return copy;
}

/// Plans the program that is the cheapest at `share`.
Expected<Compilation::JointRewriting::Planned>
Compilation::JointRewriting::plan(std::unique_ptr<Compilation> program,
                                  int64_t share) {
  double begin = steadySeconds();
  ++numPlanned_;
  Planned planned;
  planned.number = programs_.size();
  programs_.push_back({.share = share, .rules = rulesOf(*program->module_)});
  std::unique_ptr<Compilation> copy = toPlan(*program);
  // People hear of one search, and of the plan that is taken.
  PlanControl &control = copy->options_.plan.control;
  control.onProgress = best_ ? nullptr : control.onProgress;
  control.onPlan = [&](const PlanReport &report) { planned.report = report; };
  Status status = copy->planToFit();
  longest_ = std::max(longest_, steadySeconds() - begin);
  if (!status.isOk()) {
    programs_.back().leftOut = status.code() == ExitCode::Infeasible
                                   ? "no plan of it fits"
                                   : "no plan of it was found";
    return status;
  }
  auto record = getPlanRecord(*copy->module_);
  if (!record || !*record) {
    return record ? Status(ExitCode::Internal, "a plan has no record")
                  : record.status();
  }
  // Where nothing was simulated, hardly anything overlaps.
  planned.nanoseconds = (*record)->simulated.value_or((*record)->nanoseconds);
  programs_.back().nanoseconds = (*record)->nanoseconds;
  programs_.back().lowerBound = (*record)->lowerBound;
  planned.program = std::move(program);
  planned.plan = std::move(copy->module_);
  return planned;
}

/// The program that a search finds for `kind`; null if it is known.
Expected<std::unique_ptr<Compilation>>
Compilation::JointRewriting::search(const DeviceKind &kind) {
  std::unique_ptr<Compilation> other = source_.copy();
  RewriteOptions options = source_.options_.rewrite;
  options.mode = RewriteMode::Search;
  options.isOver = [this] { return isOver(); };
  PassManager passes(source_.context_.get());
  buildRewritePipeline(passes, options, kind, source_.options_.rules);
  if (Status status = other->runPasses(passes, Stage::Rewrite);
      !status.isOk()) {
    return status;
  }
  auto before = rewrite::getRuleRecords(*source_.module_);
  auto after = rewrite::getRuleRecords(*other->module_);
  if (before && after && *before == *after) {
    return std::unique_ptr<Compilation>();
  }
  std::string text = textOf(*other->module_);
  if (llvm::is_contained(texts_, text)) {
    return std::unique_ptr<Compilation>();
  }
  texts_.push_back(std::move(text));
  return other;
}

/// Whether the plan of `program` may be enough faster than that of the program
/// that there is, which is known by its sum of times where that is large.
bool Compilation::JointRewriting::isWorthMeasuring(Compilation &program) {
  constexpr int64_t kLarge = 5000; // operators
  constexpr double kGain = 0.01;
  int64_t operators = 0;
  program.module_->walk([&](nn::LoopInterface) { ++operators; });
  const std::optional<int64_t> &known = programs_.front().nanoseconds;
  if (operators < kLarge || !known || !source_.options_.report) {
    return true;
  }
  std::unique_ptr<Compilation> quick = toPlan(program);
  quick->options_.report = false;
  quick->options_.plan.control.onProgress = nullptr;
  quick->options_.plan.control.onPlan = nullptr;
  quick->options_.plan.control.explains = false;
  quick->options_.plan.control.wanted =
      int64_t((1 - kGain) * double(estimate_.value_or(*known)));
  if (!quick->planToFit().isOk()) {
    return false;
  }
  auto record = getPlanRecord(*quick->module_);
  return record && *record &&
         double((*record)->nanoseconds) < (1 - kGain) * double(*known);
}

Status Compilation::JointRewriting::tryOther(const DeviceKind &kind,
                                             int64_t share) {
  auto found = search(kind);
  if (!found) {
    return found.status();
  }
  if (!*found) {
    return Status();
  }
  if (isOver()) {
    programs_.push_back({.share = share,
                         .leftOut = "found, and not planned: time is over",
                         .rules = rulesOf(*(*found)->module_)});
    return Status();
  }
  if (!isWorthMeasuring(**found)) {
    ++numPlanned_;
    programs_.push_back({.share = share,
                         .leftOut = "found, and not measured: its plan takes "
                                    "hardly less as a sum of times",
                         .rules = rulesOf(*(*found)->module_)});
    return Status();
  }
  auto other = plan(std::move(*found), share);
  if (other && (!best_ || other->nanoseconds < best_->nanoseconds)) {
    best_ = std::move(*other);
  }
  return Status(); // Another program may fit.
}

/// Notes that no program was searched for at `share` and beyond.
void Compilation::JointRewriting::leaveOut(int64_t share, int64_t devices) {
  for (; share <= devices; share *= 4) {
    programs_.push_back({.share = share,
                         .leftOut = isCut_ ? "not searched for: time is over"
                                           : "not searched for: " +
                                                 std::to_string(numPlanned_) +
                                                 " programs are planned"});
  }
}

/// Takes the best program and its plan.
void Compilation::JointRewriting::keep() {
  source_.module_ = std::move(best_->program->module_);
  source_.planned_ = std::move(best_->plan);
  programs_[best_->number].isTaken = true;
  // Where no rule makes another program, nothing says that one was looked for.
  bool areOthers = llvm::any_of(
      programs_, [](const auto &program) { return !program.rules.empty(); });
  const std::optional<int64_t> &before = programs_.front().nanoseconds;
  int64_t devices = countUsedDevices(*source_.planned_);
  for (ModuleOp module : {*source_.module_, *source_.planned_}) {
    const std::optional<int64_t> &now = programs_[best_->number].nanoseconds;
    if (before && now && *now < *before) {
      rewrite::setSavingRecord(module, {devices, *before, *now});
    }
    rewrite::setProgramRecords(module,
                               areOthers ? programs_ : decltype(programs_)());
  }
  PlanReport &report = best_->report;
  report.programs = llvm::count_if(programs_, [](const auto &program) {
    return program.nanoseconds.has_value();
  });
  if (report.programs > 1) {
    report.lowerBound = rewrite::boundOverAll(programs_).value_or(0);
  }
  if (source_.options_.plan.control.onPlan) {
    source_.options_.plan.control.onPlan(report);
  }
}

Status Compilation::JointRewriting::run() {
  Expected<Cluster> machine = source_.cluster();
  if (!machine) {
    return machine.status();
  }
  source_.tellPhase(stringifyStage(Stage::Plan));
  auto first = plan(source_.copy(), 0);
  if (!first && first.status().code() != ExitCode::Infeasible) {
    return first.status();
  }
  if (first) {
    estimate_ = first->report.estimate;
    best_ = std::move(*first);
  }
  int64_t devices =
      source_.options_.plan.grid.devices.value_or(machine->numDevices());
  DeviceKind kind = fastestKind(*machine);
  for (int64_t count = 1; count <= devices; count *= 4) {
    bool areMany = best_ && best_->report.grids >= kManyGrids;
    if (numPlanned_ >= (areMany ? kMostOnMany : kMostPrograms) || isOver()) {
      leaveOut(count, devices);
      break;
    }
    if (Status status = tryOther(joined(kind, count), count); !status.isOk()) {
      return status;
    }
  }
  if (!best_) {
    return first.status();
  }
  if (isCut_) {
    best_->report.notes.push_back(
        "the search for rewritten programs was cut short");
  }
  keep();
  return Status();
}

Status Compilation::rewriteJointly() {
  // What plan a random one is, says nothing of the program.
  return options_.plan.solver == "random" ? Status()
                                          : JointRewriting(*this).run();
}
