//===- RankState.h - A rank's box of a global that is updated ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKSTATE_H
#define DIVISI_RUNTIME_CORE_RANKSTATE_H

#include "runtime/core/RankSpaces.h"

namespace divisi::rt {

/// A rank's box of a global that an entry updates, where it lies between runs.
struct RankState {
  Device *device = nullptr;  ///< Null: it lies with the host.
  std::byte *data = nullptr; ///< Dense; null if the rank has nothing.
  int64_t bytes = 0;         ///< All of the box.

  /// Copies all of it to `to`, of the host; returns when it is there. Fails
  /// with Device.
  Status read(std::byte *to) const;
  /// The same from `from`.
  Status write(const std::byte *from) const;
};

/// That of `global`, which an entry updates, of `rank`, which has `spaces`.
RankState stateOf(const ResolvedManifest &resolved, GlobalBoxes &globals,
                  const RankSpaces &spaces, size_t global, uint32_t rank);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKSTATE_H
