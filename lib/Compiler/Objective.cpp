//===- Objective.cpp - What is to be least --------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks of a session begin a run together, so runs do not overlap, and what
// passes from one output to the next is the time of a run divided by the
// outputs that it has: rows of its batch or, where nobody knows these, batches
// of the model's shapes. For a given batch, then, what is least by one
// objective is so by the others. They differ in what is searched: whoever wants
// throughput lets the batch be divided among stages (ChoosePipeline.cpp).
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"

#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "dialects/Pipe/Pipe.h"
#include "divisi/Plan/PlanRecord.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace divisi;

Status Compilation::checkObjective(StringRef name, bool isTrained) const {
  if (!options_.objective) {
    return Status();
  }
  bool isStep = *options_.objective == Objective::Step;
  if (isStep && !isTrained) {
    return makeError(
        ExitCode::Usage,
        "--objective step is the time of a training step, and '", name.str(),
        "' is not trained: give --train, or latency or throughput");
  }
  if (!isStep && isTrained) {
    bool isLatency = *options_.objective == Objective::Latency;
    return makeError(ExitCode::Usage, "--objective ",
                     isLatency ? "latency" : "throughput",
                     " is of inference, and '", name.str(),
                     "' becomes a training step: give step, or leave it out");
  }
  return Status();
}

/// How many batches of the model's shapes a run takes.
static int64_t batchesOf(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    auto batches = pipe::getFoldedBatches(function);
    if (batches && nn::isEntry(function) && !nn::isBody(function)) {
      return *batches;
    }
  }
  return 1;
}

Status Compilation::noteObjective() {
  if (options_.objective != Objective::Throughput) {
    return Status();
  }
  Expected<std::optional<PlanRecord>> record = getPlanRecord(*module_);
  if (record && *record) {
    (*record)->throughputOf = options_.rows ? "row" : "batch";
    (*record)->outputs = options_.rows.value_or(batchesOf(*module_));
    setPlanRecord(*module_, **record);
  }
  return record.status();
}
