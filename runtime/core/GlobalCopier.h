//===- GlobalCopier.h - Globals on their way to a device --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_GLOBALCOPIER_H
#define DIVISI_RUNTIME_CORE_GLOBALCOPIER_H

#include "divisi/runtime/device/Device.h"
#include "runtime/core/GlobalBoxes.h"

namespace divisi::rt {

/// How much of a global is on its way to a device in one piece; there are two.
inline constexpr int64_t mostGlobalPiece = 8 << 20;

/// Brings a rank's boxes of globals to a device, piece by piece, through pinned
/// memory: while one piece is on its way, the next is read from the file.
class GlobalCopier {
public:
  /// Of `rank` to `device`; all outlive it.
  GlobalCopier(GlobalBoxes &globals, uint32_t rank, Device &device)
      : globals_(globals), rank_(rank), device_(device) {}
  /// All `bytes` of the rank's box, to `to`; they may still be on their way.
  Status copy(uint32_t global, int64_t bytes, std::byte *to);
  /// Until all have come.
  Status finish();

private:
  struct Piece {
    std::unique_ptr<DeviceMemory> memory;
    std::unique_ptr<DeviceEvent> sent;
    bool isOnItsWay = false;
  };

  Status begin(int64_t bytes);
  Status await(Piece &piece);
  Status send(Piece &piece, int64_t bytes, std::byte *to);

  GlobalBoxes &globals_;
  uint32_t rank_;
  Device &device_;
  Piece pieces_[2];
  std::unique_ptr<DeviceQueue> queue_; ///< Before its pieces go.
  size_t next_ = 0;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_GLOBALCOPIER_H
