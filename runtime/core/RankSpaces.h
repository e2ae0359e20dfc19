//===- RankSpaces.h - What a rank has in each memory space ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKSPACES_H
#define DIVISI_RUNTIME_CORE_RANKSPACES_H

#include "divisi/runtime/device/Device.h"
#include "runtime/artifact/ResolvedManifest.h"
#include "runtime/core/GlobalBoxes.h"

#include <set>

namespace divisi::rt {

/// Where a rank's memory of a device comes from that steps may read or write.
using StepMemory = std::function<Expected<std::unique_ptr<DeviceMemory>>(
    Device &device, int64_t bytes)>;

/// A rank's part of one memory space.
struct RankSpace {
  std::shared_ptr<Device> device; ///< Null where the rank has no part.
  /// One serves all entries: they never run at the same time.
  std::unique_ptr<DeviceMemory> arena;
  int64_t padding = 0; ///< Bytes between it and globals that are sent.
  /// What kernels want beyond what the artifact plans; null if nothing.
  std::unique_ptr<DeviceMemory> workspace;
  /// What collectives pack and receive; null if nothing.
  std::unique_ptr<DeviceMemory> messages;
  /// Copies of globals, in other spaces than the host's.
  std::map<uint32_t, std::shared_ptr<DeviceMemory>> globals;

  /// For `place`, one of the above; 0 bytes are nothing.
  Status allocate(int64_t bytes, std::unique_ptr<DeviceMemory> &place,
                  const StepMemory &allocate = nullptr) const;
};

/// By number; the host's is the first.
using RankSpaces = std::vector<RankSpace>;

/// The largest arena of the rank's programs in each space, and its boxes of the
/// globals that they name there, by number of the space and of the global.
struct SpacePlan {
  std::vector<int64_t> arenas; ///< Bytes.
  /// Bytes of the rank's boxes.
  std::vector<std::map<uint32_t, int64_t>> globals;
  /// Those of globals that devices may send to each other as they lie.
  std::set<uint32_t> sent;

  /// Whether the rank has a part of the space.
  bool uses(uint32_t space) const {
    return space == hostSpaceNumber || arenas[space] > 0 ||
           !globals[space].empty();
  }
  /// What steps between devices may read or write of a space, in one piece: the
  /// arena, and what is sent as it lies.
  int64_t stepBytes(uint32_t space) const;
  /// In all spaces of devices.
  int64_t deviceBytes() const;
  /// Of the host's, while globals are brought there, before there are arenas.
  int64_t stagingBytes() const;
};

/// Plans of one rank after another. What those of the same programs have alike
/// is found once.
class SpacePlanner {
public:
  /// `resolved` must outlive it.
  explicit SpacePlanner(const ResolvedManifest &resolved)
      : resolved_(resolved) {}
  /// planSpaces() of `rank`.
  SpacePlan of(uint32_t rank);

private:
  /// The number of a memory space, and of a global there.
  using InSpace = std::pair<uint32_t, uint32_t>;
  /// What does not depend on the rank's boxes.
  struct Common {
    std::vector<int64_t> arenas; ///< By number of the space, in bytes.
    std::set<uint32_t> sent;     ///< SpacePlan::sent.
    std::vector<InSpace> globals;
  };
  Common commonOf(std::span<const ResolvedProgram *const> programs) const;

  const ResolvedManifest &resolved_;
  std::map<std::vector<const ResolvedProgram *>, Common> known_;
};

/// Of all entries.
SpacePlan planSpaces(const ResolvedManifest &resolved, uint32_t rank);

/// Whether devices of the rank meet others in some entry.
bool hasQueuedSteps(const ResolvedManifest &resolved, uint32_t rank);

/// Allocates what the rank needs, and copies globals to where they are read;
/// sessions share the copies that no entry updates and no device sends.
/// Fails with Unsupported where `devices` has none of a space, with Device
/// where memory runs out or a copy fails, with Invalid at damaged globals.
Expected<RankSpaces> makeRankSpaces(const ResolvedManifest &resolved,
                                    uint32_t rank, GlobalBoxes &globals,
                                    const DeviceFactory &devices,
                                    const StepMemory &allocate);

/// Gives the globals that an entry updates, and that lie with the rank's
/// devices, the values of the file again. Fails as makeRankSpaces does.
Status reloadStates(const ResolvedManifest &resolved, uint32_t rank,
                    GlobalBoxes &globals, const RankSpaces &spaces);

/// Blocks until `event` has been reached, or `check`, which is asked again and
/// again, fails.
Status finish(Device &device, DeviceEvent &event,
              const std::function<Status()> &check = {});

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKSPACES_H
