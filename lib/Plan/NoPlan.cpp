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

Status noSolver(const std::string &name) {
  std::string names = "random";
  for (const search::Solver &solver : search::solvers()) {
    names += ", " + std::string(solver.name);
  }
  return Status(ExitCode::Usage,
                "no solver is called '" + name + "'; there are " + names);
}

/// `at node '/h/MatMul' (nn.matmul) in 'h.3.attn'`, for the operator there.
static std::string whereIs(const ModuleDataflow &dataflow, int64_t time) {
  for (auto [op, site] : llvm::zip_equal(dataflow.ops, dataflow.sites)) {
    if (site.time == time) {
      auto scope = op->getAttrOfType<StringAttr>(nn::kScopeAttr);
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

/// `8 bytes per device (--memory-limit)`, or `8 bytes per v100 (what each v100
/// of the cluster mixed has)`: a limit, and where it comes from. Without a name
/// of its kind a device is one. What is judged is what devices of all stages of
/// a pipeline hold together.
static std::string limitText(const Cluster &cluster, const PlanOptions &options,
                             const std::string &kind, int64_t together) {
  int64_t limit = limitOfDevice(together, options);
  std::string origin = "--memory-limit";
  if (options.memoryLimit != limit) {
    origin = "what " + (kind.empty() ? "a device" : "each " + kind) +
             " of the cluster " +
             llvm::StringRef(cluster.name).split(':').first.str() + " has";
  }
  return std::to_string(limit) + " bytes per " +
         (kind.empty() ? "device" : kind) + " (" + origin + ")" +
         (options.pipelineStages == 1
              ? ""
              : ", which is " + std::to_string(together) +
                    " for all stages together");
}

/// The limit that binds. If none binds alone, all of them.
static std::string limitText(const PlanningInputs &inputs,
                             const PlanOptions &options,
                             const search::Outcome &outcome) {
  KindMemories memories = memoriesOf(inputs, options);
  if (outcome.limitAtLeast) {
    memories = {memories[outcome.resource]};
  }
  return llvm::join(llvm::map_range(memories,
                                    [&](const KindMemory &memory) {
                                      return limitText(inputs.cluster, options,
                                                       memory.kind,
                                                       *memory.limit);
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
  for (const DataflowValue &tensor : inputs.dataflow().values) {
    if (tensor.kind == DataflowValue::Kind::Global) {
      bytes += tensor.bytes();
    }
  }
  return "no plan fits into the memory limit of " +
         limitText(inputs, options, outcome) + ": " +
         tellShortage(inputs.dataflow(), planning, outcome) +
         "; the globals have " + std::to_string(bytes) + " bytes over " +
         std::to_string(inputs.devices.grid.numPositions()) +
         " devices; raise --memory-limit or take more devices";
}

void NoPlanReason::hear(const PlanningInputs &inputs,
                        const PlanOptions &options,
                        const PlanningProblem &planning,
                        const search::Outcome &outcome, bool isAtLimits) {
  int64_t devices = inputs.devices.grid.numPositions();
  if (!isAtLimits || devices <= devices_) {
    return;
  }
  devices_ = devices;
  bool isProved = outcome.verdict == search::Verdict::Infeasible;
  shortage_ = Status(isProved ? ExitCode::Infeasible : ExitCode::NoPlan,
                     explainInfeasible(inputs, options, planning, outcome));
}

void NoPlanReason::hear(const std::vector<HeldMemory> &held) {
  const HeldMemory &tightest =
      *llvm::max_element(held, [](const HeldMemory &a, const HeldMemory &b) {
        return a.missing() < b.missing();
      });
  hasKinds_ = held.size() > 1;
  // Of plans that were measured it is known what limit would do.
  auto key = [](const HeldMemory &memory) {
    return std::pair(memory.parts.empty(), memory.missing());
  };
  if (!closest_ || key(tightest) < key(*closest_)) {
    closest_ = tightest;
  }
}

static Status tooLarge(const Cluster &cluster, const PlanOptions &options,
                       const HeldMemory &held, bool hasKinds) {
  return makeError(
      ExitCode::Infeasible,
      "no plan was found that fits into the memory limit of ",
      limitText(cluster, options, hasKinds ? held.kind : "",
                held.parts.empty() ? held.limit
                                   : limitOfStages(held.limit, options)),
      held.parts.empty()
          ? ": of the closest one tensors alone take " +
                std::to_string(held.bytes) + " bytes"
          : ": the closest one holds " + std::to_string(held.bytes) +
                " bytes (" + held.parts + ")",
      "; raise --memory-limit or take more devices");
}

Status NoPlanReason::status(const Cluster &cluster, const PlanOptions &options,
                            search::Stopped stopped, bool isProved) const {
  bool isCut = stopped == search::Stopped::Time ||
               stopped == search::Stopped::Interrupted;
  if (isCut && !isProved) {
    return cutShort(stopped, closest_ || shortage_
                                 ? "while plans were searched"
                                 : "while the planning problem was built");
  }
  if (closest_ && !isProved) {
    return tooLarge(cluster, options, *closest_, hasKinds_);
  }
  return shortage_ ? *shortage_
                   : Status(ExitCode::NoPlan,
                            "no plan was found within the budget of work");
}

} // namespace divisi::plan
