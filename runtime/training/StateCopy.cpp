//===- StateCopy.cpp - The state of a session, kept -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/training/StateCopy.h"
#include "divisi/runtime/training/FiniteState.h"

#include <algorithm>
#include <cstring>

using namespace divisi;
using namespace divisi::rt;

StateCopy::StateCopy(Session &session)
    : session_(session), boxes_(session.stateBoxes()) {
  std::erase_if(boxes_, [&](const StateBox &box) {
    return std::ranges::none_of(box.ranks, [&](uint32_t rank) {
      return std::ranges::binary_search(session.localRanks(), rank);
    });
  });
  copies_.resize(boxes_.size());
}

Status StateCopy::checkFinite() const {
  for (const StateBox &box : boxes_) {
    auto bytes = session_.readState(box);
    Status status =
        bytes ? rt::checkFinite(session_.globals()[box.global], *bytes)
              : bytes.status();
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}

Status StateCopy::take() {
  for (size_t i = 0; i < boxes_.size(); ++i) {
    auto bytes = session_.readState(boxes_[i]);
    if (!bytes) {
      return bytes.status();
    }
    if (copies_[i].size() == 0) {
      auto room = AlignedBytes::allocate(int64_t(bytes->size()));
      if (!room) {
        return room.status();
      }
      copies_[i] = std::move(*room);
    }
    std::memcpy(copies_[i].data(), bytes->data(), bytes->size());
  }
  return {};
}

Status StateCopy::restore() {
  size_t next = 0;
  return session_.loadState([&](const StateBox &, std::span<std::byte> bytes) {
    std::memcpy(bytes.data(), copies_[next++].data(), bytes.size());
    return Status();
  });
}
