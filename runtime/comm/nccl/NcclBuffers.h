//===- NcclBuffers.h - Memory that NCCL knows -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory that is registered with a communicator NCCL reads and writes where it
// lies, without pieces of its own between. For what a switch combines (NVLS) it
// has to come from ncclMemAlloc, too. Both need NCCL 2.19; neither is needed.
// NCCL wants all ranks of a communicator to have what they bring registered, or
// none: NcclRank.h lets them agree.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_NCCL_NCCLBUFFERS_H
#define DIVISI_RUNTIME_COMM_NCCL_NCCLBUFFERS_H

#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/comm/nccl/NcclLibrary.h"

#include <map>

namespace divisi::rt::nccl {

/// What a rank has on its GPU that steps may read or write. By one thread at a
/// time.
class NcclBuffers : public std::enable_shared_from_this<NcclBuffers> {
public:
  /// For the GPU of `context`; empty.
  NcclBuffers(std::shared_ptr<const NcclLibrary> library,
              std::shared_ptr<const cuda::Context> context)
      : library_(std::move(library)), context_(std::move(context)) {}

  /// Bytes of `device`: from NCCL if that has some to give, else as others are.
  /// They keep this alive, and are forgotten before they are freed.
  Expected<std::unique_ptr<DeviceMemory>> allocate(Device &device,
                                                   int64_t bytes);
  /// Registers all there are with the communicator; Device if NCCL cannot.
  Status add(ncclComm_t communicator);
  /// Takes back what add() did, also where it failed.
  void remove(ncclComm_t communicator);
  /// How many there are.
  size_t count() const { return memories_.size(); }

private:
  class Memory;

  void forget(std::byte *data);

  std::shared_ptr<const NcclLibrary> library_;
  std::shared_ptr<const cuda::Context> context_;
  std::map<std::byte *, int64_t> memories_; ///< Their sizes.
  /// By communicator: what it calls them.
  std::map<ncclComm_t, std::map<std::byte *, void *>> handles_;
};

} // namespace divisi::rt::nccl

#endif // DIVISI_RUNTIME_COMM_NCCL_NCCLBUFFERS_H
