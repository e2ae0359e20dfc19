//===- GraphRecorder.h - What a device does of a run, as one ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To give a device its work one by one takes the host microseconds each, more
// than small kernels take. Where the device works alone between what the host
// does before and what it does behind, a run is recorded and then given as one:
//
//   run 1    before  [a] [b] [c] …  behind    one by one
//   run 2    before  recorded as a graph, which is run  behind
//   run 3    before  [graph]  behind
//
// A graph has the addresses that it was recorded with: inputs are copied to
// memory that stays, and outputs come from the arena. What a kernel allocates
// in its first run is there when it is recorded.
//
// Steps that devices do with each other are part of it where all ranks of the
// entry have a graph: whether a step is recorded is for all of its ranks
// together to say, and so is which run records it (Communicator::beginRun()).
// What such a graph waits for may never come, so the host has to see how far it
// is: when a step has ended, a byte of pinned memory is set, by a queue on
// which nothing waits:
//
//   compute        [a]        [b]        [c]
//   its queue         [step]     [step]
//   marker                 [1]        [1]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_GRAPHRECORDER_H
#define DIVISI_RUNTIME_CORE_GRAPHRECORDER_H

#include "runtime/core/GraphPlan.h"
#include "runtime/core/ProgramMemory.h"
#include "runtime/core/TaskRunner.h"

namespace divisi::rt {

/// Runs a program by a graph, which it records when that is first needed.
class GraphRecorder {
public:
  /// `program` and `runner` outlive it, and `memory`, to which it adds what it
  /// stages. Fails as the device does.
  static Expected<std::unique_ptr<GraphRecorder>> make(GraphPlan plan,
                                                       RankTasks &program,
                                                       TaskRunner &runner,
                                                       ProgramMemory &memory);

  /// The input that the graph reads, where it stays from run to run.
  Expected<const std::byte *> stageInput(uint32_t input, const std::byte *from,
                                         int64_t bytes);
  /// Runs all tasks of the program.
  Status run();

private:
  GraphRecorder(GraphPlan plan, RankTasks &program, TaskRunner &runner,
                ProgramMemory &memory)
      : plan_(std::move(plan)), program_(program), runner_(runner),
        memory_(memory) {}

  void listAddresses();
  Status makeMarks();
  Status giveMark(size_t step);
  Status giveWork();
  Status giveTask(size_t index, std::span<const size_t> waits);
  Status record();
  Status prepare();
  Status launch();
  Status watchSteps();
  Status awaitEnd();
  void end();

  GraphPlan plan_;
  RankTasks &program_;
  TaskRunner &runner_;
  ProgramMemory &memory_;
  std::unique_ptr<DeviceEvent> begun_, ended_;
  /// By input of the entry: what is pinned for it.
  std::map<uint32_t, std::unique_ptr<DeviceMemory>> inputs_;
  std::unique_ptr<DeviceQueue> marker_;
  std::unique_ptr<DeviceEvent> marked_; ///< All that is marked.
  std::unique_ptr<DeviceMemory> marks_; ///< By step: whether it has ended.
  size_t past_ = 0; ///< Steps that have, in this run, in their order.
  /// Null until a run has recorded it, and again when a communicator ends that
  /// has a part in it.
  std::shared_ptr<std::unique_ptr<DeviceGraph>> graph_;
  std::vector<const void *> addresses_; ///< With which that was.
  std::vector<const void *> present_;   ///< Those of this run.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_GRAPHRECORDER_H
