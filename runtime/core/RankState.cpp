//===- RankState.cpp - A rank's box of a global that is updated -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankState.h"

#include <cstring>

using namespace divisi;
using namespace divisi::rt;

/// From the host to the device, or back; returns when all is there.
static Status copyAndWait(Device &device, int64_t bytes, const std::byte *from,
                          std::byte *to) {
  Box all{{0}, {bytes}};
  BoxCopy copy(1, all, all, all);
  if (device.isImmediate()) {
    return device.copyBox(nullptr, copy, from, to);
  }
  auto queue = device.makeQueue();
  auto copied = device.makeEvent();
  if (!queue || !copied) {
    return queue ? copied.status() : queue.status();
  }
  Status status = device.copyBox(queue->get(), copy, from, to);
  if (status.isOk()) {
    status = device.record(**queue, **copied);
  }
  return status.isOk() ? finish(device, **copied) : status;
}

Status RankState::read(std::byte *to) const {
  if (device) {
    return bytes == 0 ? Status() : copyAndWait(*device, bytes, data, to);
  }
  std::memcpy(to, data, size_t(bytes));
  return {};
}

Status RankState::write(const std::byte *from) const {
  if (device) {
    return bytes == 0 ? Status() : copyAndWait(*device, bytes, from, data);
  }
  std::memcpy(data, from, size_t(bytes));
  return {};
}

RankState divisi::rt::stateOf(const ResolvedManifest &resolved,
                              GlobalBoxes &globals, const RankSpaces &spaces,
                              size_t global, uint32_t rank) {
  const Placement &at = *resolved.globals[global];
  auto position = resolved.grids[at.grid].positionOf(rank);
  if (!position) {
    return {};
  }
  if (resolved.isHostState(global)) {
    return {nullptr, globals.mutableData(global, rank), at.bytes(*position)};
  }
  const RankSpace &space = spaces[resolved.stateSpaces[global]];
  return {space.device.get(),
          space.globals.at(static_cast<uint32_t>(global))->data(),
          at.bytes(*position)};
}
