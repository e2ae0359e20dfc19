//===- GlobalBoxes.h - The globals as ranks hold them -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_GLOBALBOXES_H
#define DIVISI_RUNTIME_CORE_GLOBALBOXES_H

#include "divisi/runtime/ArtifactFile.h"
#include "divisi/runtime/HostTensor.h"
#include "runtime/core/ResolvedManifest.h"

namespace divisi::rt {

/// Each rank's box of each global. A box that lies in one piece in the file is
/// used where it is mapped; others are copied once for all ranks that hold the
/// same. A global that an entry updates has memory of its own on every rank.
/// What is copied is checked on the way; what is used where it is mapped, when
/// check() is called.
class GlobalBoxes {
public:
  /// Of `ranks`, ascending. What it refers to outlives the result.
  static Expected<GlobalBoxes> load(const ResolvedManifest &resolved,
                                    const ArtifactFile &file,
                                    std::span<const uint32_t> ranks);

  /// Invalid if the rank's box is used where it is mapped, and damaged there.
  /// By any thread; to be called before the bytes are read.
  Status check(size_t global, uint32_t rank) const;
  /// Gives the globals that an entry updates the values of the file again.
  Status reload();

  /// The rank's box, dense; null if it holds none or an empty one.
  const std::byte *data(size_t global, uint32_t rank) const {
    return pointers_[global][rank];
  }
  /// The same for a global that an entry updates.
  std::byte *mutableData(size_t global, uint32_t rank) {
    return const_cast<std::byte *>(pointers_[global][rank]);
  }

private:
  Status loadGlobal(size_t index, std::span<const uint32_t> ranks);
  Status fillBox(size_t index, const Box &box, std::byte *data) const;
  Expected<std::byte *> makeBox(size_t index, const Box &box);
  Status checkBox(size_t index, const BoxCopy &read) const;

  const ResolvedManifest *resolved_ = nullptr;
  const ArtifactFile *file_ = nullptr;
  std::vector<std::vector<const std::byte *>> pointers_; ///< [global][rank]
  std::vector<AlignedBytes> owned_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_GLOBALBOXES_H
