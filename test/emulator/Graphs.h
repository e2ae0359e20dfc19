//===- Graphs.h - Work that is recorded and done again ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A capture records what streams are given instead of doing it. It begins with
// one stream; another joins it by waiting for an event of it, and has to be
// waited for before it ends. What is recorded has the addresses that it had. Of
// its order nothing is left but what streams and events said, so that each
// replay is another interleaving:
//
//   captured        replayed by
//   stream s        lane 0:  (begin)  [a]   record 0         wait 1  (end)
//   stream t        lane 1:           wait 0  [b]   record 1
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_GRAPHS_H
#define DIVISI_TEST_EMULATOR_GRAPHS_H

#include "test/emulator/Gpu.h"

namespace divisi::emulator {

/// What was captured.
struct Graph {
  static constexpr size_t none = ~size_t(0);
  struct Step {
    size_t lane;
    Stream::Work work = {};
    size_t records = none, waitsFor = none; ///< Numbers of events.
  };
  std::vector<Step> steps; ///< In the order in which they were given.
  size_t lanes = 0, events = 0;
  int device = 0;
};

/// A capture that has not ended.
class Capture {
public:
  /// Begun with `origin` by the calling thread.
  explicit Capture(Stream &origin);

  void put(const Stream &stream, Stream::Work work);
  /// Makes `event` the point behind all that `stream` has.
  void record(const Stream &stream, Event &event);
  /// Lets `stream`, which joins if it is not in here, wait for that.
  void wait(Stream &stream, const Event &event);

  /// What went wrong, for all that is asked of it from then on.
  bool isBroken = false;
  /// Among all captures of the process.
  const uint64_t number;
  bool isOrigin(const Stream &stream) const { return &stream == lanes_[0]; }
  /// Whether all that other streams have has come back to the first.
  bool isJoined() const;
  /// All of it; the streams do their work again.
  Graph finish();

private:
  /// How many steps of each lane come before what a lane gets next.
  using Known = std::vector<size_t>;
  size_t laneOf(const Stream &stream) const;
  size_t &knows(size_t lane, size_t other);
  void join(size_t lane, const Known &known);

  Graph graph_;
  std::vector<Stream *> lanes_;
  std::vector<Known> known_;                                 ///< By lane.
  std::map<const Event *, std::pair<size_t, Known>> events_; ///< The last ones.
};

/// A graph that can be run.
class GraphExec {
public:
  explicit GraphExec(Graph graph);
  ~GraphExec();
  GraphExec(const GraphExec &) = delete;
  /// Puts all of it on `stream`, to be done in some order that it allows.
  void launch(Stream &stream);

private:
  Graph graph_;
  std::vector<Stream *> lanes_;
};

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_GRAPHS_H
