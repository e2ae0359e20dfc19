//===- ArtifactVersion.h - The version of the file format -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_ARTIFACT_ARTIFACTVERSION_H
#define DIVISI_RUNTIME_ARTIFACT_ARTIFACTVERSION_H

#include <cstdint>

namespace divisi::rt {

/// The format that this code writes, and the only one that it reads.
inline constexpr uint32_t artifactVersion = 10;

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_ARTIFACT_ARTIFACTVERSION_H
