//===- TrainOptions.cpp - Options of training, as callers give them -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainOptions.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <utility>

using namespace llvm;
using namespace divisi;

namespace {

/// A number that has to lie in a range.
struct NumberRow {
  StringLiteral flag;
  double value;
  double least, below; ///< least <= value < below
  StringLiteral expected;
};

/// A flag that some optimizers or losses have no use for.
struct UseRow {
  StringLiteral flag;
  bool isUsed;
  StringLiteral for_;
};

} // namespace

static Status oneOf(StringRef flag, StringRef value,
                    ArrayRef<StringLiteral> names) {
  return is_contained(names, value)
             ? Status()
             : makeError(ExitCode::Usage, flag.str(), " '", value.str(),
                         "': expected one of ", join(names, ", "));
}

static Status checkNumbers(const TrainOptions &options) {
  constexpr double kMost = INFINITY;
  const NumberRow rows[] = {
      {"--lr", options.rate, 0, kMost, "a number from 0 on"},
      {"--momentum", options.momentum, 0, 1, "a number from 0, below 1"},
      {"--beta1", options.beta1, 0, 1, "a number from 0, below 1"},
      {"--beta2", options.beta2, 0, 1, "a number from 0, below 1"},
      {"--epsilon", options.epsilon, 0, kMost, "a number from 0 on"},
      {"--weight-decay", options.weightDecay, 0, kMost, "a number from 0 on"},
      {"--clip-norm", options.clipNorm, 0, kMost, "a number from 0 on"},
      {"--lr-warmup", double(options.warmup), 0, kMost, "a number from 0 on"},
      {"--lr-steps", double(options.steps), 0, kMost, "a number from 0 on"},
      {"--loss-scale", options.lossScale, 0, kMost, "a number from 0 on"},
      {"--label-smoothing", options.labelSmoothing, 0, 1,
       "a number from 0, below 1"},
  };
  for (const NumberRow &row : rows) {
    if (!(row.value >= row.least && row.value < row.below)) {
      return makeError(ExitCode::Usage, row.flag.str(), " ", row.value,
                       ": expected ", row.expected.str());
    }
  }
  return Status();
}

/// Whether the learning rate falls to 0 at a step.
static bool falls(const TrainOptions &options) {
  return options.schedule == "linear" || options.schedule == "cosine";
}

/// A flag that would do nothing is a mistake.
static Status checkUses(const GivenOptions &given,
                        const TrainOptions &options) {
  bool isSgd = options.optimizer == "sgd";
  bool hasClasses = options.loss == "cross_entropy";
  const UseRow rows[] = {
      {"--momentum", isSgd || options.momentum == 0, "--optimizer sgd"},
      {"--nesterov", !options.nesterov || (isSgd && options.momentum > 0),
       "--optimizer sgd with --momentum"},
      {"--beta1", !isSgd, "--optimizer adam or adamw"},
      {"--beta2", !isSgd, "--optimizer adam or adamw"},
      {"--epsilon", !isSgd, "--optimizer adam or adamw"},
      {"--shift-labels", hasClasses, "--loss cross_entropy"},
      {"--ignore-index", hasClasses, "--loss cross_entropy"},
      {"--label-smoothing", hasClasses, "--loss cross_entropy"},
      {"--labels", options.loss != "output",
       "losses of labels, not --loss output"},
      {"--lr-steps", falls(options), "--lr-schedule linear or cosine"},
      {"--lr", options.schedule != kInputSchedule,
       "--lr-schedule constant, linear or cosine"},
      {"--lr-warmup", options.schedule != kInputSchedule,
       "--lr-schedule constant, linear or cosine"},
      {"--no-decay", options.weightDecay > 0, "a --weight-decay above 0"},
  };
  for (const UseRow &row : rows) {
    if (!row.isUsed && is_contained(given.trainFlags, row.flag)) {
      return makeError(ExitCode::Usage, row.flag.str(), " is for ",
                       row.for_.str());
    }
  }
  return Status();
}

/// A rate that falls has to know until when.
static Status checkSteps(const TrainOptions &options) {
  if (!falls(options) || options.steps > options.warmup) {
    return Status();
  }
  return makeError(ExitCode::Usage, "--lr-schedule ", options.schedule,
                   " needs --lr-steps, the step at which the rate has fallen "
                   "to 0, above --lr-warmup ",
                   options.warmup, "; got ", options.steps);
}

Status divisi::addTraining(const GivenOptions &given, CompileOptions &options) {
  if (!given.train) {
    return given.trainFlags.empty()
               ? Status()
               : Status(ExitCode::Usage,
                        given.trainFlags.front() + " needs --train; give both");
  }
  TrainOptions wanted = given.training;
  for (StringRef needed : {"--loss", "--optimizer", "--lr"}) {
    bool isInput = needed == "--lr" && wanted.schedule == kInputSchedule;
    if (!isInput && !is_contained(given.trainFlags, needed)) {
      return Status(ExitCode::Usage,
                    ("--train needs " + needed + "; give both").str());
    }
  }
  wanted.rate = given.rate.value_or(wanted.rate);
  wanted.microBatches = std::exchange(options.microBatches, 1);
  wanted.isPipeline = options.plan.pipelineStages > 1 ||
                      (given.solver != "random" && // which draws plans of loops
                       isPlannedAsOne(wanted.microBatches));
  if (given.precision == "f16" &&
      !is_contained(given.trainFlags, "--loss-scale")) {
    wanted.lossScale = 65536;
  }
  bool decays = wanted.optimizer == "adamw";
  wanted.weightDecay = given.weightDecay.value_or(decays ? 0.01 : 0);
  Status statuses[] = {oneOf("--loss", wanted.loss, lossNames()),
                       oneOf("--optimizer", wanted.optimizer, optimizerNames()),
                       oneOf("--lr-schedule", wanted.schedule, scheduleNames()),
                       checkNumbers(wanted),
                       checkSteps(wanted),
                       checkUses(given, wanted)};
  for (const Status &status : statuses) {
    if (!status.isOk()) {
      return status;
    }
  }
  options.train = wanted;
  options.import.trains = true;
  options.import.seed = wanted.seed;
  return Status();
}
