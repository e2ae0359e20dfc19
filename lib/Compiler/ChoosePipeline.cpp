//===- ChoosePipeline.cpp - How many micro-batches and stages -------------===//
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
#include "divisi/Plan/IndependentRows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace divisi;

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
