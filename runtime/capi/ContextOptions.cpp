//===- ContextOptions.cpp - How a context is made -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/ContextOptions.h"
#include "divisi/C/Errors.h"
#include "divisi/runtime/launch/DeviceWiring.h"
#include "runtime/capi/Handles.h"
#include "runtime/launch/ThisProcess.h"

#include <numeric>
#include <sstream>

using namespace divisi;
using namespace divisi::rt;

Expected<SessionOptions>
divisi::rt::readOptions(const divisi_context_options *given,
                        divisi_context_options &options) {
  Status status = readStruct(given, options, "divisi_context_options");
  if (!status.isOk()) {
    return status;
  }
  if (options.threads_per_device < 0 ||
      options.threads_per_device > mostThreadsPerDevice) {
    return makeError(ExitCode::Usage, "threads_per_device ",
                     options.threads_per_device, ": expected 1 to ",
                     mostThreadsPerDevice, ", or 0 for 1");
  }
  if (options.timeout_ms < 0 || options.timeout_ms > longestTimeout.count()) {
    return makeError(ExitCode::Usage, "timeout_ms ", options.timeout_ms,
                     ": expected 1 to ", longestTimeout.count(),
                     ", or 0 for 60000");
  }
  SessionOptions session;
  auto backends = chooseBackends(
      options.backends ? options.backends : "cpu,reference", /*tf32=*/false);
  if (!backends) {
    return backends.status();
  }
  session.backends = std::move(*backends);
  session.threadsPerDevice = std::max(options.threads_per_device, 1);
  if (options.timeout_ms > 0) {
    session.timeout = std::chrono::milliseconds(options.timeout_ms);
    // Who says how long a kernel may take wants it given up after that.
    session.loneRankHasThread = true;
  }
  session.checksIndices = options.no_index_check == 0;
  session.trace = options.trace != 0;
  if (options.num_local_ranks > 0) {
    status = checkGiven(options.local_ranks, "local_ranks");
    if (!status.isOk()) {
      return status;
    }
    session.localRanks.assign(options.local_ranks,
                              options.local_ranks + options.num_local_ranks);
  }
  return session;
}

//===----------------------------------------------------------------------===//
// What the caller has of GPUs
//===----------------------------------------------------------------------===//

/// Usage unless the caller has given one of `what` for each device of this
/// process, or none.
static Status checkEach(const void *given, size_t count, size_t numLocal,
                        const char *what) {
  if (count != 0 && count != numLocal) {
    return makeError(ExitCode::Usage, "got ", count, " ", what, ", and ",
                     numLocal, " devices run in this process; give one for ",
                     "each of them");
  }
  return count == 0 ? Status() : checkGiven(given, what);
}

/// By rank, of those that are local.
static Expected<CallersGpus> readGpus(const divisi_context_options &options,
                                      const std::vector<uint32_t> &localRanks) {
  Status status = checkEach(options.nccl_comms, options.num_nccl_comms,
                            localRanks.size(), "nccl_comms");
  if (status.isOk()) {
    status = checkEach(options.cuda_devices, options.num_cuda_devices,
                       localRanks.size(), "cuda_devices");
  }
  if (!status.isOk()) {
    return status;
  }
  CallersGpus gpus;
  for (size_t i = 0; i < options.num_nccl_comms; ++i) {
    std::string name = "nccl_comms[" + std::to_string(i) + "]";
    status = checkGiven(options.nccl_comms[i], name.c_str());
    if (!status.isOk()) {
      return status;
    }
    gpus.communicators[localRanks[i]] = options.nccl_comms[i];
  }
  for (size_t i = 0; i < options.num_cuda_devices; ++i) {
    if (options.cuda_devices[i] < 0) {
      return makeError(ExitCode::Usage, "cuda_devices[", i, "] is ",
                       options.cuda_devices[i],
                       ": expected the number of a GPU, from 0 on");
    }
    gpus.numbers[localRanks[i]] = options.cuda_devices[i];
  }
  return gpus;
}

static Status addGpus(const divisi_context_options &options, uint32_t numRanks,
                      CallersGpus &gpus, const SessionOptions &session) {
  std::vector<uint32_t> localRanks = session.localRanks;
  if (localRanks.empty()) {
    localRanks.resize(numRanks);
    std::iota(localRanks.begin(), localRanks.end(), 0);
  }
  auto read = readGpus(options, localRanks);
  if (!read) {
    return read.status();
  }
  gpus = std::move(*read);
  return gpus.complete(numRanks);
}

