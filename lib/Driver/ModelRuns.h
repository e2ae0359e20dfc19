//===- ModelRuns.h - Running models, not artifacts --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_MODELRUNS_H
#define DIVISI_LIB_DRIVER_MODELRUNS_H

#include "Sessions.h"
#include "divisi/Compiler/Compilation.h"

namespace divisi {

/// Inputs for `entry`, drawn by `seed`: values that no operator chokes on.
Expected<std::vector<rt::HostTensor>> drawInputs(const rt::EntryInfo &entry,
                                                 uint64_t seed);

/// Lowers `model` as `plan` says and loads it. The reference is the program
/// without the strategies that it may have, and each process runs all of it.
Expected<LoadedEntry> loadPlanned(Compilation &model, const PlanOptions &plan,
                                  const SessionFlags &flags,
                                  bool isReference = false);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_MODELRUNS_H
