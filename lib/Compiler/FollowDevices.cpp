//===- FollowDevices.cpp - Plan as a model is annotated -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"
#include "divisi/Exchange/FollowAnnotations.h"
#include "divisi/Plan/WantedLayouts.h"

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

static void obey(const AnnotatedPlan &annotated, CompileOptions &options) {
  options.plan.grid.devices = annotated.devices;
  options.plan.grid.mesh = annotated.mesh;
  options.plan.pipelineStages = annotated.stages;
  options.searchesStages = false;
  options.rewrite.mode = RewriteMode::Off;
}

void Compilation::followNoted() {
  std::optional<AnnotatedPlan> noted = notedAnnotations(*module_);
  if (!noted || stage_ >= Stage::Plan) {
    return;
  }
  PlanOptions &plan = options_.plan;
  std::optional<int64_t> devices = devicesOf(plan);
  bool isOther =
      (devices && *devices != noted->devices) ||
      (!plan.grid.mesh.empty() &&
       meshGrid(plan.grid.mesh) != meshGrid(noted->mesh)) ||
      (plan.pipelineStages > 1 && plan.pipelineStages != noted->stages);
  if (!isOther) {
    return obey(*noted, options_);
  }
  (*module_)->removeAttr(kShardingsAttr);
  if (options_.import.note) {
    options_.import.note("the model's annotations are for " +
                         std::to_string(noted->devices) +
                         " devices on the mesh " + noted->mesh +
                         ", another one is asked for: they are not followed");
  }
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
  obey(*followed, options_);
  note("the plan follows the model's annotations for '" +
       given->configuration.name + "', on the mesh " + followed->mesh +
       ", and no rewrite rules are applied");
  return {};
}
