//===- CheckpointFolder.h - Names of files in checkpoints -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TRAINING_CHECKPOINTFOLDER_H
#define DIVISI_RUNTIME_TRAINING_CHECKPOINTFOLDER_H

#include <cstdint>
#include <string>

namespace divisi::rt {

/// Of the manifest.
inline constexpr char kManifestName[] = "manifest.json";
/// Its version, and how it begins and its last member does.
inline constexpr int64_t kCheckpointVersion = 1;
/// What the hash of all before it stands behind.
inline constexpr char kManifestEnd[] = ",\n \"sha256\": \"";
/// And what behind it.
inline constexpr char kManifestLast[] = "\"}\n";
/// Hexadecimal digits of a hash.
inline constexpr size_t kHashDigits = 64;

/// `rank-00003.safetensors`
std::string stateFileName(uint32_t rank);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TRAINING_CHECKPOINTFOLDER_H
