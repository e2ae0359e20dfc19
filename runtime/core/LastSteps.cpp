//===- LastSteps.cpp - What a rank did with others last -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/LastSteps.h"

#include <algorithm>

using namespace divisi::rt;

void LastSteps::note(uint32_t entry, size_t instruction, bool isDone,
                     int64_t time) {
  constexpr auto relaxed = std::memory_order_relaxed;
  uint64_t count = count_.load(relaxed);
  Slot &slot = slots_[count % most];
  uint64_t place = (uint64_t(entry) << 32) | (uint64_t(instruction) << 1);
  slot[0].store(run_.load(relaxed), relaxed);
  slot[1].store(place | (isDone ? 1 : 0), relaxed);
  slot[2].store(static_cast<uint64_t>(time), relaxed);
  count_.store(count + 1, std::memory_order_release);
}

std::vector<LastSteps::Note> LastSteps::notes() const {
  constexpr auto relaxed = std::memory_order_relaxed;
  std::vector<Note> notes;
  uint64_t end = count_.load(std::memory_order_acquire);
  // The oldest is the one that a next note is written over.
  for (uint64_t i = end - std::min(end, most - 1); i < end; ++i) {
    const Slot &slot = slots_[i % most];
    uint64_t place = slot[1].load(relaxed);
    notes.push_back(
        {slot[0].load(relaxed) - 1, static_cast<uint32_t>(place >> 32),
         static_cast<uint32_t>(place & 0xffffffff) >> 1, (place & 1) != 0,
         static_cast<int64_t>(slot[2].load(relaxed))});
  }
  return notes;
}
