//===- RankProgram.h - One rank's instructions, ready to run ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading makes tasks of a program's instructions (RankTask.h). A run binds the
// caller's tensors (TensorBinder), and then runs the tasks: queue by queue
// (TaskScheduler), or what a device does of them as one (GraphRecorder).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKPROGRAM_H
#define DIVISI_RUNTIME_CORE_RANKPROGRAM_H

#include "runtime/core/GraphRecorder.h"
#include "runtime/core/TaskScheduler.h"
#include "runtime/core/TensorBinder.h"

namespace divisi::rt {

/// A program of one rank.
class RankProgram {
public:
  /// Fails with Unsupported if no backend takes a call, Invalid if a result
  /// lies over an operand and the kernel does not allow it.
  static Expected<std::unique_ptr<RankProgram>>
  prepare(const RankContext &context);

  /// What prepare() would allocate. Fails where it does before it makes
  /// kernels.
  static Expected<ProgramMemory> predict(const RankContext &context);

  /// What it holds; workspaces and the memory of messages are the caller's to
  /// give.
  const ProgramMemory &memory() const { return memory_; }
  /// Lets calls and messages use these spaces, which outlive it and have what
  /// memory() wants.
  void setWorkspaces(const RankSpaces &spaces);

  /// Sets the entry's inputs and outputs for the next run, slicing what does
  /// not lie in one piece. They fit (checkArguments), and stay where they are
  /// until the run has ended. Fails with Device where memory runs out.
  Status bind(std::span<const TensorArgument> inputs,
              std::span<const TensorArgument> outputs);
  /// Walks the tasks; up to the commit only, without an error, if a rank has
  /// met a bad index before. All ranks then stop there, maybe with collectives
  /// in flight.
  Status run();
  /// Whether the last run did.
  bool isStopped() const { return scheduler_.isStopped(); }

  /// Of a body: before the first iteration of a loop.
  void beginLoop() { runner_.beginRun(); }
  /// One iteration of a body, whose inputs and outputs lie there.
  Status iterate(std::span<const void *const> inputs,
                 std::span<void *const> outputs);
  /// After a failure in a body: see TaskScheduler.
  void awaitDevices() { scheduler_.awaitDevices(); }

  /// What a run does to globals, in bytes.
  const StateBytes &stateBytes() const { return stateBytes_; }
  /// What a run copies from one memory space to another, in bodies once.
  const SpaceCopies &spaceCopies() const { return spaceCopies_; }
  /// What it does in collectives, those of bodies once.
  const CollectiveUses &collectives() const { return collectives_; }
  /// Nanoseconds of the last run in which it did nothing but wait for others.
  int64_t waitingTime() const { return runner_.waitingTime(); }
  /// What the last run did to the caller's outputs, in bytes.
  const OutputBytes &outputBytes() const { return binder_.outputBytes(); }

  /// The first of the last run, in the order of the program. Nothing ends a
  /// program there: which one is told must not depend on who was faster.
  const std::optional<IndexFault> &indexFault() const {
    return runner_.indexFault();
  }
  /// Whether some rank has met one in the last run, as far as this one knows.
  bool sawBadIndex() const {
    return indexFault() || isStopped() || othersFault_;
  }
  /// The first fault of all ranks of a run: by instruction, by position, by
  /// rank. Success without one, else Invalid with node and operator.
  static Status
  firstFault(std::span<const std::unique_ptr<RankProgram>> programs);

  /// How many calls of an operator a backend does.
  using KernelCounts = std::map<std::pair<std::string, std::string>, int64_t>;
  /// By operator and backend; calls that the runtime drops (views, empty
  /// results) are not among them.
  const KernelCounts &kernelCounts() const { return kernelCounts_; }

  /// How often generated code does an operator, by that and the library which
  /// has nothing for it: as launches have found out, those of bodies once.
  KernelCounts fallbacks() const;

  /// What becomes of what a device does: `from the second run on, 57 tasks of
  /// the device are one graph`, or why not. Empty if no device does anything.
  const std::string &graphUse() const { return graphUse_; }

  /// What the rank is at, for who watches it meanwhile. It changes with every
  /// task but collectives; see isWorking() and locationOf().
  uint64_t progress() const { return runner_.progress(); }
  /// Whether the rank is in a kernel or copy, not waiting for others.
  static bool isWorking(uint64_t progress) { return progress % 2 != 0; }
  /// Where that is, for messages: entry, program, instruction and rank.
  std::string locationOf(uint64_t progress) const {
    return runner_.locationOf(progress);
  }

  /// One event per task of the last run, if the context asked for them.
  std::span<const TaskEvent> events() const { return runner_.events(); }
  /// What the events are of.
  std::span<const RankTask> tasks() const { return list_.tasks; }

private:
  friend class RankProgramBuilder;
  friend class RankClasses;

  explicit RankProgram(const RankContext &context);
  RankProgram(const RankProgram &) = delete;

  Status planGraph();
  Status connectBodies();
  Expected<bool> beginRun();
  Status meetAtEnd();
  /// What does the next run as one, or null.
  GraphRecorder *recorder() { return hasRun_ ? graph_.get() : nullptr; }

  RankTasks list_;
  TaskRunner runner_;
  TaskScheduler scheduler_;
  TensorBinder binder_;
  std::unique_ptr<GraphRecorder> graph_; ///< Null if there is none.
  std::string graphUse_;
  bool hasRun_ = false;    ///< Task by task, to the end.
  bool hasQueued_ = false; ///< Whether there are steps on queues.
  /// Who has a program of an entry, or body, with such steps; else nobody.
  std::vector<uint32_t> queuedRanks_;
  /// The bodies, those within bodies too, that have some: in the order of the
  /// list, a body before those within it.
  std::vector<const RankProgram *> meetingBodies_;
  std::unique_ptr<CommStep> endStep_; ///< Null if all ranks are local.
  bool othersFault_ = false;          ///< What they say there.
  KernelCounts kernelCounts_;
  ProgramMemory memory_;
  StateBytes stateBytes_;
  SpaceCopies spaceCopies_;
  CollectiveUses collectives_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKPROGRAM_H
