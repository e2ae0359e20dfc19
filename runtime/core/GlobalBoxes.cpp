//===- GlobalBoxes.cpp - The globals as ranks hold them -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/GlobalBoxes.h"

#include <cstring>

using namespace divisi;
using namespace divisi::rt;

Expected<GlobalBoxes> GlobalBoxes::load(const ResolvedManifest &resolved,
                                        const ArtifactFile &file,
                                        std::span<const uint32_t> ranks) {
  GlobalBoxes store;
  store.resolved_ = &resolved;
  store.file_ = &file;
  for (size_t i = 0; i < resolved.globals.size(); ++i) {
    store.pointers_.emplace_back(resolved.manifest->num_ranks(), nullptr);
    if (Status status = store.loadGlobal(i, ranks); !status.isOk()) {
      return status.in("global '" +
                       resolved.manifest->globals(static_cast<int>(i)).name() +
                       "'");
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

Status GlobalBoxes::check(size_t global, uint32_t rank) const {
  const std::byte *data = pointers_[global][rank];
  std::span<const std::byte> file = file_->globalBytes(global);
  if (data < file.data() || data >= file.data() + file.size()) {
    return {}; // copied, or nothing
  }
  const Placement &placement = *resolved_->globals[global];
  size_t position = *resolved_->grids[placement.grid].positionOf(rank);
  int64_t begin = data - file.data();
  return file_->checkBytes(global, begin, begin + placement.bytes(position));
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
  }
  return status;
}

Expected<std::byte *> GlobalBoxes::makeBox(size_t index, const Box &box) {
  int64_t width = byteWidth(resolved_->globals[index]->type);
  Expected<AlignedBytes> made = AlignedBytes::allocate(box.count() * width);
  Status status = made ? fillBox(index, box, made->data()) : made.status();
  if (!status.isOk()) {
    return status;
  }
  owned_.push_back(std::move(*made));
  return owned_.back().data();
}

Status GlobalBoxes::loadGlobal(size_t index, std::span<const uint32_t> ranks) {
  constexpr uintptr_t alignment = 64; // what kernels are promised
  std::span<const std::byte> bytes = file_->globalBytes(index);
  bool isUpdated = resolved_->isUpdated[index];
  const Placement &placement = *resolved_->globals[index];
  const GridInfo &grid = resolved_->grids[placement.grid];
  std::map<std::pair<Dims, Dims>, const std::byte *> shared;
  for (uint32_t rank : ranks) {
    std::optional<size_t> position = grid.positionOf(rank);
    if (!position || placement.boxes[*position].empty()) {
      continue;
    }
    const Box &box = placement.boxes[*position];
    const std::byte *&pointer = pointers_[index][rank];
    const std::byte **slot = &pointer;
    if (!isUpdated) {
      slot = &shared[{box.begin, box.end}];
    }
    if (!*slot && !bytes.empty() && !isUpdated) {
      BoxCopy copy = copyOf(placement, box);
      const std::byte *inPlace = bytes.data() + copy.sourceOffset();
      bool isAligned = reinterpret_cast<uintptr_t>(inPlace) % alignment == 0;
      *slot = copy.isContiguous() && isAligned ? inPlace : nullptr;
    }
    if (!*slot) {
      Expected<std::byte *> made = makeBox(index, box);
      if (!made) {
        return made.status();
      }
      *slot = *made;
    }
    pointer = *slot;
  }
  return {};
}

Status GlobalBoxes::reload() {
  for (size_t i = 0; i < pointers_.size(); ++i) {
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
