//===- AnnotatePlan.h - A plan as ONNX's annotations ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX's multi-device annotations say how tensors are sharded, by devices; not
// that a tensor is partial, nor how uneven parts are cut. What they cannot say
// is left out: a partial sum is what its other dimensions say.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_EXCHANGE_ANNOTATEPLAN_H
#define DIVISI_EXCHANGE_ANNOTATEPLAN_H

#include "divisi/Exchange/ModelPlan.h"
#include "divisi/Import/DeviceAnnotations.h"

namespace divisi {

/// What `plan` says, as annotations for a configuration called `name`. Grids
/// are stages, numbered as nodes come to them. ExitCode::Unsupported for grids
/// that have devices in common, or another number of them.
Expected<DeviceAnnotations> annotationsOf(const ModelPlan &plan,
                                          const std::string &name);

} // namespace divisi

#endif // DIVISI_EXCHANGE_ANNOTATEPLAN_H
