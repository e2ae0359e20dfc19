//===- GlobalCopier.cpp - Globals on their way to a device ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/GlobalCopier.h"
#include "runtime/core/RankSpaces.h"

#include <algorithm>
#include <thread>
#include <utility>

using namespace divisi;
using namespace divisi::rt;

Status divisi::rt::finish(Device &device, DeviceEvent &event,
                          const std::function<Status()> &check) {
  Status status;
  while (status.isOk()) {
    Expected<bool> isReached = device.poll(event);
    if (!isReached || *isReached) {
      return isReached.status();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    status = check ? check() : status;
  }
  return status;
}

/// Makes room for pieces of a box of that size.
Status GlobalCopier::begin(int64_t bytes) {
  int64_t wanted = std::min(bytes, mostGlobalPiece);
  if (!queue_) {
    auto queue = device_.makeQueue();
    if (!queue) {
      return queue.status();
    }
    queue_ = std::move(*queue);
  }
  for (Piece &piece : pieces_) {
    Status status = await(piece);
    if (!piece.sent && status.isOk()) {
      auto event = device_.makeEvent();
      status = event.status();
      piece.sent = event ? std::move(*event) : nullptr;
    }
    if (status.isOk() && (!piece.memory || piece.memory->size() < wanted)) {
      auto memory = device_.allocateHost(wanted);
      status = memory.status();
      piece.memory = memory ? std::move(*memory) : nullptr;
    }
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}

Status GlobalCopier::await(Piece &piece) {
  bool waits = std::exchange(piece.isOnItsWay, false);
  return waits ? rt::finish(device_, *piece.sent) : Status();
}

Status GlobalCopier::send(Piece &piece, int64_t bytes, std::byte *to) {
  Box all{{0}, {bytes}};
  Status status = device_.copyBox(queue_.get(), BoxCopy(1, all, all, all),
                                  piece.memory->data(), to);
  if (device_.isImmediate() || !status.isOk()) {
    return status;
  }
  piece.isOnItsWay = true;
  return device_.record(*queue_, *piece.sent);
}

Status GlobalCopier::copy(uint32_t global, int64_t bytes, std::byte *to) {
  bool fits = pieces_[0].memory &&
              pieces_[0].memory->size() >= std::min(bytes, mostGlobalPiece);
  Status status = fits ? Status() : begin(bytes);
  for (int64_t at = 0; at < bytes && status.isOk();) {
    Piece &piece = pieces_[next_++ % 2];
    status = await(piece);
    int64_t count = std::min(bytes - at, piece.memory->size());
    if (status.isOk()) {
      status =
          globals_.readPart(global, rank_, at, count, piece.memory->data());
    }
    if (status.isOk()) {
      status = send(piece, count, to + at);
    }
    at += count;
  }
  return status;
}

Status GlobalCopier::finish() {
  Status status = await(pieces_[0]);
  Status other = await(pieces_[1]);
  return status.isOk() ? other : status;
}
