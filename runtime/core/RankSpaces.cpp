//===- RankSpaces.cpp - What a rank has in each memory space --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankSpaces.h"

#include <algorithm>
#include <thread>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

Status RankSpace::allocate(int64_t bytes,
                           std::unique_ptr<DeviceMemory> &place) const {
  if (bytes == 0) {
    return {};
  }
  auto made = device->allocate(bytes);
  if (made) {
    place = std::move(*made);
  }
  return made.status();
}

int64_t SpacePlan::deviceBytes() const {
  int64_t bytes = 0;
  for (size_t space = 1; space < arenas.size(); ++space) {
    bytes += arenas[space];
    for (const auto &[global, copied] : globals[space]) {
      bytes += copied;
    }
  }
  return bytes;
}

SpacePlan divisi::rt::planSpaces(const ResolvedManifest &resolved,
                                 uint32_t rank) {
  auto spaces = static_cast<uint32_t>(resolved.manifest->spaces_size()) + 1;
  SpacePlan plan{std::vector<int64_t>(spaces),
                 std::vector<std::map<uint32_t, int64_t>>(spaces)};
  for (const ResolvedEntry &entry : resolved.entries) {
    auto found = entry.programOfRank.find(rank);
    if (found == entry.programOfRank.end()) {
      continue;
    }
    const pb::Program &program = *entry.programs[found->second].message;
    for (uint32_t space = 0; space < spaces; ++space) {
      plan.arenas[space] =
          std::max(plan.arenas[space], arenaBytes(program, space));
    }
    for (const pb::Buffer &buffer : program.buffers()) {
      if (buffer.has_global() && buffer.space() != hostSpaceNumber) {
        const Placement &at = *resolved.globals[buffer.global()];
        plan.globals[buffer.space()][buffer.global()] =
            at.bytes(*resolved.grids[at.grid].positionOf(rank));
      }
    }
  }
  return plan;
}

Status divisi::rt::finish(Device &device, DeviceEvent &event) {
  while (true) {
    Expected<bool> isReached = device.poll(event);
    if (!isReached || *isReached) {
      return isReached.status();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

/// Brings the host's bytes of a rank's box of a global to `to`.
static Status copyGlobal(Device &device, const Box &box, int64_t width,
                         const std::byte *from, std::byte *to) {
  auto queue = device.makeQueue();
  if (!queue) {
    return queue.status();
  }
  auto event = device.makeEvent();
  Status status = event.status();
  if (status.isOk()) {
    status =
        device.copyBox(queue->get(), BoxCopy(width, box, box, box), from, to);
  }
  if (device.isImmediate() || !status.isOk()) {
    return status;
  }
  status = device.record(**queue, **event);
  return status.isOk() ? finish(device, **event) : status;
}

static Status copyGlobals(const ResolvedManifest &resolved, uint32_t rank,
                          const std::map<uint32_t, int64_t> &wanted,
                          GlobalBoxes &globals, RankSpace &space) {
  for (auto [global, bytes] : wanted) {
    const Placement &at = *resolved.globals[global];
    const Box &box = at.boxes[*resolved.grids[at.grid].positionOf(rank)];
    auto memory = space.device->allocate(bytes);
    Status status = memory ? globals.check(global, rank) : memory.status();
    if (status.isOk() && bytes != 0) {
      status = globals.acquire(global, rank);
      if (status.isOk()) {
        status = copyGlobal(*space.device, box, byteWidth(at.type),
                            globals.data(global, rank), (*memory)->data());
        globals.release(global, rank);
      }
    }
    if (!status.isOk()) {
      return status.in(
          "global '" +
          resolved.manifest->globals(static_cast<int>(global)).name() + "'");
    }
    space.globals[global] = std::move(*memory);
  }
  return {};
}

static Expected<std::shared_ptr<Device>>
makeDevice(const DeviceFactory &devices, uint32_t rank, std::string_view name) {
  Expected<std::shared_ptr<Device>> device = std::shared_ptr<Device>();
  if (devices) {
    device = devices(rank, name);
  }
  if (device && !*device) {
    return makeError(ExitCode::Unsupported,
                     "the session has no device with memory space '", name,
                     "'");
  }
  return device;
}

Expected<RankSpaces>
divisi::rt::makeRankSpaces(const ResolvedManifest &resolved, uint32_t rank,
                           GlobalBoxes &globals, const DeviceFactory &devices) {
  SpacePlan plan = planSpaces(resolved, rank);
  RankSpaces spaces(plan.arenas.size());
  spaces[hostSpaceNumber].device = makeHostDevice();
  // Whose copies reach the host's arena.
  Device *copying = spaces[hostSpaceNumber].device.get();
  for (uint32_t i = static_cast<uint32_t>(spaces.size()); i-- > 0;) {
    if (!plan.uses(i)) {
      continue;
    }
    RankSpace &space = spaces[i];
    Status status;
    if (i != hostSpaceNumber) {
      auto device =
          makeDevice(devices, rank, nameOfSpace(*resolved.manifest, i));
      if (!device) {
        return device.status();
      }
      space.device = std::move(*device);
      copying = space.device.get();
      status = copyGlobals(resolved, rank, plan.globals[i], globals, space);
    }
    auto arena = i == hostSpaceNumber ? copying->allocateHost(plan.arenas[i])
                                      : space.device->allocate(plan.arenas[i]);
    if (!arena || !status.isOk()) {
      return arena ? status
                   : arena.status().in("the arena of rank " +
                                       std::to_string(rank));
    }
    space.arena = std::move(*arena);
  }
  return spaces;
}
