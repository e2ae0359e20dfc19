//===- NcclCommunicator.h - GPUs connected by NCCL --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_NCCLCOMMUNICATOR_H
#define DIVISI_RUNTIME_NCCLCOMMUNICATOR_H

#include "divisi/runtime/Communicator.h"

namespace divisi::rt {

/// Connects the GPUs of ranks by NCCL, and the ranks themselves by `inner`, by
/// which they also find each other. NCCL is opened when the first step between
/// GPUs is prepared, which fails with Device if it is missing or too old, or
/// the build found no header of it. Such steps give the same bits on all ranks
/// and in all runs on a machine, not those of other communicators.
std::shared_ptr<Communicator>
makeNcclCommunicator(std::shared_ptr<Communicator> inner,
                     const CommunicatorRequest &request);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_NCCLCOMMUNICATOR_H
