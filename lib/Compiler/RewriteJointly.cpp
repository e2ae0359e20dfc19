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
// than without rewriting.
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Optimize/ProgramPrice.h"
#include "divisi/Plan/PlanRecord.h"
#include "divisi/Rewrite/RuleRecord.h"
#include "passes/Rewrite/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace divisi;

/// A device that does the work of `count` of `kind`, but starts an operator as
/// slowly as one.
static DeviceKind joined(DeviceKind kind, int64_t count) {
  double factor = double(count);
  for (double *rate :
       {&kind.peaks.f64, &kind.peaks.f32, &kind.peaks.f16, &kind.peaks.bf16,
        &kind.peaks.i8, &kind.memoryBytesPerSecond}) {
    *rate *= factor;
  }
  kind.multiprocessors *= count;
  return kind;
}

Status Compilation::rewrite() {
  Expected<Cluster> machine = cluster();
  auto rules = rewrite::getRuleRecords(*module_);
  if (!machine || !rules) {
    return machine ? rules.status() : machine.status();
  }
  rewrite::SavingRecord saving;
  saving.before = optimize::priceOf(*module_, machine->pace()).nanoseconds;
  if (Status status = runPipeline(Stage::Rewrite); !status.isOk()) {
    return status;
  }
  auto now = rewrite::getRuleRecords(*module_);
  if (now && *now != *rules) {
    saving.after = optimize::priceOf(*module_, machine->pace()).nanoseconds;
    rewrite::setSavingRecord(*module_, saving);
  }
  return now.status();
}

static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

/// This compilation with the program that a search finds for `kind`; null if
/// that applies no rule.
Expected<std::unique_ptr<Compilation>>
Compilation::searched(const DeviceKind &kind) {
  std::unique_ptr<Compilation> other = copy();
  RewriteOptions options = options_.rewrite;
  options.mode = RewriteMode::Search;
  PassManager passes(context_.get());
  buildRewritePipeline(passes, options, kind, options_.rules);
  if (Status status = other->runPasses(passes, Stage::Rewrite);
      !status.isOk()) {
    return status;
  }
  auto before = rewrite::getRuleRecords(*module_);
  auto after = rewrite::getRuleRecords(*other->module_);
  bool isSame = before && after && *before == *after;
  return isSame ? nullptr : std::move(other);
}

/// The programs between which their plans decide, this one first.
Expected<std::vector<std::unique_ptr<Compilation>>> Compilation::programs() {
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  int64_t devices = options_.plan.grid.devices.value_or(machine->numDevices());
  std::vector<std::unique_ptr<Compilation>> programs;
  programs.push_back(copy());
  std::vector<std::string> texts{textOf(*module_)};
  for (int64_t count : {int64_t(1), devices}) {
    auto found = searched(joined(machine->pace(), count));
    if (!found) {
      return found.status();
    }
    std::string text = *found ? textOf(*(*found)->module_) : texts.front();
    if (!llvm::is_contained(texts, text)) {
      texts.push_back(std::move(text));
      programs.push_back(std::move(*found));
    }
  }
  return programs;
}

Status Compilation::rewriteJointly() {
  auto candidates = programs();
  if (!candidates) {
    return candidates.status();
  }
  if (candidates->size() == 1) {
    return Status();
  }
  std::optional<int64_t> least, before;
  Status first;
  for (std::unique_ptr<Compilation> &program : *candidates) {
    std::unique_ptr<Compilation> planned = program->copy();
    planned->options_.dumpAfter.clear();
    planned->stage_ = Stage::Rewrite;
    Status status = planned->advanceTo(Stage::Plan);
    if (!status.isOk()) {
      first = first.isOk() ? status : first;
      continue;
    }
    Expected<std::optional<PlanRecord>> record =
        getPlanRecord(*planned->module_);
    if (!record || !*record) {
      return record ? Status(ExitCode::Internal, "a plan has no record")
                    : record.status();
    }
    if (program == candidates->front()) {
      before = (*record)->nanoseconds;
    }
    if (!least || (*record)->nanoseconds < *least) {
      least = (*record)->nanoseconds;
      module_ = std::move(program->module_);
      planned_ = std::move(planned->module_);
    }
  }
  // Without rewriting there may be no plan that fits.
  if (before && least != before) {
    int64_t devices = countUsedDevices(*planned_);
    for (ModuleOp module : {*module_, *planned_}) {
      rewrite::setSavingRecord(module, {devices, *before, *least});
    }
  }
  return least ? Status() : first;
}
