//===- FollowDevices.cpp - Plan as a model is annotated -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"
#include "divisi/Exchange/FollowAnnotations.h"

using namespace divisi;

/// How many devices the user asks for; nothing if that is not said.
static std::optional<int64_t> devicesOf(const PlanOptions &options) {
  if (options.grid.devices || options.grid.mesh.empty()) {
    return options.grid.devices;
  }
  std::optional<int64_t> positions = meshPositions(options.grid.mesh);
  return positions ? std::optional(*positions * options.pipelineStages)
                   : std::nullopt;
}

Status Compilation::follow(const AnnotatedModel &model,
                           mlir::ModuleOp imported) {
  auto note = [&](const std::string &text) {
    if (options_.import.note) {
      options_.import.note(text);
    }
  };
  if (Status status = checkConfigurations(model); !status.isOk()) {
    return status;
  }
  PlanOptions &plan = options_.plan;
  std::optional<int64_t> devices = devicesOf(plan);
  const DeviceAnnotations *given = findConfiguration(model, devices);
  if (!given) {
    note("the model is not annotated for " + std::to_string(*devices) +
         " devices: what it says of other numbers is not followed");
    return {};
  }
  if (options_.train.isWanted()) {
    note("the model is annotated for '" + given->configuration.name +
         "': a training step does not follow it");
    return {};
  }
  Expected<AnnotatedPlan> followed =
      followAnnotations(imported, model, *given, plan.grid.mesh);
  if (!followed) {
    return followed.status();
  }
  if (plan.pipelineStages > 1 && plan.pipelineStages != followed->stages) {
    return makeError(ExitCode::Usage, "the model is annotated for ",
                     followed->stages,
                     " stages, and --pipeline-parallel-size "
                     "is ",
                     plan.pipelineStages);
  }
  plan.grid.devices = followed->devices;
  plan.grid.mesh = followed->mesh;
  plan.pipelineStages = followed->stages;
  options_.searchesStages = false;
  options_.rewrite.mode = RewriteMode::Off;
  note("the plan follows the model's annotations for '" +
       given->configuration.name + "', on the mesh " + followed->mesh +
       ", and no rewrite rules are applied");
  return {};
}
