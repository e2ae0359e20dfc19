//===- GlobalBoxes.cpp - The globals as ranks hold them -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/GlobalBoxes.h"

using namespace divisi;
using namespace divisi::rt;

Expected<GlobalBoxes> GlobalBoxes::load(const ResolvedManifest &resolved,
                                        const ArtifactFile &file) {
  GlobalBoxes store;
  for (size_t i = 0; i < resolved.globals.size(); ++i) {
    store.pointers_.emplace_back(resolved.manifest->num_ranks(), nullptr);
    Status status = store.loadGlobal(resolved, i, file.globalBytes(i));
    if (!status.isOk()) {
      return status.in("global '" +
                       resolved.manifest->globals(static_cast<int>(i)).name() +
                       "'");
    }
  }
  return store;
}

Expected<std::byte *> GlobalBoxes::makeBox(const Placement &placement,
                                           const Box &box,
                                           std::span<const std::byte> bytes) {
  int64_t width = byteWidth(placement.type);
  int64_t size = box.count() * width;
  Expected<AlignedBytes> copy =
      bytes.empty() ? AlignedBytes::zeros(size) : AlignedBytes::allocate(size);
  if (!copy) {
    return copy.status();
  }
  if (!bytes.empty()) {
    BoxCopy(width, box, Box::whole(placement.dims), box)
        .run(bytes.data(), copy->data());
  }
  owned_.push_back(std::move(*copy));
  return owned_.back().data();
}

Status GlobalBoxes::loadGlobal(const ResolvedManifest &resolved, size_t index,
                               std::span<const std::byte> bytes) {
  constexpr uintptr_t alignment = 64; // what kernels are promised
  const Placement &placement = *resolved.globals[index];
  const GridInfo &grid = resolved.grids[placement.grid];
  Box whole = Box::whole(placement.dims);
  std::map<std::pair<Dims, Dims>, const std::byte *> shared;
  for (size_t p = 0; p < grid.numPositions(); ++p) {
    const Box &box = placement.boxes[p];
    if (box.empty()) {
      continue;
    }
    const std::byte *&pointer = pointers_[index][grid.devices[p]];
    const std::byte **slot = &pointer;
    if (!resolved.isUpdated[index]) {
      slot = &shared[{box.begin, box.end}];
    }
    if (!*slot && !bytes.empty() && !resolved.isUpdated[index]) {
      BoxCopy copy(byteWidth(placement.type), box, whole, box);
      const std::byte *inPlace = bytes.data() + copy.sourceOffset();
      bool isAligned = reinterpret_cast<uintptr_t>(inPlace) % alignment == 0;
      *slot = copy.isContiguous() && isAligned ? inPlace : nullptr;
    }
    if (!*slot) {
      Expected<std::byte *> made = makeBox(placement, box, bytes);
      if (!made) {
        return made.status();
      }
      *slot = *made;
    }
    pointer = *slot;
  }
  return {};
}
