//===- PlanWatch.cpp - Planning, seen from the command line ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanWatch.h"

#include "Console.h"
#include "Process.h"
#include "ProgressLine.h"
#include "SearchLine.h"
#include "divisi/Plan/PlanControl.h"
#include "divisi/Support/Clock.h"
#include "divisi/Support/Interrupts.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace divisi;

namespace {

class PlanWatch {
public:
  explicit PlanWatch(std::optional<double> timeLimit) : timeLimit_(timeLimit) {}
  ~PlanWatch() { line_.clear(); }

  void beginPhase(StringRef phase);
  void hear(const search::Progress &news);
  void endPlan(const PlanReport &report);
  PlanControl control();

private:
  double seconds() const { return steadySeconds() - start_; }

  double start_ = processStart();
  std::optional<double> timeLimit_;
  ProgressLine line_{ProgressLine::Elsewhere::Nothing, /*quiet=*/false};
  std::optional<Interrupts> interrupts_; ///< While a plan is made.
  std::string phase_;
  bool isAnswered_ = false; ///< In this phase.
};

} // namespace

/// An empty phase is the end of all.
void PlanWatch::beginPhase(StringRef phase) {
  phase_ = phase.str();
  isAnswered_ = false;
  interrupts_.reset();
  if (phase == stringifyStage(Stage::Plan)) {
    interrupts_.emplace();
  }
  if (phase.empty()) {
    line_.clear();
  } else {
    line_.show(seconds(), formatv("{0,-10}{1,8:F1} s", phase_, seconds()),
               /*atOnce=*/true);
  }
}

void PlanWatch::hear(const search::Progress &news) {
  std::string what =
      news.by == kBuildingProblem
          ? formatv("{0,8:F1} s  building the problem", seconds()).str()
          : describeSearch(seconds(), news.cost, news.lowerBound);
  // There may be no later news for long.
  bool isFirst = news.cost && !std::exchange(isAnswered_, true);
  line_.show(seconds(), formatv("{0,-10}", phase_).str() + what, isFirst);
}

/// `cost 1200, bound 1180 over 2 programs, gap 1.67%`, in nanoseconds.
static std::string describe(const PlanReport &report) {
  std::string of = report.programs == 1
                       ? ""
                       : formatv(" over {0} programs", report.programs).str();
  return formatv("cost {0}, bound {1}{2}, gap {3:P2}", report.nanoseconds,
                 report.lowerBound, of,
                 search::relativeGap(report.nanoseconds, report.lowerBound));
}

void PlanWatch::endPlan(const PlanReport &report) {
  bool isRaised = interrupts_ && interrupts_->raised();
  interrupts_.reset();
  line_.clear();
  for (const std::string &note : report.notes) {
    sayNote() << note;
  }
  for (const std::string &warning : report.warnings) {
    sayWarning() << warning;
  }
  if (report.stopped == search::Stopped::Time) {
    sayNote() << formatv(
        "the time limit of {0:F1} s is over; the best plan so far is kept: {1}",
        *timeLimit_, describe(report));
  } else if (report.stopped == search::Stopped::Interrupted) {
    sayNote() << formatv(
        "interrupted after {0:F1} s; the best plan so far is kept: {1}",
        seconds(), describe(report));
  } else if (isRaised) {
    sayNote() << "interrupted when the plan was found; it is kept";
  }
}

PlanControl PlanWatch::control() {
  PlanControl control;
  control.stop = &Interrupts::raised();
  if (timeLimit_) {
    control.deadline = start_ + *timeLimit_;
  }
  return control;
}

void divisi::watchPlanning(CompileOptions &options,
                           std::optional<double> timeLimit) {
  auto watch = std::make_shared<PlanWatch>(timeLimit);
  options.plan.control = watch->control();
  options.plan.control.onProgress = [watch](const search::Progress &news) {
    watch->hear(news);
  };
  options.plan.control.onPlan = [watch](const PlanReport &report) {
    watch->endPlan(report);
  };
  options.progress = [watch](StringRef phase) { watch->beginPhase(phase); };
}
