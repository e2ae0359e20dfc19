//===- NoPlan.cpp - What to say where there is no plan --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanningInputs.h"
#include "dialects/NN/Locations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace divisi::plan {

/// Nothing was found before time or a person ended the planner in `phase`.
Status cutShort(search::Stopped why, llvm::StringRef phase) {
  return Status(ExitCode::NoPlan,
                (why == search::Stopped::Time
                     ? "the time limit came " + phase +
                           ", before the first plan; a larger --time-limit "
                           "leaves time for one"
                     : "interrupted " + phase + ", before the first plan")
                    .str());
}

/// `at node '/h/MatMul' (nn.matmul) in 'h.3.attn'`, for the operator there.
static std::string whereIs(const ModuleDataflow &dataflow, int64_t time) {
  for (auto [op, site] : llvm::zip_equal(dataflow.ops, dataflow.sites)) {
    if (site.time == time) {
      auto scope = op->getAttrOfType<StringAttr>("nn.scope");
      return "at " + nn::describeLocation(op->getLoc()) + " (" + site.name +
             ")" + (scope ? " in '" + scope.getValue().str() + "'" : "");
    }
  }
  return "when an entry function returns";
}

/// The solver's message, which counts operators where people name them.
static std::string tellShortage(const ModuleDataflow &dataflow,
                                const PlanningProblem &planning,
                                const search::Outcome &outcome) {
  std::string message = outcome.message;
  if (outcome.time) {
    std::string time = "at time " + std::to_string(*outcome.time) + " ";
    if (size_t at = message.find(time); at != std::string::npos) {
      message.replace(at, time.size(),
                      whereIs(dataflow, *outcome.time / planning.positions) +
                          " ");
    }
  }
  // A kind of devices is a resource of the problem.
  std::string resource = ofResource(planning.problem, outcome.resource);
  size_t at = resource.empty() ? std::string::npos : message.find(resource);
  if (at != std::string::npos) {
    message.replace(at, resource.size(),
                    " on each " + planning.problem.nameOf(outcome.resource));
  }
  return message;
}

/// `8 bytes per device (--memory-limit)`, and where there are kinds of devices
/// `8 bytes per v100 (what it has)`: the limit that binds, and where it comes
/// from. If none binds alone, all of them.
static std::string limitText(const PlanningInputs &inputs,
                             const PlanOptions &options,
                             const search::Outcome &outcome) {
  KindMemories memories = memoriesOf(inputs, options);
  if (outcome.limitAtLeast) {
    memories = {memories[outcome.resource]};
  }
  return llvm::join(
      llvm::map_range(memories,
                      [&](const KindMemory &memory) {
                        bool isGiven = memory.limit == options.memoryLimit;
                        bool isAlone = memory.kind.empty();
                        std::string has =
                            isAlone ? "what a device of the cluster " +
                                          llvm::StringRef(inputs.cluster.name)
                                              .split(':')
                                              .first.str() +
                                          " has"
                                    : "what it has";
                        return std::to_string(*memory.limit) + " bytes per " +
                               (isAlone ? "device" : memory.kind) + " (" +
                               (isGiven ? "--memory-limit" : has) + ")";
                      }),
      " and ");
}

/// Names the limit and where it comes from, where it binds, and what would
/// help.
static std::string explainInfeasible(const PlanningInputs &inputs,
                                     const PlanOptions &options,
                                     const PlanningProblem &planning,
                                     const search::Outcome &outcome) {
  int64_t bytes = 0;
  for (const DataflowValue &tensor : inputs.dataflow.values) {
    if (tensor.kind == DataflowValue::Kind::Global) {
      bytes += tensor.bytes();
    }
  }
  return "no plan fits into the memory limit of " +
         limitText(inputs, options, outcome) + ": " +
         tellShortage(inputs.dataflow, planning, outcome) +
         "; the globals have " + std::to_string(bytes) + " bytes over " +
         std::to_string(inputs.devices.grid.numPositions()) +
         " devices; raise --memory-limit or take more devices";
}

/// What the solver found nothing for.
Status explainNoPlan(const PlanningInputs &inputs, const PlanOptions &options,
                     const PlanningProblem &planning,
                     const search::Outcome &outcome) {
  if (outcome.verdict == search::Verdict::Infeasible) {
    return Status(ExitCode::Infeasible,
                  explainInfeasible(inputs, options, planning, outcome));
  }
  if (outcome.stopped == search::Stopped::Time ||
      outcome.stopped == search::Stopped::Interrupted) {
    return cutShort(outcome.stopped, "while plans were searched");
  }
  return Status(ExitCode::NoPlan,
                explainInfeasible(inputs, options, planning, outcome));
}

} // namespace divisi::plan
