//===- MpiPlugin.h - What the shared object for MPI offers ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIVISI_RUNTIME_COMM_MPI_MPIPLUGIN_H
#define DIVISI_RUNTIME_COMM_MPI_MPIPLUGIN_H

#include "divisi/runtime/comm/ProcessWorld.h"

namespace divisi::rt {

/// The one symbol of the shared object. `build` is what the caller was built
/// from, which has to be the same: they share C++ types. Returns null, and why
/// in `status`, where there is no world.
using OpenMpiPlugin = ProcessWorld *(const std::string &build,
                                     const Launch &launch, Status &status);
/// Its name.
inline constexpr const char *openMpiPluginName = "divisiOpenMpiWorld";

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_MPI_MPIPLUGIN_H
