//===- PipelineOptions.h - Options of micro-batches and stages --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_PIPELINEOPTIONS_H
#define DIVISI_LIB_COMPILER_PIPELINEOPTIONS_H

#include "divisi/Compiler/Options.h"

namespace divisi {

/// Sets CompileOptions::objective. ExitCode::Usage for what is none, as below.
Status addObjective(const GivenOptions &given, CompileOptions &options);

/// Sets how many micro-batches and stages there are, and which are searched.
Status addMicroBatches(const GivenOptions &given, CompileOptions &options);

/// Sets the devices of stages, where these are said.
Status addStageDevices(const GivenOptions &given, PlanOptions &options);

/// Sets whether branches may run beside each other.
Status addBranches(const GivenOptions &given, PlanOptions &options);

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_PIPELINEOPTIONS_H