//===----------------------------------------------------------------------===//
// What connects devices
//===----------------------------------------------------------------------===//

Status divisi::rt::agree(ProcessWorld &world, const Status &own,
                         const ContextFacts &facts,
                         std::chrono::milliseconds timeout) {
  std::ostringstream said;
  said << int(own.code()) << ' ' << facts.hasNccl << ' '
       << (facts.artifact.empty() ? "-" : facts.artifact) << ' '
       << own.message();
  auto texts =
      gatherTexts(world, said.str(), "the making of a context", timeout);
  if (!own.isOk() || !texts) {
    return own.isOk() ? texts.status() : own;
  }
  for (size_t process = 0; process < texts->size(); ++process) {
    std::istringstream text((*texts)[process]);
    int code = 0;
    bool otherHas = false;
    std::string artifact, message;
    text >> code >> otherHas >> artifact;
    std::getline(text.ignore(), message);
    if (code != 0) {
      return makeError(ExitCode(code), "process ", process,
                       " of mpi_comm: ", message);
    }
    if (otherHas != facts.hasNccl) {
      return makeError(ExitCode::Usage, "process ", process, " of mpi_comm ",
                       otherHas ? "has nccl_comms, and this one has none"
                                : "has no nccl_comms, and this one has some");
    }
    if (!facts.artifact.empty() && artifact != facts.artifact) {
      return makeError(ExitCode::Invalid, "process ", process,
                       " of mpi_comm has another artifact than this one");
    }
  }
  return {};
}

/// Gives this process its share of the ranks.
static Status divideRanks(const ProcessWorld &world, uint32_t numRanks,
                          SessionOptions &session) {
  uint32_t size = world.size();
  if (size > numRanks) {
    return makeError(ExitCode::Usage, "mpi_comm has ", size,
                     " processes, and the artifact ", numRanks,
                     " devices; each process needs one");
  }
  std::vector<uint32_t> share = ranksOf(world.self(), size, numRanks);
  if (session.localRanks.empty()) {
    session.localRanks = share;
  } else if (session.localRanks != share) {
    return makeError(ExitCode::Unsupported,
                     "local_ranks of a process of mpi_comm are its equal "
                     "share; leave them NULL");
  }
  return {};
}

/// Those of the caller's MPI_Comm, or of its handle; null: there are none.
static Expected<std::shared_ptr<ProcessWorld>>
findWorld(const divisi_context_options &options) {
  if (options.processes) {
    Status status =
        Handle::check(options.processes, divisi_processes::kind, "processes");
    if (status.isOk() && options.mpi_comm) {
      status = Status(ExitCode::Usage,
                      "got mpi_comm and processes; give one of them");
    }
    return status.isOk() ? Expected(options.processes->world) : status;
  }
  if (!options.mpi_comm) {
    return std::shared_ptr<ProcessWorld>();
  }
  Launch launch;
  launch.launcher = "the caller";
  launch.comm = options.mpi_comm;
  return openMpiWorld(sharedObject("libdivisi_mpi.so"), launch);
}

Status divisi::rt::connectDevices(const divisi_context_options &options,
                                  const LoadedArtifact &artifact,
                                  SessionOptions &session,
                                  std::shared_ptr<ProcessWorld> &world) {
  auto found = findWorld(options);
  if (!found) {
    return found.status();
  }
  world = std::move(*found);
  uint32_t numRanks = artifact.numRanks();
  Status status = world ? divideRanks(*world, numRanks, session) : Status();
  CallersGpus gpus;
  if (status.isOk()) {
    status = addGpus(options, numRanks, gpus, session);
  }
  if (world) {
    status =
        agree(*world, status, {!gpus.communicators.empty(), artifact.hash()},
              session.timeout);
    session.communicator = [world,
                            processOf = processesOf(world->size(), numRanks)](
                               const CommunicatorRequest &request) {
      return Expected<std::shared_ptr<Communicator>>(world->connect(
          processOf, request.timeout, request.spin, request.threads));
    };
  }
  if (status.isOk()) {
    wireDevices(session, nullptr, gpus);
  }
  return status;
}
