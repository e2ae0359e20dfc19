//===- NcclCommunicator.h - GPUs connected by NCCL --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H
#define DIVISI_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H

#include "divisi/runtime/comm/Communicator.h"

#include <map>

namespace divisi::rt {

/// What a rank's caller has of NCCL already, and keeps. It outlives the
/// communicator that is made with it.
struct NcclHandles {
  /// An ncclComm_t of all ranks of the artifact, numbered as there, which those
  /// of entries that all ranks run are split from; null: they make one. All
  /// ranks have one, or none.
  void *communicator = nullptr;
  /// A CUstream of the rank's GPU, on which NCCL's calls are put, ordered with
  /// the session's own streams by events; null: they are put on those.
  void *stream = nullptr;
};

/// Whether NCCL can be opened; else fails with Device, as steps between GPUs
/// would: it is missing or too old, or the build found no header of it.
Status findNccl();

/// The number of the GPU that `communicator` is of, an ncclComm_t that the
/// caller of `rank` of `numRanks` has. Fails with Usage if it is of another
/// rank or of another number of them, with Device as findNccl() does and where
/// NCCL cannot say.
Expected<int> gpuOfCommunicator(void *communicator, uint32_t rank,
                                uint32_t numRanks);

/// Connects the GPUs of ranks by NCCL, and the ranks themselves by `inner`, by
/// which they also find each other. NCCL is opened when the first step between
/// GPUs is prepared, which fails as findNccl() does. Such steps give the same
/// bits on all ranks and in all runs on a machine, not those of other
/// communicators. `given` is what local ranks have, by number, which fits
/// (gpuOfCommunicator).
std::shared_ptr<Communicator>
makeNcclCommunicator(std::shared_ptr<Communicator> inner,
                     const CommunicatorRequest &request,
                     const std::map<uint32_t, NcclHandles> &given = {});

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H
