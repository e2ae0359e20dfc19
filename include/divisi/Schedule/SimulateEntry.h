//===- SimulateEntry.h - What an entry does when ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of a scheduled entry, event by event
// (Simulate/EventSimulator.h), in the order that they have: what each does
// when, and what it then holds. What a loop runs is shown run by run, one after
// the other, as often as it may run at most.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SCHEDULE_SIMULATEENTRY_H
#define DIVISI_SCHEDULE_SIMULATEENTRY_H

#include "divisi/Cost/OperationCost.h"
#include "divisi/Cost/ScheduleRecord.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace divisi {

/// An operator or a collective over time.
struct SimulatedEvent {
  std::string node; ///< Of the model; empty if it is of none.
  std::string work; ///< The operation: `nn.matmul`.
  std::string step; ///< Of a pipeline: `0.F1`; else empty.
  /// Of a body, which run of which: `body 2`, of nested ones `outer 1 inner 0`;
  /// else empty.
  std::string run;
  bool isCollective = false; ///< Else it is an operator, or a whole loop.
  int64_t begin = 0;         ///< In nanoseconds.
  int64_t end = 0;           ///< In nanoseconds.
};

/// Something that is held at once.
struct LiveTensor {
  std::string node;  ///< Whose result it is.
  int64_t bytes = 0; ///< Of the largest shard.
};

/// What tensors take from a moment on.
struct MemoryMoment {
  int64_t time = 0;  ///< In nanoseconds.
  int64_t bytes = 0; ///< Of results that are still used.
};

/// A loop of an entry. Its runs are events unless these are too many: then the
/// loop is one, and what its programs do is counted all the same.
struct SimulatedLoop {
  std::string body;        ///< What it runs.
  int64_t runs = 0;        ///< At most.
  int64_t nanoseconds = 0; ///< That each takes.
  bool isShown = true;     ///< Whether its runs are events.
};

/// What some ranks, who run one program, do.
struct SimulatedProgram {
  std::vector<int32_t> ranks;         ///< Ascending.
  std::vector<SimulatedEvent> events; ///< By begin.
  int64_t busy = 0;                   ///< Operators run, in nanoseconds.
  int64_t communication = 0;          ///< All collectives, in nanoseconds.
  int64_t exposed = 0; ///< Collectives run and no operator, in nanoseconds.
  int64_t idle = 0;    ///< Nothing runs, in nanoseconds.
  std::vector<MemoryMoment> memory;   ///< By time.
  int64_t peakBytes = 0;              ///< The most of `memory`.
  std::vector<LiveTensor> liveAtPeak; ///< The largest come first.
};

/// What an entry does.
struct SimulatedEntry {
  std::string entry;                      ///< Its name.
  int64_t nanoseconds = 0;                ///< Until the last event ends.
  std::vector<SimulatedProgram> programs; ///< As they stand in the module.
  std::vector<SimulatedLoop> loops;       ///< Those of the first program.
};

/// So many events a program has at most; runs that would make more are not
/// shown.
inline constexpr size_t kMostEvents = 200'000;

/// Simulates the entries of `module`, which is after the stage Schedule, on
/// `cluster`. ExitCode::Invalid where an entry cannot be read as tasks.
Expected<std::vector<SimulatedEntry>> simulateEntries(mlir::ModuleOp module,
                                                      const Cluster &cluster);

} // namespace divisi

#endif // DIVISI_SCHEDULE_SIMULATEENTRY_H
