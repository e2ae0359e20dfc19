//===- Memory.h - Memory of a lowered module's ranks ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before anything is written: builds the artifact's manifest and predicts what
// a session of it would allocate.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_ARTIFACT_MEMORY_H
#define DIVISI_ARTIFACT_MEMORY_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/core/RankMemory.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace divisi {

/// Of `module`, for which `verify-lower` holds, by rank: with the backends and
/// the threads that a run has unless told otherwise. Without `countsKernels`
/// those of the host have no workspace and pack nothing: they are not known
/// here. `device` has the kernels of the device that it is for; null: it
/// is for none. ExitCode::Invalid or Unsupported where no session could run it.
Expected<std::vector<rt::RankMemory>>
predictMemory(mlir::ModuleOp module, bool countsKernels,
              const rt::Backend *device = nullptr);

} // namespace divisi

#endif // DIVISI_ARTIFACT_MEMORY_H
