//===- FollowAnnotations.h - ONNX's annotations, planned --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model may say on which devices its tensors are
// (Import/DeviceAnnotations.h). That is checked, a mesh is found whose axes
// have all of these shards, and the module notes what operators are to have,
// for the planner:
//
//   divisi.shardings = {configuration = "four", devices = 4, stages = 1,
//                       mesh = "x=2,y=2", nodes = [
//     {node = "up", tensors = [{kind = "global", name = "w", number = 0,
//                               count = 1, dims = [[[16, ""]], [[32,
//                               "x"]]]}]}]}
//
// A dimension is a list of factors, each with its extent and the axes that
// split it, outermost first. What the model does not say is free.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_EXCHANGE_FOLLOWANNOTATIONS_H
#define DIVISI_EXCHANGE_FOLLOWANNOTATIONS_H

#include "divisi/Import/DeviceAnnotations.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace divisi {

/// What a plan that follows annotations is made for.
struct AnnotatedPlan {
  int64_t devices = 1; ///< All of the configuration.
  std::string mesh;    ///< As --mesh takes it, of one stage.
  int64_t stages = 1;  ///< Of a pipeline.
};

/// The configuration of `model` for so many devices: the first of them, of any
/// number if that is not said. Null if there is none.
const DeviceAnnotations *findConfiguration(const AnnotatedModel &model,
                                           std::optional<int64_t> devices);

/// Notes on `imported`, a module as importOnnx leaves it, what `annotations`,
/// of `model`, say. `mesh` is one that a user has named, or empty. Fails with
/// Invalid where the model contradicts itself, with Usage where `mesh` does
/// not have its shards, with Unsupported for shards on some of the devices.
Expected<AnnotatedPlan> followAnnotations(mlir::ModuleOp imported,
                                          const AnnotatedModel &model,
                                          const DeviceAnnotations &annotations,
                                          const std::string &mesh);

/// What `module`, which may have been written and read, notes; nothing if it
/// does not.
std::optional<AnnotatedPlan> notedAnnotations(mlir::ModuleOp module);

/// ExitCode::Invalid for a node of `model` that names a configuration which the
/// model does not have.
Status checkConfigurations(const AnnotatedModel &model);

} // namespace divisi

#endif // DIVISI_EXCHANGE_FOLLOWANNOTATIONS_H
