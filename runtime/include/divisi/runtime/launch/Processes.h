//===- Processes.h - Runs in several processes ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launcher has started the same command several times. Each process does what
// the command says with its ranks of the artifact; they agree on the outcome
// before they continue, so that all end with one code, and one says why. The
// first has the outputs.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_LAUNCH_PROCESSES_H
#define DIVISI_RUNTIME_LAUNCH_PROCESSES_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/comm/ProcessWorld.h"
#include "divisi/runtime/core/Session.h"
#include "divisi/runtime/launch/Launcher.h"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace divisi::rt {

/// How a process says what happens to it.
struct ProcessReports {
  /// Warns of what the text says.
  std::function<void(const std::string &)> warn;
  /// Says why the process ends, without destructors; its exit code.
  std::function<int(const Status &)> fail;
  /// Writes out what is buffered.
  std::function<void()> flush;
};

/// See the file's head.
class Processes {
public:
  /// Those that a launcher has started; null if this process is alone. From now
  /// on, what it writes to stderr has its number before each line. `timeout`
  /// bounds every wait for others. `artifact` is what they run together; empty:
  /// each its own.
  static Expected<std::unique_ptr<Processes>>
  join(std::chrono::milliseconds timeout, const std::string &artifact,
       ProcessReports reports);
  /// Waits for the others, so that none is ended while it writes; after a
  /// failure of the transport for a moment only, and the process then ends.
  ~Processes();

  /// Whether it is the one that has the outputs.
  bool isFirst() const { return world_->self() == 0; }

  /// Success if `own` is one on all processes; else the first failure, with a
  /// message on the first process only.
  Status agree(const Status &own);
  /// What all processes say, one behind the other.
  Expected<std::string> gather(const std::string &own);
  /// Gives this process its ranks of the artifact at `path`. `flags` are those
  /// of which all must have been given the same, with their values. Fails on
  /// all processes alike: with Invalid if artifacts differ, Version if Divisi
  /// does, Usage if `flags` do or there are more processes than ranks, and if
  /// devices that share a machine in the plan do not share one and
  /// `wantsMachines`; else the first process warns of that.
  Status divide(const std::string &path, const std::vector<std::string> &flags,
                bool wantsMachines, SessionOptions &options);

  /// After divide(): which of the ranks of its machine a local rank is.
  uint32_t numberOnMachine(uint32_t rank) const;

private:
  Processes(std::chrono::milliseconds timeout, ProcessReports reports)
      : timeout_(timeout), reports_(std::move(reports)) {}
  /// Compares what MPI says of machines with what the plan does, and keeps it.
  Status compareMachines(const MachineShape &shape, bool wantsMachines);
  /// Returns `status`, which may be a failure of the transport.
  Status note(const Status &status);

  std::chrono::milliseconds timeout_;
  ProcessReports reports_;
  std::shared_ptr<ProcessWorld> world_;
  bool isBroken_ = false;           ///< The transport has failed.
  std::vector<uint32_t> machineOf_; ///< By rank.

  friend class GatheredOutputs;
};

/// What an entry gives, of which each process has a part.
class GatheredOutputs {
public:
  /// For the first process. All make it at the same time; the arguments outlive
  /// it.
  static Expected<std::unique_ptr<GatheredOutputs>>
  prepare(Processes &processes, const Session &session, const EntryInfo &entry);
  /// For all of them: a run that fails on one then fails on all.
  static Expected<std::unique_ptr<GatheredOutputs>>
  prepareForAll(ProcessWorld &world, std::chrono::milliseconds timeout,
                const Session &session, const EntryInfo &entry);

  /// Runs the entry: the boxes of this process, output by output and rank by
  /// rank.
  Expected<std::vector<HostTensor>>
  run(Session &session, std::span<const TensorArgument> inputs) const;
  /// The whole outputs, of what run() has given on all processes; on those that
  /// they are not for there are none.
  Expected<std::vector<HostTensor>>
  gather(const std::vector<HostTensor> &boxes) const;

private:
  GatheredOutputs(const EntryInfo &entry, Processes *processes)
      : entry_(entry), processes_(processes) {}
  Status prepare(ProcessWorld &world, std::chrono::milliseconds timeout,
                 const Session &session);
  Status prepareOutput(const Session &session,
                       const std::vector<uint32_t> &processOf,
                       const std::vector<std::optional<Box>> &boxes);
  Status note(const Status &status) const;
  bool isForAll() const { return !processes_; }

  const EntryInfo &entry_;
  Processes *processes_; ///< Null: outputs are for all.
  bool isReceiver_ = true;
  size_t numLocal_ = 0; ///< Ranks of this process.
  std::shared_ptr<Communicator> communicator_;
  /// [output][local rank]; none of an output that all have anyway.
  std::vector<std::vector<LoneStep>> steps_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_LAUNCH_PROCESSES_H
