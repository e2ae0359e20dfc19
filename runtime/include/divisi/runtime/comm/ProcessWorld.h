//===- ProcessWorld.h - Processes that run an artifact together -*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launcher (mpirun, srun) starts the same program several times and tells
// each process who it is. Each has some ranks of an artifact, in a session of
// its own, and a communicator to the others:
//
//   auto launched = findLaunch();              // process 1 of 2, by mpirun
//   Status status = meetForMpi(server, *launched, timeout);
//   auto world = openMpiWorld(library, *launched);
//   options.localRanks = ranksOf(1, 2, 4);                        // 2, 3
//   options.communicator = [&](const CommunicatorRequest &request) {
//     return (*world)->connect(processesOf(2, 4), request.timeout, ...);
//   };
//
// All uses of MPI are in a shared object that is opened here, so that a program
// runs without MPI. Where processes know each other by something else, such as a
// process group of PyTorch, connectProcesses() connects them by sockets.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_PROCESSWORLD_H
#define DIVISI_RUNTIME_COMM_PROCESSWORLD_H

#include "divisi/runtime/comm/Communicator.h"

#include <string>
#include <vector>

namespace divisi::rt {

/// What a launcher has told a process.
struct Launch {
  std::string launcher; ///< "mpirun"
  uint32_t self = 0;    ///< Which process this is.
  uint32_t size = 1;    ///< How many there are.
  // Of torchrun:
  uint32_t local = 0;     ///< Which of this host's.
  uint32_t localSize = 1; ///< How many there are on this host.
  uint32_t host = 0;      ///< Which host this is.
  uint32_t hosts = 1;     ///< How many there are.
  // Of who is started:
  std::string artifact; ///< The hash of what they run together, if anything.
  // Of a process whose caller has initialized MPI:
  const void *comm = nullptr; ///< Its MPI_Comm, which says all of the above.
};

/// Who has started this process, by the environment: torchrun if
/// TORCHELASTIC_RUN_ID is there, since others often start torchrun, one per
/// host; else the first of mpirun (OMPI_COMM_WORLD_RANK and _SIZE), srun
/// (SLURM_PROCID and SLURM_STEP_NUM_TASKS), mpiexec (PMI_RANK and PMI_SIZE) and
/// torchrun (RANK and WORLD_SIZE, with LOCAL_ and GROUP_ before both of them)
/// that both variables are there of; none: it is alone. Fails with Usage where
/// they are no numbers, or the first not below the second; and where RANK and
/// WORLD_SIZE are there without LOCAL_RANK and LOCAL_WORLD_SIZE, which other
/// programs than torchrun leave, unless it `mayBeNobody` then.
Expected<std::optional<Launch>> findLaunch(bool mayBeNobody = false);

/// The ranks of process `self` of `size`: a block of the artifact's
/// `numRanks`, of which the first processes have no fewer than others less one.
std::vector<uint32_t> ranksOf(uint32_t self, uint32_t size, uint32_t numRanks);
/// Whose each rank is, by ranksOf.
std::vector<uint32_t> processesOf(uint32_t size, uint32_t numRanks);

/// The processes that a launcher has started. Its communicators may be used by
/// any thread; it must outlive them.
class ProcessWorld {
public:
  /// Ends what finish() has not: no process may need this one any more.
  virtual ~ProcessWorld() = default;

  /// Which process this is.
  virtual uint32_t self() const = 0;
  /// How many there are.
  virtual uint32_t size() const = 0;
  /// The first of the processes that share this one's machine.
  virtual uint32_t machine() const = 0;
  /// Connects ranks, of which rank r is one of process `processOf[r]`. All
  /// processes call it equally often, in the same order. No rank waits for
  /// longer than `timeout` for others, and for `spin` of it awake if the
  /// `threads` of each process of this machine have a core each. A message
  /// between two ranks that takes longer than that fails, too.
  virtual std::shared_ptr<Communicator>
  connect(std::vector<uint32_t> processOf, std::chrono::milliseconds timeout,
          std::chrono::microseconds spin, size_t threads) = 0;
  /// Waits until all processes call it, or, of sockets, until what this one has
  /// sent has left it. Then leaves the world, of which nothing may be used any
  /// more. Fails with Device where that takes too long; it may then be called
  /// again.
  virtual Status finish(std::chrono::milliseconds timeout) = 0;
};

/// Where the launcher gives MPI nothing by which processes find each other
/// (torchrun), starts a server of PMIx, by the shared object `library` of this
/// build, and puts into the environment what leads MPI to it. Once in a
/// process, before it has threads. Fails with Device if the library or PMIx is
/// missing, with what to install, and if processes of this host, or other
/// hosts, do not come within `timeout`; with Usage of srun without a server of
/// its own, and of hosts with different keys, which a network between them does
/// not keep from others; with Invalid of hosts with different artifacts.
Status meetForMpi(const std::string &library, const Launch &launch,
                  std::chrono::milliseconds timeout);

/// Opens MPI, by the shared object `library` of this build, for a process that
/// was started as `launch` says, once in a process; or that has given its own
/// MPI_Comm, any number of times. Fails with Device if the
/// library or MPI is missing, with what to install, or is of another build, and
/// where MPI does not know the processes that the launcher has started.
Expected<std::shared_ptr<ProcessWorld>> openMpiWorld(const std::string &library,
                                                     const Launch &launch);

/// Processes that know each other by something of their own.
struct HostedProcesses {
  uint32_t self = 0; ///< Which process this is.
  uint32_t size = 1; ///< How many there are.
  /// By which other machines reach this one; empty: any address of it.
  std::string address;
  /// The same of processes that share a machine; empty: the system knows.
  std::string machine;
  std::chrono::milliseconds timeout{60000}; ///< For one to reach another.
  /// What all processes say, by process, of up to a few thousand bytes. All call
  /// it at the same time, and equally often.
  std::function<Expected<std::vector<std::string>>(const std::string &own)>
      exchange;
};

/// Connects them by sockets: those of one machine without a network. All call
/// it at the same time; where it fails on one, it does on all. Fails with
/// Device if they do not reach each other, with Version if they are of several
/// versions, and as the exchange does.
Expected<std::shared_ptr<ProcessWorld>>
connectProcesses(const HostedProcesses &processes);

/// What each process gives, by process. All call it at the same time; `what`
/// names the occasion in messages. Fails as steps do.
Expected<std::vector<std::string>>
gatherTexts(ProcessWorld &world, const std::string &own,
            const std::string &what, std::chrono::milliseconds timeout);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_PROCESSWORLD_H
