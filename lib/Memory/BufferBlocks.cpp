//===- BufferBlocks.cpp - How long buffers are needed ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Memory/BufferBlocks.h"

#include <algorithm>

using namespace divisi;

namespace {

/// So many sends may be on their way in one queue, so that few steps wait.
constexpr size_t kSends = 2;

/// How many steps of each queue are known to have ended; 0 of later queues.
using Clock = std::vector<size_t>;

/// Follows what the first queue knows of others.
class QueueKnowledge {
public:
  /// One that starts anew for a program of so many buffers.
  explicit QueueKnowledge(size_t numBuffers) : writers_(numBuffers) {}

  void add(const BufferStep &step, size_t time);
  /// Per step: the first step of queue 0 that begins when it has ended, for one
  /// of another queue; all others, and those that no step waits for, `none`. Of
  /// a send, the first behind kSends later ones of its queue.
  std::vector<size_t> run(std::span<const BufferStep> steps);

  static constexpr size_t none = size_t(-1);

private:
  void addSends(std::span<const BufferStep> steps);

  std::vector<Clock> clocks_;              ///< Per queue, of its last step.
  std::vector<Clock> writers_;             ///< Per buffer, of who wrote it.
  std::vector<std::vector<size_t>> steps_; ///< Per queue.
  std::vector<size_t> known_;
};

} // namespace

static void merge(Clock &clock, const Clock &other) {
  clock.resize(std::max(clock.size(), other.size()));
  for (size_t queue = 0; queue < other.size(); ++queue) {
    clock[queue] = std::max(clock[queue], other[queue]);
  }
}

void QueueKnowledge::add(const BufferStep &step, size_t time) {
  size_t needed = std::max(clocks_.size(), step.queue + 1);
  clocks_.resize(needed);
  steps_.resize(needed);
  Clock &clock = clocks_[step.queue];
  Clock before = clock;
  for (size_t buffer : step.reads) {
    merge(clock, writers_[buffer]);
  }
  if (step.queue == 0) {
    before.resize(clock.size());
    for (size_t queue = 1; queue < clock.size(); ++queue) {
      for (size_t i = before[queue]; i < clock[queue]; ++i) {
        known_[steps_[queue][i]] = time;
      }
    }
  }
  steps_[step.queue].push_back(time);
  clock.resize(std::max(clock.size(), step.queue + 1));
  clock[step.queue] = steps_[step.queue].size();
  for (size_t buffer : step.writes) {
    writers_[buffer] = clock;
  }
}

std::vector<size_t> QueueKnowledge::run(std::span<const BufferStep> steps) {
  known_.assign(steps.size(), none);
  for (size_t time = 0; time < steps.size(); ++time) {
    if (!steps[time].readsAtEnd) {
      add(steps[time], time);
    }
  }
  addSends(steps);
  return std::move(known_);
}

/// What is sent to others would be there until the end. When some more has been
/// sent behind it, it mostly has come: whose bytes are written then, waits for
/// it.
void QueueKnowledge::addSends(std::span<const BufferStep> steps) {
  for (size_t queue = 1; queue < steps_.size(); ++queue) {
    for (size_t i = 0; i + kSends < steps_[queue].size(); ++i) {
      size_t time = steps_[queue][i];
      size_t next = steps_[queue][i + kSends];
      while (next < steps.size() && steps[next].queue != 0) {
        ++next;
      }
      if (steps[time].isSend && next < steps.size()) {
        known_[time] = std::min(known_[time], next);
      }
    }
  }
}

namespace {

/// Until when buffers are needed.
struct Uses {
  std::vector<int64_t> last; ///< Per buffer, a step.
  /// Per buffer, the first step of queue 0 that knows that other queues are
  /// through with it; 0 without overlap.
  std::vector<int64_t> known;
};

} // namespace

static Uses usesOf(std::span<const BufferStep> steps, size_t numBuffers,
                   bool overlaps) {
  std::vector<size_t> known;
  if (overlaps) {
    known = QueueKnowledge(numBuffers).run(steps);
  }
  Uses uses{std::vector<int64_t>(numBuffers, -1),
            std::vector<int64_t>(numBuffers)};
  for (size_t time = 0; time < steps.size(); ++time) {
    const BufferStep &step = steps[time];
    size_t end = step.readsAtEnd ? steps.size() : time;
    size_t through = 0;
    if (overlaps && !step.readsAtEnd && step.queue != 0) {
      // None but the caller waits for the last steps.
      through = std::min(known[time], steps.size() + 1);
      end = through - 1;
    }
    for (const std::vector<size_t> *buffers : {&step.reads, &step.writes}) {
      for (size_t buffer : *buffers) {
        uses.last[buffer] = std::max(uses.last[buffer], int64_t(end));
        uses.known[buffer] = std::max(uses.known[buffer], int64_t(through));
      }
    }
  }
  return uses;
}

/// The block that the step at `time` may go on with for its result of `bytes`.
static size_t blockToReuse(const BufferStep &step, const BufferBlocks &known,
                           const Uses &uses, int64_t time, int64_t bytes) {
  for (size_t operand : step.inPlace) {
    // An operand that occurs twice would be read while it is overwritten.
    bool once = std::count(step.reads.begin(), step.reads.end(), operand) == 1;
    size_t block = known.blockOf[operand];
    if (once && block != BufferBlocks::none && uses.last[operand] == time &&
        uses.known[operand] <= time && bytes <= known.blocks[block].bytes) {
      return block;
    }
  }
  return BufferBlocks::none;
}

BufferBlocks divisi::blocksOf(std::span<const BufferStep> steps,
                              std::span<const int64_t> bytes, bool overlaps) {
  Uses uses = usesOf(steps, bytes.size(), overlaps);
  BufferBlocks made;
  made.blockOf.assign(bytes.size(), BufferBlocks::none);
  for (size_t time = 0; time < steps.size(); ++time) {
    const BufferStep &step = steps[time];
    for (const std::vector<size_t> *buffers : {&step.reads, &step.writes}) {
      for (size_t buffer : *buffers) {
        if (made.blockOf[buffer] != BufferBlocks::none) {
          continue;
        }
        int64_t end = uses.last[buffer] + 1;
        size_t block =
            blockToReuse(step, made, uses, int64_t(time), bytes[buffer]);
        if (block == BufferBlocks::none) {
          block = made.blocks.size();
          made.blocks.push_back({int64_t(time), end, bytes[buffer]});
        } else {
          int64_t &old = made.blocks[block].end;
          old = std::max(old, end);
          ++made.numInPlace;
        }
        made.blockOf[buffer] = block;
      }
    }
    for (size_t buffer : step.scratch) {
      made.blockOf[buffer] = made.blocks.size();
      made.blocks.push_back({int64_t(time), int64_t(time) + 1, bytes[buffer]});
    }
  }
  return made;
}
