//===- ResolveProgram.h - A program, all numbers resolved -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_ARTIFACT_RESOLVEPROGRAM_H
#define DIVISI_RUNTIME_ARTIFACT_RESOLVEPROGRAM_H

#include "runtime/artifact/ResolvedManifest.h"

namespace divisi::rt {

/// Adds what `message` describes; Invalid unless its parts name what is there.
Status resolveOperator(const artifact::Operator &message,
                       ResolvedManifest &resolved);

/// Finds where the buffers of `program`, whose arenas are counted, lie.
Status readBuffers(ResolvedManifest &resolved, const ResolvedEntry &entry,
                   ResolvedProgram &program);

/// Adds the program that `message` describes to `entry`, as resolveManifest()
/// does. The grids, globals, communicators and the entry's values are resolved
/// already.
Status resolveProgram(const artifact::Program &message,
                      ResolvedManifest &resolved, ResolvedEntry &entry);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_ARTIFACT_RESOLVEPROGRAM_H
