//===- GlobalBoxes.h - The globals as ranks hold them -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_GLOBALBOXES_H
#define DIVISI_RUNTIME_CORE_GLOBALBOXES_H

#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/runtime/device/Device.h"
#include "divisi/runtime/kernels/HostTensor.h"
#include "divisi/runtime/kernels/Kernel.h"
#include "runtime/artifact/ResolvedManifest.h"
#include "runtime/kernels/Pages.h"

namespace divisi::rt {

/// A box of a global, of one rank or several.
struct HeldBox {
  std::mutex mutex;                ///< Of the next three.
  const std::byte *data = nullptr; ///< Of `copy`, or null.
  Pages copy;                      ///< Dense.
  int64_t readers = 0;             ///< Of all ranks and sessions.
  bool isState = false; ///< An entry updates it: what is there stays.
  PackedForms forms;    ///< What kernels have made of it.
};

/// The boxes of globals that no entry updates, which all sessions of an
/// artifact share. By any thread.
class SharedBoxes {
public:
  /// The box of a global; lives as long as this object.
  HeldBox *find(size_t global, const Box &box);

  /// Boxes in the memory of devices, dense, each as long as a session has it.
  struct InDevices {
    /// Held by who looks for boxes, until it has brought those that are
    /// missing.
    std::mutex mutex;
    /// By number of the global, and bounds.
    std::map<std::tuple<size_t, Dims, Dims>, std::weak_ptr<DeviceMemory>> boxes;
  };
  /// Those in the memory of that Device::memoryId(); it lives as long as this
  /// object.
  InDevices &inDevices(const void *memoryId);

private:
  std::mutex mutex_;
  std::map<const void *, InDevices> inDevices_;
  std::map<std::tuple<size_t, Dims, Dims>, HeldBox> boxes_;
};

/// Each rank's box of each global, for one session: copied from the file when
/// somebody wants it, and checked on the way, once for all ranks and sessions
/// that hold the same; let go when nobody wants it any more. A global that an
/// entry updates has memory of its own on every rank of every session: here if
/// it lies with the host, else in the rank's part of a memory space.
class GlobalBoxes {
public:
  /// Of `ranks`, ascending. What it refers to outlives the result.
  static Expected<GlobalBoxes> load(const ResolvedManifest &resolved,
                                    const ArtifactFile &file,
                                    SharedBoxes &shared,
                                    std::span<const uint32_t> ranks);
  GlobalBoxes() = default;
  GlobalBoxes(GlobalBoxes &&) = default;
  GlobalBoxes &operator=(GlobalBoxes &&) = default;
  /// Lets go of what its readers have not.
  ~GlobalBoxes();

  /// Gives the globals that an entry updates, and that lie with the host, the
  /// values of the file again.
  Status reload();

  /// Brings the rank's box to memory for one more reader. Fails with Device
  /// where that runs out, with Invalid where the file is damaged.
  Status acquire(size_t global, uint32_t rank);
  /// One reader less.
  void release(size_t global, uint32_t rank);

  /// Copies `count` bytes of the rank's box, dense, from `begin` on, to `to`:
  /// from the file, which is checked, unless the box is in memory. Nobody
  /// acquires it for that. Invalid where the file is damaged.
  Status readPart(size_t global, uint32_t rank, int64_t begin, int64_t count,
                  std::byte *to) const;

  /// The rank's box, dense, which the caller has acquired; null if it holds
  /// none or an empty one.
  const std::byte *data(size_t global, uint32_t rank) const {
    const HeldBox *held = held_[global][rank].box;
    return held ? held->data : nullptr;
  }
  /// The same for a global that an entry updates, acquired or not; null if it
  /// lies with a device.
  std::byte *mutableData(size_t global, uint32_t rank) {
    return const_cast<std::byte *>(data(global, rank));
  }
  /// What of a global that no entry updates lies in the memory of devices.
  SharedBoxes::InDevices &inDevices(const void *memoryId) const {
    return shared_->inDevices(memoryId);
  }
  /// Where ranks share what kernels make of the box; null if there is none.
  PackedForms *forms(size_t global, uint32_t rank) {
    HeldBox *held = held_[global][rank].box;
    return held ? &held->forms : nullptr;
  }

private:
  /// What a rank has of a global.
  struct Part {
    HeldBox *box = nullptr; ///< Null: nothing.
    int64_t readers = 0;    ///< Of the rank, which alone counts them.
  };

  Status loadGlobal(size_t index, SharedBoxes &shared,
                    std::span<const uint32_t> ranks);
  void letGo(HeldBox &held, int64_t readers);
  Status fillBox(size_t index, const Box &box, std::byte *data) const;
  Status makeCopy(size_t index, const Box &box, HeldBox &held) const;
  Status checkBox(size_t index, const BoxCopy &read) const;
  const Box &boxOf(size_t global, uint32_t rank) const;

  const ResolvedManifest *resolved_ = nullptr;
  const ArtifactFile *file_ = nullptr;
  SharedBoxes *shared_ = nullptr;
  std::vector<std::vector<Part>> held_; ///< [global][rank]
  std::vector<std::unique_ptr<HeldBox>> states_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_GLOBALBOXES_H
