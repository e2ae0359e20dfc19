//===- Clock.h - What comes after what --------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks (Mattern, "Virtual Time and Global States of Distributed
// Systems", 1989): of each stream, and of the host, how much of it has ended
// before. Two pieces of work of which neither clock has the other
// may run at the same time, whether they did or not.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_CLOCK_H
#define DIVISI_TEST_EMULATOR_CLOCK_H

#include "test/emulator/AccessLog.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace divisi::emulator {

/// Per agent, a stream or the host, the last of its works.
class Clock {
public:
  uint64_t of(uint32_t agent) const {
    auto found = last_.find(agent);
    return found == last_.end() ? 0 : found->second;
  }
  /// One more work of `agent`.
  void advance(uint32_t agent) { ++last_[agent]; }
  void join(const Clock &other);
  /// Whether it knows all that the other one knows.
  bool covers(const Clock &other) const;

private:
  std::map<uint32_t, uint64_t> last_;
};

/// Who has read and written which bytes last, of all memories.
class RaceDetector {
public:
  /// Notes what a work does that is `clock`'s last of `agent`; a sentence if it
  /// may run at the same time as another one that touches the same bytes, one
  /// of the two writing. `name` is what messages call it.
  std::optional<std::string> note(std::span<const ByteRange> ranges,
                                  bool writes, uint32_t agent,
                                  const Clock &clock, const std::string &name);
  /// Memory that is given back.
  void forget(const ByteRange &range);

private:
  struct Work {
    uint32_t agent = 0;
    uint64_t number = 0; ///< 0: there is none.
    std::shared_ptr<const std::string> name = {};
  };
  /// Bytes with the same history, up to `end`.
  struct Segment {
    uint64_t end;
    Work writer;
    std::map<uint32_t, Work> readers; ///< Since then, by agent.
  };
  using Segments = std::map<uint64_t, Segment>;

  void splitAt(uint64_t byte);
  void cover(const ByteRange &range);
  void noteRead(const ByteRange &range, const Work &own);
  void noteWrite(const ByteRange &range, const Work &own);

  Segments segments_; ///< By their first byte.
};

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_CLOCK_H
