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

#include <memory>
#include <string>
#include <vector>

namespace divisi {

/// Inputs for `entry`, drawn by `seed`: values that no operator chokes on.
Expected<std::vector<rt::HostTensor>> drawInputs(const rt::EntryInfo &entry,
                                                 uint64_t seed);

/// Lowers `model` as `plan` says and loads it. The reference is the program
/// without the strategies that it may have, and each process runs all of it.
Expected<LoadedEntry> loadPlanned(Compilation &model, const PlanOptions &plan,
                                  const SessionFlags &flags,
                                  bool isReference = false);

/// The same of all of `model`, which came from `name`, on one device, for the
/// instructions and under the control of `plan`. Fails with Usage where the
/// model has been planned.
Expected<LoadedEntry> loadSingle(Compilation &model, const std::string &name,
                                 const PlanOptions &plan,
                                 const SessionFlags &flags);

/// Imports or reads `path`, which `flag` names: the program that another, which
/// has the entry `other`, was made from, whose inputs say its shapes. `options`
/// are those of the other. Fails as Compilation::load does.
Expected<std::unique_ptr<Compilation>> loadOriginal(const std::string &path,
                                                    const std::string &flag,
                                                    CompileOptions options,
                                                    const rt::EntryInfo &other);

/// What the entry gives; `again`, where it keeps states between runs, what its
/// second run gives, which depends on what the first has left. A training step
/// is run once.
Expected<std::vector<rt::HostTensor>>
runWithStates(const LoadedEntry &loaded,
              const std::vector<rt::HostTensor> &inputs, bool again);

/// ExitCode::Invalid if two entries take or give other values.
Status checkAlike(const rt::EntryInfo &before, const rt::EntryInfo &after);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_MODELRUNS_H
