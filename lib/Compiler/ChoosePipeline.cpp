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

/// What users call.
static func::FuncOp entryOf(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (nn::isEntry(function) && !nn::isBody(function)) {
      return function;
    }
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Inputs without a batch
//===----------------------------------------------------------------------===//

static int64_t rowsOf(func::FuncOp entry, unsigned argument) {
  return cast<RankedTensorType>(entry.getArgumentTypes()[argument])
      .getDimSize(0);
}

/// Of the output that is trained by; else of all outputs, if they have as many.
static std::optional<int64_t>
rowsReturned(func::FuncOp entry, const std::optional<std::string> &trainedBy) {
  std::optional<int64_t> rows;
  for (unsigned i = 0; i != entry.getNumResults(); ++i) {
    auto name = entry.getResultAttrOfType<StringAttr>(i, "nn.name");
    bool isOther =
        trainedBy &&
        (trainedBy->empty() ? i != 0 : !name || name.getValue() != *trainedBy);
    if (isOther) {
      continue;
    }
    auto type = cast<RankedTensorType>(entry.getResultTypes()[i]);
    if (type.getRank() == 0 || (rows && *rows != type.getDimSize(0))) {
      return std::nullopt;
    }
    rows = type.getDimSize(0);
  }
  return rows;
}

/// `inputs 'x', 'z'`, in the order of arguments.
static std::string listOf(func::FuncOp entry, ArrayRef<unsigned> arguments) {
  std::string text;
  for (unsigned i : arguments) {
    text += (text.empty() ? "'" : ", '") +
            entry.getArgAttrOfType<StringAttr>(i, "nn.name").str() + "'";
  }
  return text;
}

/// Marks the arguments whose dim 0 has other rows than what is returned, if it
/// can be seen that they are no batches of another size: that rows of the
/// others are kept apart or, of one row, that they have no dim of it. Whether
/// the rest have one number of rows.
static bool shareOthers(func::FuncOp entry, ArrayRef<unsigned> arguments,
                        GlobalStore &store,
                        const std::optional<std::string> &trainedBy) {
  std::optional<int64_t> rows = rowsReturned(entry, trainedBy);
  SmallVector<unsigned> others;
  llvm::copy_if(arguments, std::back_inserter(others),
                [&](unsigned i) { return rowsOf(entry, i) != rows; });
  if (others.empty() || others.size() == arguments.size()) {
    return others.empty();
  }
  for (unsigned i : others) {
    entry.setArgAttr(i, nn::kSharedAttr, UnitAttr::get(entry.getContext()));
  }
  bool holds =
      *rows == 1
          ? llvm::none_of(others,
                          [&](unsigned i) {
                            auto type = cast<RankedTensorType>(
                                entry.getArgumentTypes()[i]);
                            return llvm::is_contained(type.getShape(), 1);
                          })
          : plan::findIndependentRows(entry, store, trainedBy).obstacle.empty();
  for (unsigned i : others) {
    if (!holds) {
      entry.removeArgAttr(i, nn::kSharedAttr);
    }
  }
  return holds;
}

/// Of a model just read: those inputs that dims called by names tell are
/// marked.
Status Compilation::shareInputs() {
  func::FuncOp entry = entryOf(*module_);
  std::optional<std::vector<std::string>> &shared = options_.import.shared;
  int64_t count = std::max(options_.microBatches, options_.train.microBatches);
  if (shared) {
    return Status(); // as it was asked for
  }
  SmallVector<unsigned> cut, whole;
  for (unsigned i = 0; i != entry.getNumArguments(); ++i) {
    if (nn::hasBatch(entry, i)) {
      cut.push_back(i);
    }
  }
  auto trainedBy =
      isTrained_ ? std::optional(options_.train.lossOf) : std::nullopt;
  bool isKnown =
      llvm::all_of(cut,
                   [&](unsigned i) {
                     return rowsOf(entry, i) == rowsOf(entry, cut.front());
                   }) ||
      shareOthers(entry, cut, *store_, trainedBy);
  if (!isKnown && count > 1) {
    return makeError(
        ExitCode::Usage, "--micro-batches ", count, ": the inputs ",
        listOf(entry, cut),
        " have different numbers of rows, so that it is not known which of "
        "them have a batch; --shared-inputs names those that all micro-batches "
        "read, or is none");
  }
  shared.emplace();
  for (unsigned i = 0; i != entry.getNumArguments(); ++i) {
    if (entry.getArgAttr(i, nn::kSharedAttr)) {
      whole.push_back(i);
      shared->push_back(entry.getArgAttrOfType<StringAttr>(i, "nn.name").str());
    }
  }
  bool isDivided = count > 1 || options_.searchesMicroBatches;
  if (!whole.empty() && isDivided && options_.import.note) {
    options_.import.note("all micro-batches read the same " +
                         listOf(entry, whole) +
                         ", which have no batch; --shared-inputs says it "
                         "otherwise");
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Micro-batches
//===----------------------------------------------------------------------===//

/// Whether `part` is `whole` with `count` times fewer rows in all that is given
/// and has a batch and, but for a model that is trained, returned.
static bool isPart(func::FuncOp part, func::FuncOp whole, int64_t count,
                   bool isTrained) {
  auto isPartOf = [&](Type one, Type all, bool hasBatch) {
    return (hasBatch ? nn::typeOfBatches(cast<RankedTensorType>(one), count)
                     : one) == all;
  };
  TypeRange parts = part.getArgumentTypes(), wholes = whole.getArgumentTypes();
  bool fits = parts.size() == wholes.size();
  for (unsigned i = 0; fits && i != parts.size(); ++i) {
    fits = isPartOf(parts[i], wholes[i], nn::hasBatch(part, i));
  }
  parts = part.getResultTypes();
  wholes = whole.getResultTypes();
  fits &= parts.size() == wholes.size();
  for (unsigned i = 0; fits && !isTrained && i != parts.size(); ++i) {
    fits = isPartOf(parts[i], wholes[i], true);
  }
  return fits;
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
