//===- AccessOrder.cpp - Which accesses to bytes are ordered --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/AccessOrder.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

Status AccessOrder::begin(const ResolvedProgram &program,
                          const pb::Manifest &manifest) {
  manifest_ = &manifest;
  resolved_ = &program;
  program_ = program.message;
  segments_[0].end = program.bytes + 1; // the last is what loops write
  return order_.begin(*program_);
}

/// The segment that begins at `byte`, which is one of them or their end.
AccessOrder::Segments::iterator AccessOrder::splitAt(int64_t byte) {
  auto it = segments_.lower_bound(byte);
  if (it != segments_.end() && it->first == byte) {
    return it;
  }
  auto before = std::prev(it);
  if (before->second.end <= byte) {
    return it;
  }
  Segment rest = before->second;
  before->second.end = byte;
  return segments_.emplace_hint(it, byte, std::move(rest));
}

std::optional<int> AccessOrder::findRace(const MemoryAccess &access,
                                         const Clock &before) {
  auto end = splitAt(access.range.end);
  for (auto it = splitAt(access.range.begin); it != end; ++it) {
    const Segment &segment = it->second;
    if (segment.writer >= 0 && !order_.hasEnded(segment.writer, before)) {
      return segment.writer;
    }
    for (int reader : segment.readers) {
      if (access.writes && !order_.hasEnded(reader, before)) {
        return reader;
      }
    }
  }
  return std::nullopt;
}

void AccessOrder::record(const MemoryAccess &access, const Clock &before) {
  int self = order_.next();
  auto end = splitAt(access.range.end), it = splitAt(access.range.begin);
  if (access.writes) {
    it->second = {access.range.end, self, {}};
    segments_.erase(std::next(it), end);
    return;
  }
  for (; it != end; ++it) {
    std::vector<int> &readers = it->second.readers;
    std::erase_if(readers, [&](int reader) {
      return reader == self || order_.hasEnded(reader, before);
    });
    readers.push_back(self);
  }
}

Status AccessOrder::add(std::span<const MemoryAccess> accesses) {
  Clock before = order_.clock();
  // All are looked at before any is kept: an instruction does not race itself.
  for (const MemoryAccess &access : accesses) {
    if (std::optional<int> other = findRace(access, before)) {
      const std::string &name = program_->instructions(*other).location();
      return makeError(ExitCode::Invalid, "it touches ",
                       resolved_->describe(access.range, *manifest_),
                       " and may run at the same time as instruction ", *other,
                       name.empty() ? "" : " (" + name + ")",
                       ", which does, too: it must come after that");
    }
  }
  for (bool writes : {false, true}) {
    for (const MemoryAccess &access : accesses) {
      if (access.writes == writes) {
        record(access, before);
      }
    }
  }
  order_.advance(std::move(before));
  return {};
}
