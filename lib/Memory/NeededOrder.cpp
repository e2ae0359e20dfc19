//===- NeededOrder.cpp - What has to come after what ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Memory/NeededOrder.h"

#include <algorithm>
#include <functional>

using namespace divisi;

/// Makes `byte` the first of a stretch with a history of its own.
void NeededOrder::cut(int64_t byte) {
  auto next = histories_.upper_bound(byte);
  if (next == histories_.begin()) {
    histories_[byte];
  } else if (auto stretch = std::prev(next); stretch->first != byte) {
    histories_[byte] = stretch->second;
  }
}

/// Latest first.
std::vector<size_t>
NeededOrder::conflicts(std::span<const ByteAccess> accesses) {
  std::vector<size_t> found;
  for (const ByteAccess &access : accesses) {
    cut(access.begin);
    cut(access.end);
    auto end = histories_.find(access.end);
    for (auto it = histories_.find(access.begin); it != end; ++it) {
      const auto &[writer, readers] = it->second;
      found.insert(found.end(), writer.begin(), writer.end());
      if (access.writes) {
        found.insert(found.end(), readers.begin(), readers.end());
      }
    }
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// Reads are kept first: what is read and written is written at last.
void NeededOrder::keep(std::span<const ByteAccess> accesses, size_t self) {
  for (bool writes : {false, true}) {
    for (const ByteAccess &access : accesses) {
      if (access.writes != writes || access.begin == access.end) {
        continue;
      }
      // Another write of the instruction may have joined stretches.
      cut(access.begin);
      cut(access.end);
      auto it = histories_.find(access.begin);
      auto end = histories_.find(access.end);
      if (writes) {
        it->second = History{{self}, {}};
        histories_.erase(std::next(it), end);
        continue;
      }
      for (; it != end; ++it) {
        it->second.readers.push_back(self);
      }
    }
  }
}

bool NeededOrder::isBefore(size_t earlier,
                           const std::vector<size_t> &reached) const {
  size_t queue = queueOf_[earlier];
  return queue < reached.size() && earlier < reached[queue];
}

void NeededOrder::reach(size_t earlier, std::vector<size_t> &reached) const {
  const std::vector<size_t> &others = reached_[earlier];
  reached.resize(std::max(reached.size(), others.size()));
  for (size_t queue = 0; queue < others.size(); ++queue) {
    reached[queue] = std::max(reached[queue], others[queue]);
  }
}

std::vector<size_t> NeededOrder::add(size_t queue,
                                     std::span<const size_t> after,
                                     std::span<const ByteAccess> accesses) {
  size_t self = queueOf_.size();
  std::vector<size_t> reached(queue + 1);
  if (auto last = last_.find(queue); last != last_.end()) {
    reach(last->second, reached);
  }
  for (size_t earlier : after) {
    reach(earlier, reached);
  }
  std::vector<size_t> needed;
  // Latest first: an earlier one may follow from it, never the reverse.
  for (size_t earlier : conflicts(accesses)) {
    if (!isBefore(earlier, reached)) {
      needed.push_back(earlier);
      reach(earlier, reached);
    }
  }
  keep(accesses, self);
  reached[queue] = self + 1;
  queueOf_.push_back(queue);
  reached_.push_back(std::move(reached));
  last_[queue] = self;
  std::reverse(needed.begin(), needed.end());
  return needed;
}
