//===- EditPlan.cpp - Change a plan, and price it again -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"
#include "divisi/Plan/Alternatives.h"
#include "divisi/Plan/SetSplit.h"

using namespace divisi;

Expected<int64_t> Compilation::setSplit(llvm::StringRef operators,
                                        llvm::StringRef split) {
  if (stage_ != Stage::Plan) {
    return makeError(ExitCode::Usage, "the module is at the stage ",
                     stringifyStage(stage_).str(),
                     "; strategies are set at the stage plan");
  }
  Status status = divisi::setSplit(*module_, operators, split);
  status = status.isOk() ? verifyStage() : status;
  status = status.isOk() ? notePlanEdits(*module_) : status;
  if (!status.isOk()) {
    return status;
  }
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  Expected<PlanAlternatives> plan = PlanAlternatives::of(*module_, *machine);
  return plan ? Expected<int64_t>(plan->nanoseconds()) : plan.status();
}
