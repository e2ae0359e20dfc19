//===- Processes.h - Runs that several processes share ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launcher has started the same command several times. Each process does what
// the command says with its ranks of the artifact; they agree on how it went
// before they go on, so that all end with one code, and one says why. The first
// has the outputs.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_PROCESSES_H
#define DIVISI_LIB_DRIVER_PROCESSES_H

#include "Hosts.h"
#include "divisi/Support/Status.h"
#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/runtime/comm/ProcessWorld.h"
#include "divisi/runtime/core/Session.h"

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace divisi {

/// See the file's head.
class Processes {
public:
  /// Those that a launcher has started; null if this process is alone. From now
  /// on, what it writes to stderr has its number before each line. `timeout`
  /// bounds every wait for others.
  static Expected<std::unique_ptr<Processes>>
  join(std::chrono::milliseconds timeout);
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
  /// of which all must have been given the same. Fails on all processes alike:
  /// with Invalid if artifacts differ, Version if Divisi does, Usage if `flags`
  /// do or there are more processes than ranks, and if devices that share a
  /// machine in the plan do not share one and `wantsMachines`; else the first
  /// process warns of that.
  Status divide(const std::string &path, const std::string &flags,
                bool wantsMachines, rt::SessionOptions &options);

  /// After divide(): which of the ranks of its machine a local rank is.
  uint32_t numberOnMachine(uint32_t rank) const;

private:
  explicit Processes(std::chrono::milliseconds timeout) : timeout_(timeout) {}
  /// Compares what MPI says of machines with what the plan does, and keeps it.
  Status compareMachines(const MachineShape &shape, bool wantsMachines);
  /// Returns `status`, which may be a failure of the transport.
  Status note(const Status &status);

  std::chrono::milliseconds timeout_;
  std::shared_ptr<rt::ProcessWorld> world_;
  bool isBroken_ = false; ///< The transport has failed.
  std::vector<uint32_t> machineOf_; ///< By rank.

  friend class GatheredOutputs;
};

/// Which devices an artifact's plan takes to share a machine.
MachineShape machineShapeOf(const artifact::Manifest &manifest);

/// What an entry gives, of which each process has a part.
class GatheredOutputs {
public:
  /// All processes make it at the same time; the arguments outlive it.
  static Expected<std::unique_ptr<GatheredOutputs>>
  prepare(Processes &processes, const rt::Session &session,
          const rt::EntryInfo &entry);

  /// Runs the entry: the boxes of this process, output by output and rank by
  /// rank.
  Expected<std::vector<rt::HostTensor>>
  run(rt::Session &session, std::span<const rt::HostTensor> inputs) const;
  /// The whole outputs, of what run() has given on all processes; on all but
  /// the first process there are none.
  Expected<std::vector<rt::HostTensor>>
  gather(const std::vector<rt::HostTensor> &boxes) const;

private:
  GatheredOutputs(Processes &processes, const rt::EntryInfo &entry)
      : processes_(processes), entry_(entry) {}

  Processes &processes_;
  const rt::EntryInfo &entry_;
  std::shared_ptr<rt::Communicator> communicator_;
  /// [output][local rank].
  std::vector<std::vector<rt::LoneStep>> steps_;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_PROCESSES_H
