//===- Clock.cpp - What comes after what ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Clock.h"

#include <algorithm>

using namespace divisi::emulator;

void Clock::join(const Clock &other) {
  for (auto [agent, number] : other.last_) {
    uint64_t &own = last_[agent];
    own = std::max(own, number);
  }
}

void RaceDetector::splitAt(uint64_t byte) {
  auto next = segments_.upper_bound(byte);
  if (next == segments_.begin()) {
    return;
  }
  auto &[begin, segment] = *std::prev(next);
  if (begin < byte && byte < segment.end) {
    Segment rest = segment;
    segment.end = byte;
    segments_.emplace(byte, std::move(rest));
  }
}

/// Lets the range consist of whole segments.
void RaceDetector::cover(const ByteRange &range) {
  splitAt(range.begin);
  splitAt(range.end);
  uint64_t at = range.begin;
  while (at < range.end) {
    auto next = segments_.lower_bound(at);
    bool isThere = next != segments_.end() && next->first == at;
    if (!isThere) {
      uint64_t end = next == segments_.end() ? range.end
                                             : std::min(next->first, range.end);
      segments_.emplace(at, Segment{end, {}, {}});
      at = end;
    } else {
      at = next->second.end;
    }
  }
}

std::optional<std::string> RaceDetector::note(std::span<const ByteRange> ranges,
                                              bool writes, uint32_t agent,
                                              const Clock &clock,
                                              const std::string &name) {
  const Work *other = nullptr;
  auto check = [&](const Work &work) {
    if (!other && work.number > clock.of(work.agent)) {
      other = &work;
    }
  };
  std::string wrong;
  Work own{agent, clock.of(agent), name};
  for (const ByteRange &range : ranges) {
    cover(range);
    for (auto at = segments_.find(range.begin);
         at != segments_.end() && at->first < range.end; ++at) {
      Segment &segment = at->second;
      other = nullptr;
      check(segment.writer);
      if (writes) {
        for (const auto &[reader, work] : segment.readers) {
          check(work);
        }
      }
      if (other && wrong.empty()) {
        wrong = name + (writes ? " writes" : " reads") + " what " +
                other->name + " touches, and nothing says which comes first";
      }
      if (writes) {
        segment.writer = own;
        segment.readers.clear();
      } else {
        segment.readers[agent] = own;
      }
    }
  }
  return wrong.empty() ? std::nullopt : std::optional(wrong);
}

void RaceDetector::forget(const ByteRange &range) {
  splitAt(range.begin);
  splitAt(range.end);
  segments_.erase(segments_.lower_bound(range.begin),
                  segments_.lower_bound(range.end));
}
