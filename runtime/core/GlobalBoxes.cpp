//===- GlobalBoxes.cpp - The globals as ranks hold them -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/GlobalBoxes.h"

#include <algorithm>
#include <cstring>

using namespace divisi;
using namespace divisi::rt;

HeldBox *SharedBoxes::find(size_t global, const Box &box) {
  std::lock_guard lock(mutex_);
  return &boxes_[{global, box.begin, box.end}];
}

SharedBoxes::InDevices &SharedBoxes::inDevices(const void *memoryId) {
  std::lock_guard lock(mutex_);
  return inDevices_[memoryId];
}

Expected<GlobalBoxes> GlobalBoxes::load(const ResolvedManifest &resolved,
                                        const ArtifactFile &file,
                                        SharedBoxes &shared,
                                        std::span<const uint32_t> ranks) {
  GlobalBoxes store;
  store.resolved_ = &resolved;
  store.file_ = &file;
  store.shared_ = &shared;
  for (size_t i = 0; i < resolved.globals.size(); ++i) {
    store.held_.emplace_back(resolved.manifest->num_ranks());
    if (Status status = store.loadGlobal(i, shared, ranks); !status.isOk()) {
      return status;
    }
  }
  return store;
}

/// From the file to a box without gaps.
static BoxCopy copyOf(const Placement &placement, const Box &box) {
  return BoxCopy(byteWidth(placement.type), box, Box::whole(placement.dims),
                 box);
}

Status GlobalBoxes::checkBox(size_t index, const BoxCopy &read) const {
  // Runs ascend: near ones, which may share a chunk, are asked for as one.
  constexpr int64_t near = 4096;
  Status status;
  int64_t begin = 0, end = 0;
  read.forEachRun([&](int64_t from, int64_t, int64_t bytes) {
    if (from - end > near) {
      if (status.isOk()) {
        status = file_->checkBytes(index, begin, end);
      }
      begin = from;
    }
    end = from + bytes;
  });
  return status.isOk() ? file_->checkBytes(index, begin, end) : status;
}

const Box &GlobalBoxes::boxOf(size_t global, uint32_t rank) const {
  const Placement &placement = *resolved_->globals[global];
  return placement.boxes[*resolved_->grids[placement.grid].positionOf(rank)];
}

Status GlobalBoxes::acquire(size_t global, uint32_t rank) {
  auto &[held, readers] = held_[global][rank];
  if (!held) {
    return {};
  }
  std::lock_guard lock(held->mutex);
  Status status =
      held->data ? Status() : makeCopy(global, boxOf(global, rank), *held);
  held->readers += status.isOk();
  readers += status.isOk();
  return status;
}

void GlobalBoxes::release(size_t global, uint32_t rank) {
  auto &[held, readers] = held_[global][rank];
  if (held) {
    --readers;
    letGo(*held, 1);
  }
}

void GlobalBoxes::letGo(HeldBox &held, int64_t readers) {
  std::lock_guard lock(held.mutex);
  held.readers -= readers;
  if (held.readers == 0 && !held.isState) {
    held.copy = Pages();
    held.data = nullptr;
  }
}

GlobalBoxes::~GlobalBoxes() {
  for (std::vector<Part> &ofGlobal : held_) {
    for (Part &part : ofGlobal) {
      if (part.readers != 0) {
        letGo(*part.box, part.readers);
      }
    }
  }
}

Status GlobalBoxes::fillBox(size_t index, const Box &box,
                            std::byte *data) const {
  const Placement &placement = *resolved_->globals[index];
  std::span<const std::byte> bytes = file_->globalBytes(index);
  if (bytes.empty()) {
    std::memset(data, 0, box.count() * byteWidth(placement.type));
    return {};
  }
  BoxCopy copy = copyOf(placement, box);
  Status status = checkBox(index, copy);
  if (status.isOk()) {
    copy.run(bytes.data(), data);
    file_->letGo(index, 0, int64_t(bytes.size()));
  }
  return status;
}

Status GlobalBoxes::readPart(size_t global, uint32_t rank, int64_t begin,
                             int64_t count, std::byte *to) const {
  HeldBox &held = *held_[global][rank].box;
  {
    std::lock_guard lock(held.mutex);
    if (held.data) {
      std::memcpy(to, held.data + begin, size_t(count));
      return {};
    }
  }
  std::span<const std::byte> bytes = file_->globalBytes(global);
  if (bytes.empty()) {
    std::memset(to, 0, size_t(count));
    return {};
  }
  // Runs that ascend, of which the parts are wanted that cut into the range.
  Status status;
  int64_t lowest = int64_t(bytes.size()), highest = 0;
  const Placement &placement = *resolved_->globals[global];
  copyOf(placement, boxOf(global, rank))
      .forEachRun([&](int64_t from, int64_t at, int64_t run) {
        int64_t first = std::max(at, begin);
        int64_t last = std::min(at + run, begin + count);
        if (first >= last || !status.isOk()) {
          return;
        }
        from += first - at;
        status = file_->checkBytes(global, from, from + last - first);
        // Damaged bytes are bytes, too: the caller throws them away.
        std::memcpy(to + (first - begin), bytes.data() + from,
                    size_t(last - first));
        lowest = std::min(lowest, from);
        highest = std::max(highest, from + last - first);
      });
  if (lowest < highest) {
    file_->letGo(global, lowest, highest);
  }
  return status;
}

Status GlobalBoxes::makeCopy(size_t index, const Box &box,
                             HeldBox &held) const {
  int64_t width = byteWidth(resolved_->globals[index]->type);
  Expected<Pages> made = Pages::allocate(box.count() * width);
  Status status = made ? fillBox(index, box, made->data()) : made.status();
  if (!status.isOk()) {
    return status.in(
        "global '" +
        resolved_->manifest->globals(static_cast<int>(index)).name() + "'");
  }
  held.copy = std::move(*made);
  held.data = held.copy.data();
  return {};
}

Status GlobalBoxes::loadGlobal(size_t index, SharedBoxes &shared,
                               std::span<const uint32_t> ranks) {
  const Placement &placement = *resolved_->globals[index];
  const GridInfo &grid = resolved_->grids[placement.grid];
  for (uint32_t rank : ranks) {
    std::optional<size_t> position = grid.positionOf(rank);
    if (!position || placement.boxes[*position].empty()) {
      continue;
    }
    const Box &box = placement.boxes[*position];
    HeldBox *&held = held_[index][rank].box;
    if (!resolved_->isUpdated[index]) {
      held = shared.find(index, box);
      continue;
    }
    held = states_.emplace_back(std::make_unique<HeldBox>()).get();
    held->isState = true;
    if (!resolved_->isHostState(index)) {
      continue; // the rank's device has it
    }
    if (Status status = makeCopy(index, box, *held); !status.isOk()) {
      return status;
    }
  }
  return {};
}

Status GlobalBoxes::reload() {
  for (size_t i = 0; i < held_.size(); ++i) {
    const Placement &placement = *resolved_->globals[i];
    const GridInfo &grid = resolved_->grids[placement.grid];
    for (size_t p = 0; resolved_->isUpdated[i] && p < grid.numPositions();
         ++p) {
      std::byte *data = mutableData(i, grid.devices[p]);
      Status status = data ? fillBox(i, placement.boxes[p], data) : Status();
      if (!status.isOk()) {
        return status;
      }
    }
  }
  return {};
}
