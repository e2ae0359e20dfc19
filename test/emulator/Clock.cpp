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

bool Clock::covers(const Clock &other) const {
  return std::ranges::all_of(other.last_, [&](const auto &last) {
    return of(last.first) >= last.second;
  });
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

void RaceDetector::noteRead(const ByteRange &range, const Work &own) {
  for (auto at = segments_.find(range.begin);
       at != segments_.end() && at->first < range.end; ++at) {
    at->second.readers[own.agent] = own;
  }
}

/// What was there before is history: one segment is enough.
void RaceDetector::noteWrite(const ByteRange &range, const Work &own) {
  auto first = segments_.find(range.begin);
  segments_.erase(std::next(first), segments_.lower_bound(range.end));
  first->second = {range.end, own, {}};
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
  Work own{agent, clock.of(agent), std::make_shared<std::string>(name)};
  for (const ByteRange &range : ranges) {
    cover(range);
    other = nullptr;
    for (auto at = segments_.find(range.begin);
         at != segments_.end() && at->first < range.end; ++at) {
      const Segment &segment = at->second;
      check(segment.writer);
      for (auto reader = segment.readers.begin();
           writes && reader != segment.readers.end(); ++reader) {
        check(reader->second);
      }
    }
    if (other && wrong.empty()) {
      wrong = name + (writes ? " writes" : " reads") + " what " + *other->name +
              " touches, and nothing says which comes first";
    }
    writes ? noteWrite(range, own) : noteRead(range, own);
  }
  return wrong.empty() ? std::nullopt : std::optional(wrong);
}

void RaceDetector::forget(const ByteRange &range) {
  splitAt(range.begin);
  splitAt(range.end);
  segments_.erase(segments_.lower_bound(range.begin),
                  segments_.lower_bound(range.end));
}
