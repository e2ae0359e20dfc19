//===- MpiPlugin.cpp - The shared object for MPI --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiPlugin.h"
#include "divisi/Support/Version.h"
#include "runtime/comm/messages/MessageWorld.h"
#include "runtime/comm/mpi/MpiWire.h"

using namespace divisi;
using namespace divisi::rt;

/// The caller's own calls may come at any time.
static Status openOn(MPI_Comm comm, MpiWire &wire) {
  int isInitialized = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&isInitialized);
  if (isInitialized) {
    MPI_Query_thread(&provided);
  }
  if (provided != MPI_THREAD_MULTIPLE) {
    return makeError(ExitCode::Usage,
                     "a communicator needs MPI to be initialized with "
                     "MPI_THREAD_MULTIPLE");
  }
  return wire.open(comm, /*ownsMpi=*/false);
}

/// MPI may number the processes in another way than who has started them.
static Status open(const Launch &launch, MpiWire &wire) {
  if (launch.comm) {
    return openOn(*static_cast<const MPI_Comm *>(launch.comm), wire);
  }
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) !=
          MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED) {
    return makeError(
        ExitCode::Device,
        "MPI does not support calls from several threads, one at a time");
  }
  if (Status status = wire.open(MPI_COMM_WORLD, /*ownsMpi=*/true);
      !status.isOk()) {
    return status;
  }
  if (wire.size() != static_cast<int>(launch.size)) {
    return makeError(ExitCode::Device, launch.launcher, " has started ",
                     launch.size, " processes, and MPI knows ", wire.size(),
                     ": this MPI does not support that launcher; start them by "
                     "OpenMPI's mpirun, or by srun --mpi=pmix");
  }
  return {};
}

extern "C" __attribute__((visibility("default"))) ProcessWorld *
divisiOpenMpiWorld(const std::string &build, const Launch &launch,
                   Status &status) {
  if (build != version()) {
    status = makeError(ExitCode::Device, "the library for MPI is of divisi ",
                       version(), ", and this is ", build,
                       "; install both from one build");
    return nullptr;
  }
  auto wire = std::make_unique<MpiWire>();
  status = open(launch, *wire);
  return status.isOk() ? new MessageWorld(std::move(wire)) : nullptr;
}

static_assert(std::is_same_v<decltype(divisiOpenMpiWorld), OpenMpiPlugin>);
